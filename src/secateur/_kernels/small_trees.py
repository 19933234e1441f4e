"""Boosted trees on a few columns in one call: the trees of the engine without penalties.

Notation
--------
q        node
k        output
g, h, w  negative gradient, hessian, weight
"""

import numpy as np
from numba import njit

from secateur._kernels.histogram import pack_rows
from secateur._kernels.losses import logistic_gradients, multinomial_gradients, squared_gradients
from secateur._kernels.partition import add_trees_binned
from secateur._kernels.records import DenseCodes
from secateur._kernels.whole_tree import grow_whole

SQUARED, LOGISTIC, MULTINOMIAL = 0, 1, 2
"""The losses that can be boosted here."""

GRADIENT_STEPS = 32767.0
NOISE = 1e-9
ROUNDING = 1e-13


@njit(cache=True, nogil=True)
def pack_gradients(g, w, quantised_weight, rows, packed_out):
    """Pack the rows; returns (scale, squared error, sum of squares, packed sum) or a scale of 0."""
    largest, sum_abs, sum_g, sum_gg, sum_w = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(rows.shape[0]):
        r = rows[i]
        wg = w[r] * g[r]
        largest = max(largest, abs(wg))
        sum_abs += abs(wg)
        sum_g += wg
        sum_gg += wg * g[r]
        sum_w += w[r]
    sse = sum_gg - sum_g * sum_g / sum_w
    if not sse > NOISE * sum_gg or largest == 0.0:
        return 0.0, sse, sum_gg, np.int64(0)
    max_steps = (2.0**31 - 1.0 - rows.shape[0]) * largest / sum_abs
    scale = min(GRADIENT_STEPS, np.floor(max_steps)) / largest
    total = pack_rows(g, w, quantised_weight, rows, scale, 0, rows.shape[0], packed_out)
    return scale, sse, sum_gg, total


@njit(cache=True, nogil=True)
def fill_leaves(bounds, left, order, g, h, w, l2, rate, value_out, raw_out):
    """A Newton step for each leaf, added to the predictions of its rows."""
    for q in range(left.shape[0]):
        if left[q] >= 0:
            continue
        sum_g = 0.0
        sum_h = l2
        for i in range(bounds[q, 0], bounds[q, 1]):
            r = order[i]
            sum_g += w[r] * g[r]
            sum_h += w[r] * h[r]
        value = rate * sum_g / sum_h if sum_h > 1e-300 else 0.0
        value_out[q] = value
        for i in range(bounds[q, 0], bounds[q, 1]):
            raw_out[order[i]] += value


@njit(cache=True, nogil=True)
def boost(codes, columns, target, weights, train, held, loss, limits, raw_out, gains_out):
    """Boost on the rows ``train`` and predict these and the rows ``held``.

    ``columns`` = (offset, n_bins, is_categorical) of the columns of ``codes``; ``weights`` =
    (weight, the same as integers, the scale of these); ``limits`` =
    (n_rounds, max_depth, smallest integer weight of a leaf, learning rate, l2); ``raw_out`` of
    shape (n_outputs, n_rows) holds the baseline at first; the gain of each split is added to
    ``gains_out``, by column.
    """
    w, quantised_weight, weight_scale = weights
    n_rounds, max_depth, min_weight, rate, l2 = limits
    n_outputs, n_rows = raw_out.shape
    n_level, max_nodes, d = 2 ** max(0, max_depth - 1), 2 ** (max_depth + 1), codes.shape[0]
    bounds, left = np.zeros((max_nodes, 2), np.int64), np.full(max_nodes, -1, np.int64)
    split_on, split = np.zeros(max_nodes, np.int64), np.zeros((max_nodes, 2), np.int64)
    gain = np.zeros(max_nodes)
    words, value = np.zeros((max_nodes, 4), np.uint64), np.zeros(max_nodes)
    tree = (bounds, left, split_on, split, gain, words)
    buffers = (
        np.empty((n_level, columns[0][-1]), np.int64),
        np.empty((n_level, d)),
        np.empty((n_level, d, 3), np.int64),
        np.empty((n_level, d), np.bool_),
        np.empty(n_rows, np.uint8),
        np.empty(n_rows, np.uint32),
        np.empty(n_rows, np.int64),
    )
    by_row = np.zeros(n_rows, np.int64)
    gradient, hessian = np.empty((n_outputs, n_rows)), np.empty((n_outputs, n_rows))
    used, costs, features = np.zeros(d, np.bool_), np.zeros(d), np.arange(d)
    root = np.zeros(1, np.int64)
    order = train.copy()
    for _ in range(n_rounds):
        if loss == SQUARED:
            squared_gradients(target, raw_out, gradient, hessian)
        elif loss == LOGISTIC:
            logistic_gradients(target, raw_out, gradient, hessian)
        else:
            multinomial_gradients(target, raw_out, gradient, hessian)
        for k in range(n_outputs):
            g, h = gradient[k], hessian[k]
            scale, sse, squares, total = pack_gradients(g, w, quantised_weight, train, by_row)
            order[:] = train
            bounds[0, 0], bounds[0, 1], left[0] = 0, len(train), -1
            n_nodes = 1
            if scale > 0.0:
                steps = (1.0 / scale, 1.0 / weight_scale)
                split_limits = (0.0, 1.0, max(NOISE * sse, ROUNDING * squares), d, 0.0, np.inf)
                n_nodes, _ = grow_whole(
                    DenseCodes(codes), columns, by_row, order, total, steps, min_weight, features,
                    used, costs, split_limits, max_depth, buffers, tree,
                )  # fmt: skip
            for q in range(n_nodes):
                if left[q] >= 0:
                    gains_out[split_on[q]] += gain[q]
            below = left[:n_nodes].copy()
            fill_leaves(bounds, below, order, g, h, w, l2, rate, value, raw_out[k])
            add_trees_binned(
                codes, split_on, words, below, value, root, held, 0, len(held), raw_out[k]
            )

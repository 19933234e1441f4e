"""Rounds of boosting on a small table in one call: the same trees as the engine grows one by one.

Only for features whose costs do not depend on each other, and for three losses. All sums are of
integers, as in ``histogram``: they do not depend on the order of the rows.

Notation
--------
t        tree: output k of round r is tree r * n_outputs + k
q        node
g, h, w  negative gradient, hessian, weight
"""

import math

import numpy as np
from numba import njit

from secateur._kernels.histogram import largest_terms, pack_rows, sum_leaves, sum_terms
from secateur._kernels.losses import (
    logistic_gradients,
    logistic_losses,
    multinomial_gradients,
    multinomial_values,
    squared_gradients,
)
from secateur._kernels.partition import split_dense
from secateur._kernels.whole_tree import codes_of, forbid, grow_whole

SQUARED, LOGISTIC, MULTINOMIAL = 0, 1, 2
"""The losses that can be boosted here."""

GRADIENT_STEPS = 32767
"""Weighted gradients are rounded to at most this many steps on either side of zero."""

NOISE = 1e-9
"""Reductions below this share of the root's squared error are rounding, not signal."""

ROUNDING = 1e-13
"""Reductions below this share of the sum of squared gradients are lost in its last digits."""


@njit(cache=True, nogil=True)
def fixed_point_power(largest, n_rows):
    """The power of two by which ``n_rows`` terms up to ``largest`` can be summed in int64."""
    return 61 - math.frexp(largest)[1] - math.frexp(float(n_rows))[1]


@njit(cache=True, nogil=True)
def fixed_point_scale(largest, n_rows):
    """Two to this power."""
    return math.ldexp(1.0, min(fixed_point_power(largest, n_rows), 1000))


@njit(cache=True, nogil=True)
def gradient_scale(largest, sum_absolute, n_rows):
    """Steps per unit of gradient, such that no sum of rounded gradients reaches 2^31."""
    max_steps = (2.0**31 - 1.0 - n_rows) * largest / sum_absolute
    return min(float(GRADIENT_STEPS), math.floor(max_steps)) / largest


@njit(cache=True, nogil=True)
def fill_gradients(loss, target, raw, gradient_out, hessian_out):
    """Negative gradients and hessians of all rows and outputs."""
    if loss == SQUARED:
        squared_gradients(target, raw, gradient_out, hessian_out)
    elif loss == LOGISTIC:
        logistic_gradients(target, raw, gradient_out, hessian_out)
    else:
        multinomial_gradients(target, raw, gradient_out, hessian_out)


@njit(cache=True, nogil=True)
def fill_losses(loss, target, raw, rows, losses_out):
    """The losses of some rows."""
    y, some = np.empty(rows.shape[0]), np.empty((raw.shape[0], rows.shape[0]))
    for i in range(rows.shape[0]):
        y[i] = target[rows[i]]
        for k in range(raw.shape[0]):
            some[k, i] = raw[k, rows[i]]
    if loss == SQUARED:
        for i in range(rows.shape[0]):
            residual = y[i] - some[0, i]
            losses_out[i] = 0.5 * (residual * residual)
    elif loss == LOGISTIC:
        logistic_losses(y, some, losses_out)
    else:
        multinomial_values(y, some, losses_out)


@njit(cache=True, nogil=True)
def weighted_sum(values, weight, rows):
    """The sum of weight times value over some rows, as ``fixed_point_sum`` makes it."""
    largest = 0.0
    for i in range(rows.shape[0]):
        largest = max(largest, abs(weight[rows[i]] * values[i]))
    power = fixed_point_power(largest, rows.shape[0])
    total = np.int64(0)
    for i in range(rows.shape[0]):
        total += np.int64(np.rint(math.ldexp(weight[rows[i]] * values[i], power)))
    return math.ldexp(float(total), -power)


@njit(cache=True, nogil=True)
def pack_tree(g, h, weights, rows, packed_out):
    """Round and pack the rows of a tree.

    Returns (steps per unit of gradient, 0 where they are constant; packed sum; squared error of the
    root; sum of squares; the scales of sums of w g and w h).
    """
    w, quantised_weight, weight_total = weights[0], weights[1], weights[4]
    n = rows.shape[0]
    max_g, max_gg, max_h = largest_terms(g, h, w, rows, 0, n)
    scale_g, scale_h = fixed_point_scale(max_g, n), fixed_point_scale(max_h, n)
    if not max_gg > 0.0:
        return 0.0, np.int64(0), 0.0, 0.0, scale_g, scale_h
    scale_gg = fixed_point_scale(max_gg, n)
    sums = sum_terms(g, w, rows, scale_g, scale_gg, 0, n)
    sum_absolute, sum_g, sum_squares = sums[0] / scale_g, sums[1] / scale_g, sums[2] / scale_gg
    per_unit = gradient_scale(max_g, sum_absolute, n)
    total = pack_rows(g, w, quantised_weight, rows, per_unit, 0, n, packed_out)
    sse = sum_squares - sum_g * sum_g / weight_total
    if not sse > NOISE * sum_squares:
        per_unit = 0.0
    return per_unit, total, sse, sum_squares, scale_g, scale_h


@njit(cache=True, nogil=True)
def fill_leaves(bounds, left, n_nodes, order, g, h, weights, scales, params, value_out, raw_out):
    """The value of each leaf, from unrounded gradients, added to the predictions of its rows."""
    w, largest_weight = weights[0], weights[5]
    rate, l2, is_mean, max_step = params[2], params[3], params[4], params[7]
    scale_w = 0.0
    if is_mean:
        scale_w = fixed_point_scale(largest_weight, order.shape[0])
    sums = np.empty((1, 3), np.int64)
    for q in range(n_nodes):
        if left[q] >= 0:
            continue
        sum_leaves(g, h, w, order, bounds[q : q + 1], (scales[0], scales[1], scale_w), 0, 1, sums)
        below = sums[0, 2] / scale_w if is_mean else sums[0, 1] / scales[1] + l2
        value = sums[0, 0] / scales[0] / below if below > 1e-300 else 0.0
        value_out[q] = rate * min(max(value, -max_step), max_step)
        for i in range(bounds[q, 0], bounds[q, 1]):
            raw_out[order[i]] += value_out[q]


@njit(cache=True, nogil=True)
def add_to_held(codes, tree, n_nodes, held, bounds, column, scratch, raw_out):
    """Add a tree to the predictions of the rows ``held``, which are left in its order."""
    left, split_on, words, value = tree
    bounds[0, 0], bounds[0, 1] = 0, held.shape[0]
    for q in range(n_nodes):
        start, stop = bounds[q, 0], bounds[q, 1]
        if left[q] < 0:
            for i in range(start, stop):
                raw_out[held[i]] += value[q]
            continue
        middle = start
        if stop > start:
            its_codes = codes_of(codes, split_on[q], column)
            middle = split_dense(its_codes, words[q], held, start, stop, scratch)
        child = left[q]
        bounds[child, 0], bounds[child, 1] = start, middle
        bounds[child + 1, 0], bounds[child + 1, 1] = middle, stop


@njit(cache=True, nogil=True)
def allowed_features(features, used, costs, room):
    """Those of the listed features that may be split on: used, or within the limits."""
    if room[0] > 0 and room[2] == np.inf:
        return features
    forbid(features, used, room, costs)
    allowed, n = np.empty(features.shape[0], np.int64), 0
    for f in range(features.shape[0]):
        allowed[n] = features[f]
        n += costs[features[f]] < np.inf
    return allowed[:n]


@njit(cache=True, nogil=True)
def grow_outputs(codes, columns, weights, rows, gradients, params, state, buffers, trees_out):
    """The trees of some outputs, added to the predictions; returns the number of cells added up.

    ``gradients`` = (negative gradients, hessians) by output; the others are those of
    ``boost_rounds``, ``trees_out`` by output.
    """
    shape, features = columns
    _, _, weight_scale, weight_mean, _, _ = weights
    train = rows[0]
    max_depth, min_weight, _, _, _, penalty, is_scaled, _ = params
    raw, used, costs, room = state
    n_nodes_out, left, split_on, split, gain, words, value = trees_out
    bounds = np.zeros((left.shape[1], 2), np.int64)
    held_bounds = np.zeros((left.shape[1], 2), np.int64)
    packed, order, held = np.zeros(raw.shape[1], np.int64), train.copy(), rows[1].copy()
    column, scratch = buffers[2], buffers[3]
    n_cells = 0
    for k in range(raw.shape[0]):
        g, h = gradients[0][k], gradients[1][k]
        for i in range(train.shape[0]):
            order[i] = train[i]
        per_unit, total, sse, squares, scale_g, scale_h = pack_tree(g, h, weights, train, packed)
        n_nodes = 1
        left[k, 0], bounds[0, 0], bounds[0, 1] = -1, 0, order.shape[0]
        if per_unit > 0.0:
            steps = (1.0 / per_unit, 1.0 / weight_scale)
            unit = sse if is_scaled else 2.0 * weight_mean
            floor = max(NOISE * sse, ROUNDING * squares)
            n_nodes, n = grow_whole(
                codes, shape, packed, order, total, steps,
                min_weight, allowed_features(features, used, costs, room),
                (used, costs, room), (penalty, unit, floor), max_depth, buffers,
                (bounds, left[k], split_on[k], split[k], gain[k], words[k]),
            )  # fmt: skip
            n_cells += n
        n_nodes_out[k] = n_nodes
        scales = (scale_g, scale_h)
        fill_leaves(
            bounds, left[k], n_nodes, order, g, h, weights, scales, params, value[k], raw[k]
        )
        tree = (left[k], split_on[k], words[k], value[k])
        add_to_held(codes, tree, n_nodes, held, held_bounds, column, scratch, raw[k])
    return n_cells


@njit(cache=True, nogil=True)
def mean_loss(loss, target, raw, w, rows):
    """The weighted mean of the losses of some rows."""
    losses = np.empty(rows.shape[0])
    fill_losses(loss, target, raw, rows, losses)
    return weighted_sum(losses, w, rows) / weighted_sum(np.ones(rows.shape[0]), w, rows)


@njit(cache=True, nogil=True)
def boost_rounds(
    codes, columns, target, weights, rows, loss, params, state, buffers, trees_out, found_out
):
    """Add rounds to a fit; as many as ``found_out`` has room for.

    ``columns`` = (those of ``grow_whole``, features that can be split on); ``weights`` = (weight,
    the same as integers, their scale, mean, total, largest); ``rows`` = (train, held, for the
    objective); ``params`` = (max_depth, smallest integer weight of a leaf, learning rate, l2,
    whether leaves are means, penalty, whether gains are shares of the root's squared error, the
    largest leaf value before the rate); ``state`` = (raw predictions, used, costs, room = (features
    that may be added, cost, budget)), which changes; ``buffers`` are those of ``grow_whole``.
    ``trees_out``, by tree, = (number of nodes; left, feature, split, gain, words, value by node);
    ``found_out``, by round, = (mean training loss, if there are rows for it; losses of the held
    rows; whether the first is wanted of all rounds, and not only of the last and of those before a
    feature is used first).
    Returns the number of cells added up.
    """
    raw, used, _, _ = state
    objective, held_losses, is_each = found_out
    n_outputs = raw.shape[0]
    gradients = (np.empty(raw.shape), np.empty(raw.shape))
    before, n_cells = raw.copy(), 0
    n_rounds, has_objective = objective.shape[0], rows[2].shape[0] > 0
    for r in range(n_rounds):
        t, n_used = r * n_outputs, np.sum(used)
        fill_gradients(loss, target, raw, gradients[0], gradients[1])
        if has_objective and not is_each:
            for k in range(n_outputs):  # an assignment of arrays takes seconds to compile
                for i in range(raw.shape[1]):
                    before[k, i] = raw[k, i]
        its = (
            trees_out[0][t : t + n_outputs], trees_out[1][t : t + n_outputs],
            trees_out[2][t : t + n_outputs], trees_out[3][t : t + n_outputs],
            trees_out[4][t : t + n_outputs], trees_out[5][t : t + n_outputs],
            trees_out[6][t : t + n_outputs],
        )  # fmt: skip
        n_cells += grow_outputs(
            codes, columns, weights, rows, gradients, params, state, buffers, its
        )
        if has_objective and not is_each and r > 0 and np.sum(used) > n_used:
            objective[r - 1] = mean_loss(loss, target, before, weights[0], rows[2])
        if has_objective and (is_each or r == n_rounds - 1):
            objective[r] = mean_loss(loss, target, raw, weights[0], rows[2])
        fill_losses(loss, target, raw, rows[1], held_losses[r])
    return n_cells

"""Boosted trees on a few columns in one call: all rounds, no interpreter in between.

The same trees as the engine of boosted trees grows without prices, from the same kernels: packed
histograms, exact search, stable partition. On a handful of columns and a few thousand rows a tree
takes less time than the interpreter needs to ask for it, and forward selection needs thousands.

Notation: ``q`` node, ``k`` output, ``g`` negative gradient, ``h`` hessian, ``w`` weight. Nodes of
a tree are numbered breadth first; each has a run of ``order``:

    node[q] = (start, stop, left child or -1, slot of its histogram)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.histogram import dense_histograms
from secateur._kernels.losses import logistic_gradients, multinomial_gradients, squared_gradients
from secateur._kernels.partition import gather, split_dense
from secateur._kernels.prediction import add_trees_binned
from secateur._kernels.scanning import LOW, order_categories
from secateur._kernels.splitting import pick_feature, search_features

SQUARED, LOGISTIC, MULTINOMIAL = 0, 1, 2
"""The losses that can be boosted here."""

GRADIENT_STEPS = 32767.0
NOISE = 1e-9
ROUNDING = 1e-13


@njit(cache=True, nogil=True)
def pack_gradients(g, w, quantised_weight, rows, packed_out):
    """Pack the rows; gives (scale, squared error, sum of squares, packed sum) or a scale of 0."""
    most = 0.0
    sum_abs = 0.0
    sum_g = 0.0
    sum_gg = 0.0
    sum_w = 0.0
    for i in range(rows.shape[0]):
        r = rows[i]
        wg = w[r] * g[r]
        most = max(most, abs(wg))
        sum_abs += abs(wg)
        sum_g += wg
        sum_gg += wg * g[r]
        sum_w += w[r]
    sse = sum_gg - sum_g * sum_g / sum_w
    if not sse > NOISE * sum_gg or most == 0.0:
        return 0.0, sse, sum_gg, np.int64(0)
    room = (2.0**31 - 1.0 - rows.shape[0]) * most / sum_abs
    scale = min(GRADIENT_STEPS, np.floor(room)) / most
    total = np.int64(0)
    for i in range(rows.shape[0]):
        r = rows[i]
        packed_out[r] = (np.int64(np.rint(w[r] * g[r] * scale)) << 32) + quantised_weight[r]
        total += packed_out[r]
    return scale, sse, sum_gg, total


@njit(cache=True, nogil=True)
def fill_words(bins, first, n, is_categorical, split, unit, words_out):
    """The codes that go left, as 256 bits."""
    words_out[:] = 0
    last = split[0]
    if is_categorical:
        order = np.empty(256, np.int64)
        order_categories(bins, first, n, unit, order)
        for b in range(last + 1):
            words_out[order[b] >> 6] |= np.uint64(1) << np.uint64(order[b] & 63)
    else:
        for b in range(last + 1):
            words_out[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    if split[1] > 0:
        words_out[3] |= np.uint64(1) << np.uint64(63)


@njit(cache=True, nogil=True)
def find_split(columns, features, histogram, total, unit, least, floor, used, gain, split):
    """The feature that a node splits on, or -1; ``gain`` and ``split`` are room to work in."""
    if (total & LOW) < 2 * least:
        return -1
    divisible = np.empty(features.shape[0], np.bool_)
    none = histogram[:0]
    found = (gain, split, divisible)
    search_features(
        histogram,
        none,
        none,
        features,
        columns,
        total,
        unit,
        least,
        0,
        features.shape[0],
        found,
    )
    free = np.zeros(features.shape[0])
    feature, _ = pick_feature(features, gain, used, free, 0.0, 1.0, floor)
    if feature >= 0:
        used[feature] = True
    return feature


@njit(cache=True, nogil=True)
def build_children(
    codes, columns, features, order, packed, by_row, node, q, is_last, n_slots, histograms
):
    """Histograms of two children: the smaller is built, the larger takes its parent's place."""
    start, middle, stop = node[q, 0], node[node[q, 2], 1], node[q, 1]
    gather(by_row, order, start, stop, packed)
    if is_last:
        return n_slots
    left = node[q, 2]
    small = left if middle - start <= stop - middle else left + 1
    large = left + 1 if small == left else left
    node[small, 3] = n_slots
    node[large, 3] = node[q, 3]
    a, b = node[small, 0], node[small, 1]
    offset, n_bins, _ = columns
    n = features.shape[0]
    built = histograms[n_slots]
    dense_histograms(codes, order[a:b], packed[a:b], False, features, offset, n_bins, 0, n, built)
    rest = histograms[node[q, 3]]
    for place in range(rest.shape[0]):
        rest[place] -= built[place]
    return n_slots + 1


@njit(cache=True, nogil=True)
def grow(codes, columns, by_row, total, unit, least, floor, max_depth, used, order, room, tree):
    """Grow one tree on packed rows; gives the number of its nodes.

    ``room`` = (packed, scratch, histograms); ``tree`` = (node, feature, words, sums, gains), filled
    in; the gain of each split is added to those of its feature.
    """
    packed, scratch, histograms = room
    node, split_on, words, sums, gains = tree
    offset, n_bins, is_categorical = columns
    features = np.arange(codes.shape[0])
    gain = np.empty(len(features))
    split = np.empty((len(features), 3), np.int64)
    gather(by_row, order, 0, order.shape[0], packed)
    node[0, 0], node[0, 1], node[0, 2], node[0, 3] = 0, order.shape[0], -1, 0
    sums[0] = total
    dense_histograms(
        codes,
        order,
        packed,
        order.shape[0] == codes.shape[1],  # all rows, and so in their order
        features,
        offset,
        n_bins,
        0,
        len(features),
        histograms[0],
    )
    n_nodes, n_slots, first = 1, 1, 0
    for depth in range(max_depth):
        last = n_nodes
        for q in range(first, last):
            bins = histograms[node[q, 3]]
            j = find_split(columns, features, bins, sums[q], unit, least, floor, used, gain, split)
            if j < 0:
                continue
            fill_words(bins, offset[j], n_bins[j], is_categorical[j], split[j], unit, words[q])
            start, stop = node[q, 0], node[q, 1]
            middle = split_dense(codes[j], words[q], order, start, stop, scratch)
            split_on[q], node[q, 2] = j, n_nodes
            gains[j] += gain[j]
            sums[n_nodes], sums[n_nodes + 1] = split[j, 2], sums[q] - split[j, 2]
            node[n_nodes, 0], node[n_nodes, 1], node[n_nodes, 2] = start, middle, -1
            node[n_nodes + 1, 0], node[n_nodes + 1, 1], node[n_nodes + 1, 2] = middle, stop, -1
            n_nodes += 2
            n_slots = build_children(
                codes,
                columns,
                features,
                order,
                packed,
                by_row,
                node,
                q,
                depth + 1 == max_depth,
                n_slots,
                histograms,
            )
        first = last
        if n_nodes == last:
            break
    return n_nodes


@njit(cache=True, nogil=True)
def fill_leaves(node, n_nodes, order, g, h, w, l2, rate, value_out, raw_out):
    """A Newton step for each leaf, added to the predictions of its rows."""
    for q in range(n_nodes):
        if node[q, 2] >= 0:
            continue
        sum_g = 0.0
        sum_h = l2
        for i in range(node[q, 0], node[q, 1]):
            r = order[i]
            sum_g += w[r] * g[r]
            sum_h += w[r] * h[r]
        value = rate * sum_g / sum_h if sum_h > 1e-300 else 0.0
        value_out[q] = value
        for i in range(node[q, 0], node[q, 1]):
            raw_out[order[i]] += value


@njit(cache=True, nogil=True)
def boost(
    codes,
    columns,
    target,
    w,
    quantised_weight,
    weight_scale,
    train,
    held,
    loss,
    limits,
    raw_out,
    gains_out,
):
    """Boost on the rows ``train`` and predict these and the rows ``held``.

    ``columns`` = (offset, n_bins, is_categorical) of the columns of ``codes``; ``limits`` =
    (n_rounds, max_depth, least integer weight of a leaf, learning rate, l2); ``raw_out`` of shape
    (n_outputs, n_rows) comes with the baseline, ``gains_out`` with zeros: it gets the total gain
    of each column.
    """
    n_rounds, max_depth, least, rate, l2 = limits
    n_outputs, n_rows = raw_out.shape
    most = 2 ** (max_depth + 1)
    node = np.empty((most, 4), np.int64)
    split_on = np.zeros(most, np.int64)
    words = np.zeros((most, 4), np.uint64)
    sums = np.empty(most, np.int64)
    value = np.zeros(most)
    histograms = np.empty((max(1, most // 4), columns[0][-1]), np.int64)
    by_row = np.zeros(n_rows, np.int64)
    room = (np.empty(len(train), np.int64), np.empty(len(train), np.uint32), histograms)
    gradient = np.empty((n_outputs, n_rows))
    hessian = np.empty((n_outputs, n_rows))
    used = np.zeros(codes.shape[0], np.bool_)
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
            node[0, 0], node[0, 1], node[0, 2] = 0, len(train), -1
            n_nodes = 1
            if scale > 0.0:
                unit = (1.0 / scale, 1.0 / weight_scale)
                floor = max(NOISE * sse, ROUNDING * squares)
                tree = (node, split_on, words, sums, gains_out)
                n_nodes = grow(
                    codes, columns, by_row, total, unit, least, floor, max_depth, used, order,
                    room, tree,
                )  # fmt: skip
            fill_leaves(node, n_nodes, order, g, h, w, l2, rate, value, raw_out[k])
            left = node[:n_nodes, 2].copy()
            add_trees_binned(
                codes, split_on, words, left, value, root, held, 0, len(held), raw_out[k]
            )

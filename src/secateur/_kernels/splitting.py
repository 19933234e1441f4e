"""The best threshold of each feature in a node, from its histogram.

Notation: ``j`` feature, ``b`` bin, ``G`` and ``W`` sums of gradients and weights as integers,
packed as (G << 32) + W. With g = G / gradient_scale and w = W / weight_scale the reduction of the
squared error is

    dSSE = g_L^2 / w_L + g_R^2 / w_R - g^2 / w                     (gain of Eq. 14 of GBFS, times
    two)

The price of a feature is not known here: it is the same for all thresholds, so the best threshold
does not depend on it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.records import N_CODES

LOW = 0xFFFFFFFF
"""The lower half of a packed sum: the weight."""

FEW_BINS = 24
"""Up to so many bins one plain loop is quicker than three that run side by side."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def score_of(g_l, w_l, total_g, total_w, unit):
    """g_L^2 / w_L + g_R^2 / w_R."""
    l = g_l * unit[0]
    r = (total_g - g_l) * unit[0]
    return l * l / (w_l * unit[1]) + r * r / ((total_w - w_l) * unit[1])


@njit(cache=True, nogil=True, error_model="numpy")
def scan_order(bins, first, n, order, m, total, unit, least):
    """The best prefix of the bins in ``order`` (m of them) as the left side.

    For each prefix first the missing rows to the right, then to the left; the first of equals
    wins. Gives (score, last position, missing left, packed left sum); ``unit`` = (1 / gradient
    scale, 1 / weight scale), ``least`` the smallest integer weight of a side.
    """
    total_g = total >> 32
    total_w = total & LOW
    missing = bins[first + n]
    has_missing = missing & LOW > 0
    score = -1.0
    position = -1
    missing_left = 0
    best = np.int64(0)
    left = np.int64(0)
    for b in range(m if has_missing else m - 1):
        left += bins[first + order[b]]
        for with_missing in range(2 if has_missing and b < m - 1 else 1):
            side = left + missing * with_missing
            w = side & LOW
            if w >= least and total_w - w >= least:
                s = score_of(side >> 32, w, total_g, total_w, unit)
                if s > score:
                    score, position, missing_left, best = s, b, with_missing, side
    return score, position, missing_left, best


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def scan_few(bins, first, m, total, unit, least):
    """As ``scan_order`` for few bins in their own order and no missing rows."""
    total_g = total >> 32
    total_w = total & LOW
    score = -1.0
    position = -1
    best = np.int64(0)
    left = np.int64(0)
    for b in range(m - 1):
        left += bins[first + b]
        w = left & LOW
        # Choices by value and not by jump: which bin is the best, no processor can guess.
        s = score_of(left >> 32, w, total_g, total_w, unit)
        s = s if (w >= least) & (total_w - w >= least) else -1.0
        better = s > score
        score = s if better else score
        position = b if better else position
        best = left if better else best
    return score, position, 0, best


@njit(cache=True, nogil=True, error_model="numpy")
def running_sums(bins, first, m, g_out, w_out):
    """Sums of the bins 0 .. b for b < m, as floats: exact, being integers below 2^53."""
    left = np.int64(0)
    for b in range(m):
        left += bins[first + b]
        g_out[b] = left >> 32
        w_out[b] = left & LOW


@njit(cache=True, nogil=True, error_model="numpy")
def split_scores(m, total_g, total_w, inv_g, inv_w, g_left, w_left, score_out):
    """``score_of`` each prefix; a loop of its own, so that divisions run side by side."""
    for b in range(m):
        l = g_left[b] * inv_g
        r = (total_g - g_left[b]) * inv_g
        score_out[b] = l * l / (w_left[b] * inv_w) + r * r / ((total_w - w_left[b]) * inv_w)


@njit(cache=True, nogil=True, error_model="numpy")
def first_best(m, w_left, score, least, most):
    """The first of the largest scores whose left weight is within bounds."""
    best = -1.0
    position = -1
    for b in range(m):
        if score[b] > best and w_left[b] >= least and w_left[b] <= most:
            best = score[b]
            position = b
    return best, position


@njit(cache=True, nogil=True, error_model="numpy")
def scan_many(bins, first, m, total, unit, least, g_left, w_left, score):
    """As ``scan_few`` for many bins, in three loops: the one that matters for wide columns."""
    total_g = total >> 32
    total_w = total & LOW
    running_sums(bins, first, m - 1, g_left, w_left)
    split_scores(m - 1, float(total_g), float(total_w), unit[0], unit[1], g_left, w_left, score)
    best, position = first_best(m - 1, w_left, score, float(least), float(total_w - least))
    left = np.int64(0)
    if position >= 0:
        left = (np.int64(g_left[position]) << 32) + np.int64(w_left[position])
    return best, position, 0, left


@njit(cache=True, nogil=True, inline="always")
def middle_of_gap(bins, first, n, position):
    """The middle of the run of positions that part the node's rows alike.

    Bins behind the left side that hold no row of the node could go either way: rows not seen here
    are best served by a threshold half way.
    """
    last = position
    while last + 1 < n and bins[first + last + 1] & LOW == 0:
        last += 1
    return (position + last) // 2


@njit(cache=True, nogil=True, error_model="numpy")
def order_categories(bins, first, n, unit, order_out):
    """The bins with weight, by mean gradient and then by number; returns how many."""
    inv_g, inv_w = unit
    keys = np.empty(n)
    m = 0
    for b in range(n):
        w = bins[first + b] & LOW
        if w > 0:
            key = ((bins[first + b] >> 32) * inv_g) / (w * inv_w)
            # Insertion keeps equal keys in the order of their bins.
            q = m
            while q > 0 and keys[q - 1] > key:
                keys[q] = keys[q - 1]
                order_out[q] = order_out[q - 1]
                q -= 1
            keys[q] = key
            order_out[q] = b
            m += 1
    return m


@njit(cache=True, nogil=True, error_model="numpy")
def best_of_feature(
    bins, first, n, is_categorical, total, unit, least, g_left, w_left, score, order
):
    """The best split of one feature: (score, last position in order, missing left, packed left).

    Its bins are ``bins[first : first + n]`` and then the missing one; the four last arguments are
    room to work in. No slices: taking one costs more than a short column's whole search.
    """
    if is_categorical:
        m = order_categories(bins, first, n, unit, order)
    elif bins[first + n] & LOW == 0:
        return scan_many(bins, first, n, total, unit, least, g_left, w_left, score)
    else:
        m = n
        for b in range(n):
            order[b] = b
    return scan_order(bins, first, n, order, m, total, unit, least)


@njit(cache=True, nogil=True, error_model="numpy")
def own_score(total, unit):
    """g^2 / w of a node."""
    g = (total >> 32) * unit[0]
    return g * g / ((total & LOW) * unit[1])


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram,
    features,
    columns,
    total,
    unit,
    least,
    start,
    stop,
    gain_out,
    split_out,
    divisible_out,
):
    """The best split of the features start .. stop of the list in one node.

    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j: ``gain[j]`` = dSSE or -1
    where nothing is admissible, ``split[j]`` = (last position of the left side, missing left,
    packed left sum), ``divisible[j]`` = whether any node below could split on it: the bins without
    the heaviest, which one side must do with, weigh enough for a side.
    """
    offset, n_bins, is_categorical = columns
    g_left = np.empty(N_CODES)
    w_left = np.empty(N_CODES)
    room = np.empty(N_CODES)
    order = np.empty(N_CODES, np.int64)
    own = own_score(total, unit)
    for f in range(start, stop):
        j = features[f]
        first = offset[j]
        n = n_bins[j]
        heaviest = np.int64(0)
        for b in range(first, first + n + 1):
            heaviest = max(heaviest, histogram[b] & LOW)
        divisible_out[j] = (total & LOW) - heaviest >= least
        gain_out[j] = -1.0
        if not divisible_out[j]:
            continue
        if n <= FEW_BINS and not is_categorical[j] and histogram[first + n] & LOW == 0:
            score, position, missing_left, left = scan_few(histogram, first, n, total, unit, least)
        else:
            score, position, missing_left, left = best_of_feature(
                histogram,
                first,
                n,
                is_categorical[j],
                total,
                unit,
                least,
                g_left,
                w_left,
                room,
                order,
            )
        if position >= 0:
            gain_out[j] = score - own
            if not is_categorical[j]:
                position = middle_of_gap(histogram, first, n, position)
        split_out[j, 0] = position
        split_out[j, 1] = missing_left
        split_out[j, 2] = left


@njit(cache=True, nogil=True)
def subtract_features(parent, child, features, columns, start, stop, sibling_out):
    """The sibling's histograms: the parent's less the child's. The output may be the parent."""
    offset, n_bins, _ = columns
    for f in range(start, stop):
        j = features[f]
        for b in range(offset[j], offset[j] + n_bins[j] + 1):
            sibling_out[b] = parent[b] - child[b]


@njit(cache=True, nogil=True)
def copy_features(source, features, columns, start, stop, target_out):
    """Copy the histograms of the listed features."""
    offset, n_bins, _ = columns
    for f in range(start, stop):
        j = features[f]
        for b in range(offset[j], offset[j] + n_bins[j] + 1):
            target_out[b] = source[b]


@njit(cache=True, nogil=True)
def search_built(
    histogram, kept_out, features, columns, total, unit, least, start, stop, gain, split, divisible
):
    """Search a node whose histogram was built, and keep it for subtraction if there is room."""
    search_features(
        histogram, features, columns, total, unit, least, start, stop, gain, split, divisible
    )
    if kept_out.shape[0] > 0:
        copy_features(histogram, features, columns, start, stop, kept_out)


@njit(cache=True, nogil=True)
def search_rest(
    parent,
    child,
    features,
    columns,
    total,
    unit,
    least,
    start,
    stop,
    gain,
    split,
    divisible,
):
    """Search a node whose histogram is its parent's less its sibling's, and takes its place."""
    subtract_features(parent, child, features, columns, start, stop, parent)
    search_features(
        parent, features, columns, total, unit, least, start, stop, gain, split, divisible
    )


@njit(cache=True, nogil=True)
def pick_feature(features, gain, used, prices, penalty, unit, floor):
    """Of the listed features the one with the largest priced gain.

    Ties go to a used one, then to the smaller index. Returns (feature, priced gain); the feature is
    -1 where nothing gains more than it costs.
    """
    best = 0.0
    feature = -1
    for f in range(features.shape[0]):
        j = features[f]
        if gain[j] <= floor:
            continue
        priced = gain[j] / unit - penalty * prices[j]
        if priced > best or (feature >= 0 and priced == best and used[j] and not used[feature]):
            best = priced
            feature = j
    return feature, best

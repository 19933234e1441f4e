"""The best split of each feature in a node, and the feature that pays.

Notation: ``b`` bin, ``G`` and ``W`` sums of gradients and weights as integers, packed as
(G << 32) + W. With g = G / gradient_scale and w = W / weight_scale the reduction of the squared
error is

    dSSE = g_L^2 / w_L + g_R^2 / w_R - g^2 / w               (gain of Eq. 14 of GBFS, times two)
         = (g_L w_R - g_R w_L)^2 / (w_L w_R w)

The second form has one division and no difference of large squares; a split and its mirror image
are exactly alike in it. Thresholds are compared by their score, (G_L W_R - G_R W_L)^2 / (W_L W_R).
The price of a feature is not known here: it is the same for all thresholds, so the best threshold
does not depend on it.

Notation: ``j`` feature, ``f`` its place in a list, ``b`` bin. What a threshold is worth is told in
``scanning``; prices come in only at the end, where features are compared.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.histogram import add_features
from secateur._kernels.records import MISSING, N_CODES

LOW = 0xFFFFFFFF
"""The lower half of a packed sum: the weight."""

FEW_BINS = 24
"""Up to so many bins one plain loop is quicker than three that run side by side."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def score_of(g_l, w_l, total_g, total_w):
    """(G_L W_R - G_R W_L)^2 / (W_L W_R), of floats that hold integers."""
    g_r = total_g - g_l
    w_r = total_w - w_l
    d = g_l * w_r - g_r * w_l
    return d * d / (w_l * w_r)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def gain_of(score, total, unit):
    """The dSSE of a score; ``unit`` = (1 / gradient scale, 1 / weight scale)."""
    return score / float(total & LOW) * (unit[0] * unit[0] / unit[1])


@njit(cache=True, nogil=True, error_model="numpy")
def scan_order(bins, first, n, order, m, total, least):
    """The best prefix of the bins in ``order`` (m of them) as the left side.

    For each prefix first the missing rows to the right, then to the left; the first of equals
    wins. Gives (score, last position, missing left, packed left sum); ``least`` is the smallest
    integer weight of a side.
    """
    total_g = float(total >> 32)
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
                s = score_of(float(side >> 32), float(w), total_g, float(total_w))
                if s > score:
                    score, position, missing_left, best = s, b, with_missing, side
    return score, position, missing_left, best


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def scan_few(bins, first, n, total, least):
    """As ``scan_order`` for few bins in their own order and no missing rows; the heaviest too.

    All n prefixes are tried: the last leaves nothing for the right side and is never admissible.
    """
    total_g = float(total >> 32)
    total_w = total & LOW
    score = -1.0
    position = -1
    best = np.int64(0)
    left = np.int64(0)
    heaviest = np.int64(0)
    for b in range(first, first + n):
        left += bins[b]
        heaviest = max(heaviest, bins[b] & LOW)
        w = left & LOW
        # Choices by value and not by jump: which bin is the best, no processor can guess.
        s = score_of(np.float64(left >> 32), np.float64(w), total_g, float(total_w))
        s = s if (w >= least) & (total_w - w >= least) else -1.0
        better = s > score
        score = s if better else score
        position = b - first if better else position
        best = left if better else best
    return score, position, best, heaviest


@njit(cache=True, nogil=True, error_model="numpy")
def running_sums(bins, first, m, g_out, w_out):
    """Sums of the bins 0 .. b for b < m, as floats: exact, being integers below 2^53."""
    left = np.int64(0)
    for b in range(m):
        left += bins[first + b]
        g_out[b] = left >> 32
        w_out[b] = left & LOW


@njit(cache=True, nogil=True, error_model="numpy")
def split_scores(m, total_g, total_w, g_left, w_left, score_out):
    """``score_of`` each prefix; a loop of its own, so that divisions run side by side."""
    for b in range(m):
        score_out[b] = score_of(g_left[b], w_left[b], total_g, total_w)


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
def scan_many(bins, first, m, total, least, g_left, w_left, score):
    """As ``scan_few`` for many bins, in three loops: the one that matters for wide columns."""
    total_g = total >> 32
    total_w = total & LOW
    running_sums(bins, first, m - 1, g_left, w_left)
    split_scores(m - 1, float(total_g), float(total_w), g_left, w_left, score)
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
        return scan_many(bins, first, n, total, least, g_left, w_left, score)
    else:
        m = n
        for b in range(n):
            order[b] = b
    return scan_order(bins, first, n, order, m, total, least)


@njit(cache=True, nogil=True, error_model="numpy")
def search_one(bins, first, n, is_categorical, total, unit, least, rooms):
    """The best split of a feature: its bins are ``bins[first : first + n]``, then the missing one.

    Gives (gain, split, divisible): dSSE or -1 where nothing is admissible; (last position of the
    left side, missing left, packed left sum); whether any node below could split on it: the bins
    without the heaviest, which one side must do with, weigh enough for a side.
    """
    nothing = (np.int64(-1), np.int64(0), np.int64(0))
    total_w = total & LOW
    # A first bin that outweighs all others, as the zeros of a sparse column, settles it.
    if total_w - (bins[first] & LOW) < least:
        return -1.0, nothing, False
    missing_left = 0
    if n <= FEW_BINS and not is_categorical and bins[first + n] & LOW == 0:
        score, position, left, heaviest = scan_few(bins, first, n, total, least)
    else:
        heaviest = np.int64(0)
        for b in range(first, first + n + 1):
            heaviest = max(heaviest, bins[b] & LOW)
        if total_w - heaviest < least:
            return -1.0, nothing, False
        score, position, missing_left, left = best_of_feature(
            bins, first, n, is_categorical, total, unit, least, *rooms
        )
    gain = -1.0
    if position >= 0:
        gain = gain_of(score, total, unit)
        if not is_categorical:
            position = middle_of_gap(bins, first, n, position)
    split = (np.int64(position), np.int64(missing_left), np.int64(left))
    return gain, split, total_w - heaviest >= least


@njit(cache=True, nogil=True)
def search_rooms():
    """Room that the search of one feature works in."""
    return np.empty(N_CODES), np.empty(N_CODES), np.empty(N_CODES), np.empty(N_CODES, np.int64)


@njit(cache=True, nogil=True, inline="always")
def note_split(j, found, found_out):
    """Write down what was found of feature j; of a split only where there is one."""
    gain_out, split_out, divisible_out = found_out
    gain, split, divisible = found
    gain_out[j] = gain
    divisible_out[j] = divisible
    if gain >= 0.0:
        split_out[j, 0], split_out[j, 1], split_out[j, 2] = split


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram, less, kept_out, features, columns, total, unit, least, start, stop, found_out
):
    """The best split of the features start .. stop of the list in one node.

    ``histogram`` is the node's own, or that of its parent and ``less`` its sibling's: then the
    node's own takes the parent's place. It is copied to ``kept``; both are empty where not wanted.
    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j: ``found`` = (gain, split,
    divisible) of ``search_one``.
    """
    offset, n_bins, is_categorical = columns
    rooms = search_rooms()
    for f in range(start, stop):
        j = features[f]
        first = offset[j]
        n = n_bins[j]
        if less.shape[0] > 0:
            for b in range(first, first + n + 1):
                histogram[b] -= less[b]
        if kept_out.shape[0] > 0:
            for b in range(first, first + n + 1):
                kept_out[b] = histogram[b]
        found = search_one(histogram, first, n, is_categorical[j], total, unit, least, rooms)
        note_split(j, found, found_out)


@njit(cache=True, nogil=True, error_model="numpy")
def search_rows(
    codes, rows, packed, in_order, features, columns, total, unit, least, start, stop, found_out
):
    """As ``search_features`` from the rows of a node, whose histograms nobody needs after it.

    They do not leave the nearest cache: see ``dense_histograms`` for how they are built.
    """
    _, n_bins, is_categorical = columns
    rooms = search_rooms()
    bins = np.empty((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        bins[:] = 0
        add_features(codes, rows, packed, in_order, features, f, stop, bins)
        for q in range(min(4, stop - f)):
            j = features[f + q]
            n = n_bins[j]
            bins[q, n] = bins[q, MISSING]
            found = search_one(bins[q], 0, n, is_categorical[j], total, unit, least, rooms)
            note_split(j, found, found_out)


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

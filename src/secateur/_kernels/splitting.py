"""Where the gain of a split is computed: the best split of each feature in a node.

With g and w the sums of gradients and weights of the rows left (L), right (R) and together, the
reduction of the squared error is twice the first part of Eq. 14 of GBFS:

    dSSE = g_L^2 / w_L + g_R^2 / w_R - g^2 / w
         = (g_L w_R - g_R w_L)^2 / (w_L w_R w)                      ``gain_of`` and ``score_of``

and a feature is chosen by dSSE / gain_unit - penalty * cost         ``pick_feature``

The second form has one division and no difference of large squares; a split and its mirror image
are exactly alike in it. The cost of a feature is the same for all its thresholds.

Notation
--------
j, f     feature, its position in a list
b        bin; those of a feature are ``bins[first : first + n]``, then comes the missing one
G, W     sums of gradients and weights as integers, packed as (G << 32) + W
g, w     G and W times the rounding ``steps`` = (1 / gradient scale, 1 / weight scale)
score    (G_L W_R - G_R W_L)^2 / (W_L W_R): dSSE but for a factor that all splits of a node share
left     packed sum of the left side
total    packed sum of the node
"""

import numpy as np
from numba import njit

from secateur._kernels.histogram import add_features
from secateur._kernels.records import MISSING, N_CODES

LANES = 16
"""Scores are computed so many at a time: a shorter rest would be done one by one."""

LOW = 0xFFFFFFFF
"""The lower half of a packed sum: the weight."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def score_of(g_l, w_l, total_g, total_w):
    """The score of a split, (G_L W_R - G_R W_L)^2 / (W_L W_R), of floats that hold integers."""
    g_r = total_g - g_l
    w_r = total_w - w_l
    d = g_l * w_r - g_r * w_l
    return d * d / (w_l * w_r)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def gain_of(score, total, steps):
    """The gain of a split: dSSE of a score (twice the first part of Eq. 14 of GBFS)."""
    return score / float(total & LOW) * (steps[0] * steps[0] / steps[1])


@njit(cache=True, nogil=True, error_model="numpy")
def scan_order(bins, first, n, order, m, total, min_weight):
    """The best prefix of the bins in ``order`` (m of them) as the left side.

    For each prefix first the missing rows to the right, then to the left; the first of equals
    wins. Returns (score, last position, missing left, packed left sum); ``min_weight`` is the
    smallest integer weight of a side.
    """
    total_g = float(total >> 32)
    total_w = total & LOW
    missing = bins[first + n]
    has_missing = missing & LOW > 0
    score, position, missing_left = -1.0, -1, 0
    best, left = np.int64(0), np.int64(0)
    for b in range(m if has_missing else m - 1):
        left += bins[first + order[b]]
        for with_missing in range(2 if has_missing and b < m - 1 else 1):
            side = left + missing * with_missing
            w = side & LOW
            if w >= min_weight and total_w - w >= min_weight:
                s = score_of(float(side >> 32), float(w), total_g, float(total_w))
                if s > score:
                    score, position, missing_left, best = s, b, with_missing, side
    return score, position, missing_left, best


@njit(cache=True, nogil=True, error_model="numpy")
def running_sums(bins, first, m, g_out, w_out):
    """Sums of the bins 0 .. b for b < m, as floats: exact, being integers below 2^53."""
    left = np.int64(0)
    for b in range(m):
        left += bins[first + b]
        g_out[b] = left >> 32
        w_out[b] = left & LOW


@njit(cache=True, nogil=True)
def left_sums(bins, first, n, left_out):
    """Packed sums up to each bin with rows, and how many."""
    left, m = np.int64(0), np.uint64(0)  # unsigned: no index is checked for being negative
    for b in range(np.uint64(first), np.uint64(first + n)):
        left += bins[b]
        left_out[m] = left  # without rows it is the sum before, to be written over
        m += np.uint64(bins[b] != 0)
    return np.int64(m)


@njit(cache=True, nogil=True, error_model="numpy")
def split_scores(left, m, total, min_weight, score_out):
    """``score_of`` each left side, -1 where a side weighs too little.

    Vectorised: halves of 32 bits become doubles four at a time, whole sums only one by one.
    """
    total_g, total_w = float(total >> 32), float(total & LOW)
    least, largest = float(min_weight), total_w - float(min_weight)
    for i in range(m):
        g, w = np.float64(np.int32(left[i] >> 32)), np.float64(np.uint32(left[i]))
        s = score_of(g, w, total_g, total_w)
        score_out[i] = s if (w >= least) & (w <= largest) else -1.0


@njit(cache=True, nogil=True)
def largest_bits(bits, m):
    """The largest score as an integer: doubles from 0 on are in the order of their bits.

    A maximum of integers is vectorised, one of doubles is not; -1 is below all scores.
    """
    best = bits[0]
    for i in range(1, m):
        best = max(best, bits[i])
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def best_score(bins, first, n, total, min_weight, buffers):
    """The best score of the bins in their order, without missing rows; see ``left_sums``."""
    left, score, bits, _ = buffers
    m = left_sums(bins, first, n, left)
    if m == 0:
        return -1.0
    n_lanes = (m + LANES - 1) // LANES
    left[m : LANES * n_lanes] = 0  # sides without weight: no splits
    split_scores(left, LANES * n_lanes, total, min_weight, score)
    m = LANES * n_lanes  # there is always room for one more
    score[m] = 0.0
    bits[m] = largest_bits(bits, m)
    return score[m]


@njit(cache=True, nogil=True, error_model="numpy")
def scan_bins(bins, first, n, total, min_weight, buffers):
    """As ``scan_order`` for the bins in their own order and no missing rows."""
    left, score = buffers[0], buffers[1]
    best = best_score(bins, first, n, total, min_weight, buffers)
    if best < 0.0:
        return best, -1, 0, np.int64(0)
    i = 0
    while score[i] != best:
        i += 1
    position, n_before = -1, -1
    while n_before < i:
        position += 1
        n_before += bins[first + position] != 0
    return best, position, 0, left[i]


@njit(cache=True, nogil=True, error_model="numpy")
def order_categories(bins, first, n, steps, order_out):
    """The bins with weight, by mean gradient and then by number; returns how many."""
    inv_g, inv_w = steps
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
def best_of_feature(bins, first, n, is_categorical, total, steps, min_weight, buffers):
    """The best split of a feature: (score, last position, missing left, packed left); no slices."""
    order = buffers[3]
    if is_categorical:
        m = order_categories(bins, first, n, steps, order)
    elif bins[first + n] & LOW == 0:
        return scan_bins(bins, first, n, total, min_weight, buffers)
    else:
        m = n
        for b in range(n):
            order[b] = b
    return scan_order(bins, first, n, order, m, total, min_weight)


@njit(cache=True, nogil=True, error_model="numpy")
def search_one(bins, first, n, is_categorical, total, steps, min_weight, buffers):
    """The best split of a feature.

    Returns (gain, split, divisible): dSSE or -1 where nothing is admissible; (last position of the
    left side, missing left, packed left sum); whether this node or one below can be split on it:
    all bins but the heaviest must weigh enough for a side.
    """
    nothing = (np.int64(-1), np.int64(0), np.int64(0))
    total_w = total & LOW
    # Often the first bin, such as the zeros of a sparse column, is too heavy.
    if total_w - (bins[first] & LOW) < min_weight:
        return -1.0, nothing, False
    divisible = True
    if is_categorical or bins[first + n] & LOW > 0:
        heaviest = np.int64(0)
        for b in range(first, first + n + 1):
            heaviest = max(heaviest, bins[b] & LOW)
        if total_w - heaviest < min_weight:
            return -1.0, nothing, False
    score, position, missing_left, left = best_of_feature(
        bins, first, n, is_categorical, total, steps, min_weight, buffers
    )
    gain = -1.0
    if position >= 0:
        gain = gain_of(score, total, steps)
        if not is_categorical:  # the middle of those that split the rows alike: beside empty bins
            last = position
            while last + 1 < n and bins[first + last + 1] & LOW == 0:
                last += 1
            position = (position + last) // 2
    elif not is_categorical and bins[first + n] & LOW == 0:
        divisible = False  # what splits a node below splits this one
    split = (np.int64(position), np.int64(missing_left), np.int64(left))
    return gain, split, divisible


@njit(cache=True, nogil=True)
def search_buffers():
    """Buffers for the search of one feature: left sums, scores, the bits of scores, order."""
    n = N_CODES + LANES
    score = np.empty(n)
    return np.empty(n, np.int64), score, score.view(np.int64), np.empty(N_CODES, np.int64)


@njit(cache=True, nogil=True, inline="always")
def note_split(j, found, found_out):
    """Store what was found for feature j; the split only where there is one."""
    gain_out, split_out, divisible_out = found_out
    gain, split, divisible = found
    gain_out[j] = gain
    divisible_out[j] = divisible
    if gain >= 0.0:
        split_out[j, 0], split_out[j, 1], split_out[j, 2] = split


@njit(cache=True, nogil=True, error_model="numpy")
def search_features(
    histogram, less, kept_out, features, columns, total, steps, min_weight, start, stop, found_out
):
    """The best split of the features start .. stop of the list in one node.

    ``histogram`` is the node's own, or that of its parent where ``less`` is its sibling's: the
    node's own is then written in its place. It is copied to ``kept``. Both may be empty.
    ``columns`` = (offset, n_bins, is_categorical). Output, by feature j: ``found`` = (gain, split,
    divisible) of ``search_one``.
    """
    offset, n_bins, is_categorical = columns
    buffers = search_buffers()
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
        found = search_one(
            histogram, first, n, is_categorical[j], total, steps, min_weight, buffers
        )
        note_split(j, found, found_out)


@njit(cache=True, nogil=True, error_model="numpy")
def search_rows(codes, node, features, columns, total, steps, min_weight, start, stop, found_out):
    """As ``search_features`` from ``node`` = (rows, packed, in_order): no histograms are stored."""
    rows, packed, in_order = node
    _, n_bins, is_categorical = columns
    buffers = search_buffers()
    bins = np.empty((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        bins[:] = 0
        add_features(codes, rows, packed, in_order, features, f, stop, bins)
        for q in range(min(4, stop - f)):
            j = features[f + q]
            n = n_bins[j]
            bins[q, n] = bins[q, MISSING]
            found = search_one(bins[q], 0, n, is_categorical[j], total, steps, min_weight, buffers)
            note_split(j, found, found_out)


@njit(cache=True, nogil=True)
def pick_feature(features, gain, used, costs, penalty, gain_unit, floor):
    """Of the listed features the one with the largest dSSE / gain_unit - penalty * cost (Eq. 14).

    Ties go to a used feature, then to the smaller index. Returns (feature, net gain); the feature
    is -1 where no net gain is positive.
    """
    best = 0.0
    feature = -1
    for f in range(features.shape[0]):
        j = features[f]
        if gain[j] <= floor:
            continue
        net = gain[j] / gain_unit - penalty * costs[j]
        if net > best or (feature >= 0 and net == best and used[j] and not used[feature]):
            best = net
            feature = j
    return feature, best

"""The best threshold of one feature in a node, from its bins.

Notation: ``b`` bin, ``G`` and ``W`` sums of gradients and weights as integers, packed as
(G << 32) + W. With g = G / gradient_scale and w = W / weight_scale the reduction of the squared
error is

    dSSE = g_L^2 / w_L + g_R^2 / w_R - g^2 / w               (gain of Eq. 14 of GBFS, times two)
         = (g_L w_R - g_R w_L)^2 / (w_L w_R w)

The second form has one division and no difference of large squares; a split and its mirror image
are exactly alike in it. Thresholds are compared by their score, (G_L W_R - G_R W_L)^2 / (W_L W_R).
The price of a feature is not known here: it is the same for all thresholds, so the best threshold
does not depend on it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

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
        s = score_of(float(left >> 32), float(w), total_g, float(total_w))
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

"""The best threshold of each feature in a node, from its histogram.

Notation: ``j`` feature, ``b`` bin, ``G`` and ``W`` sums of gradients and weights as integers. With
g = G / gradient_scale and w = W / weight_scale the reduction of the squared error is

    dSSE = g_L^2 / w_L + g_R^2 / w_R - g^2 / w                     (gain of Eq. 14 of GBFS, times two)

The price of a feature is not known here: it is the same for all thresholds, so the best threshold does
not depend on it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.records import N_CODES


@njit(cache=True, nogil=True, error_model="numpy")
def scan_order(pairs, order, m, missing_g, missing_w, total_g, total_w, unit, least, best):
    """The best prefix of the bins in ``order`` (m of them) as the left side; updates ``best``.

    For each prefix first the missing rows to the right, then to the left; the first of equals wins.
    ``best`` = (score, last position, missing left, G left, W left), ``unit`` = (1 / gradient scale,
    1 / weight scale), ``least`` the smallest integer weight of a side.
    """
    inv_g, inv_w = unit
    g_l = np.int64(0)
    w_l = np.int64(0)
    score, position, left, best_g, best_w = best
    has_missing = missing_w > 0
    last = m if has_missing else m - 1
    for b in range(last):
        g_l += pairs[order[b], 0]
        w_l += pairs[order[b], 1]
        w_r = total_w - w_l
        if w_l >= least and w_r >= least:
            l = g_l * inv_g
            r = (total_g - g_l) * inv_g
            s = l * l / (w_l * inv_w) + r * r / (w_r * inv_w)
            if s > score:
                score, position, left, best_g, best_w = s, b, 0, g_l, w_l
        if has_missing and b < m - 1:
            w_m = w_l + missing_w
            w_r = total_w - w_m
            if w_m >= least and w_r >= least:
                l = (g_l + missing_g) * inv_g
                r = (total_g - g_l - missing_g) * inv_g
                s = l * l / (w_m * inv_w) + r * r / (w_r * inv_w)
                if s > score:
                    score, position, left, best_g, best_w = s, b, 1, g_l + missing_g, w_m
    return score, position, left, best_g, best_w


@njit(cache=True, nogil=True, error_model="numpy")
def scan_plain(pairs, m, total_g, total_w, unit, least, scratch):
    """As ``scan_order`` for bins in their own order and no missing rows: the loop that matters.

    In steps, each free of branches and dependences but the first, so that divisions run side by side.
    """
    inv_g, inv_w = unit
    g_l = np.int64(0)
    w_l = np.int64(0)
    for b in range(m - 1):
        g_l += pairs[b, 0]
        w_l += pairs[b, 1]
        scratch[0, b] = g_l
        scratch[1, b] = w_l
    best = -1.0
    for b in range(m - 1):
        w_b = scratch[1, b]
        w_r = total_w - w_b
        l = scratch[0, b] * inv_g
        r = (total_g - scratch[0, b]) * inv_g
        # Integers below 2^53 are exact as floats, so these sums are those of ``scan_order``.
        s = l * l / (w_b * inv_w) + r * r / (w_r * inv_w)
        scratch[2, b] = s if (w_b >= least) & (w_r >= least) else -1.0
    position = -1
    for b in range(m - 1):
        if scratch[2, b] > best:
            best = scratch[2, b]
            position = b
    return best, position


@njit(cache=True, nogil=True, error_model="numpy")
def order_categories(pairs, n, unit, order_out):
    """The bins with weight, by mean gradient and then by number; returns how many."""
    inv_g, inv_w = unit
    keys = np.empty(n)
    m = 0
    for b in range(n):
        if pairs[b, 1] > 0:
            key = (pairs[b, 0] * inv_g) / (pairs[b, 1] * inv_w)
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
def best_of_feature(pairs, n, is_categorical, total_g, total_w, unit, least, scratch, order):
    """The best split of one feature: (score, last position in order, missing left, G left, W left)."""
    missing_g = pairs[n, 0]
    missing_w = pairs[n, 1]
    if is_categorical:
        m = order_categories(pairs, n, unit, order)
    elif missing_w == 0:
        score, position = scan_plain(pairs, n, total_g, total_w, unit, least, scratch)
        g_l = np.int64(0)
        w_l = np.int64(0)
        for b in range(position + 1):
            g_l += pairs[b, 0]
            w_l += pairs[b, 1]
        return score, position, 0, g_l, w_l
    else:
        m = n
        for b in range(n):
            order[b] = b
    nothing = (-1.0, -1, 0, np.int64(0), np.int64(0))
    return scan_order(pairs, order, m, missing_g, missing_w, total_g, total_w, unit, least, nothing)


@njit(cache=True, nogil=True, error_model="numpy")
def search_node(
    histogram,
    features,
    offset,
    n_bins,
    is_categorical,
    totals,
    unit,
    least,
    start,
    stop,
    gain_out,
    split_out,
):
    """The best split of the features start .. stop of the list in one node.

    Output, by feature j: ``gain[j]`` = dSSE or -1 where nothing is admissible, ``split[j]`` = (last position
    of the left side, missing left, G left, W left).
    """
    total_g, total_w = totals
    scratch = np.empty((3, N_CODES))
    order = np.empty(N_CODES, np.int64)
    own = total_g * unit[0]
    own = own * own / (total_w * unit[1])
    for f in range(start, stop):
        j = features[f]
        pairs = histogram[offset[j] : offset[j] + n_bins[j] + 1]
        score, position, left, g_l, w_l = best_of_feature(
            pairs, n_bins[j], is_categorical[j], total_g, total_w, unit, least, scratch, order
        )
        gain_out[j] = score - own if position >= 0 else -1.0
        split_out[j, 0] = position
        split_out[j, 1] = left
        split_out[j, 2] = g_l
        split_out[j, 3] = w_l


@njit(cache=True, nogil=True, error_model="numpy")
def subtract_features(parent, child, features, offset, n_bins, start, stop, sibling_out):
    """The sibling's histograms: the parent's less the child's. The output may be the parent."""
    for f in range(start, stop):
        j = features[f]
        for b in range(offset[j], offset[j] + n_bins[j] + 1):
            sibling_out[b, 0] = parent[b, 0] - child[b, 0]
            sibling_out[b, 1] = parent[b, 1] - child[b, 1]


@njit(cache=True, nogil=True, error_model="numpy")
def copy_features(source, features, offset, n_bins, start, stop, target_out):
    """Copy the histograms of the listed features."""
    for f in range(start, stop):
        j = features[f]
        target_out[offset[j] : offset[j] + n_bins[j] + 1] = source[
            offset[j] : offset[j] + n_bins[j] + 1
        ]

"""Rows as integers, and histograms of nodes: sums that do not depend on the order of the rows.

A row's weighted gradient and its weight (16 bits each at most) share one int64, gradient high:

    packed[i] = (rint(w g * gradient_scale) << 32) + rint(w * weight_scale)

The scales are such that the halves of the sum over all rows stay below 2^31 and 2^32: no sum over
any rows can overflow into the other half, and packed sums are added and subtracted as they are.
All features of a node are in one histogram; feature j begins at ``offset[j]``, has ``n_bins[j]``
bins and one more, the last, for missing values:

    histogram[offset[j] + b] = (sum of gradients << 32) + sum of weights

Only the requested features are written; the rest of the array keeps its content.

Notation
--------
i, r     position in the node or a list of rows, row
g, h, w  negative gradient, hessian, weight
q        a rounded number
j, f     feature, its position in a list
b        bin
c, h     codes and histogram of one feature
p        packed gradient and weight of a row
k        bundle: several columns of codes as one, whose codes are the combinations that occur;
         ``own[j, code]`` is the code of feature j in a code of its bundle ``column[j]``
"""

import numpy as np
from numba import njit

from secateur._kernels.records import MISSING, N_CODES


@njit(cache=True, nogil=True)
def largest_terms(g, h, w, rows, start, stop):
    """The largest |w g|, w g g and w h of some rows: what the scales are made of."""
    max_g, max_gg, max_h = 0.0, 0.0, 0.0
    for i in range(start, stop):
        r = rows[i]
        wg = w[r] * g[r]
        max_g = max(max_g, abs(wg))
        max_gg = max(max_gg, wg * g[r])
        max_h = max(max_h, abs(w[r] * h[r]))
    return max_g, max_gg, max_h


@njit(cache=True, nogil=True)
def sum_terms(g, w, rows, scale_g, scale_gg, start, stop):
    """Exact sums of |w g|, w g and w g g, each term rounded to a multiple of 1 / scale."""
    sum_abs, sum_g, sum_gg = np.int64(0), np.int64(0), np.int64(0)
    for i in range(start, stop):
        r = rows[i]
        wg = w[r] * g[r]
        q = np.int64(np.rint(wg * scale_g))
        sum_abs += abs(q)
        sum_g += q
        sum_gg += np.int64(np.rint(wg * g[r] * scale_gg))
    return sum_abs, sum_g, sum_gg


@njit(cache=True, nogil=True)
def pack_rows(g, w, quantised_weight, rows, scale, start, stop, packed_out):
    """Pack some rows, by row; returns their packed sum."""
    total = np.int64(0)
    for i in range(start, stop):
        r = rows[i]
        q = np.int64(np.rint(w[r] * g[r] * scale))
        packed_out[r] = (q << 32) + quantised_weight[r]
        total += packed_out[r]
    return total


@njit(cache=True, nogil=True)
def pack_rows_unbiased(g, w, quantised_weight, rows, scale, before, start, stop, packed_out):
    """The same for few steps: rounded up as often as the fraction says, by the number of the row.

    To the nearest step, many small gradients would all become zero. ``before`` rows come before the
    block; the random number of a row is that of ``sampling.shares_of``.
    """
    total = np.int64(0)
    for i in range(start, stop):
        r = rows[i]
        z = np.uint64(before + np.int64(r)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        share = np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
        q = np.int64(np.floor(w[r] * g[r] * scale + share))
        packed_out[r] = (q << 32) + quantised_weight[r]
        total += packed_out[r]
    return total


@njit(cache=True, nogil=True)
def sum_leaves(g, h, w, rows, bounds, scales, first, last, sums_out):
    """Exact sums of w g, w h and, if scaled, w of each leaf, ``rows[start:stop]`` by ``bounds``."""
    for leaf in range(first, last):
        sum_g, sum_h, sum_w = np.int64(0), np.int64(0), np.int64(0)
        for i in range(bounds[leaf, 0], bounds[leaf, 1]):
            r = rows[i]
            sum_g += np.int64(np.rint(w[r] * g[r] * scales[0]))
            sum_h += np.int64(np.rint(w[r] * h[r] * scales[1]))
            if scales[2] > 0.0:
                sum_w += np.int64(np.rint(w[r] * scales[2]))
        sums_out[leaf, 0], sums_out[leaf, 1], sums_out[leaf, 2] = sum_g, sum_h, sum_w


@njit(cache=True, nogil=True)
def add_leaf_values(rows, bounds, values, first, last, raw_out):
    """Add each leaf's value to the prediction of its rows."""
    for leaf in range(first, last):
        for i in range(bounds[leaf, 0], bounds[leaf, 1]):
            raw_out[rows[i]] += values[leaf]


@njit(cache=True, nogil=True)
def add_four(c0, c1, c2, c3, rows, packed, bins):
    """Four features in one pass over the rows, which are unsigned: no index is checked."""
    h0, h1, h2, h3 = bins[0], bins[1], bins[2], bins[3]
    for i in range(packed.shape[0]):
        p = packed[i]
        r = rows[i]
        h0[c0[r]] += p
        h1[c1[r]] += p
        h2[c2[r]] += p
        h3[c3[r]] += p


@njit(cache=True, nogil=True)
def add_four_in_order(c0, c1, c2, c3, packed, bins):
    """As ``add_four`` where the node holds all the rows in their order."""
    h0, h1, h2, h3 = bins[0], bins[1], bins[2], bins[3]
    for i in range(packed.shape[0]):
        p = packed[i]
        h0[c0[i]] += p
        h1[c1[i]] += p
        h2[c2[i]] += p
        h3[c3[i]] += p


@njit(cache=True, nogil=True)
def add_features(codes, rows, packed, in_order, features, f, stop, bins_out):
    """Packed sums by code of four features of a list; a short last group repeats its last one."""
    last = stop - 1
    c0 = codes[features[f]]
    c1 = codes[features[min(f + 1, last)]]
    c2 = codes[features[min(f + 2, last)]]
    c3 = codes[features[min(f + 3, last)]]
    if in_order:
        add_four_in_order(c0, c1, c2, c3, packed, bins_out)
    else:
        add_four(c0, c1, c2, c3, rows, packed, bins_out)


@njit(cache=True, nogil=True)
def dense_histograms(
    codes, rows, packed, in_order, features, offset, n_bins, start, stop, histogram_out
):
    """Histograms over a node; ``packed`` is in order of ``rows``, ``in_order``: 0, 1, 2, ..."""
    bins = np.zeros((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        add_features(codes, rows, packed, in_order, features, f, stop, bins)
        for q in range(min(4, stop - f)):
            j = features[f + q]
            first, n = offset[j], n_bins[j]
            histogram_out[first + n] = bins[q, MISSING]
            bins[q, MISSING] = 0
            for b in range(n):
                histogram_out[first + b] = bins[q, b]
                bins[q, b] = 0


@njit(cache=True, nogil=True)
def fill_zero_bins(features, offset, n_bins, zero_code, total, histogram_out):
    """Rows without a stored cell make the zero bin: the node's total less the other bins."""
    for f in range(features.shape[0]):
        j = features[f]
        rest = total
        for b in range(offset[j], offset[j] + n_bins[j] + 1):
            rest -= histogram_out[b]
        histogram_out[offset[j] + zero_code[j]] += rest


@njit(cache=True, nogil=True)
def sparse_by_row(
    row_start, row_bins, zero_code, packed, rows, features, offset, n_bins, histogram_out
):
    """Histograms of listed features (others to no effect) by stored cell; ``packed`` is by row."""
    histogram_out[:] = 0  # at once: faster than feature by feature
    total = np.int64(0)
    for i in range(rows.shape[0]):
        r = rows[i]
        p = packed[r]
        total += p
        for q in range(row_start[r], row_start[r + np.uint32(1)]):
            histogram_out[row_bins[q]] += p
    fill_zero_bins(features, offset, n_bins, zero_code, total, histogram_out)


@njit(cache=True, nogil=True)
def sparse_by_column(
    indptr, indices, codes, zero_code, packed, rows, features, offset, n_bins, histogram_out
):
    """As ``sparse_by_row`` column by column, where the listed features have few cells."""
    for f in range(features.shape[0]):
        j = features[f]
        histogram_out[offset[j] : offset[j] + n_bins[j] + 1] = 0
    inside = np.zeros(packed.shape[0], np.int64)
    total = np.int64(0)
    for i in range(rows.shape[0]):
        r = rows[i]
        inside[r] = packed[r]
        total += packed[r]
    for f in range(features.shape[0]):
        j = features[f]
        for i in range(indptr[j], indptr[j + 1]):
            place = offset[j] + min(np.int64(codes[i]), n_bins[j])
            histogram_out[place] += inside[indices[i]]
    fill_zero_bins(features, offset, n_bins, zero_code, total, histogram_out)


@njit(cache=True, nogil=True)
def spread_bins(bundled, column, own, features, offset, n_bins, start, stop, histogram_out):
    """Histograms of the features start .. stop of a list from packed sums ``bundled[k, c]``."""
    for f in range(start, stop):
        j = features[f]
        first, n, k = offset[j], n_bins[j], column[j]
        histogram_out[first : first + n + 1] = 0
        for c in range(N_CODES):
            histogram_out[first + min(np.int64(own[j, c]), n)] += bundled[k, c]


@njit(cache=True, nogil=True)
def spread_cells(bundled, column, own, features, places, histogram_out):
    """``histogram[places[f], cell * 256 + code]`` of features from those of the bundles."""
    for f in range(features.shape[0]):
        j = features[f]
        k = column[j]
        out = histogram_out[places[f]]
        out[:] = 0
        for first in range(0, out.shape[0], N_CODES):
            for c in range(N_CODES):
                out[first + own[j, c]] += bundled[k, first + c]

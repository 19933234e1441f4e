"""Histograms of nodes: for each feature and bin, the sums of gradients and of weights.

Notation: ``i`` position in the node, ``r`` row, ``j`` feature, ``b`` bin, ``s`` node. All features of a
node lie in one array of pairs; feature j begins at ``offset[j]``, has ``n_bins[j]`` bins and one more, the
last, for missing values:

    histogram[s, offset[j] + b] = (sum of gradients, sum of weights)          int64 both

Only the features asked for are written; the rest of the array holds what it held before.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.records import FLUSH_ROWS, MISSING, N_CODES


@njit(cache=True, nogil=True)
def flush(packed_bins, n_bins, first, histogram_out):
    """Empty packed sums into their two halves; the first time what was there is overwritten."""
    for b in range(n_bins + 1):
        c = b if b < n_bins else MISSING
        p = packed_bins[c]
        packed_bins[c] = 0
        if first:
            histogram_out[b, 0] = p >> 32
            histogram_out[b, 1] = p & 0xFFFFFFFF
        else:
            histogram_out[b, 0] += p >> 32
            histogram_out[b, 1] += p & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def add_four(c0, c1, c2, c3, rows, packed, bins):
    """Four features in one pass over the rows, each row read once.

    Unsigned rows and a loop from zero: no index can be negative, and none is tested for it.
    """
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
def dense_histograms(
    codes, rows, packed, in_order, features, offset, n_bins, start, stop, histogram_out
):
    """Histograms of the features start .. stop of the list over the rows of one node.

    ``packed`` is in the order of ``rows``. ``in_order`` says that ``rows`` is 0, 1, 2, ...
    """
    n = rows.shape[0]
    bins = np.zeros((4, N_CODES), np.int64)
    group = np.zeros(4, np.int64)
    for f in range(start, stop, 4):
        # A short last group repeats its last feature: always four streams, one loop to compile.
        for q in range(4):
            group[q] = features[min(f + q, stop - 1)]
        c0, c1, c2, c3 = codes[group[0]], codes[group[1]], codes[group[2]], codes[group[3]]
        # A node without rows still needs its zeros.
        for begin in range(0, max(n, 1), FLUSH_ROWS):
            end = min(begin + FLUSH_ROWS, n)
            part = packed[begin:end]
            if in_order:
                add_four_in_order(
                    c0[begin:end], c1[begin:end], c2[begin:end], c3[begin:end], part, bins
                )
            else:
                add_four(c0, c1, c2, c3, rows[begin:end], part, bins)
            for q in range(4):
                if f + q < stop:
                    j = group[q]
                    flush(bins[q], n_bins[j], begin == 0, histogram_out[offset[j] :])
                else:
                    bins[q] = 0


@njit(cache=True, nogil=True)
def sparse_histograms(
    indptr,
    indices,
    codes,
    zero_code,
    slot_of_row,
    packed,
    totals,
    features,
    offset,
    n_bins,
    start,
    stop,
    histogram_out,
):
    """Histograms of several nodes at once: one pass over the stored cells of each column.

    ``slot_of_row[r]`` is the node's place in the output, or -1; ``packed`` is by row; ``totals[s]`` are
    the two sums of the node. Rows without a stored cell make the zero bin: the totals less the rest.
    """
    n_slots = totals.shape[0]
    rest = np.empty_like(totals)
    for f in range(start, stop):
        j = features[f]
        first = offset[j]
        for s in range(n_slots):
            histogram_out[s, first : first + n_bins[j] + 1] = 0
        rest[:] = totals
        for i in range(indptr[j], indptr[j + 1]):
            r = indices[i]
            s = slot_of_row[r]
            if s < 0:
                continue
            g = packed[r] >> 32
            w = packed[r] & 0xFFFFFFFF
            b = first + min(np.int64(codes[i]), n_bins[j])
            histogram_out[s, b, 0] += g
            histogram_out[s, b, 1] += w
            rest[s, 0] -= g
            rest[s, 1] -= w
        for s in range(n_slots):
            histogram_out[s, first + zero_code[j], 0] += rest[s, 0]
            histogram_out[s, first + zero_code[j], 1] += rest[s, 1]

"""Sums of many columns as codes where the rows are in blocks: ranges, counts, codes.

Notation: ``i`` row, ``j`` feature, ``y`` group of the lowest level, ``u`` levels above it, ``f``
place in a list. The features of all lowest groups lie end to end in ``members``, group y from
``cut[y]`` to ``cut[y + 1]``; two neighbours make the group above them:

    u = 2   [          0          ]
    u = 1   [    0    ][    1    ]
    u = 0   [ 0 ][ 1 ] [ 2 ][ 3 ]        group y of the lowest level is in group y >> u

``first[u]`` is where the codes of the groups u levels up begin. A column enters a sum with values
from 0 to 4096, by its bins: bin b counts ``b * weight[j]``, a missing value ``MIDDLE``.

What ``grouping`` does in one go for all rows, in three: the range of every sum, then the weight of
each of 4096 steps of it, then the codes. Notation and layout are those of ``grouping``. ``what`` is
RANGES, COUNTS or CODES.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.histogram import add_features
from secateur._kernels.records import MISSING, N_CODES
from secateur._kernels.splitting import gain_of, scan_many

SPAN = 4096
"""The values of a column in a sum go from 0 to this, or nearly."""

MIDDLE = SPAN // 2
"""What a missing value adds."""

MOST_MEMBERS = 500_000
"""The most columns of a sum: 32 bits hold no more."""

N_FINE = 4096
"""Steps of equal width that sums are counted in, before these are joined to bins."""

TEST_BINS = 64
"""Bins of a sum, of about equal weight."""


@njit(cache=True, nogil=True)
def code_sums(v, w, total, codes_out):
    """The code of each sum: of 4096 steps of equal width, those of about equal weight together.

    A step goes to the bin that the middle of its rows belongs to.
    """
    low = v[0]
    high = v[0]
    for i in range(v.shape[0]):
        low = min(low, v[i])
        high = max(high, v[i])
    per_step = N_FINE / (np.float64(high) - np.float64(low) + 1.0)
    fine = np.empty(v.shape[0], np.uint16)
    filled = np.zeros(N_FINE)
    for i in range(v.shape[0]):
        fine[i] = np.uint16((np.float64(v[i]) - np.float64(low)) * per_step)
        filled[fine[i]] += w[i]
    code = np.empty(N_FINE, np.uint8)
    below = 0.0
    for q in range(N_FINE):
        middle = (below + 0.5 * filled[q]) * TEST_BINS / total
        code[q] = min(TEST_BINS - 1, np.int64(middle))
        below += filled[q]
    for i in range(v.shape[0]):
        codes_out[i] = code[fine[i]]


@njit(cache=True, nogil=True)
def add_dense(codes, weight, has_missing, sums):
    """Add one dense column to the sums."""
    if has_missing:
        for i in range(sums.shape[0]):
            c = np.int32(codes[i])
            sums[i] += np.int32(MIDDLE) if c == MISSING else c * weight
    else:
        for i in range(sums.shape[0]):
            sums[i] += np.int32(codes[i]) * weight


@njit(cache=True, nogil=True)
def add_sparse(indices, codes, zero_code, weight, first, last, sums):
    """Add the stored cells of one column, less what its zeros add: a constant changes no code."""
    zero = np.int32(zero_code) * weight
    for i in range(first, last):
        c = np.int32(codes[i])
        sums[indices[i]] += (np.int32(MIDDLE) if c == MISSING else c * weight) - zero


@njit(cache=True, nogil=True)
def finish_group(y, sums, first, w, total, codes_out):
    """Code the sum of a lowest group, and of all groups above that end with it.

    ``sums[u]`` is the sum so far of the group u levels up; it is empty again once it is coded.
    """
    n_levels = sums.shape[0]
    for u in range(n_levels):
        code_sums(sums[u], w, total, codes_out[first[u] + (y >> u)])
        if u + 1 < n_levels:
            for i in range(sums.shape[1]):
                sums[u + 1, i] += sums[u, i]
        sums[u, :] = 0
        if (y >> u) & 1 == 0:
            break  # the group above goes on


@njit(cache=True, nogil=True)
def pool_dense(
    codes, has_missing, weight, members, cut, first, w, total, start, stop, n_levels, codes_out
):
    """Codes of the groups start .. stop of the lowest level, and of all above them."""
    sums = np.zeros((n_levels, w.shape[0]), np.int32)
    for y in range(start, stop):
        for q in range(cut[y], cut[y + 1]):
            j = members[q]
            add_dense(codes[j], weight[j], has_missing[j], sums[0])
        finish_group(y, sums, first, w, total, codes_out)


@njit(cache=True, nogil=True)
def pool_sparse(
    indptr,
    indices,
    codes,
    zero_code,
    weight,
    members,
    cut,
    first,
    w,
    total,
    start,
    stop,
    n_levels,
    codes_out,
):
    """As ``pool_dense`` for columns of which only some cells are stored."""
    sums = np.zeros((n_levels, w.shape[0]), np.int32)
    for y in range(start, stop):
        for q in range(cut[y], cut[y + 1]):
            j = members[q]
            add_sparse(indices, codes, zero_code[j], weight[j], indptr[j], indptr[j + 1], sums[0])
        finish_group(y, sums, first, w, total, codes_out)


@njit(cache=True, nogil=True)
def pooled_histograms(codes, rows, packed, in_order, groups, start, stop, histogram_out):
    """``histogram[f]`` = packed sums by code of group ``groups[f]``, f from start to stop."""
    bins = np.empty((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        bins[:, :TEST_BINS] = 0
        add_features(codes, rows, packed, in_order, groups, f, stop, bins)
        for q in range(min(4, stop - f)):
            for b in range(TEST_BINS):
                histogram_out[f + q, b] = bins[q, b]


@njit(cache=True, nogil=True, error_model="numpy")
def pooled_gains(histogram, total, unit, least, start, stop, gain_out):
    """``gain[f]`` = dSSE of the best split of the histogram f, or -1 where none is admissible."""
    g_left = np.empty(TEST_BINS)
    w_left = np.empty(TEST_BINS)
    room = np.empty(TEST_BINS)
    for f in range(start, stop):
        score, position, _, _ = scan_many(
            histogram[f], 0, TEST_BINS, total, least, g_left, w_left, room
        )
        gain_out[f] = gain_of(score, total, unit) if position >= 0 else -1.0


RANGES = 0
COUNTS = 1
CODES = 2


@njit(cache=True, nogil=True)
def code_steps(filled, total, code_out):
    """The code of each step of a sum: steps of about equal weight together, as ``code_sums``."""
    below = 0.0
    for q in range(N_FINE):
        middle = (below + 0.5 * filled[q]) * TEST_BINS / total
        code_out[q] = min(TEST_BINS - 1, np.int64(middle))
        below += filled[q]


@njit(cache=True, nogil=True)
def visit_sum(what, v, w, g, place, low, high, filled, code, codes_out):
    """Do one of the three to the sum of group g, whose steps are at ``place``."""
    if what == RANGES:
        for i in range(v.shape[0]):
            low[g] = min(low[g], v[i])
            high[g] = max(high[g], v[i])
        return
    start = np.float64(low[g])
    per_step = N_FINE / (np.float64(high[g]) - start + 1.0)
    if what == COUNTS:
        for i in range(v.shape[0]):
            filled[place, np.uint16((np.float64(v[i]) - start) * per_step)] += w[i]
    else:
        for i in range(v.shape[0]):
            codes_out[g, i] = code[g, np.uint16((np.float64(v[i]) - start) * per_step)]


@njit(cache=True, nogil=True)
def visit_group(what, y, sizes, sums, first, w, low, high, filled, code, codes_out):
    """Visit the sum of a lowest group, and of all groups above that end with it.

    ``sizes`` = (start, m): of m lowest groups from start on the counts stand level after level.
    """
    start, m = sizes
    n_levels = sums.shape[0]
    for u in range(n_levels):
        place = ((y - start) >> u) + 2 * m - ((2 * m) >> u)
        visit_sum(what, sums[u], w, first[u] + (y >> u), place, low, high, filled, code, codes_out)
        if u + 1 < n_levels:
            for i in range(sums.shape[1]):
                sums[u + 1, i] += sums[u, i]
        sums[u, :] = 0
        if (y >> u) & 1 == 0:
            break  # the group above goes on


@njit(cache=True, nogil=True)
def visit_dense(
    what, codes, has_missing, weight, members, cut, first, w, start, stop, n_levels,
    low, high, filled, code, codes_out,
):  # fmt: skip
    """Visit the sums of the groups start .. stop of the lowest level, and of all above them."""
    sums = np.zeros((n_levels, w.shape[0]), np.int32)
    for y in range(start, stop):
        for q in range(cut[y], cut[y + 1]):
            j = members[q]
            add_dense(codes[j], weight[j], has_missing[j], sums[0])
        sizes = (start, stop - start)
        visit_group(what, y, sizes, sums, first, w, low, high, filled, code, codes_out)


@njit(cache=True, nogil=True)
def visit_sparse(
    what, indptr, indices, codes, zero_code, weight, members, cut, first, w, start, stop, n_levels,
    low, high, filled, code, codes_out,
):  # fmt: skip
    """As ``visit_dense`` for columns of which only some cells are stored."""
    sums = np.zeros((n_levels, w.shape[0]), np.int32)
    for y in range(start, stop):
        for q in range(cut[y], cut[y + 1]):
            j = members[q]
            add_sparse(indices, codes, zero_code[j], weight[j], indptr[j], indptr[j + 1], sums[0])
        sizes = (start, stop - start)
        visit_group(what, y, sizes, sums, first, w, low, high, filled, code, codes_out)

"""Sums of many columns as codes where the rows are in blocks: ranges, counts, codes.

What ``grouping`` does in one go for all rows, in three: the range of every sum, then the weight of
each of 4096 steps of it, then the codes. Notation and layout are those of ``grouping``. ``what`` is
RANGES, COUNTS or CODES.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from secateur._kernels.grouping import N_FINE, TEST_BINS, add_dense, add_sparse

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

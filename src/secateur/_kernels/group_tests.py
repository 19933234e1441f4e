"""Sums of groups of columns as codes, and the histograms and gains of these sums.

Notation
--------
i, j     row, feature
y        group of the lowest level; its features are ``members[cut[y] : cut[y + 1]]``
u        levels above the lowest
g        group of any level; those u levels up begin at ``first[u]``
f        position in a list of groups
v, w     sums of one group, by row; weights of rows, whole numbers
b        bin

Two neighbours make the group above them:

    u = 2   [          0          ]
    u = 1   [    0    ][    1    ]
    u = 0   [ 0 ][ 1 ] [ 2 ][ 3 ]        group y of the lowest level is in group y >> u

A column enters a sum with values from 0 to 4096: bin b counts ``b * per_bin[j]``, a missing value
``MIDDLE``. The range of a sum is cut into ``N_FINE`` steps of equal width; steps of about equal
weight together get one of ``TEST_BINS`` codes: at once (``CODES_AT_ONCE``), or where rows are in
blocks in three passes, ``RANGES``, ``COUNTS`` (the weight of each step) and ``CODES``.
"""

import numpy as np
from numba import njit

from secateur._kernels.histogram import add_features
from secateur._kernels.records import MISSING, N_CODES
from secateur._kernels.splitting import best_score, gain_of, search_buffers

SPAN = 4096  # the values of a column in a sum go from 0 to about this
MIDDLE = SPAN // 2  # what a missing value adds
MAX_MEMBERS = 500_000  # the largest number of columns in a sum of 32 bits
N_FINE = 4096  # steps of equal width in which the weight of a sum is counted
TEST_BINS = 64  # bins of a sum, of about equal weight
RANGES, COUNTS, CODES, CODES_AT_ONCE = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def code_steps(filled, total, code_out):
    """The code of each step, that of the middle of its rows: steps of equal weight together."""
    below = 0.0
    for q in range(N_FINE):
        middle = (below + 0.5 * filled[q]) * TEST_BINS / total
        code_out[q] = min(TEST_BINS - 1, np.int64(middle))
        below += filled[q]


@njit(cache=True, nogil=True)
def code_sums(v, w, total, codes_out):
    """The code of each sum, where all rows are at hand."""
    low, high = v[0], v[0]
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
    code_steps(filled, total, code)
    for i in range(v.shape[0]):
        codes_out[i] = code[fine[i]]


@njit(cache=True, nogil=True)
def add_dense(codes, per_bin, has_missing, sums):
    """Add one dense column to the sums."""
    if has_missing:
        for i in range(sums.shape[0]):
            c = np.int32(codes[i])
            sums[i] += np.int32(MIDDLE) if c == MISSING else c * per_bin
    else:
        for i in range(sums.shape[0]):
            sums[i] += np.int32(codes[i]) * per_bin


@njit(cache=True, nogil=True)
def add_sparse(indices, codes, zero_code, per_bin, first, last, sums):
    """Add the stored cells of one column, less what its zeros add: a constant changes no code."""
    zero = np.int32(zero_code) * per_bin
    for i in range(first, last):
        c = np.int32(codes[i])
        sums[indices[i]] += (np.int32(MIDDLE) if c == MISSING else c * per_bin) - zero


@njit(cache=True, nogil=True)
def visit_sum(what, v, total, g, q, arrays):
    """Do one of the four to the sum of group g; ``filled[q]`` are its steps."""
    w, low, high, filled, code, codes_out = arrays
    if what == CODES_AT_ONCE:
        code_sums(v, w, total, codes_out[g])
        return
    if what == RANGES:
        for i in range(v.shape[0]):
            low[g] = min(low[g], v[i])
            high[g] = max(high[g], v[i])
        return
    start = np.float64(low[g])
    per_step = N_FINE / (np.float64(high[g]) - start + 1.0)
    if what == COUNTS:
        for i in range(v.shape[0]):
            filled[q, np.uint16((np.float64(v[i]) - start) * per_step)] += w[i]
    else:
        for i in range(v.shape[0]):
            codes_out[g, i] = code[g, np.uint16((np.float64(v[i]) - start) * per_step)]


@njit(cache=True, nogil=True)
def visit_group(what, y, start, sums, first, total, arrays):
    """Visit the sum of a lowest group, and of all groups above that end with it.

    ``sums[u]`` is the sum so far of the group u levels up, zero again once it was visited. Of the
    lowest groups from start on, the counts stand level after level.
    """
    n_levels = sums.shape[0]
    m = 1 << (n_levels - 1)
    for u in range(n_levels):
        q = ((y - start) >> u) + 2 * m - ((2 * m) >> u)
        g = first[u] + (y >> u)
        visit_sum(what, sums[u], total, g, q, arrays)
        if u + 1 < n_levels:
            for i in range(sums.shape[1]):
                sums[u + 1, i] += sums[u, i]
        sums[u, :] = 0
        if (y >> u) & 1 == 0:
            break  # the group above goes on


@njit(cache=True, nogil=True)
def visit_dense(what, codes, has_missing, walk, total, start, arrays):
    """Visit the sums of the lowest groups from start on that have one top group, and of all above.

    ``walk`` has members, cut, first, per_bin and n_levels; ``arrays`` = (w; low, high, code and
    codes_out by group; filled by group below the top).
    """
    sums = np.zeros((walk.n_levels, arrays.weight.shape[0]), np.int32)
    for y in range(start, start + (1 << (walk.n_levels - 1))):
        for q in range(walk.cut[y], walk.cut[y + 1]):
            j = walk.members[q]
            add_dense(codes[j], walk.per_bin[j], has_missing[j], sums[0])
        visit_group(what, y, start, sums, walk.first, total, arrays)


@njit(cache=True, nogil=True)
def visit_sparse(what, held, walk, total, start, arrays):
    """As ``visit_dense`` for columns of which only some cells are stored."""
    sums = np.zeros((walk.n_levels, arrays.weight.shape[0]), np.int32)
    for y in range(start, start + (1 << (walk.n_levels - 1))):
        for q in range(walk.cut[y], walk.cut[y + 1]):
            j = walk.members[q]
            zero, first, last = held.zero_code[j], held.indptr[j], held.indptr[j + 1]
            add_sparse(held.indices, held.codes, zero, walk.per_bin[j], first, last, sums[0])
        visit_group(what, y, start, sums, walk.first, total, arrays)


@njit(cache=True, nogil=True)
def group_histograms(codes, rows, packed, in_order, groups, start, stop, histogram_out):
    """``histogram[f]`` = packed sums by code of group ``groups[f]``, f from start to stop."""
    bins = np.empty((4, N_CODES), np.int64)
    for f in range(start, stop, 4):
        bins[:, :TEST_BINS] = 0
        add_features(codes, rows, packed, in_order, groups, f, stop, bins)
        for q in range(min(4, stop - f)):
            for b in range(TEST_BINS):
                histogram_out[f + q, b] = bins[q, b]


@njit(cache=True, nogil=True, error_model="numpy")
def group_gains(histogram, total, steps, min_weight, start, stop, gain_out):
    """``gain[f]`` = dSSE of the best split of the histogram f, or -1 where none is admissible."""
    buffers = search_buffers()
    for f in range(start, stop):
        best = best_score(histogram[f], 0, TEST_BINS, total, min_weight, buffers)
        gain_out[f] = gain_of(best, total, steps) if best >= 0.0 else -1.0

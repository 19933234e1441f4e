"""Histograms of small tables: the bins of 32 features alternate and are searched side by side.

A block is ``LANES`` features with about as many bins. What is computed for one of them is computed
for all by the same vector instructions. Bin b of feature j is ``bins[offset[j] + b * LANES]``; the
last one, of number ``n_bins[j]``, is for missing values. Gains are those of ``splitting``, bit for
bit.

Notation
--------
k, l     block, lane; ``lanes[k, l]`` is a feature, -1 for none; the bins of a block are
         ``bins[first[k] : first[k + 1]]``
cells    ``cells[k, r, l]`` is the bin of row r
left     packed sums of the left sides of all lanes
own      the bins of one feature beside each other
"""

import numpy as np
from numba import njit

from secateur._kernels.records import N_CODES
from secateur._kernels.splitting import LOW, gain_of, score_of, search_buffers, search_one

LANES = 32
"""Fewer lanes wait for each other's sums; of more, the bins would leave the first cache."""


@njit(cache=True, nogil=True)
def add_cells(cells, n_lanes, packed, rows, bins_out):
    """Add the rows of a node to the bins of a block, of which the first lanes have features.

    Four lanes at a time, in a loop that is unrolled; the last of them may be without feature.
    """
    n_fours = np.uint64((n_lanes + 3) // 4)
    for i in range(rows.shape[0]):
        r = rows[i]
        p = packed[r]
        for four in range(n_fours):
            for l in range(4):
                lane = four * np.uint64(4) + np.uint64(l)
                bins_out[np.uint64(cells[r, lane]) * np.uint64(LANES) + lane] += p


@njit(cache=True, nogil=True)
def add_stored(row_start, row_bins, packed, rows, bins_out):
    """Add the stored cells of the rows of a node, at ``row_bins``; returns the packed sum."""
    total = np.int64(0)
    for i in range(rows.shape[0]):
        r = rows[i]
        p = packed[r]
        total += p
        for q in range(row_start[r], row_start[r + np.uint32(1)]):
            bins_out[row_bins[q]] += p
    return total


@njit(cache=True, nogil=True)
def add_zeros(base, features, offset, zero_code, total, bins_out):
    """Rows without a stored cell: the node's total less the other bins of each feature."""
    rest = np.full(LANES, total)
    for at in range(0, bins_out.shape[0], LANES):
        for l in range(LANES):
            rest[l] -= bins_out[np.uint64(at + l)]
    for l in range(LANES):
        j = features[l]
        if j >= 0:
            bins_out[offset[j] - base + np.int64(zero_code[j]) * LANES] += rest[l]


@njit(cache=True, nogil=True)
def copy_bins(bins, at, n, own_out):
    """The bins of one feature, with that of missing values, beside each other."""
    for b in range(n + 1):
        own_out[b] = bins[at + b * LANES]


@njit(cache=True, nogil=True, error_model="numpy")
def best_scores(bins, total, min_weight, left, score_out):
    """``score_of`` the best split of each lane in the order of its bins; -1 where there is none."""
    total_g, total_w = float(total >> 32), float(total & LOW)
    least, largest = float(min_weight), total_w - float(min_weight)
    for l in range(LANES):
        left[l], score_out[l] = 0, -1.0
    for b in range(bins.shape[0] // LANES):
        at = np.uint64(b * LANES)
        for l in range(LANES):
            side = left[l] + bins[at + np.uint64(l)]
            left[l] = side
            g, w = np.float64(np.int32(side >> 32)), np.float64(np.uint32(side))
            s = score_of(g, w, total_g, total_w)
            s = s if (w >= least) & (w <= largest) else -1.0
            score_out[l] = max(score_out[l], s)


@njit(cache=True, nogil=True)
def search_space():
    """Buffers of ``block_gains``: left sides, scores, bins of one feature, those of one search."""
    own = np.empty(N_CODES, np.int64)
    return np.empty(LANES, np.int64), np.empty(LANES), own, search_buffers()


@njit(cache=True, nogil=True, error_model="numpy")
def block_gains(bins, base, features, columns, total, steps, min_weight, space, gain_out):
    """The best gain of each feature of a block in a node, by feature; -1 where there is none.

    ``bins`` are those of the block, which begins at ``base``; ``columns`` = (offset, n_bins,
    is_categorical, whether a feature has categories or missing values).
    """
    offset, n_bins, is_categorical, is_special = columns
    left, score, own, buffers = space
    best_scores(bins, total, min_weight, left, score)
    for l in range(LANES):
        score[l] = gain_of(score[l], total, steps) if score[l] >= 0.0 else -1.0
    for l in range(LANES):
        j = features[l]
        if j < 0:
            continue
        gain_out[j] = score[l]
        if is_special[j]:
            copy_bins(bins, offset[j] - base, n_bins[j], own)
            gain_out[j], _, _ = search_one(
                own, 0, n_bins[j], is_categorical[j], total, steps, min_weight, buffers
            )

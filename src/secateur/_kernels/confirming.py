"""Which features left out of a tree would have changed it: all nodes in one pass over the rows.

The cells of a tree partition its rows; every node that was searched is one cell or the union of the
two nodes below it:

    node 0          [0 1 2 3]
    nodes 1, 2      [0 1] [2 3]          cells 0, 1, 2, 3

Notation
--------
i, r     position in a list of rows, row
f, j     position in a list of features, feature
b, c     bin, cell
q        node; ``cell[q]`` is its cell or -1, ``below[q]`` then the first of the two nodes below
"""

import numpy as np
from numba import njit

from secateur._kernels.records import MISSING, N_CODES
from secateur._kernels.splitting import (
    LOW,
    best_of_feature,
    gain_of,
    running_sums,
    search_buffers,
)


@njit(cache=True, nogil=True)
def clear_cells(n_bins, cells_out):
    """Clear the bins of one feature in all cells, and only those of codes that it has."""
    for first in range(0, cells_out.shape[0], N_CODES):
        cells_out[first : first + n_bins] = 0
        cells_out[first + MISSING] = 0


@njit(cache=True, nogil=True)
def dense_cells(codes, rows, place, packed, in_order, features, n_bins, places, histogram_out):
    """``histogram[places[f], c * 256 + code]`` = packed sum of the rows of cell c with that code.

    ``place``, where a row's cell begins in the histogram, and ``packed`` are by row; ``in_order``
    says that ``rows`` is 0, 1, 2, ... Only codes that a feature has, ``n_bins`` of it and the
    missing one, are written. Two features are added up in one pass.
    """
    spare = np.zeros(histogram_out.shape[1], np.int64)
    n = features.shape[0]
    for f in range(0, n, 2):
        h0 = histogram_out[places[f]]
        h1 = histogram_out[places[f + 1]] if f + 1 < n else spare
        clear_cells(n_bins[features[f]], h0)
        clear_cells(n_bins[features[min(f + 1, n - 1)]], h1)
        c0 = codes[features[f]]
        c1 = codes[features[min(f + 1, n - 1)]]
        if in_order:
            for i in range(packed.shape[0]):
                h0[place[i] + c0[i]] += packed[i]
                h1[place[i] + c1[i]] += packed[i]
        else:
            for i in range(rows.shape[0]):
                r = rows[i]
                h0[place[r] + c0[r]] += packed[r]
                h1[place[r] + c1[r]] += packed[r]


@njit(cache=True, nogil=True, inline="always")
def node_bins(cells, f, cell, below, q, n, bins_out):
    """The bins of node q, missing last: those of its cell, or of the two nodes below it."""
    first = q * N_CODES
    c = cell[q]
    if c >= 0:
        for b in range(n):
            bins_out[first + b] = cells[f, c * N_CODES + b]
        bins_out[first + n] = cells[f, c * N_CODES + MISSING]
    else:
        left = below[q] * N_CODES
        right = left + N_CODES
        for b in range(n + 1):
            bins_out[first + b] = bins_out[left + b] + bins_out[right + b]


@njit(cache=True, nogil=True, error_model="numpy")
def find_better(
    cells, features, n_bins, is_categorical, nodes, chosen, scale, steps, min_weight, better_out
):
    """Mark the features of the list that some node would have chosen instead of what it chose.

    ``nodes`` = (cell, below, totals) of the searched nodes in breadth-first order, ``chosen`` =
    (best, first_use, penalties): ``best[q]`` the net gain of node q's choice (0 for a leaf),
    ``first_use[q]`` the feature if node q was the first to use it (of equals the smaller index
    wins) or -1, ``penalties[q, f]`` penalty times cost, infinite where not allowed. ``scale`` =
    (unit of gain, smallest dSSE). A test without divisions leaves few pairs for the exact one.
    """
    cell, below, totals = nodes
    best, first_use, penalties = chosen
    inv_g, inv_w = steps
    per_gain, floor = scale
    to_integers = inv_w / (inv_g * inv_g)
    bins = np.empty(cell.shape[0] * N_CODES, np.int64)
    buffers = search_buffers()
    g_left, w_left = np.empty(N_CODES), np.empty(N_CODES)
    for f in range(features.shape[0]):
        j = features[f]
        n = n_bins[j]
        # Children come after their parents: from last to first, all sums are there.
        for q in range(cell.shape[0] - 1, -1, -1):
            node_bins(cells, f, cell, below, q, n, bins)
            if penalties[q, f] == np.inf:
                continue
            first = q * N_CODES
            if not is_categorical[j] and bins[first + n] & LOW == 0:
                total_w = totals[q] & LOW
                mean = (totals[q] >> 32) / total_w
                # Below any rounding of the exact gain.
                bound = (best[q] + penalties[q, f]) * per_gain * (1.0 - 1e-9) * to_integers
                running_sums(bins, first, n - 1, g_left, w_left)
                # dSSE = (g - mean w)^2 W / (w (W - w)) of a prefix, without a division
                n_above, W = 0, float(total_w)
                for b in range(n - 1):
                    s = g_left[b] - mean * w_left[b]
                    n_above += s * s * W > bound * w_left[b] * (W - w_left[b])
                if n_above == 0:
                    continue
            score, position, _, _ = best_of_feature(
                bins, first, n, is_categorical[j], totals[q], steps, min_weight, buffers
            )
            gain = gain_of(score, totals[q], steps)
            if position < 0 or gain <= floor:
                continue
            net = gain / per_gain - penalties[q, f]
            if net > best[q] or (net == best[q] and j < first_use[q]):
                better_out[f] = True
                break


@njit(cache=True, nogil=True, error_model="numpy")
def bound_gains(cells, n_bins, is_categorical, nodes, steps, gain_out):
    """Bounds of the gains of each feature in each node, from some of the rows; they add up.

    With sums over the rows of process w, and over all rows without an index,

        dSSE = G_L^2 / W_L + G_R^2 / W_R - G^2 / W
             <= sum_w (dSSE_w + G_w^2 / W_w) - G^2 / W

    for x^2 / y is convex and of degree one. ``gain[f, q]`` is the largest dSSE_w of feature f in
    node q, whatever the weight of the sides; the last row has G_w^2 / W_w. Categories are not
    bounded: their order differs from process to process.
    """
    cell, below = nodes
    bins = np.empty(cell.shape[0] * N_CODES, np.int64)
    buffers = search_buffers()
    last = gain_out.shape[0] - 1
    gain_out[:] = 0.0
    for f in range(n_bins.shape[0]):
        n = n_bins[f]
        for q in range(cell.shape[0] - 1, -1, -1):
            node_bins(cells, f, cell, below, q, n, bins)
            first = q * N_CODES
            total = np.int64(0)
            for b in range(n + 1):
                total += bins[first + b]
            if total & LOW == 0:
                continue
            if f == 0:
                g = float(total >> 32) * steps[0]
                gain_out[last, q] = g * g / (float(total & LOW) * steps[1])
            if is_categorical[f]:
                gain_out[f, q] = np.inf
                continue
            score, position, _, _ = best_of_feature(bins, first, n, False, total, steps, 1, buffers)
            if position >= 0:
                gain_out[f, q] = gain_of(score, total, steps)

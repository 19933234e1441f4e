"""Short tables by value: all nodes of a level are searched in one pass over the sorted rows.

Where a column has about as many bins as rows, histograms are mostly empty bins. Here the rows of a
feature are kept in the order of their codes, and a pass over them makes the sums of the left sides
of all nodes together. The gains are those of ``splitting.search_gains``, bit for bit. For columns
of numbers without missing values only.

Notation
--------
j, i     feature, position in the order of its codes
r, c     row, code: ``cells[j, i]`` = (r << 8) + c
q        node of the level; ``node_of[r]`` is that of row r, the number of nodes where it is in none
left     packed sum of the rows of a node so far
place    where the sums of the left sides of a node are written
"""

import numpy as np
from numba import njit

from secateur._kernels.records import N_CODES
from secateur._kernels.splitting import LANES, LOW, gain_of, largest_bits, split_scores


@njit(cache=True, nogil=True)
def sort_cells(codes, features, cells_out):
    """Rows and codes of the listed features in the order of their codes, rows in their order."""
    start = np.empty(N_CODES + 1, np.int64)
    for f in range(features.shape[0]):
        j = features[f]
        start[:] = 0
        for r in range(codes.shape[1]):
            start[np.int64(codes[j, r]) + 1] += 1
        for c in range(N_CODES):
            start[c + 1] += start[c]
        for r in range(codes.shape[1]):
            c = np.int64(codes[j, r])
            cells_out[j, start[c]] = (r << 8) + c
            start[c] += 1


@njit(cache=True, nogil=True)
def number_nodes(order, bounds, sums, min_weight, first, last, node_of_out, start_out):
    """Nodes of the rows of a level, none for those too light to be split; where sums begin.

    Each node has room for whole ``LANES``; the last is for rows that are in none.
    """
    node_of_out[:] = last - first
    start_out[0] = 0
    for q in range(first, last):
        here, size = q - first, 0
        if sums[q] & LOW >= 2 * min_weight:
            size = bounds[q, 1] - bounds[q, 0]
            for i in range(bounds[q, 0], bounds[q, 1]):
                node_of_out[order[i]] = here
        start_out[here + 1] = start_out[here] + (size + LANES - 1) // LANES * LANES


@njit(cache=True, nogil=True)
def left_sides(cells, packed, node_of, start, work, left_out):
    """Packed sums up to each code of each node, from ``start[q]`` on; ``work[0]``: their ends."""
    place, left, last = work
    for q in range(start.shape[0]):
        place[q], left[q], last[q] = start[q] - 1, 0, N_CODES
    for i in range(cells.shape[0]):
        r, c = cells[i] >> np.uint32(8), cells[i] & np.uint32(255)
        q = np.uint32(node_of[r])
        total, at = left[q] + packed[r], place[q] + np.uint64(c != last[q])
        left[q], last[q], place[q] = total, c, at
        left_out[at] = total  # of equal codes the last one is kept


@njit(cache=True, nogil=True, error_model="numpy")
def level_gains(
    cells, packed, features, node_of, start, totals, steps, min_weight, gain_out, divisible_out
):
    """The best gain of each listed feature in each node, ``gain_out[q, j]``; -1 if there is none.

    ``totals`` are the packed sums of the nodes; ``divisible_out`` as in ``search_gains``.
    """
    n_nodes = totals.shape[0]
    n_room = start[n_nodes] + cells.shape[1] + LANES
    left, score = np.zeros(n_room, np.int64), np.empty(n_room)
    bits, place = score.view(np.int64), np.empty(n_nodes + 1, np.uint64)
    work = (place, np.empty(n_nodes + 1, np.int64), np.empty(n_nodes + 1, np.uint32))
    for f in range(features.shape[0]):
        j = features[f]
        left_sides(cells[j], packed, node_of, start, work, left)
        for q in range(n_nodes):
            a, m = start[q], start[q + 1] - start[q]
            gain_out[q, j], divisible_out[q, j] = -1.0, False
            if m == 0:
                continue
            left[np.int64(place[q]) + 1 : a + m] = 0  # sides without weight: no splits
            split_scores(left[a : a + m], m, totals[q], min_weight, score)
            score[m] = 0.0
            bits[m] = largest_bits(bits, m)
            if score[m] >= 0.0:
                gain_out[q, j], divisible_out[q, j] = gain_of(score[m], totals[q], steps), True


@njit(cache=True, nogil=True)
def one_histogram(cells, packed, node_of, q, bins_out):
    """The histogram of one feature in a node of the level."""
    bins_out[:] = 0
    for i in range(cells.shape[0]):
        r = cells[i] >> 8
        if node_of[r] == q:
            bins_out[cells[i] & 255] += packed[r]


@njit(cache=True, nogil=True)
def still_divisible(features, divisible, is_split):
    """Those of the listed features that some node below a split can be split on."""
    kept, n = np.empty(features.shape[0], np.int64), 0
    for f in range(features.shape[0]):
        kept[n], is_divisible = features[f], False
        for q in range(is_split.shape[0]):
            is_divisible |= is_split[q] and divisible[q, features[f]]
        n += is_divisible
    return kept[:n]

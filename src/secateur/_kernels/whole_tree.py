"""One tree on a small table in one call: the same tree as growing level by level.

Only for features whose costs do not depend on each other. One function grows trees on both kinds of
codes; what differs is overloaded by their class.

Notation
--------
q        node, numbered breadth first; siblings have an odd and the next even number
j, f     feature, its position in a list
k        block of features, as in ``lanes``
bounds   ``bounds[q]`` = (start, stop) of the node's run of ``order``
slot     ``slot[q]`` = the row of its histogram
"""

import numpy as np
from numba import njit
from numba.extending import overload

from secateur._kernels.lanes import (
    LANES,
    add_cells,
    add_stored,
    add_zeros,
    block_gains,
    copy_bins,
    search_space,
)
from secateur._kernels.partition import sparse_column, split_dense
from secateur._kernels.records import N_CODES, DenseCodes
from secateur._kernels.splitting import LOW, order_categories, pick_feature, search_one


def add_block(codes, blocks, k, packed, rows, total, bins):
    """Make the bins of a block for the rows of a node; ``total`` is their packed sum."""
    chosen = add_dense if isinstance(codes, DenseCodes) else add_sparse
    chosen(codes, blocks, k, packed, rows, total, bins)


def begin_histogram(codes, packed, rows, histogram):
    """What is done for all blocks together before."""
    chosen = begin_dense if isinstance(codes, DenseCodes) else begin_sparse
    chosen(codes, packed, rows, histogram)


def codes_of(codes, j, buffer):
    """The codes of a feature, by row; those of a sparse column are written to the buffer."""
    chosen = dense_codes if isinstance(codes, DenseCodes) else sparse_codes
    return chosen(codes, j, buffer)


@overload(add_block)
def _add_block(codes, blocks, k, packed, rows, total, bins):
    return add_dense if codes.instance_class is DenseCodes else add_sparse


@overload(begin_histogram)
def _begin_histogram(codes, packed, rows, histogram):
    return begin_dense if codes.instance_class is DenseCodes else begin_sparse


@overload(codes_of)
def _codes_of(codes, j, buffer):
    return dense_codes if codes.instance_class is DenseCodes else sparse_codes


def add_dense(codes, blocks, k, packed, rows, total, bins):
    """All cells of the rows."""
    n_lanes = LANES
    while blocks[2][k, n_lanes - 1] < 0:
        n_lanes -= 1
    bins[:] = 0
    add_cells(blocks[3][k], n_lanes, packed, rows, bins)


def add_sparse(codes, blocks, k, packed, rows, total, bins):
    """The stored cells are there; all others are zeros."""
    offset, first, lanes, _ = blocks
    add_zeros(first[k], lanes[k], offset, codes.zero_code, total, bins)


def begin_dense(codes, packed, rows, histogram):
    """Nothing: blocks are made one by one, while they are in the cache."""


def begin_sparse(codes, packed, rows, histogram):
    """Stored cells, by row."""
    histogram[:] = 0
    add_stored(codes.row_start, codes.row_bins, packed, rows, histogram)


def dense_codes(codes, j, buffer):
    """They are there."""
    return codes.codes[j]


def sparse_codes(codes, j, buffer):
    """Those of stored cells and of zeros."""
    sparse_column(codes.indptr, codes.indices, codes.codes, codes.zero_code, j, buffer)
    return buffer


@njit(cache=True, nogil=True)
def fill_words(bins, first, n, is_categorical, split, steps, words_out):
    """The codes that go left, as 256 bits."""
    words_out[:] = 0
    order = np.arange(256)
    if is_categorical:
        order_categories(bins, first, n, steps, order)
    for b in range(split[0] + 1):
        words_out[order[b] >> 6] |= np.uint64(1) << np.uint64(order[b] & 63)
    if split[1] > 0:
        words_out[3] |= np.uint64(1) << np.uint64(63)


@njit(cache=True, nogil=True)
def forbid(features, used, room, costs):
    """Give features beyond the limits an infinite cost."""
    for f in range(features.shape[0]):
        j = features[f]
        if not used[j] and (room[0] <= 0 or not room[1] + costs[j] <= room[2]):
            costs[j] = np.inf


@njit(cache=True, nogil=True)
def evaluate_siblings(
    codes, shape, packed, order, steps, min_weight, q, first, nodes, histograms, space, gain
):
    """Evaluate the root, or two siblings from q on; returns the number of cells added up.

    The smaller sibling is built, the larger is the parent minus the smaller, in the parent's slot.
    """
    columns, blocks, _ = shape
    bounds, sums, slot = nodes
    _, starts, lanes, _ = blocks
    n_siblings = 1 if q == 0 else 2
    small = q
    if n_siblings == 2 and (sums[q + 1] & LOW) < (sums[q] & LOW):
        small = q + 1
    large = q if n_siblings == 1 else 2 * q + 1 - small
    gain[q - first : q - first + n_siblings] = -1.0
    if (sums[large] & LOW) < 2 * min_weight:
        return 0
    rows, its = order[bounds[small, 0] : bounds[small, 1]], histograms[slot[small]]
    begin_histogram(codes, packed, rows, its)
    for k in range(lanes.shape[0]):
        base, last = starts[k], starts[k + 1]
        bins = its[base:last]
        add_block(codes, blocks, k, packed, rows, sums[small], bins)
        if (sums[small] & LOW) >= 2 * min_weight:
            block_gains(
                bins, base, lanes[k], columns, sums[small], steps, min_weight, space,
                gain[small - first],
            )  # fmt: skip
        if n_siblings == 2:
            rest = histograms[slot[large]][base:last]
            for b in range(last - base):
                rest[b] -= bins[b]
            block_gains(
                rest, base, lanes[k], columns, sums[large], steps, min_weight, space,
                gain[large - first],
            )  # fmt: skip
    return rows.shape[0] * lanes.shape[0] * LANES


@njit(cache=True, nogil=True)
def evaluate_level(codes, shape, packed, order, steps, min_weight, level, nodes, space, gain):
    """Evaluate the nodes first .. last of a level; returns the number of cells added up.

    For tables whose histograms would leave the cache: none are stored.
    """
    columns, blocks, _ = shape
    bounds, sums, _ = nodes
    _, starts, lanes, _ = blocks
    own, n_cells = np.empty(N_CODES * LANES, np.int64), 0
    gain[: level[1] - level[0]] = -1.0
    for k in range(lanes.shape[0]):
        bins = own[: starts[k + 1] - starts[k]]
        for q in range(level[0], level[1]):
            if (sums[q] & LOW) >= 2 * min_weight:
                rows = order[bounds[q, 0] : bounds[q, 1]]
                add_block(codes, blocks, k, packed, rows, sums[q], bins)
                block_gains(
                    bins, starts[k], lanes[k], columns, sums[q], steps, min_weight, space,
                    gain[q - level[0]],
                )  # fmt: skip
                n_cells += rows.shape[0] * LANES
    return n_cells


@njit(cache=True, nogil=True)
def fill_bins(its_codes, n, packed, rows, bins_out):
    """The bins of one feature for the rows of a node."""
    bins_out[: n + 1] = 0
    for i in range(rows.shape[0]):
        bins_out[min(np.int64(its_codes[rows[i]]), n)] += packed[rows[i]]


@njit(cache=True, nogil=True)
def add_children(q, child, middle, left_sum, new_slot, bounds, sums, slot, left):
    """Two leaves below node q; the larger one takes over its slot."""
    bounds[child, 0], bounds[child, 1] = bounds[q, 0], middle
    bounds[child + 1, 0], bounds[child + 1, 1] = middle, bounds[q, 1]
    sums[child], sums[child + 1] = left_sum, sums[q] - left_sum
    left[q], left[child], left[child + 1] = child, -1, -1
    is_right_smaller = (sums[child + 1] & LOW) < (sums[child] & LOW)
    slot[child] = slot[q] if is_right_smaller else new_slot
    slot[child + 1] = new_slot if is_right_smaller else slot[q]


@njit(cache=True, nogil=True)
def grow_whole(codes, shape, packed, order, total, steps, min_weight, features, use, units,
               max_depth, buffers, tree_out):  # fmt: skip
    """Grow a tree; returns the number of its nodes and the number of cells added up.

    ``shape`` = (columns of ``block_gains``, blocks, whether nodes are evaluated by level), with
    blocks = (offset, first, lanes, cells) as in ``lanes``, cells of dense codes only.
    ``use`` = (used, costs by feature; room = features that may still be added, total cost, budget)
    changes with each first use; ``units`` = (penalty, unit of gain, floor). ``buffers`` =
    (histograms (slots, bins), gain (nodes of a level, features), column, scratch (rows,)).
    ``tree`` = (bounds, left, feature, split, gain, words), by node.
    """
    (offset, n_bins, is_categorical, _), _, by_level = shape
    used, costs, room = use
    penalty, gain_unit, floor = units
    histograms, gain, column, scratch = buffers
    bounds, left, split_on, split_of, gain_of, words = tree_out
    sums, slot = np.empty(bounds.shape[0], np.int64), np.zeros(bounds.shape[0], np.int64)
    nodes, space = (bounds, sums, slot), search_space()
    own, work = space[2], space[3]
    bounds[0, 0], bounds[0, 1], sums[0], left[0] = 0, order.shape[0], total, -1
    # not literals, for which the functions below would be compiled once more
    n_nodes, first, n_cells = np.int64(1), np.int64(0), 0
    for depth in range(max_depth):
        last = n_nodes
        if by_level:
            n_cells += evaluate_level(
                codes, shape, packed, order, steps, min_weight, (first, last), nodes, space, gain
            )
        for q in range(first, last):
            here = q - first
            if not by_level and (q == 0 or q % 2 == 1):  # siblings are evaluated together
                n_cells += evaluate_siblings(
                    codes, shape, packed, order, steps, min_weight, q, first, nodes, histograms,
                    space, gain,
                )  # fmt: skip
            j, _ = pick_feature(features, gain[here], used, costs, penalty, gain_unit, floor)
            if j < 0:
                continue
            if not used[j]:
                room[0], room[1] = room[0] - 1.0, room[1] + costs[j]
                used[j], costs[j] = True, 0.0
                if room[0] <= 0 or room[2] < np.inf:
                    forbid(features, used, room, costs)
            start, stop = bounds[q, 0], bounds[q, 1]
            its_codes = codes_of(codes, j, column)
            if by_level:
                fill_bins(its_codes, n_bins[j], packed, order[start:stop], own)
            else:
                copy_bins(histograms[slot[q]], offset[j], n_bins[j], own)
            _, chosen, _ = search_one(
                own, 0, n_bins[j], is_categorical[j], sums[q], steps, min_weight, work
            )
            fill_words(own, 0, n_bins[j], is_categorical[j], chosen, steps, words[q])
            middle = split_dense(its_codes, words[q], order, start, stop, scratch)
            split_on[q], gain_of[q] = j, gain[here, j]
            split_of[q, 0], split_of[q, 1] = chosen[0], chosen[1]
            # below the last level there is no histogram, and no slot for one
            new_slot = (n_nodes + 1) // 2 if depth + 1 < max_depth else 0
            add_children(q, n_nodes, middle, chosen[2], new_slot, bounds, sums, slot, left)
            n_nodes += 2
        first = last
        if n_nodes == last:
            break
    return n_nodes, n_cells

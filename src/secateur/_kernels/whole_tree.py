"""One tree on a small table in one call: the same tree as growing level by level.

Only for features whose costs do not depend on each other. One function grows trees on both kinds of
codes; what differs is overloaded by their class.

Notation
--------
q        node, numbered breadth first; siblings have an odd and the next even number
j, f     feature, its position in a list
bounds   ``bounds[q]`` = (start, stop) of the node's run of ``order``
slot     ``slot[q]`` = the row of its histogram
asked    features that the parent could still be split on: siblings share the list
"""

import numpy as np
from numba import njit
from numba.extending import overload

from secateur._kernels.histogram import (
    dense_by_row,
    dense_histograms,
    sparse_by_column,
    sparse_by_row,
)
from secateur._kernels.partition import gather, sparse_column, split_dense
from secateur._kernels.records import N_CODES, DenseCodes
from secateur._kernels.splitting import (
    LOW,
    order_categories,
    pick_feature,
    search_buffers,
    search_gains,
    search_one,
)
from secateur._kernels.value_order import (
    level_gains,
    number_nodes,
    one_histogram,
    still_divisible,
)

COLUMN_FACTOR = 3
"""By column a stored cell costs this much more: cells of rows outside the node are read too."""


def build(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    """The histogram of a node; ``ordered`` is a buffer for packed rows in the node's order."""
    chosen = build_dense if isinstance(codes, DenseCodes) else build_sparse
    chosen(codes, columns, packed, order, start, stop, features, ordered, histogram_out)


def partition_rows(codes, j, words, order, start, stop, column, scratch):
    """Partition a node's rows; returns where the right side begins. ``column`` is a buffer."""
    chosen = partition_dense if isinstance(codes, DenseCodes) else partition_sparse
    return chosen(codes, j, words, order, start, stop, column, scratch)


@overload(build)
def _build(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    return build_dense if codes.instance_class is DenseCodes else build_sparse


@overload(partition_rows)
def _partition_rows(codes, j, words, order, start, stop, column, scratch):
    return partition_dense if codes.instance_class is DenseCodes else partition_sparse


def build_dense(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    """All cells of the node's rows; by column where few of the features are asked for."""
    offset, n_bins, _, row_bins, _ = columns
    if 2 * features.shape[0] > row_bins.shape[1] > 0:
        dense_by_row(row_bins, packed, order[start:stop], histogram_out)
        return
    gather(packed, order, start, stop, ordered)
    in_order = stop - start == packed.shape[0]  # all rows
    dense_histograms(
        codes.codes, order[start:stop], ordered[start:stop], in_order, features, offset, n_bins,
        np.int64(0), features.shape[0], histogram_out,
    )  # fmt: skip


def partition_dense(codes, j, words, order, start, stop, column, scratch):
    """By the codes of the column."""
    return split_dense(codes.codes[j], words, order, start, stop, scratch)


def build_sparse(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    """Stored cells by row or, where the features have few of them, by column."""
    offset, n_bins, _, _, _ = columns
    indptr, rows = codes.indptr, order[start:stop]
    n_by_column = 0
    for f in range(features.shape[0]):
        n_by_column += indptr[features[f] + 1] - indptr[features[f]]
    n_by_row = rows.shape[0] * codes.indices.shape[0] / packed.shape[0]
    if COLUMN_FACTOR * n_by_column < n_by_row:
        sparse_by_column(
            indptr, codes.indices, codes.codes, codes.zero_code, packed, rows, features, offset,
            n_bins, histogram_out,
        )  # fmt: skip
    else:
        sparse_by_row(
            codes.row_start, codes.row_bins, codes.zero_code, packed, rows, features, offset,
            n_bins, histogram_out,
        )  # fmt: skip


def partition_sparse(codes, j, words, order, start, stop, column, scratch):
    """By the codes of all rows, written to a buffer."""
    sparse_column(codes.indptr, codes.indices, codes.codes, codes.zero_code, j, column)
    return split_dense(column, words, order, start, stop, scratch)


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
    codes, columns, packed, order, steps, min_weight, asked, q, first, nodes, buffers, work
):
    """Evaluate the root, or two siblings from q on; returns the number of cells added up.

    The smaller sibling is built, the larger is the parent minus the smaller, in the parent's slot.
    ``work`` are buffers of the search.
    """
    bounds, sums, slot = nodes
    histograms, gain, divisible, _, _, ordered = buffers
    n_siblings = 1 if q == 0 else 2
    small = q
    if n_siblings == 2 and (sums[q + 1] & LOW) < (sums[q] & LOW):
        small = q + 1
    large = q if n_siblings == 1 else 2 * q + 1 - small
    if (sums[large] & LOW) < 2 * min_weight:
        gain[q - first : q - first + n_siblings] = -1.0
        return 0
    start, stop = bounds[small, 0], bounds[small, 1]
    built, none = histograms[slot[small]], histograms[0][:0]
    build(codes, columns, packed, order, start, stop, asked, ordered, built)
    a, b = small - first, large - first
    search_gains(
        built, none, asked, columns[:3], sums[small], steps, min_weight, work, gain[a],
        divisible[a],
    )  # fmt: skip
    if n_siblings == 2:
        search_gains(
            histograms[slot[large]], built, asked, columns[:3], sums[large], steps, min_weight,
            work, gain[b], divisible[b],
        )  # fmt: skip
    return (stop - start) * asked.shape[0]


@njit(cache=True, nogil=True)
def evaluate_level(cells, packed, order, steps, min_weight, listed, level, nodes, node_of, buffers):
    """Evaluate all nodes of a level = (first, last) by value; returns the number of cells."""
    first, last = level
    bounds, sums, _ = nodes
    start = np.empty(last - first + 1, np.int64)
    number_nodes(order, bounds, sums, min_weight, first, last, node_of, start)
    level_gains(
        cells, packed, listed, node_of, start, sums[first:last], steps, min_weight, buffers[1],
        buffers[2],
    )  # fmt: skip
    return order.shape[0] * listed.shape[0]


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
def grow_whole(codes, columns, packed, order, total, steps, min_weight, features, use, units,
               max_depth, buffers, tree_out):  # fmt: skip
    """Grow a tree; returns the number of its nodes and the number of cells added up.

    ``columns`` = (offset, n_bins, is_categorical, row_bins of ``dense_by_row`` or empty, cells of
    ``level_gains`` or empty: by value there are no histograms).
    ``use`` = (used, costs by feature; room = features that may still be added, total cost, budget)
    changes with each first use; ``units`` = (penalty, unit of gain, floor). ``buffers`` =
    (histograms (slots, bins); gain, divisible (nodes of a level, features); column, scratch,
    ordered (rows,)). ``tree`` = (bounds, left, feature, split, gain, words), by node.
    """
    offset, n_bins, is_categorical, _, cells = columns
    used, costs, room = use
    penalty, gain_unit, floor = units
    histograms, gain, divisible, column, scratch, _ = buffers
    bounds, left, split_on, split_of, gain_of, words = tree_out
    sums, slot = np.empty(bounds.shape[0], np.int64), np.zeros(bounds.shape[0], np.int64)
    nodes, work = (bounds, sums, slot), search_buffers()
    by_value, listed = cells.shape[0] > 0, features
    node_of, own = np.empty(packed.shape[0], np.uint8), np.empty(N_CODES, np.int64)
    lists = [features]  # of the root, and then of the two children of each split in turn
    bounds[0, 0], bounds[0, 1], sums[0], left[0] = 0, order.shape[0], total, -1
    # not literals, for which the functions below would be compiled once more
    n_nodes, first, n_cells = np.int64(1), np.int64(0), 0
    for depth in range(max_depth):
        last = n_nodes
        if by_value:
            n_cells += evaluate_level(
                cells, packed, order, steps, min_weight, listed, (first, last), nodes, node_of,
                buffers,
            )  # fmt: skip
        for q in range(first, last):
            here, asked = q - first, lists[(q + 1) // 2]
            if not by_value and (q == 0 or q % 2 == 1):  # siblings are evaluated together
                n_cells += evaluate_siblings(
                    codes, columns, packed, order, steps, min_weight, asked, q, first, nodes,
                    buffers, work,
                )  # fmt: skip
            j, _ = pick_feature(asked, gain[here], used, costs, penalty, gain_unit, floor)
            if j < 0:
                continue
            if not used[j]:
                room[0], room[1] = room[0] - 1.0, room[1] + costs[j]
                used[j], costs[j] = True, 0.0
                if room[0] <= 0 or room[2] < np.inf:
                    forbid(features, used, room, costs)
            bins, at = own, 0
            if by_value:
                one_histogram(cells[j], packed, node_of, here, own)
            else:
                bins, at = histograms[slot[q]], offset[j]
            _, chosen, _ = search_one(
                bins, at, n_bins[j], is_categorical[j], sums[q], steps, min_weight, work
            )
            fill_words(bins, at, n_bins[j], is_categorical[j], chosen, steps, words[q])
            middle = partition_rows(
                codes, j, words[q], order, bounds[q, 0], bounds[q, 1], column, scratch
            )
            split_on[q], gain_of[q] = j, gain[here, j]
            split_of[q, 0], split_of[q, 1] = chosen[0], chosen[1]
            # below the last level there is no histogram, and no slot for one
            new_slot = (n_nodes + 1) // 2 if depth + 1 < max_depth else 0
            add_children(q, n_nodes, middle, chosen[2], new_slot, bounds, sums, slot, left)
            lists.append(asked[divisible[here][asked]])
            n_nodes += 2
        if by_value:
            listed = still_divisible(listed, divisible, left[first:last] >= 0)
        first = last
        if n_nodes == last:
            break
    return n_nodes, n_cells

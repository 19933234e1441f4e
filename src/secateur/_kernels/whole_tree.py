"""One tree on a small table in one call: all nodes, no interpreter in between.

The same tree as growing level by level gives, from the same kernels, where a feature's price does
not depend on others. On small or sparse tables a node takes less time than the interpreter needs to
ask for it. One body grows on both kinds of codes: what differs is overloaded by their class.

Notation: ``q`` node, ``j`` feature. Nodes are numbered breadth first; siblings have odd and even
numbers side by side, and share the list of features that their parent could still be split on:

    bounds[q] = (start, stop) of its run of ``order``,   slot[q] = the row of its histogram
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from secateur._kernels.histogram import dense_histograms, sparse_by_column, sparse_by_row
from secateur._kernels.partition import gather, sparse_column, split_dense
from secateur._kernels.records import DenseCodes
from secateur._kernels.scanning import LOW, order_categories
from secateur._kernels.splitting import pick_feature, search_features

COLUMN_PRICE = 3
"""By column a stored cell costs so much more: those of rows outside the node are looked at too."""


def build(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    """The histogram of a node; ``ordered`` is room for packed rows in the node's order."""
    raise NotImplementedError  # compiled code only


def part_rows(codes, j, words, order, start, stop, column, scratch):
    """Part a node's rows; returns where the right side begins. ``column`` is room for codes."""
    raise NotImplementedError  # compiled code only


def is_dense(codes):
    """Whether a type that numba asks about holds the codes of all cells."""
    return codes.instance_class is DenseCodes


@overload(build)
def _build(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    return build_dense if is_dense(codes) else build_sparse


@overload(part_rows)
def _part_rows(codes, j, words, order, start, stop, column, scratch):
    return part_dense if is_dense(codes) else part_sparse


def build_dense(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    """All cells of the node's rows."""
    offset, n_bins, _ = columns
    gather(packed, order, start, stop, ordered)
    dense_histograms(
        codes.codes,
        order[start:stop],
        ordered[start:stop],
        stop - start == packed.shape[0],  # all rows, and so in their order
        features,
        offset,
        n_bins,
        0,
        features.shape[0],
        histogram_out,
    )


def part_dense(codes, j, words, order, start, stop, column, scratch):
    """By the codes as they are."""
    return split_dense(codes.codes[j], words, order, start, stop, scratch)


def build_sparse(codes, columns, packed, order, start, stop, features, ordered, histogram_out):
    """Stored cells by row or, where the features have few of them, by column."""
    offset, n_bins, _ = columns
    indptr, rows = codes.indptr, order[start:stop]
    n_by_column = 0
    for f in range(features.shape[0]):
        n_by_column += indptr[features[f] + 1] - indptr[features[f]]
    n_by_row = rows.shape[0] * codes.indices.shape[0] / packed.shape[0]
    if COLUMN_PRICE * n_by_column < n_by_row:
        sparse_by_column(
            indptr, codes.indices, codes.codes, codes.zero_code, packed, rows, features, offset,
            n_bins, histogram_out,
        )  # fmt: skip
    else:
        sparse_by_row(
            codes.row_start, codes.row_bins, codes.zero_code, packed, rows, features, offset,
            n_bins, histogram_out,
        )  # fmt: skip


def part_sparse(codes, j, words, order, start, stop, column, scratch):
    """By the codes of all rows, written out."""
    sparse_column(codes.indptr, codes.indices, codes.codes, codes.zero_code, j, column)
    return split_dense(column, words, order, start, stop, scratch)


@njit(cache=True, nogil=True)
def fill_words(bins, first, n, is_categorical, split, unit, words_out):
    """The codes that go left, as 256 bits."""
    words_out[:] = 0
    last = split[0]
    if is_categorical:
        order = np.empty(256, np.int64)
        order_categories(bins, first, n, unit, order)
        for b in range(last + 1):
            words_out[order[b] >> 6] |= np.uint64(1) << np.uint64(order[b] & 63)
    else:
        for b in range(last + 1):
            words_out[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    if split[1] > 0:
        words_out[3] |= np.uint64(1) << np.uint64(63)


@njit(cache=True, nogil=True)
def divisible_of(features, divisible):
    """The listed features that a node, or one below it, could be split on."""
    kept = np.empty(features.shape[0], np.int64)
    n = 0
    for f in range(features.shape[0]):
        if divisible[features[f]]:
            kept[n] = features[f]
            n += 1
    return kept[:n].copy()


@njit(cache=True, nogil=True)
def forbid(features, used, n_left, spent, budget, prices):
    """Make what can no longer be bought infinitely dear."""
    for f in range(features.shape[0]):
        j = features[f]
        if not used[j] and (n_left <= 0 or not spent + prices[j] <= budget):
            prices[j] = np.inf


@njit(cache=True, nogil=True)
def siblings(q, sums):
    """The lighter and the heavier of node q and the next, q of equals first; the root is both."""
    if q == 0:
        return q, q
    if (sums[q + 1] & LOW) < (sums[q] & LOW):
        return q + 1, q
    return q, q + 1


@njit(cache=True, nogil=True)
def search_family(codes, columns, packed, order, bounds, sums, slot, small, large, first, asked,
                  unit, least, room):  # fmt: skip
    """Find the best splits of two siblings, or of the root; gives the cells that were added up.

    The histogram of the smaller is built; the larger has its parent's slot, less that.
    """
    histograms, gain, split, divisible, _, _, ordered = room
    none = histograms[0][:0]
    n_asked = asked.shape[0]
    start, stop = bounds[small, 0], bounds[small, 1]
    built = histograms[slot[small]]
    build(codes, columns, packed, order, start, stop, asked, ordered, built)
    a, b = small - first, large - first
    search_features(
        built, none, none, asked, columns, sums[small], unit, least, 0, n_asked,
        (gain[a], split[a], divisible[a]),
    )  # fmt: skip
    if small != large:
        search_features(
            histograms[slot[large]], built, none, asked, columns, sums[large], unit, least, 0,
            n_asked, (gain[b], split[b], divisible[b]),
        )  # fmt: skip
    return (stop - start) * n_asked


@njit(cache=True, nogil=True)
def book_children(q, child, middle, left_sum, bounds, sums, parent, left):
    """Note the two nodes that node q is parted into: their rows and sums."""
    bounds[child, 0], bounds[child, 1] = bounds[q, 0], middle
    bounds[child + 1, 0], bounds[child + 1, 1] = middle, bounds[q, 1]
    sums[child], sums[child + 1] = left_sum, sums[q] - left_sum
    for each in (child, child + 1):
        parent[each], left[each] = q, -1


@njit(cache=True, nogil=True)
def grow_whole(codes, columns, packed, order, total, unit, least, features, used, prices, deal,
                max_depth, room, tree_out):  # fmt: skip
    """Grow a tree; gives the number of its nodes and the cells that were added up.

    ``deal`` = (penalty, unit of gain, floor, features that may still be bought, spent, budget);
    ``used`` and ``prices`` (by feature) change with each purchase. ``room`` = (histograms (slots,
    bins); gain, split, divisible (nodes of a level, features); column, scratch, ordered (rows,)).
    ``tree`` = (bounds, left, feature, split, gain,
    words), by node.
    """
    offset, n_bins, is_categorical = columns
    penalty, unit_of_gain, floor, n_left, spent, budget = deal
    histograms, gain, split, divisible, column, scratch, _ = room
    bounds, left, split_on, split_of, gain_of, words = tree_out
    sums = np.empty(bounds.shape[0], np.int64)
    slot = np.full(bounds.shape[0], -1, np.int64)
    parent = np.zeros(bounds.shape[0], np.int64)
    lists = [features]  # of the root's family, and then of each node's that was split
    listed = np.zeros(bounds.shape[0], np.int64)  # which of the lists the children of a node have
    bounds[0, 0], bounds[0, 1] = 0, order.shape[0]
    sums[0], left[0], slot[0] = total, -1, 0
    n_nodes, n_slots, first, n_cells = 1, 1, 0, 0
    for _ in range(max_depth):
        last = n_nodes
        for q in range(first, last):
            here = q - first
            is_root = q == 0
            if is_root or q % 2 == 1:  # a family is evaluated as its first node comes up
                mother = parent[q]
                asked = lists[0] if is_root else lists[listed[mother]]
                small, large = siblings(q, sums)
                if (sums[large] & LOW) < 2 * least:
                    gain[here : here + (1 if is_root else 2), :] = -1.0
                else:
                    if not is_root:
                        slot[small], slot[large] = n_slots, slot[mother]
                        n_slots += 1
                    n_cells += search_family(
                        codes, columns, packed, order, bounds, sums, slot, small, large, first,
                        asked, unit, least, room,
                    )  # fmt: skip
            else:
                asked = lists[listed[parent[q]]]
            j, _ = pick_feature(asked, gain[here], used, prices, penalty, unit_of_gain, floor)
            if j < 0:
                continue
            if not used[j]:
                n_left -= 1
                spent += prices[j]
                used[j], prices[j] = True, 0.0
                if n_left <= 0 or budget < np.inf:
                    forbid(features, used, n_left, spent, budget, prices)
            bins = histograms[slot[q]]
            fill_words(
                bins, offset[j], n_bins[j], is_categorical[j], split[here, j], unit, words[q]
            )
            start, stop = bounds[q, 0], bounds[q, 1]
            middle = part_rows(codes, j, words[q], order, start, stop, column, scratch)
            left[q], split_on[q], gain_of[q] = n_nodes, j, gain[here, j]
            split_of[q, 0], split_of[q, 1] = split[here, j, 0], split[here, j, 1]
            listed[q] = len(lists)
            lists.append(divisible_of(asked, divisible[here]))
            book_children(q, n_nodes, middle, split[here, j, 2], bounds, sums, parent, left)
            n_nodes += 2
        first = last
        if n_nodes == last:
            break
    return n_nodes, n_cells

"""Where a tree is grown: in one kernel call, or level by level; then its leaves get values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.boosting import NOISE, ROUNDING, fixed_point_scale, gradient_scale
from secateur._kernels.lanes import LANES
from secateur._kernels.records import DenseCodes, SparseCodes
from secateur._kernels.splitting import LOW, order_categories
from secateur._kernels.whole_tree import grow_whole
from secateur.data.binning import BinnedColumns, moved_cells
from secateur.engines.boosted import rows
from secateur.engines.boosted.feature_sample import FeatureSample
from secateur.engines.boosted.lazy import LazySearch
from secateur.engines.boosted.nodes import ExactSearch, Node, Siblings, TreeScale
from secateur.engines.boosted.trees import (
    BoostingParams,
    Tree,
    WordArray,
    left_words,
    room_for_trees,
    trees_of,
)
from secateur.execution.blocks import RowBlock, only_block
from secateur.losses import Loss, weighted_quantile
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

# Cells up to which one thread is as fast as two that wait for each other: stored ones, and those of
# dense tables, which can also be drafted on few features where features cost. A fit of 15,000 x 300
# took 0.4 s by one thread and 0.5 s by two, one of 80,000 x 100 1.2 and 0.6.
MAX_STORED = 20_000_000
MAX_DENSE = 5_000_000
MAX_SIDE_BY_SIDE = 10_000_000  # the same for dense tables if each thread has a fit of its own
MAX_BINS = 2_500_000  # bins of all nodes of a level: their histograms are kept side by side
# Where the histogram of a node leaves the second cache and has at least such a share of bins for
# each cell, histograms are not stored, but made for each node.
BINS_PER_CELL, MIN_BINS = 0.1, 100_000
FEW_STEPS = 1024  # with fewer steps of gradients (millions of rows) they are rounded without bias
MAX_DEPTH = 8  # deeper trees have too many nodes for that


def is_small(
    columns: BinnedColumns, block: RowBlock, params: BoostingParams, *, is_alone: bool = True
) -> bool:
    """Whether one thread and one kernel call are as fast as several; the block has all rows."""
    if not params.whole or params.feature_subsample < 1.0 or params.max_depth > MAX_DEPTH:
        return False
    # all cells, or those that are stored; the columns of a table on disk are without codes
    n_cells = block.columns.codes.codes.size
    n_bins = max(int(columns.offset[-1]), columns.n_features)
    if params.only is not None and isinstance(columns.codes, DenseCodes):
        n_cells = len(params.only) * block.columns.n_rows
        n_bins = int((columns.n_bins[params.only] + 1).sum())
    n_bins *= 0 if goes_by_level(block.columns, n_bins) else 2 ** (params.max_depth - 1)
    max_cells = MAX_DENSE if is_alone else max(MAX_DENSE, MAX_SIDE_BY_SIDE)
    if isinstance(columns.codes, SparseCodes):
        max_cells = MAX_STORED
    return n_cells <= max_cells and n_bins <= MAX_BINS


def goes_by_level(columns: BinnedColumns, n_bins: int) -> bool:
    """Whether trees on features of so many bins are grown faster without stored histograms."""
    is_dense = isinstance(columns.codes, DenseCodes)
    return is_dense and n_bins > MIN_BINS and n_bins > BINS_PER_CELL * columns.codes.codes.size


class TreeColumns(NamedTuple):
    """Columns as ``grow_whole`` takes them; ``shape`` is described there."""

    codes: DenseCodes | SparseCodes
    shape: tuple[Any, ...]

    @classmethod
    def of(cls, columns: BinnedColumns, features: IntArray) -> TreeColumns:
        """Of some features, by blocks of features with about as many bins."""
        n_bins, codes = columns.n_bins, columns.codes
        order = features[np.argsort(n_bins[features], kind="stable")]
        n_blocks = -(-len(order) // LANES)
        width = 4 * -(-len(order) // (4 * max(n_blocks, 1)))  # kernels add four lanes at a time
        block, lane = np.divmod(np.arange(len(order)), max(width, 1))
        lanes = np.full((n_blocks, LANES), -1)
        lanes[block, lane] = order
        heights = np.maximum.reduceat(n_bins[order], np.arange(n_blocks) * width) + 1
        first = np.concatenate([[0], np.cumsum(heights * LANES)])
        offset = np.zeros(columns.n_features, np.int64)
        offset[order] = first[block] + lane
        by_level = goes_by_level(columns, int((n_bins[features] + 1).sum()))
        cells = np.empty((0, 0, 0), np.uint8)
        if isinstance(codes, DenseCodes):
            cells = np.zeros((n_blocks, columns.n_rows, width), np.uint8)
            for k in range(n_blocks):
                some = order[k * width : (k + 1) * width]
                cells[k, :, : len(some)] = np.minimum(codes.codes[some].T, n_bins[some])
        else:
            widths, before = np.diff(columns.offset), columns.offset[:-1]
            bins = np.arange(columns.offset[-1]) - np.repeat(before, widths)
            is_listed = np.isin(np.arange(columns.n_features), features)
            place = np.repeat(offset, widths) + LANES * bins
            codes = moved_cells(codes, np.where(np.repeat(is_listed, widths), place, -1))
        is_special = columns.is_categorical | columns.has_missing
        shape = (offset, n_bins, columns.is_categorical, is_special)
        return cls(codes, (shape, (offset, first, lanes, cells), by_level))

    def buffers(self, n_rows: int, depth: int) -> tuple[AnyArray, ...]:
        """The buffers of ``grow_whole``."""
        (offset, *_), (_, first, *_), by_level = self.shape
        n_level = 2 ** (depth - 1)
        return (
            np.empty((n_level, 0 if by_level else first[-1]), np.int64),
            np.empty((n_level, len(offset))),
            *(np.empty(n_rows, dtype) for dtype in (np.uint8, np.uint32)),
        )


class WholeTrees:
    """Grows trees where all rows are in one block and features have separate costs."""

    def __init__(self, block: RowBlock, depth: int, search: ExactSearch) -> None:
        self._block, self._depth, self._search = block, depth, search
        self._columns = TreeColumns.of(block.columns, np.flatnonzero(search.is_divisible))
        self._buffers = self._columns.buffers(block.columns.n_rows, depth)

    @classmethod
    def where_faster(cls, params: BoostingParams, search: ExactSearch) -> WholeTrees | None:
        """None where trees must be grown level by level, or are grown faster so."""
        if type(search) is not ExactSearch or not search.feature_use.has_separate_costs:
            return None
        block: RowBlock | None = only_block(search.histograms.executor)
        if block is None or not is_small(search.histograms.columns, block, params):
            return None
        return cls(block, params.max_depth, search)

    def grow(self, scale: TreeScale, min_weight: int, total: int) -> Tree:
        """The tree of the block's gradients; leaves the block's rows in the order of the leaves."""
        block, search, feature_use = self._block, self._search, self._search.feature_use
        n_nodes = 2 ** (self._depth + 1)
        grown, bounds = room_for_trees(1, n_nodes), np.zeros((n_nodes, 2), np.int64)
        grown[0][0], n_cells = grow_whole(
            *self._columns,
            block.packed_by_row,
            block.order,
            total,
            scale.steps,
            np.int64(min_weight),
            np.flatnonzero(feature_use.allowed & search.is_divisible),
            (feature_use.used.copy(), feature_use.costs.copy(), np.array(feature_use.limits)),
            (scale.penalty, scale.unit, scale.floor),
            self._depth,
            self._buffers,
            (bounds, *(array[0] for array in grown[1:6])),
        )
        tree = trees_of(grown, search.histograms.columns)[0]
        block.bounds = {q: (a, b) for q, (a, b) in enumerate(bounds[: len(tree.left)].tolist())}
        search.histograms.n_cells += n_cells
        for j in tree.feature[tree.left >= 0].tolist():
            feature_use.add(j)
        return tree


class TreeGrower:
    """Grows trees on the gradients that the blocks of rows hold."""

    def __init__(
        self, params: BoostingParams, search: ExactSearch, weights: rows.WeightScale
    ) -> None:
        self._params, self._search, self._weights = params, search, weights
        self._executor, self._columns = search.histograms.executor, search.histograms.columns
        self._min_weight = weights.min_weight(params.min_samples_leaf)
        self._whole = WholeTrees.where_faster(params, search)
        is_sampled = params.feature_subsample < 1.0
        self._sample = FeatureSample(params.feature_subsample) if is_sampled else None
        is_lazy = self._whole is None and params.lazy and not is_sampled
        self._lazy = LazySearch(search) if is_lazy else None

    def grow(self, k: int, loss: Loss, seed: int) -> Tree:
        """Grow the tree of output k and add it to the predictions."""
        self._search.feature_use.begin_tree()
        found = self._executor.each(rows.begin_tree, k, self._params.subsample, seed)
        largest = [max(terms) for terms in zip(*(terms for terms, _ in found), strict=True)]
        n_rows = sum(n for _, n in found)
        scale, total = self._scale(k, largest, n_rows)
        if scale is None:
            tree = _tree_of([], self._columns)
        elif self._whole is not None:
            tree = self._whole.grow(scale, self._min_weight, total)
        else:
            tree = self._grow_by_levels(scale, total, seed)
        leaves = np.flatnonzero(tree.left < 0).tolist()
        terms = (largest[0], largest[2], self._weights.largest)
        scales = [fixed_point_scale(most, n_rows) for most in terms]
        values = self._leaf_values(loss, k, leaves, scales)
        tree.value[leaves] = self._params.learning_rate * values
        self._executor.apply(rows.finish_tree, k, leaves, tree)
        return tree

    def _scale(self, k: int, largest: list[float], n_rows: int) -> tuple[TreeScale | None, int]:
        """Round the gradients; their scale, None where they are constant, and their packed sum."""
        if n_rows == 0 or not largest[1] > 0.0:
            return None, 0
        fixed = [fixed_point_scale(terms, n_rows) for terms in largest[:2]]
        sums = self._executor.sum(rows.term_sums, k, *fixed)
        sum_absolute, sum_g, sum_squares = sums / np.array([fixed[0], fixed[0], fixed[1]])
        per_unit = gradient_scale(largest[0], sum_absolute, n_rows)
        is_coarse = per_unit * largest[0] < FEW_STEPS
        total = int(self._executor.sum(rows.pack, k, per_unit, is_coarse))
        weight = self._weights.total
        if self._params.subsample < 1.0:
            weight = (total & LOW) / self._weights.scale
        sse_root = sum_squares - sum_g * sum_g / weight
        if not sse_root > NOISE * sum_squares:
            return None, total
        # half the squared error, in units of one row; of a sample of rows it is that much less
        unit = 2.0 * self._weights.mean * (weight / self._weights.total)
        if self._params.criterion == "agbm":
            unit = sse_root
        floor = max(NOISE * sse_root, ROUNDING * sum_squares)
        steps = (1.0 / per_unit, 1.0 / self._weights.scale)
        return TreeScale(unit, self._params.penalty, floor, steps), total

    def _grow_by_levels(self, scale: TreeScale, total: int, seed: int) -> Tree:
        """Grow a draft on few features where that is likely to hold, else the full tree."""
        if self._sample is not None:
            search = self._search
            usable = search.feature_use.allowed & search.is_divisible
            only = self._sample.draw(search.feature_use.used, usable, seed)
            sampled = self._grow_levels(scale, total, only)
            self._sample.note(self._root.gain)
            return sampled
        lazy = self._lazy
        if lazy is None:
            return self._grow_levels(scale, total)
        if lazy.is_worth_it(self._params.max_depth):
            tree = self._draft(lazy, scale, total)
            if tree is not None:
                return tree
        n_before = self._search.histograms.n_cells
        tree = self._grow_levels(scale, total)
        lazy.note_full(self._search.histograms.n_cells - n_before)
        return tree

    def _draft(self, lazy: LazySearch, scale: TreeScale, total: int) -> Tree | None:
        """The tree, if few features suffice for it; see ``lazy``."""
        before = self._search.feature_use.state()
        draft = lazy.first_draft()
        for _ in range(lazy.n_drafts):
            tree = self._grow_levels(scale, total, only=draft)
            better = lazy.better_than(draft)
            if len(better) == 0:
                lazy.note_draft(holds=True)
                return tree
            draft[better] = True
            self._search.feature_use.restore(before)
            self._executor.apply(rows.reset_tree)
        lazy.note_draft(holds=False)
        return None

    def _grow_levels(self, scale: TreeScale, total: int, only: BoolArray | None = None) -> Tree:
        """Level by level until no split gains anything or the depth is reached."""
        splits: list[tuple[Node, WordArray]] = []
        histograms = self._search.histograms
        self._search.begin_tree(scale, only)
        histograms.begin_tree(scale.steps, self._min_weight)
        level = [histograms.root(total)]
        self._root = level[0].nodes[0]
        for _ in range(self._params.max_depth):
            level = self._split_level(splits, level)
            if not level:
                break
        return _tree_of(splits, self._columns)

    def _split_level(
        self, splits: list[tuple[Node, WordArray]], level: list[Siblings]
    ) -> list[Siblings]:
        """Choose the splits of a level, node by node, and partition the rows."""
        row_splits: list[rows.RowSplit] = []
        parents: list[tuple[Siblings, Node]] = []
        self._search.evaluate(level)
        for siblings in level:
            for node in siblings.nodes:
                feature = self._search.choose(siblings, node)
                if feature is None:
                    continue
                node.feature, node.left = feature, 1 + 2 * len(splits)
                words = self._left_words(node)
                splits.append((node, words))
                row_splits.append(rows.RowSplit(node.number, node.left, feature, words))
                self._search.feature_use.note_split(node.number, node.left, feature, words)
                parents.append((siblings, node))
        self._release(level)
        if row_splits:
            self._executor.apply(rows.partition, row_splits)
        if level[0].nodes[0].depth + 1 == self._params.max_depth:
            return []  # the new nodes are leaves
        return [self._search.histograms.children(siblings, node) for siblings, node in parents]

    def _release(self, level: list[Siblings]) -> None:
        """Free the slots of new leaves, and of parents whose slot no child has taken."""
        for siblings in level:
            if all(node.slot != siblings.parent_slot for node in siblings.nodes):
                self._search.histograms.release(siblings.parent_slot)
            for node in siblings.nodes:
                if node.feature < 0:
                    self._search.histograms.release(node.slot)
                    node.slot = -1

    def _left_words(self, node: Node) -> WordArray:
        """The codes that go left."""
        last, missing_left = int(node.split[node.feature, 0]), bool(node.split[node.feature, 1])
        if not self._columns.is_categorical[node.feature]:
            return left_words((1 << (last + 1)) - 1, missing_left)
        bins = self._search.histograms.histogram_of(node, node.feature)
        order = np.empty(256, np.int64)
        order_categories(bins, 0, len(bins) - 1, self._search.histograms.steps, order)
        return left_words(sum(1 << b for b in order[: last + 1].tolist()), missing_left)

    def _leaf_values(
        self, loss: Loss, k: int, leaves: list[int], scales: list[float]
    ) -> FloatArray:
        """The values of the leaves, from unrounded gradients.

        Newton: sum w g / (sum w h + l2). Mean: sum w g / sum w, as in Eq. 14 of GBFS. Quantile: of
        the residuals. ``scales`` are those of the exact sums of w g, w h and w.
        """
        values, l2 = np.zeros(len(leaves)), self._params.l2 * self._weights.mean
        if loss.leaf_quantile is None:
            sums = self._executor.sum(rows.leaf_sums, k, leaves, tuple(scales)) / np.array(scales)
            below = sums[:, 2] if self._params.leaf == "mean" else sums[:, 1] + l2
            np.divide(sums[:, 0], below, out=values, where=below > 1e-300)
            return np.clip(values, -loss.max_step, loss.max_step)
        for q, leaf in enumerate(leaves):
            parts = self._executor.each(rows.leaf_residuals, k, leaf)
            residuals, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
            if len(weights):
                values[q] = weighted_quantile(residuals, weights, loss.leaf_quantile)
        return values


def _tree_of(splits: list[tuple[Node, WordArray]], columns: BinnedColumns) -> Tree:
    """The tree of some splits, none for a leaf; its leaves have no values yet."""
    size = 1 + 2 * len(splits)
    n_nodes, left, feature, split, gain, words, _ = grown = room_for_trees(1, size)
    n_nodes[0] = size
    for node, its_words in splits:
        place, j = (0, node.number), node.feature
        left[place], feature[place], gain[place] = node.left, j, node.gain[j]
        words[place], split[place] = its_words, node.split[j, :2]
    return trees_of(grown, columns)[0]

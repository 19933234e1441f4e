"""One tree, grown breadth first: search, part, and give the leaves their values."""

from __future__ import annotations

import numpy as np

from secateur._kernels.splitting import LOW, order_categories
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted import rows
from secateur.engines.boosted.growing_tree import TreeBuilder
from secateur.engines.boosted.lazy import LazySearch
from secateur.engines.boosted.nodes import Node, Siblings
from secateur.engines.boosted.params import NOISE, ROUNDING, BoostingParams
from secateur.engines.boosted.partition import RowSplit, partition
from secateur.engines.boosted.rows import WeightScale, fixed_point_scale, gradient_scale
from secateur.engines.boosted.search import ExactSearch, TreeScale
from secateur.engines.boosted.trees import Tree, WordArray, first_words, left_words
from secateur.engines.boosted.whole_tree import WholeGrowth, WholeTrees
from secateur.losses.base import weighted_quantile
from secateur.typing import BoolArray, Executor, FloatArray, Loss


def leaf_values(
    executor: Executor,
    loss: Loss,
    params: BoostingParams,
    k: int,
    leaves: list[int],
    scales: list[float],
) -> FloatArray:
    """The values of some leaves of the tree of output k, from unrounded gradients.

    Newton: sum w g / (sum w h + l2). Mean: sum w g / sum w, as in Eq. 14 of GBFS. ``scales`` are
    those of the exact sums of w g, w h and w.
    """
    if loss.leaf_quantile is not None:
        return _leaf_quantiles(executor, k, leaves, loss.leaf_quantile)
    sums = executor.sum(rows.leaf_sums, k, leaves, tuple(scales)) / np.array(scales)
    below = sums[:, 2] if params.leaf == "mean" else sums[:, 1] + params.l2
    values: FloatArray = np.divide(
        sums[:, 0], below, out=np.zeros(len(leaves)), where=below > 1e-300
    )
    return values


def _leaf_quantiles(executor: Executor, k: int, leaves: list[int], level: float) -> FloatArray:
    values = np.zeros(len(leaves))
    for place, leaf in enumerate(leaves):
        parts = executor.each(rows.leaf_residuals, k, leaf)
        residuals = np.concatenate([part[0] for part in parts])
        weights = np.concatenate([part[1] for part in parts])
        if len(weights):
            values[place] = weighted_quantile(residuals, weights, level)
    return values


class Grower:
    """Grows trees on the gradients that the blocks of rows hold.

    It knows no price: those are the search's.
    """

    def __init__(
        self,
        executor: Executor,
        columns: BinnedColumns,
        params: BoostingParams,
        search: ExactSearch,
        lazy: LazySearch,
        weights: WeightScale,
    ) -> None:
        self._executor = executor
        self._columns = columns
        self._params = params
        self._search = search
        self._lazy = lazy
        self._weights = weights
        self._whole = WholeTrees.where_they_pay(executor, columns, params, search)

    def grow(self, k: int, loss: Loss, seed: int) -> Tree:
        """Grow the tree of output k and add it to the predictions."""
        found = self._executor.each(rows.begin_tree, k, self._params.subsample, seed)
        largest = [max(terms) for terms in zip(*(terms for terms, _ in found), strict=True)]
        n_rows = sum(n for _, n in found)
        builder: TreeBuilder | WholeGrowth = TreeBuilder(self._columns)
        if n_rows > 0 and largest[1] > 0.0:
            builder = self._split_nodes(k, largest, n_rows)
        leaves = builder.leaves()
        values = leaf_values(
            self._executor,
            loss,
            self._params,
            k,
            leaves,
            [
                fixed_point_scale(most, n_rows)
                for most in (largest[0], largest[2], self._weights.most)
            ],
        )
        tree = builder.tree(leaves, self._params.learning_rate * values)
        self._executor.apply(rows.finish_tree, k, leaves, tree)
        return tree

    def _split_nodes(self, k: int, largest: list[float], n_rows: int) -> TreeBuilder | WholeGrowth:
        """Scale the gradients and grow; lazily where that is likely to do."""
        fixed = [fixed_point_scale(terms, n_rows) for terms in largest[:2]]
        sums = self._executor.sum(rows.term_sums, k, *fixed)
        sum_absolute, sum_g, sum_squares = sums / np.array([fixed[0], fixed[0], fixed[1]])
        per_unit = gradient_scale(largest[0], sum_absolute, n_rows)
        total = int(self._executor.sum(rows.pack, k, per_unit))
        sse_root = sum_squares - sum_g * sum_g / self._total_weight(total)
        if not sse_root > NOISE * sum_squares:
            return TreeBuilder(self._columns)  # the gradients are one constant but for rounding
        unit_of_gain = sse_root if self._params.criterion == "agbm" else 2.0
        floor = max(NOISE * sse_root, ROUNDING * sum_squares)
        scale = TreeScale(unit_of_gain, self._params.penalty, floor)
        unit = (1.0 / per_unit, 1.0 / self._weights.scale)
        if self._whole is not None:
            histograms = self._search.histograms
            histograms.begin(unit, self._weights.least(self._params.min_samples_leaf))
            return self._whole.grow(scale, histograms, self._search, total)
        if self._params.lazy and self._lazy.is_worth_it(self._params.max_depth):
            builder = self._draft(scale, unit, total)
            if builder is not None:
                return builder
        n_before = self._search.histograms.cells
        builder = self._grow_levels(scale, unit, total)
        if self._params.lazy:
            self._lazy.note_full(self._search.histograms.cells - n_before)
        return builder

    def _draft(self, scale: TreeScale, unit: tuple[float, float], total: int) -> TreeBuilder | None:
        """The tree, if it can be had from few features; see ``lazy``."""
        account = self._search.feature_use.mark()
        draft = self._lazy.first_draft()
        for _ in range(self._lazy.n_drafts):
            builder = self._grow_levels(scale, unit, total, only=draft)
            better = self._lazy.better_than(draft)
            if len(better) == 0:
                self._lazy.note_draft(holds=True)
                return builder
            draft[better] = True
            self._search.feature_use.rewind(account)
            self._executor.apply(rows.reset_tree)
        self._lazy.note_draft(holds=False)
        return None

    def _total_weight(self, total: int) -> float:
        """The weight of the tree's rows, exact where they are all of them."""
        if self._params.subsample == 1.0:
            return self._weights.total
        return (total & LOW) / self._weights.scale

    def _grow_levels(
        self,
        scale: TreeScale,
        unit: tuple[float, float],
        total: int,
        only: BoolArray | None = None,
    ) -> TreeBuilder:
        """Level by level until nothing pays or the depth is reached."""
        builder = TreeBuilder(self._columns)
        histograms = self._search.histograms
        self._search.begin_tree(scale, only)
        histograms.begin(unit, self._weights.least(self._params.min_samples_leaf))
        level = [histograms.root(total)]
        for _ in range(self._params.max_depth):
            level = self._split_level(builder, level)
            if not level:
                break
        return builder

    def _split_level(self, builder: TreeBuilder, level: list[Siblings]) -> list[Siblings]:
        """Search the nodes of one level in their order and part those that split."""
        splits: list[RowSplit] = []
        parents: list[tuple[Siblings, Node]] = []
        self._search.evaluate(level)
        for siblings in level:
            for node in siblings.nodes:
                feature = self._search.choose(siblings, node)
                if feature is None:
                    continue
                node.feature = feature
                words = self._left_words(node)
                splits.append(builder.split(node, words))
                self._search.feature_use.note_split(node.number, node.left, feature, words)
                parents.append((siblings, node))
        self._release(level)
        if splits:
            self._executor.apply(partition, splits)
        if level[0].nodes[0].depth + 1 == self._params.max_depth:
            return []  # the new nodes are leaves
        return [self._search.histograms.children(siblings, node) for siblings, node in parents]

    def _release(self, level: list[Siblings]) -> None:
        """Give back the slots of nodes that became leaves and of parents that nobody inherited."""
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
            return first_words(last, missing_left)
        bins = self._search.histograms.histogram_of(node, node.feature)
        order = np.empty(256, np.int64)
        order_categories(bins, 0, len(bins) - 1, self._search.histograms.unit, order)
        return left_words(order[: last + 1], missing_left)

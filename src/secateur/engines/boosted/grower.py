"""Where a tree is grown: breadth first, level by level; then its leaves get their values."""

from __future__ import annotations

import numpy as np

from secateur._kernels.splitting import LOW, order_categories
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted import rows
from secateur.engines.boosted.lazy import LazySearch
from secateur.engines.boosted.nodes import Node, Siblings
from secateur.engines.boosted.params import (
    NOISE,
    ROUNDING,
    BoostingParams,
    TreeScale,
    WeightScale,
    fixed_point_scale,
    gradient_scale,
)
from secateur.engines.boosted.search import ExactSearch
from secateur.engines.boosted.trees import Tree, WordArray, first_words, left_words
from secateur.engines.boosted.whole_tree import WholeTrees
from secateur.losses.base import weighted_quantile
from secateur.typing import BoolArray, Executor, FloatArray, Loss


class TreeGrower:
    """Grows trees on the gradients that the blocks of rows hold."""

    def __init__(
        self,
        executor: Executor,
        columns: BinnedColumns,
        params: BoostingParams,
        search: ExactSearch,
        threads: Threads,
        weights: WeightScale,
    ) -> None:
        self._executor = executor
        self._columns = columns
        self._params = params
        self._search = search
        self._lazy = LazySearch(executor, columns, search, threads)
        self._weights = weights
        self._min_weight = weights.min_weight(params.min_samples_leaf)
        self._whole = WholeTrees.where_faster(executor, columns, params, search)

    def grow(self, k: int, loss: Loss, seed: int) -> Tree:
        """Grow the tree of output k and add it to the predictions."""
        found = self._executor.each(rows.begin_tree, k, self._params.subsample, seed)
        largest = [max(terms) for terms in zip(*(terms for terms, _ in found), strict=True)]
        n_rows = sum(n for _, n in found)
        scale, total = self._scale(k, largest, n_rows)
        if scale is None:
            tree = Tree.empty(1)
        elif self._whole is not None:
            tree = self._whole.grow(scale, self._min_weight, self._search, total)
        else:
            tree = self._grow_by_levels(scale, total)
        leaves = tree.leaves()
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
        total = int(self._executor.sum(rows.pack, k, per_unit))
        weight = self._weights.total
        if self._params.subsample < 1.0:
            weight = (total & LOW) / self._weights.scale
        sse_root = sum_squares - sum_g * sum_g / weight
        if not sse_root > NOISE * sum_squares:
            return None, total
        unit = sse_root if self._params.criterion == "agbm" else 2.0
        floor = max(NOISE * sse_root, ROUNDING * sum_squares)
        steps = (1.0 / per_unit, 1.0 / self._weights.scale)
        return TreeScale(unit, self._params.penalty, floor, steps), total

    def _grow_by_levels(self, scale: TreeScale, total: int) -> Tree:
        """Grow a draft on few features where that is likely to hold, else the full tree."""
        if self._params.lazy and self._lazy.is_worth_it(self._params.max_depth):
            tree = self._draft(scale, total)
            if tree is not None:
                return tree
        n_before = self._search.histograms.n_cells
        tree = self._grow_levels(scale, total)
        if self._params.lazy:
            self._lazy.note_full(self._search.histograms.n_cells - n_before)
        return tree

    def _draft(self, scale: TreeScale, total: int) -> Tree | None:
        """The tree, if few features suffice for it; see ``lazy``."""
        before = self._search.feature_use.state()
        draft = self._lazy.first_draft()
        for _ in range(self._lazy.n_drafts):
            tree = self._grow_levels(scale, total, only=draft)
            better = self._lazy.better_than(draft)
            if len(better) == 0:
                self._lazy.note_draft(holds=True)
                return tree
            draft[better] = True
            self._search.feature_use.restore(before)
            self._executor.apply(rows.reset_tree)
        self._lazy.note_draft(holds=False)
        return None

    def _grow_levels(self, scale: TreeScale, total: int, only: BoolArray | None = None) -> Tree:
        """Level by level until no split gains anything or the depth is reached."""
        splits: list[tuple[Node, WordArray]] = []
        histograms = self._search.histograms
        self._search.begin_tree(scale, only)
        histograms.begin_tree(scale.steps, self._min_weight)
        level = [histograms.root(total)]
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
            return first_words(last, missing_left)
        bins = self._search.histograms.histogram_of(node, node.feature)
        order = np.empty(256, np.int64)
        order_categories(bins, 0, len(bins) - 1, self._search.histograms.steps, order)
        return left_words(order[: last + 1], missing_left)

    def _leaf_values(
        self, loss: Loss, k: int, leaves: list[int], scales: list[float]
    ) -> FloatArray:
        """The values of the leaves, from unrounded gradients.

        Newton: sum w g / (sum w h + l2). Mean: sum w g / sum w, as in Eq. 14 of GBFS. Quantile: of
        the residuals. ``scales`` are those of the exact sums of w g, w h and w.
        """
        if loss.leaf_quantile is not None:
            return self._leaf_quantiles(k, leaves, loss.leaf_quantile)
        sums = self._executor.sum(rows.leaf_sums, k, leaves, tuple(scales)) / np.array(scales)
        below = sums[:, 2] if self._params.leaf == "mean" else sums[:, 1] + self._params.l2
        values: FloatArray = np.divide(
            sums[:, 0], below, out=np.zeros(len(leaves)), where=below > 1e-300
        )
        return values

    def _leaf_quantiles(self, k: int, leaves: list[int], level: float) -> FloatArray:
        values = np.zeros(len(leaves))
        for q, leaf in enumerate(leaves):
            parts = self._executor.each(rows.leaf_residuals, k, leaf)
            residuals, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
            if len(weights):
                values[q] = weighted_quantile(residuals, weights, level)
        return values


def _tree_of(splits: list[tuple[Node, WordArray]], columns: BinnedColumns) -> Tree:
    """The tree of some splits; its leaves have no values yet."""
    tree = Tree.empty(1 + 2 * len(splits))
    if not splits:
        return tree
    nodes = [node for node, _ in splits]
    inner = [node.number for node in nodes]
    features = [node.feature for node in nodes]
    lasts, missing, _ = zip(*(node.split[node.feature].tolist() for node in nodes), strict=True)
    tree.feature[inner] = features
    tree.left[inner] = [node.left for node in nodes]
    tree.words[inner] = [words for _, words in splits]
    tree.gain[inner] = [node.gain[node.feature] for node in nodes]
    tree.missing_left[inner] = missing
    tree.is_set[inner] = columns.is_categorical[features]
    tree.threshold[inner] = [columns.threshold(j, b) for j, b in zip(features, lasts, strict=True)]
    return tree

"""One tree, grown breadth first: search, part, and give the leaves their values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted import rows
from secateur._engines.boosted.nodes import Family, Node, NodeHistograms
from secateur._engines.boosted.params import NOISE, BoostingParams
from secateur._engines.boosted.search import ExactSearch, TreeScale
from secateur._engines.boosted.tree import Tree, left_words
from secateur._kernels.splitting import order_categories
from secateur.losses.base import weighted_quantile
from secateur.typing import Executor, FloatArray, IntArray, Loss

GRADIENT_STEPS = 32767.0
"""Weighted gradients are rounded to so many steps on either side of zero."""


def fixed_point_scale(largest: float, n_rows: int) -> float:
    """The power of two by which terms up to ``largest`` can be rounded and summed over n_rows in int64.

    >>> fixed_point_scale(1.0, 3) == 2.0 ** 58
    True
    """
    return math.ldexp(1.0, min(61 - math.frexp(largest)[1] - n_rows.bit_length(), 1000))


@dataclass(frozen=True, slots=True)
class WeightScale:
    """How row weights become integers: whole numbers as they are, others in 65535 steps."""

    scale: float
    mean: float
    most: float
    total: float

    def least(self, min_samples_leaf: float) -> int:
        """The smallest integer weight that counts as ``min_samples_leaf`` rows.

        Whole weights count rows; others are relative and taken as scaled to a mean of one.
        """
        needed = min_samples_leaf * (1.0 - 1e-9) * self.mean * self.scale
        return max(1, math.ceil(needed))


class Grower:
    """Grows trees on the gradients that the blocks of rows hold.

    It knows no loss but for leaves that are quantiles, and no price: those are the search's.
    """

    def __init__(
        self,
        executor: Executor,
        columns: BinnedColumns,
        params: BoostingParams,
        search: ExactSearch,
        histograms: NodeHistograms,
        weights: WeightScale,
    ) -> None:
        self._executor = executor
        self._columns = columns
        self._params = params
        self._search = search
        self._histograms = histograms
        self._weights = weights

    def grow(self, k: int, loss: Loss, seed: int) -> Tree:
        """Grow the tree of output k and add it to the predictions."""
        found = self._executor.each(rows.begin_tree, k, self._params.subsample, seed)
        largest = np.max([terms for terms, _ in found], axis=0)
        n_rows = sum(n for _, n in found)
        growth = _Growth(self._columns)
        if n_rows > 0 and largest[0] > 0.0:
            self._split_nodes(growth, k, largest, n_rows)
        leaves = growth.leaves()
        growth.value[leaves] = self._params.learning_rate * self._leaf_values(
            k, loss, leaves, largest, n_rows
        )
        tree = growth.tree()
        self._executor.each(rows.finish_tree, k, leaves, tree)
        return tree

    def _split_nodes(self, growth: _Growth, k: int, largest: FloatArray, n_rows: int) -> None:
        """Level by level until nothing pays or the depth is reached."""
        scale_g = GRADIENT_STEPS / largest[0]
        fixed = (fixed_point_scale(largest[0], n_rows), fixed_point_scale(largest[1], n_rows))
        sums = self._executor.sum(rows.pack, k, (scale_g, *fixed))
        packed_g, packed_w, sum_g, sum_gg = (int(x) for x in sums)
        unit = (1.0 / scale_g, 1.0 / self._weights.scale)
        sum_squares = sum_gg / fixed[1]
        sse_root = sum_squares - (sum_g / fixed[0]) ** 2 / self._total_weight(packed_w, n_rows)
        if not sse_root > NOISE * sum_squares:
            return  # the gradients are one constant but for rounding
        unit_of_gain = sse_root if self._params.criterion == "agbm" else 2.0
        self._search.begin_tree(TreeScale(unit_of_gain, self._params.penalty, sse_root))
        self._histograms.begin(unit, self._weights.least(self._params.min_samples_leaf))
        families = [self._histograms.root((packed_g, packed_w))]
        for _ in range(self._params.max_depth):
            families = self._split_level(growth, families)
            if not families:
                break

    def _total_weight(self, packed_w: int, n_rows: int) -> float:
        """The weight of the tree's rows, exact where they are all of them."""
        return (
            self._weights.total if self._params.subsample == 1.0 else packed_w / self._weights.scale
        )

    def _split_level(self, growth: _Growth, families: list[Family]) -> list[Family]:
        """Search the nodes of one level in their order and part those that split."""
        self._search.begin_level(families)
        splits: list[rows.RowSplit] = []
        chosen: list[Node] = []
        for family in families:
            for node in family.nodes:
                feature = self._search.choose(family, node)
                if feature is None:
                    continue
                node.feature = feature
                self._search.ledger.use(feature)
                splits.append(growth.split(node, self._left_bins(node, feature)))
                chosen.append(node)
        self._release(families, chosen)
        if splits:
            self._executor.each(rows.partition, splits)
        if families[0].nodes[0].depth + 1 == self._params.max_depth:
            return []  # the new nodes are leaves
        return [
            self._histograms.children(node, split.left, (split.feature, split.words.tobytes()))
            for node, split in zip(chosen, splits, strict=True)
        ]

    def _release(self, families: list[Family], chosen: list[Node]) -> None:
        """Give back the slots of nodes that became leaves and of parents that nobody inherited."""
        for family in families:
            inherited = {node.slot for node in family.nodes}
            if family.parent_slot not in inherited:
                self._histograms.release(family.parent_slot)
            for node in family.nodes:
                if node not in chosen:
                    self._histograms.release(node.slot)
                    node.slot = -1

    def _left_bins(self, node: Node, feature: int) -> IntArray:
        """The bins that go left."""
        last = int(node.split[feature, 0])
        if not self._columns.is_categorical[feature]:
            return np.arange(last + 1)
        pairs = self._histograms.histogram_of(node, feature)
        order = np.empty(256, np.int64)
        n_bins = int(self._columns.n_bins[feature])
        order_categories(pairs, n_bins, self._histograms.unit, order)
        return order[: last + 1]

    def _leaf_values(
        self, k: int, loss: Loss, leaves: list[int], largest: FloatArray, n_rows: int
    ) -> FloatArray:
        """Newton steps, mean gradients or quantiles of residuals."""
        if loss.leaf_quantile is not None:
            return self._leaf_quantiles(k, leaves, loss.leaf_quantile)
        scales = (
            fixed_point_scale(largest[0], n_rows),
            fixed_point_scale(largest[2], n_rows),
            fixed_point_scale(self._weights.most, n_rows),
        )
        sums = self._executor.sum(rows.leaf_sums, k, leaves, scales) / np.array(scales)
        if self._params.leaf == "mean":
            below = sums[:, 2]
        else:
            below = sums[:, 1] + self._params.l2
        values: FloatArray = np.divide(
            sums[:, 0], below, out=np.zeros(len(leaves)), where=below > 1e-300
        )
        return values

    def _leaf_quantiles(self, k: int, leaves: list[int], level: float) -> FloatArray:
        values = np.empty(len(leaves))
        for place, leaf in enumerate(leaves):
            parts = self._executor.each(rows.leaf_residuals, k, leaf)
            residuals = np.concatenate([part[0] for part in parts])
            weights = np.concatenate([part[1] for part in parts])
            values[place] = weighted_quantile(residuals, weights, level) if len(weights) else 0.0
        return values


class _Growth:
    """The nodes of a tree as it grows, breadth first."""

    def __init__(self, columns: BinnedColumns) -> None:
        self._columns = columns
        self._feature = [-1]
        self._threshold = [np.inf]
        self._missing_left = [False]
        self._words = [left_words([], missing_left=False)]
        self._left = [-1]
        self._gain = [0.0]
        self.value: FloatArray = np.zeros(1)

    def split(self, node: Node, left_bins: IntArray) -> rows.RowSplit:
        """Make two leaves of one."""
        q, j, left = node.number, node.feature, len(self._left)
        last, missing_left = int(node.split[j, 0]), bool(node.split[j, 1])
        self._feature[q] = j
        self._left[q] = left
        self._missing_left[q] = missing_left
        self._words[q] = left_words(left_bins, missing_left)
        self._gain[q] = float(node.gain[j])
        cuts = self._columns.cuts[j]
        self._threshold[q] = float(cuts[last]) if last < len(cuts) else np.inf
        for column, blank in (
            (self._feature, -1),
            (self._threshold, np.inf),
            (self._missing_left, False),
            (self._words, self._words[0]),
            (self._left, -1),
            (self._gain, 0.0),
        ):
            column.extend([blank, blank])  # type: ignore[attr-defined]
        self.value = np.zeros(len(self._left))
        return rows.RowSplit(q, left, j, self._words[q])

    def leaves(self) -> list[int]:
        """The numbers of the leaves."""
        return [q for q, left in enumerate(self._left) if left < 0]

    def tree(self) -> Tree:
        """The finished tree."""
        feature = np.array(self._feature, dtype=np.int64)
        is_split = feature >= 0
        return Tree(
            feature,
            np.array(self._threshold),
            np.array(self._missing_left, dtype=np.bool_),
            np.where(is_split, self._columns.is_categorical[feature], False),
            np.array(self._words, dtype=np.uint64),
            np.array(self._left, dtype=np.int64),
            self.value,
            np.array(self._gain),
        )

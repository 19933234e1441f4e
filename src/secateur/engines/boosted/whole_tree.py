"""Trees of small tables, each grown in one call; the same trees as level by level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.whole_tree import grow_whole
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted.feature_use import FeatureUse
from secateur.engines.boosted.nodes import NodeHistograms
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.search import ExactSearch, TreeScale
from secateur.engines.boosted.trees import Tree, WordArray
from secateur.execution.blocks import RowBlock
from secateur.execution.local import only_block
from secateur.typing import BoolArray, Executor, FloatArray, IntArray

MOST_STORED = 2_000_000
"""Stored cells up to which one thread is as quick as several that meet at every level."""

MOST_DENSE = 500_000
"""The same for dense tables, which can also be drafted on few features where features cost."""

MOST_BINS = 2_000_000
"""Bins of all nodes of a level: their histograms are kept side by side."""

DEEPEST = 8
"""Deeper trees have too many nodes for that."""


class Grown(NamedTuple):
    """What the kernel fills in, by node; ``bounds`` are runs of the block's rows."""

    bounds: IntArray
    left: IntArray
    feature: IntArray
    split: IntArray
    gain: FloatArray
    words: WordArray

    @classmethod
    def of_room(cls, n_nodes: int) -> Grown:
        """Room for so many nodes."""
        return cls(
            np.zeros((n_nodes, 2), np.int64),
            np.full(n_nodes, -1, np.int64),
            np.full(n_nodes, -1, np.int64),
            np.zeros((n_nodes, 2), np.int64),
            np.zeros(n_nodes),
            np.zeros((n_nodes, 4), np.uint64),
        )

    def first(self, n_nodes: int) -> Grown:
        """The nodes that there are."""
        parts: list[Any] = [array[:n_nodes] for array in self]
        return Grown(*parts)


class WholeGrowth:
    """A tree that is grown already: what ``TreeBuilder`` tells of one that is growing."""

    def __init__(self, columns: BinnedColumns, grown: Grown) -> None:
        self._columns = columns
        self._grown = grown

    def leaves(self) -> list[int]:
        """The numbers of the leaves."""
        found: list[int] = np.flatnonzero(self._grown.left < 0).tolist()
        return found

    def tree(self, leaves: list[int], values: FloatArray) -> Tree:
        """The finished tree, with the values of its leaves."""
        grown = self._grown
        tree = Tree.of_leaves(len(grown.left))
        tree.value[leaves] = values
        inner = np.flatnonzero(grown.left >= 0)
        tree.feature[:], tree.left[:], tree.gain[:] = grown.feature, grown.left, grown.gain
        tree.words[:] = grown.words
        tree.missing_left[inner] = grown.split[inner, 1] > 0
        tree.is_set[inner] = self._columns.is_categorical[grown.feature[inner]]
        tree.threshold[inner] = [
            self._columns.threshold(int(grown.feature[q]), int(grown.split[q, 0])) for q in inner
        ]
        return tree


class WholeTrees:
    """Grows trees where all rows are in one block and a purchase changes no cost but its own."""

    def __init__(self, executor: Executor, columns: BinnedColumns, depth: int) -> None:
        self._executor = executor
        self._columns = columns
        n_level, d = 2 ** (depth - 1), columns.n_features
        by_row = [np.empty(columns.n_rows, kind) for kind in (np.uint8, np.uint32, np.int64)]
        self._depth = depth
        self._room = (
            np.empty((n_level, int(columns.offset[-1])), np.int64),
            np.empty((n_level, d)),
            np.empty((n_level, d, 3), np.int64),
            np.empty((n_level, d), np.bool_),
            *by_row,
        )

    @classmethod
    def where_they_pay(
        cls,
        executor: Executor,
        columns: BinnedColumns,
        params: BoostingParams,
        search: ExactSearch,
    ) -> WholeTrees | None:
        """None where trees must be grown level by level, or better are."""
        if type(search) is not ExactSearch or not search.feature_use.has_fixed_costs:
            return None
        block: RowBlock | None = only_block(executor)
        if block is None or not params.whole or params.max_depth > DEEPEST:
            return None
        n_cells = block.columns.codes.codes.size  # of all cells, or of those that are stored
        n_bins = max(int(columns.offset[-1]), columns.n_features) * 2 ** (params.max_depth - 1)
        most = MOST_STORED if block.is_sparse else MOST_DENSE
        if n_cells > most or n_bins > MOST_BINS:
            return None
        return cls(executor, columns, params.max_depth)

    def grow(
        self,
        scale: TreeScale,
        histograms: NodeHistograms,
        search: ExactSearch,
        total: int,
    ) -> WholeGrowth:
        """The tree of the gradients that the block holds; purchases are booked."""
        feature_use = search.feature_use
        features = np.flatnonzero(feature_use.allowed & search.is_divisible)
        deal = (scale.penalty, scale.unit, scale.floor, *feature_use.limits)
        grown, n_cells = self._executor.each(
            _grow_here,
            total,
            (histograms.unit, histograms.least),
            features,
            feature_use,
            deal,
            self,
        )[0]
        histograms.cells += n_cells
        for j in grown.feature[grown.left >= 0].tolist():
            feature_use.use(j)
        return WholeGrowth(self._columns, grown)

    def fill(
        self,
        block: RowBlock,
        total: int,
        limits: tuple[tuple[float, float], np.int64],
        features: IntArray,
        account: tuple[BoolArray, FloatArray],
        deal: tuple[float, ...],
    ) -> tuple[Grown, int]:
        """Run the kernel on the block, and leave its rows in the order of the leaves."""
        grown = Grown.of_room(2 ** (self._depth + 1))
        columns = block.columns
        n_nodes, n_cells = grow_whole(
            columns.codes,
            (columns.offset, columns.n_bins, columns.is_categorical),
            block.packed_by_row,
            block.order,
            total,
            *limits,
            features,
            *account,
            deal,
            self._depth,
            self._room,
            tuple(grown),
        )
        grown = grown.first(n_nodes)
        block.bounds = {q: (a, b) for q, (a, b) in enumerate(grown.bounds.tolist())}
        return grown, n_cells


def _grow_here(
    block: RowBlock,
    total: int,
    limits: tuple[tuple[float, float], np.int64],
    features: IntArray,
    feature_use: FeatureUse,
    deal: tuple[float, ...],
    trees: WholeTrees,
) -> tuple[Grown, int]:
    account = (feature_use.used.copy(), feature_use.costs.copy())
    return trees.fill(block, total, limits, features, account, deal)

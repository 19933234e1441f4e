"""Trees of small tables, each grown in one kernel call: the same trees as level by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.small_trees import LOGISTIC, MULTINOMIAL, SQUARED, boost
from secateur._kernels.whole_tree import grow_whole
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.problem import Fold, all_rows
from secateur.engines.boosted.params import BoostingParams, TreeScale, WeightScale
from secateur.engines.boosted.search import ExactSearch
from secateur.engines.boosted.trees import Tree
from secateur.exceptions import ParameterError
from secateur.execution.blocks import RowBlock
from secateur.execution.local import only_block
from secateur.typing import Executor, FloatArray, IntArray, Loss

# Stored cells up to which one thread is as fast as several that wait for each other.
MAX_STORED = 2_000_000
# The same for dense tables, which can also be drafted on few features where features cost.
MAX_DENSE = 500_000
MAX_BINS = 2_000_000  # bins of all nodes of a level: their histograms are kept side by side
MAX_DEPTH = 8  # deeper trees have too many nodes for that


class WholeTrees:
    """Grows trees where all rows are in one block and features have separate costs."""

    def __init__(self, block: RowBlock, columns: BinnedColumns, depth: int) -> None:
        self._block = block
        self._columns = columns
        self._depth = depth
        n_level, d = 2 ** (depth - 1), columns.n_features
        by_row = [np.empty(columns.n_rows, dtype) for dtype in (np.uint8, np.uint32, np.int64)]
        self._buffers = (
            np.empty((n_level, int(columns.offset[-1])), np.int64),
            np.empty((n_level, d)),
            np.empty((n_level, d, 3), np.int64),
            np.empty((n_level, d), np.bool_),
            *by_row,
        )

    @classmethod
    def where_faster(
        cls, executor: Executor, columns: BinnedColumns, params: BoostingParams, search: ExactSearch
    ) -> WholeTrees | None:
        """None where trees must be grown level by level, or are grown faster so."""
        if type(search) is not ExactSearch or not search.feature_use.has_separate_costs:
            return None
        block: RowBlock | None = only_block(executor)
        if block is None or not params.whole or params.max_depth > MAX_DEPTH:
            return None
        n_cells = block.columns.codes.codes.size  # all cells, or those that are stored
        n_bins = max(int(columns.offset[-1]), columns.n_features) * 2 ** (params.max_depth - 1)
        max_cells = MAX_STORED if block.is_sparse else MAX_DENSE
        if n_cells > max_cells or n_bins > MAX_BINS:
            return None
        return cls(block, columns, params.max_depth)

    def grow(self, scale: TreeScale, min_weight: int, search: ExactSearch, total: int) -> Tree:
        """The tree of the block's gradients; leaves the block's rows in the order of the leaves."""
        block, feature_use = self._block, search.feature_use
        columns = block.columns
        n_nodes = 2 ** (self._depth + 1)
        tree = Tree.empty(n_nodes)
        bounds, split = np.zeros((n_nodes, 2), np.int64), np.zeros((n_nodes, 2), np.int64)
        n_nodes, n_cells = grow_whole(
            columns.codes,
            (columns.offset, columns.n_bins, columns.is_categorical),
            block.packed_by_row,
            block.order,
            total,
            scale.steps,
            np.int64(min_weight),
            np.flatnonzero(feature_use.allowed & search.is_divisible),
            feature_use.used.copy(),
            feature_use.costs.copy(),
            (scale.penalty, scale.unit, scale.floor, *feature_use.limits),
            self._depth,
            self._buffers,
            (bounds, tree.left, tree.feature, split, tree.gain, tree.words),
        )
        tree = tree.first(n_nodes)
        block.bounds = {q: (a, b) for q, (a, b) in enumerate(bounds[:n_nodes].tolist())}
        search.histograms.n_cells += n_cells
        inner = np.flatnonzero(tree.left >= 0)
        features = tree.feature[inner]
        tree.missing_left[inner] = split[inner, 1] > 0
        tree.is_set[inner] = self._columns.is_categorical[features]
        for q, j in zip(inner.tolist(), features.tolist(), strict=True):
            tree.threshold[q] = self._columns.threshold(j, int(split[q, 0]))
            feature_use.add(j)
        return tree


@dataclass(frozen=True, slots=True, eq=False)
class SmallTrees:
    """Boosted trees on some columns and rows of one binned table, each fit in one call.

    The trees are those of ``trace_boosted`` without penalties; squared error and log loss only.
    """

    columns: BinnedColumns
    weight: FloatArray
    loss: Loss
    params: BoostingParams

    def raw(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows); rows outside the fold keep the baseline."""
        return self._boost(take_columns(self.columns, features), fold, target)[0]

    def importances(self, target: FloatArray) -> FloatArray:
        """The sum of dSSE of each feature's splits, from all columns (dense) and all rows."""
        return self._boost(self.columns, all_rows(len(target)), target)[1]

    def _boost(
        self, columns: BinnedColumns, fold: Fold, target: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Raw predictions and total gains."""
        train = np.sort(fold.train).astype(np.uint32)
        train_weight = self.weight[train]
        scale = WeightScale.of(train_weight)
        rounded = np.maximum(np.rint(self.weight * scale.scale), 1.0).astype(np.uint32)
        raw = np.empty((self.loss.n_outputs, len(target)))
        raw[:] = self.loss.baseline(target[train], train_weight)[:, None]
        gains = np.zeros(columns.n_features)
        if columns.n_features == 0:
            return raw, gains
        p = self.params
        min_weight = scale.min_weight(p.min_samples_leaf)
        boost(
            columns.codes.codes,
            (columns.offset, columns.n_bins, columns.is_categorical),
            target,
            self.weight,
            rounded,
            float(scale.scale),
            train,
            fold.test.astype(np.uint32),
            _loss_code(self.loss),
            (p.n_rounds, p.max_depth, min_weight, float(p.learning_rate), float(p.l2)),
            raw,
            gains,
        )
        return raw, gains


def _loss_code(loss: Loss) -> int:
    """The number of a loss in the kernel."""
    if loss.name == "squared_error":
        return SQUARED
    if loss.name == "log_loss":
        return LOGISTIC if loss.n_outputs == 1 else MULTINOMIAL
    raise ParameterError(
        f"Small ensembles support squared error and log loss. Got {loss.name!r}. Use a boosted "
        "selector for other losses."
    )

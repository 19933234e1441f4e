"""Ensembles of small trees on a few columns, each fitted in one kernel call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.small_trees import LOGISTIC, MULTINOMIAL, SQUARED, boost
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.table import Fold, all_rows
from secateur.engines.boosted.rows import WeightScale
from secateur.engines.boosted.trees import BoostingParams
from secateur.typing import FloatArray, IntArray, Loss


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
        log_loss = LOGISTIC if self.loss.n_outputs == 1 else MULTINOMIAL
        boost(
            columns.codes.codes,
            (columns.offset, columns.n_bins, columns.is_categorical),
            target,
            (self.weight, rounded, float(scale.scale)),
            train,
            fold.test.astype(np.uint32),
            SQUARED if self.loss.constant_hessian else log_loss,
            (p.n_rounds, p.max_depth, min_weight, float(p.learning_rate), float(p.l2 * scale.mean)),
            raw,
            gains,
        )
        return raw, gains

"""Many small ensembles on column subsets of one binned table, for those who compare subsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.small_trees import LOGISTIC, MULTINOMIAL, SQUARED, boost
from secateur.data.binning import BinnedColumns, take_columns
from secateur.data.folds import Fold, all_rows
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.rows import WeightScale
from secateur.exceptions import ParameterError
from secateur.typing import FloatArray, IntArray, Loss


@dataclass(frozen=True, slots=True, eq=False)
class SmallTrees:
    """Boosted trees on some columns and some rows, from one binned table.

    The trees are those of the engine without costs; squared error and log loss only.
    """

    columns: BinnedColumns
    weight: FloatArray
    loss: Loss
    params: BoostingParams

    def raw(self, features: IntArray, fold: Fold, target: FloatArray) -> FloatArray:
        """Raw predictions for all rows, shape (n_outputs, n_rows).

        The rows of ``fold.train`` train; those of ``fold.test`` are predicted only; others have
        the constant that boosting begins with.
        """
        return self._boost(take_columns(self.columns, features), fold, target)[0]

    def importances(self, target: FloatArray) -> FloatArray:
        """The sum of dSSE of each feature's splits, from all columns (dense) and all rows."""
        return self._boost(self.columns, all_rows(len(target)), target)[1]

    def _boost(
        self, columns: BinnedColumns, fold: Fold, target: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Raw predictions and total gains."""
        train = np.sort(fold.train).astype(np.uint32)
        its_weight = self.weight[train]
        scale = WeightScale.of(its_weight)
        rounded = np.maximum(np.rint(self.weight * scale.scale), 1.0).astype(np.uint32)
        raw = np.empty((self.loss.n_outputs, len(target)))
        raw[:] = self.loss.baseline(target[train], its_weight)[:, None]
        gains = np.zeros(columns.n_features)
        if columns.n_features == 0:
            return raw, gains
        p = self.params
        boost(
            columns.codes.codes,
            (columns.offset, columns.n_bins, columns.is_categorical),
            target,
            self.weight,
            rounded,
            float(scale.scale),
            train,
            fold.test.astype(np.uint32),
            _code(self.loss),
            (
                p.n_rounds,
                p.max_depth,
                scale.least(p.min_samples_leaf),
                float(p.learning_rate),
                float(p.l2),
            ),
            raw,
            gains,
        )
        return raw, gains


def _code(loss: Loss) -> int:
    """The number by which the kernel knows a loss."""
    if loss.name == "squared_error":
        return SQUARED
    if loss.name == "log_loss":
        return LOGISTIC if loss.n_outputs == 1 else MULTINOMIAL
    msg = (
        f"Small ensembles know squared error and log loss. Got {loss.name!r}. Use the engine of "
        "boosted trees for other losses."
    )
    raise ParameterError(msg)

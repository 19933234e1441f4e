"""Ensembles of small trees on a few columns, each fitted in one kernel call."""

from __future__ import annotations

import numpy as np

from secateur._kernels.small_trees import LOGISTIC, MULTINOMIAL, SQUARED, boost
from secateur.data.binning import BinnedColumns
from secateur.data.table import Fold
from secateur.engines.boosted.rows import WeightScale
from secateur.engines.boosted.trees import BoostingParams
from secateur.losses import Loss
from secateur.typing import FloatArray


def boost_small(
    columns: BinnedColumns,
    target: FloatArray,
    weight: FloatArray,
    loss: Loss,
    params: BoostingParams,
    fold: Fold,
) -> tuple[FloatArray, FloatArray]:
    """Raw predictions, of the rows of a fold (others keep the baseline), and total gains.

    The trees are those of ``trace_boosted`` without penalties; squared error and log loss only.
    """
    train = np.sort(fold.train).astype(np.uint32)
    train_weight = weight[train]
    scale = WeightScale.of(train_weight)
    rounded = np.maximum(np.rint(weight * scale.scale), 1.0).astype(np.uint32)
    raw = np.empty((loss.n_outputs, len(target)))
    raw[:] = loss.baseline(target[train], train_weight)[:, None]
    gains = np.zeros(columns.n_features)
    if columns.n_features == 0:
        return raw, gains
    min_weight = scale.min_weight(params.min_samples_leaf)
    rate, l2 = float(params.learning_rate), float(params.l2 * scale.mean)
    log_loss = LOGISTIC if loss.n_outputs == 1 else MULTINOMIAL
    boost(
        columns.codes.codes,
        (columns.offset, columns.n_bins, columns.is_categorical),
        target,
        (weight, rounded, float(scale.scale)),
        train,
        fold.test.astype(np.uint32),
        SQUARED if loss.constant_hessian else log_loss,
        (params.n_rounds, params.max_depth, min_weight, rate, l2),
        raw,
        gains,
    )
    return raw, gains

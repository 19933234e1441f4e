"""What a leaf predicts: a Newton step, the mean gradient, or a quantile of the residuals."""

from __future__ import annotations

import numpy as np

from secateur._engines.boosted import rows
from secateur._engines.boosted.params import BoostingParams
from secateur.losses.base import weighted_quantile
from secateur.typing import Executor, FloatArray, Loss


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

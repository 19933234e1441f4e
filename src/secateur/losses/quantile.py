"""Pinball loss, for regression on a quantile."""

from __future__ import annotations

import numpy as np

from secateur._kernels.losses import quantile_gradients
from secateur.exceptions import ParameterError
from secateur.losses.base import LossBase, weighted_quantile
from secateur.typing import FloatArray


class Quantile(LossBase):
    """Pinball loss: ``level * r`` for a residual ``r >= 0``, ``(level - 1) * r`` below.

    Parameters
    ----------
    level : float
        The quantile to estimate, strictly between 0 and 1.

    Examples
    --------
    >>> loss = Quantile(0.9)
    >>> loss.baseline(np.arange(1.0, 11.0), np.ones(10))
    array([9.])
    """

    name: str = "quantile"
    constant_hessian: bool = True

    def __init__(self, level: float) -> None:
        if not 0.0 < level < 1.0:
            raise ParameterError(
                f"'quantile' must lie strictly between 0 and 1. Got {level}. "
                "Use 0.5 for the median."
            )
        self.level = float(level)
        self.leaf_quantile: float | None = self.level

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill ``level`` above the prediction, ``level - 1`` below, 0 on it; 1 as the hessian."""
        quantile_gradients(target, raw, self.level, 1.0 - self.level, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        residual: FloatArray = target - raw[0]
        return np.maximum(self.level * residual, (self.level - 1.0) * residual)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        return weighted_quantile(target, weight, self.level)

    def _settings(self) -> dict[str, object]:
        return {"level": self.level}

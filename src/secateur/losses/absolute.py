"""Absolute error, for regression on the median."""

from __future__ import annotations

import numpy as np

from secateur._kernels.losses import quantile_gradients
from secateur.losses.base import LossBase, weighted_quantile
from secateur.typing import FloatArray


class AbsoluteError(LossBase):
    """Absolute error, ``|y - raw|``; the negative gradient is the sign of the residual.

    Examples
    --------
    >>> loss = AbsoluteError()
    >>> loss.baseline(np.array([1.0, 2.0, 60.0]), np.ones(3))
    array([2.])
    """

    name: str = "absolute_error"
    constant_hessian: bool = True
    leaf_quantile: float | None = 0.5

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill the sign of the residual (0 where it is zero) and 1 for the hessian."""
        quantile_gradients(target, raw, 1.0, 1.0, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        value: FloatArray = np.abs(target - raw[0])
        return value

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        return weighted_quantile(target, weight, 0.5)

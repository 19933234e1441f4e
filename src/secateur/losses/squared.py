"""Half squared error, for regression on the mean."""

from __future__ import annotations

import numpy as np

from secateur._kernels.losses import squared_gradients
from secateur.losses.base import LossBase, exact_mean
from secateur.typing import FloatArray


class SquaredError(LossBase):
    """Half squared error, ``(y - raw)^2 / 2``; the negative gradient is the residual.

    Examples
    --------
    >>> loss = SquaredError()
    >>> loss.baseline(np.array([1.0, 2.0, 6.0]), np.ones(3))
    array([3.])
    """

    name: str = "squared_error"
    constant_hessian: bool = True

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill the negative gradient ``y - raw`` and the hessian 1."""
        squared_gradients(target, raw, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        value: FloatArray = 0.5 * np.square(target - raw[0])
        return value

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Convex conjugate per row, ``s^2 / 2 + s y``, of a slope s of shape (1, n_rows)."""
        value: FloatArray = slope[0] * (0.5 * slope[0] + target)
        return value

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        return exact_mean(target, weight)

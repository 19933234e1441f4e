"""Half Poisson deviance, for counts and other targets that are never negative."""

from __future__ import annotations

import math

import numpy as np

from secateur._kernels.losses import RAW_LIMIT, poisson_gradients
from secateur.exceptions import InputError
from secateur.losses.base import LossBase, exact_mean
from secateur.typing import FloatArray


class Poisson(LossBase):
    """Half Poisson deviance, ``y log(y / mu) - y + mu`` with ``mu = exp(raw)``.

    Raw predictions beyond plus or minus 300 count as 300, so that nothing overflows.

    Examples
    --------
    >>> loss = Poisson()
    >>> loss.response(loss.baseline(np.array([0.0, 1.0, 5.0]), np.ones(3))[:, None])
    array([2.])
    """

    name: str = "poisson"

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill ``y - mu`` and ``mu``."""
        poisson_gradients(target, raw, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        clipped = np.clip(raw[0], -RAW_LIMIT, RAW_LIMIT)
        # y log y is 0 at y = 0, its limit.
        log_target = np.log(np.where(target > 0.0, target, 1.0))
        value: FloatArray = target * (log_target - clipped - 1.0) + np.exp(clipped)
        return value

    def response(self, raw: FloatArray) -> FloatArray:
        """Give the expected count, shape (n_rows,)."""
        mean: FloatArray = np.exp(np.clip(raw[0], -RAW_LIMIT, RAW_LIMIT))
        return mean

    def check_target(self, target: FloatArray) -> None:
        """Raise InputError if the target has a negative value, or is zero everywhere."""
        super().check_target(target)
        smallest = float(target.min())
        if smallest < 0.0:
            raise InputError(
                f"The target must be >= 0 for the loss 'poisson'. Got {smallest}. "
                "Use loss='squared_error' for targets with negative values."
            )
        self._check_positive(float(target.max()))

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        mean = exact_mean(target, weight)
        self._check_positive(mean)
        return math.log(mean)

    def _check_positive(self, size: float) -> None:
        if not size > 0.0:
            raise InputError(
                "The target must have a positive sum for the loss 'poisson'. Got only zeros. "
                "Check that the right column is the target."
            )

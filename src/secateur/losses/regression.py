"""Half Poisson deviance, for counts and other targets that are never negative."""

from __future__ import annotations

import math

import numpy as np

from secateur._kernels.losses import (
    RAW_LIMIT,
    huber_gradients,
    poisson_gradients,
    quantile_gradients,
    squared_gradients,
)
from secateur.exceptions import InputError, ParameterError
from secateur.losses.base import LossBase, exact_mean, fixed_point_sum, weighted_quantile
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


# Newton's method on a piecewise linear function needs a handful; halving needs about fifty.
_MAX_STEPS = 100


class Huber(LossBase):
    """Huber's loss: ``r^2 / 2`` if ``|r| <= delta``, else ``delta * (|r| - delta / 2)``.

    The hessian is 1 inside and ``delta / |r|`` outside, the curvature of the parabola that
    touches the loss at r and lies above it: a Newton leaf is then one step of iteratively
    re-weighted least squares.

    Parameters
    ----------
    delta : float
        Residual beyond which a row counts by its absolute error, in units of the target.

    Examples
    --------
    >>> loss = Huber(delta=1.0)
    >>> loss.baseline(np.array([0.0, 0.0, 0.5, 100.0]), np.ones(4))
    array([0.5])
    """

    name: str = "huber"

    def __init__(self, delta: float) -> None:
        if not (delta > 0.0 and math.isfinite(delta)):
            raise ParameterError(
                f"'delta' must be positive and finite. Got {delta}. "
                "Use a typical size of the residuals."
            )
        self.delta = float(delta)

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill the residual cut off at ``delta``, and the curvature of the upper parabola."""
        huber_gradients(target, raw, self.delta, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        size: FloatArray = np.abs(target - raw[0])
        near: FloatArray = np.minimum(size, self.delta)
        return near * (size - 0.5 * near)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        """Root of the summed gradient, by Newton steps kept inside a shrinking bracket."""
        low, high = float(target.min()), float(target.max())
        centre = weighted_quantile(target, weight, 0.5)
        for _ in range(_MAX_STEPS):
            pull, slope = self._pull(target - centre, weight)
            if pull == 0.0:
                break
            low, high = (centre, high) if pull > 0.0 else (low, centre)
            proposal = centre + pull / slope if slope > 0.0 else math.inf
            if not low < proposal < high:
                proposal = low + 0.5 * (high - low)
            moved = abs(proposal - centre)
            centre = proposal
            if moved <= 1e-15 * (abs(centre) + self.delta):
                break
        return centre

    def _pull(self, residual: FloatArray, weight: FloatArray) -> tuple[float, float]:
        """Sum of the negative gradient, and how fast it falls when the constant rises."""
        pull = fixed_point_sum(weight * np.clip(residual, -self.delta, self.delta))
        slope = fixed_point_sum(np.where(np.abs(residual) <= self.delta, weight, 0.0))
        return pull, slope

    def _settings(self) -> dict[str, object]:
        return {"delta": self.delta}


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

"""Huber's loss: squared near the prediction, absolute far from it."""

from __future__ import annotations

import math

import numpy as np

from secateur._kernels.losses import huber_gradients
from secateur.exceptions import ParameterError
from secateur.losses.base import LossBase, fixed_point_sum, weighted_quantile
from secateur.typing import FloatArray

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

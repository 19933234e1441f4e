"""The losses, each a small class; a new one goes here and into ``get_loss``."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from secateur._kernels import losses as kernels
from secateur.exceptions import InputError, ParameterError
from secateur.losses.base import LossBase, exact_mean, fixed_point_sum, weighted_quantile
from secateur.typing import FloatArray, Loss

SMALLEST_SHARE = float(np.finfo(np.float64).eps)
"""Smallest share of a class: the log odds of a class without rows stay at about 36."""

MAX_STEPS = 100
"""Steps for the constant of Huber's loss: Newton needs a handful, bisection about fifty."""


class SquaredError(LossBase):
    """Half squared error, ``(y - raw)^2 / 2``; the negative gradient is the residual."""

    name: str = "squared_error"
    score_factor: float = 2.0
    constant_hessian: bool = True
    gradients = staticmethod(kernels.squared_gradients)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``r^2 / 2``, r the residual."""
        return 0.5 * np.square(target - raw[0])

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """``s^2 / 2 + s y`` of a slope s."""
        return slope[0] * (0.5 * slope[0] + target)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        return exact_mean(target, weight)


class Quantile(LossBase):
    """Pinball loss: ``level * r`` for a residual ``r >= 0``, ``(level - 1) * r`` below."""

    name: str = "quantile"
    constant_hessian: bool = True
    _parameters: ClassVar[tuple[str, ...]] = ("level",)

    def __init__(self, level: float) -> None:
        if not 0.0 < level < 1.0:
            raise ParameterError(
                f"'quantile' must lie strictly between 0 and 1. Got {level}. "
                "Use 0.5 for the median."
            )
        self.level = float(level)
        self.leaf_quantile: float | None = self.level
        self._slopes = (self.level, 1.0 - self.level)

    def gradients(
        self, target: FloatArray, raw: FloatArray, gradient_out: FloatArray, hessian_out: FloatArray
    ) -> None:
        """``level`` above the prediction, ``level - 1`` below, 0 on it; the hessian is 1."""
        kernels.quantile_gradients(target, raw, *self._slopes, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``max(level * r, (level - 1) * r)``."""
        residual: FloatArray = target - raw[0]
        above, below = self._slopes
        return np.maximum(above * residual, -below * residual)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        return weighted_quantile(target, weight, self.level)


class AbsoluteError(Quantile):
    """Absolute error, ``|y - raw|``; the negative gradient is the sign of the residual."""

    name: str = "absolute_error"
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(0.5)
        self._slopes = (1.0, 1.0)


class Huber(LossBase):
    """Huber's loss: ``r^2 / 2`` if ``|r| <= delta``, else ``delta * (|r| - delta / 2)``.

    The hessian is 1 inside and ``delta / |r|`` outside, the curvature of the parabola that
    touches the loss at r and lies above it: a Newton leaf is then one step of iteratively
    re-weighted least squares.
    """

    name: str = "huber"
    _parameters: ClassVar[tuple[str, ...]] = ("delta",)

    def __init__(self, delta: float) -> None:
        if not (delta > 0.0 and math.isfinite(delta)):
            raise ParameterError(
                f"'delta' must be positive and finite. Got {delta}. "
                "Use a typical size of the residuals."
            )
        self.delta = float(delta)

    def gradients(
        self, target: FloatArray, raw: FloatArray, gradient_out: FloatArray, hessian_out: FloatArray
    ) -> None:
        """The residual clipped at ``delta``, and the curvature of the parabola above."""
        kernels.huber_gradients(target, raw, self.delta, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``r^2 / 2`` or ``delta * (|r| - delta / 2)``."""
        size: FloatArray = np.abs(target - raw[0])
        near: FloatArray = np.minimum(size, self.delta)
        return near * (size - 0.5 * near)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        """Root of the summed gradient, by Newton steps kept inside a shrinking bracket."""
        low, high = float(target.min()), float(target.max())
        centre = weighted_quantile(target, weight, 0.5)
        for _ in range(MAX_STEPS):
            residual = target - centre
            pull = fixed_point_sum(weight * np.clip(residual, -self.delta, self.delta))
            slope = fixed_point_sum(np.where(np.abs(residual) <= self.delta, weight, 0.0))
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


class Poisson(LossBase):
    """Half Poisson deviance, ``y log(y / mu) - y + mu`` with ``mu = exp(raw)``.

    Raw predictions beyond plus or minus 300 count as 300, so that nothing overflows.
    """

    name: str = "poisson"
    score_factor: float = 2.0
    gradients = staticmethod(kernels.poisson_gradients)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``y log(y / mu) - y + mu``; ``y log y`` is 0 at 0, its limit."""
        clipped = np.clip(raw[0], -kernels.RAW_LIMIT, kernels.RAW_LIMIT)
        log_target = np.log(np.where(target > 0.0, target, 1.0))
        return target * (log_target - clipped - 1.0) + np.exp(clipped)

    def response(self, raw: FloatArray) -> FloatArray:
        """The expected count, shape (n_rows,)."""
        return np.exp(np.clip(raw[0], -kernels.RAW_LIMIT, kernels.RAW_LIMIT))

    def check_target(self, target: FloatArray) -> None:
        """Raise InputError if the target has a negative value."""
        super().check_target(target)
        smallest = float(target.min())
        if smallest < 0.0:
            raise InputError(
                f"The target must be >= 0 for the loss 'poisson'. Got {smallest}. "
                "Use loss='squared_error' for targets with negative values."
            )

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        mean = exact_mean(target, weight)
        if not mean > 0.0:
            raise InputError(
                "The target must have a positive sum for the loss 'poisson'. Got only zeros. "
                "Check that the right column is the target."
            )
        return math.log(mean)


class Logistic(LossBase):
    """Log loss in nats, ``log(1 + exp(raw)) - y * raw``, for class codes 0 and 1."""

    name: str = "log_loss"
    n_classes: int = 2
    gradients = staticmethod(kernels.logistic_gradients)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``log(1 + exp(raw)) - y * raw``."""
        value = np.empty(len(target))
        kernels.logistic_losses(target, raw, value)
        return value

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Minus the entropy of ``(q, 1 - q)``, q = y + slope."""
        share = np.clip(target + slope[0], 0.0, 1.0)
        return xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)

    def response(self, raw: FloatArray) -> FloatArray:
        """Probabilities of both classes, shape (n_rows, 2)."""
        probability = np.empty((raw.shape[1], 2))
        kernels.logistic_probabilities(raw, probability)
        return probability

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        share = exact_mean(target, weight)
        share = min(max(share, SMALLEST_SHARE), 1.0 - SMALLEST_SHARE)
        return math.log(share / (1.0 - share))


class Multinomial(LossBase):
    """Log loss in nats, ``log(sum_k exp(raw_k)) - raw_y``, for class codes 0 to n_classes - 1.

    The hessian is the diagonal ``p_k (1 - p_k)`` of the full one, one tree per class.
    """

    name: str = "log_loss"
    gradients = staticmethod(kernels.multinomial_gradients)
    _parameters: ClassVar[tuple[str, ...]] = ("n_classes",)

    def __init__(self, n_classes: int) -> None:
        if n_classes < 2:
            raise ParameterError(
                f"'n_classes' must be >= 2. Got {n_classes}. Give a target with several classes."
            )
        self.n_outputs = self.n_classes = int(n_classes)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``log(sum_k exp(raw_k)) - raw_y``."""
        value = np.empty(len(target))
        kernels.multinomial_values(target, raw, value)
        return value

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Minus the entropy of q, ``q_k = [y = k] + slope_k``."""
        share = slope.copy()
        share[target.astype(np.int64), np.arange(len(target))] += 1.0
        share = np.clip(share, 0.0, 1.0)
        return xlogy(share, share).sum(axis=0)

    def response(self, raw: FloatArray) -> FloatArray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        probability = np.empty((raw.shape[1], raw.shape[0]))
        kernels.multinomial_probabilities(raw, probability)
        return probability

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        codes = range(self.n_outputs)
        shares = [exact_mean((target == code).astype(np.float64), weight) for code in codes]
        log_shares = np.log(np.maximum(shares, SMALLEST_SHARE))
        # The softmax ignores a common shift; the centred vector is the shortest.
        return np.asarray(log_shares - log_shares.mean(), dtype=np.float64)


LOSS_NAMES = ("squared_error", "log_loss", "absolute_error", "huber", "poisson", "quantile")


def get_loss(
    name: str,
    *,
    n_classes: int | None = None,
    quantile: float | None = None,
    delta: float | None = None,
) -> Loss:
    """The loss of a given name; parameters that it does not have are ignored.

    "log_loss" needs ``n_classes`` (two classes have one raw output, more have one per class),
    "quantile" needs ``quantile``, and "huber" ``delta``, the residual beyond which a row counts by
    its absolute error.

    >>> get_loss("log_loss", n_classes=3)
    Multinomial(n_classes=3)
    """
    for loss in (SquaredError, AbsoluteError, Poisson):
        if name == loss.name:
            return loss()
    if name == "log_loss":
        count = int(_needed("n_classes", n_classes, name))
        return Logistic() if count == 2 else Multinomial(count)
    if name == "huber":
        return Huber(_needed("delta", delta, name))
    if name == "quantile":
        return Quantile(_needed("quantile", quantile, name))
    known = ", ".join(map(repr, LOSS_NAMES))
    raise ParameterError(f"'loss' must be one of {known}. Got {name!r}. Choose one of these names.")


def _needed(parameter: str, value: float | None, name: str) -> float:
    if value is None:
        raise ParameterError(
            f"The loss {name!r} needs {parameter!r}. Got None. Give {parameter!r} with this loss."
        )
    return value

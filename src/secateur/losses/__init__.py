"""Losses: value per row, negative gradient, hessian and best constant."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from secateur._kernels import losses as kernels
from secateur.exceptions import InputError, ParameterError
from secateur.typing import FloatArray

# Smallest share of a class: the log odds of a class without rows stay at about 36.
SMALLEST_SHARE = float(np.finfo(np.float64).eps)
MAX_STEPS = 100  # for the constant of Huber's loss: Newton needs a handful, bisection about fifty
METRICS = {"poisson": "poisson_deviance", "quantile": "pinball_loss"}  # not named as the loss


def fixed_point_sum(values: FloatArray) -> float:
    """Sum that is the same bit for bit in every order of the rows: of rounded integers."""
    # scaled by the largest power of two at which n of them stay below 2**61
    largest = float(np.max(np.abs(values), initial=0.0))
    power = 61 - math.frexp(largest)[1] - len(values).bit_length()
    whole = np.rint(np.ldexp(values, power)).astype(np.int64)
    return math.ldexp(float(whole.sum()), -power)


def exact_mean(values: FloatArray, weights: FloatArray) -> float:
    """Weighted mean that does not depend on the order of the rows."""
    mean = fixed_point_sum(values * weights) / fixed_point_sum(weights)
    # Clipped to the range of the values: the mean of a constant is the constant, to the bit.
    return min(max(mean, float(values.min())), float(values.max()))


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """Lower weighted quantile: the smallest value with ``level`` of the weight at or below it."""
    order = np.lexsort((weights, values))  # the result does not depend on the order of the rows
    cumulative = np.cumsum(weights[order])
    first = int(np.searchsorted(cumulative, level * cumulative[-1], side="left"))
    return float(values[order[first]])


# The log of the odds changes by at most so much in a step, before the learning rate. The curvature
# of a rare class is nearly zero: one of its rows in a leaf of thousands would change all of these
# by hundreds, and boosting would not recover. XGBoost's ``max_delta_step``.
MAX_LOGIT = 20.0


class Loss:
    """Base class of losses: one raw output and the identity as link, unless overridden.

    Raw predictions, gradients and hessians have the shape (n_outputs, n_rows). A loss of grafting
    also has ``conjugate(target, slope)``, the convex conjugate per row.
    """

    name: str
    score_factor: float = 1.0  # of ``scores``: 2 where the loss is half of scikit-learn's metric
    n_outputs: int = 1
    constant_hessian: bool = False  # whether the hessian is 1 for all rows
    starts_at_zero: bool = False  # whether fits begin at 0 instead of the best constant
    by_query: bool = False  # whether gradients need all rows of a query; see `losses.ranking`
    # The weighted quantile of its residuals that is the value of a leaf, for losses without the
    # curvature that a Newton step needs.
    leaf_quantile: float | None = None
    max_step: float = np.inf  # the largest Newton step of a leaf, before the learning rate
    # Fills (target, raw, gradient_out, hessian_out): the *negative* gradient, and the hessian.
    gradients: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], None]
    pointwise: Callable[[FloatArray, FloatArray], FloatArray]  # (target, raw): the loss of each row
    _best_constant: Callable[[FloatArray, FloatArray], float | FloatArray]  # (target, weight)

    @property
    def metric(self) -> str:
        """The name of ``scores``, as in ``sklearn.metrics`` without "mean_"."""
        return METRICS.get(self.name, self.name)

    def scores(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """The metric of each row; Huber's loss is that of scikit-learn's boosted trees."""
        return self.score_factor * self.pointwise(target, raw)

    def baseline(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        """Raw prediction that fits begin at, shape (n_outputs,); the same in any order of rows."""
        if self.starts_at_zero:
            return np.zeros(self.n_outputs)
        return np.atleast_1d(np.asarray(self._best_constant(target, weight), dtype=np.float64))

    def response(self, raw: FloatArray) -> FloatArray:
        """Prediction on the scale of the target: (n_rows,), or (n_rows, n_classes)."""
        return raw[0].copy()


class SquaredError(Loss):
    """Half squared error, ``(y - raw)^2 / 2``; the negative gradient is the residual."""

    name = "squared_error"
    score_factor = 2.0
    constant_hessian = True
    gradients = staticmethod(kernels.squared_gradients)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``r^2 / 2``, r the residual."""
        return 0.5 * np.square(target - raw[0])

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """``s^2 / 2 + s y`` of a slope s."""
        return slope[0] * (0.5 * slope[0] + target)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        return exact_mean(target, weight)


class Quantile(Loss):
    """Pinball loss: ``level * r`` for a residual ``r >= 0``, ``(level - 1) * r`` below."""

    name = "quantile"
    constant_hessian = True

    def __init__(self, level: float) -> None:
        self.level = self.leaf_quantile = float(level)
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

    name = "absolute_error"

    def __init__(self) -> None:
        super().__init__(0.5)
        self._slopes = (1.0, 1.0)


class Huber(Loss):
    """Huber's loss: ``r^2 / 2`` if ``|r| <= delta``, else ``delta * (|r| - delta / 2)``.

    The hessian is 1 inside and ``delta / |r|`` outside, the curvature of the parabola that
    touches the loss at r and lies above it: a Newton leaf is then one step of iteratively
    re-weighted least squares.
    """

    name = "huber"

    def __init__(self, delta: float) -> None:
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

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """``s^2 / 2 + s y`` of a slope s from ``-delta`` to ``delta``."""
        s = np.clip(slope[0], -self.delta, self.delta)
        return s * (0.5 * s + target)

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


class Poisson(Loss):
    """Half Poisson deviance, ``y log(y / mu) - y + mu``, ``mu = exp(raw)``, raw at most +-300."""

    name = "poisson"
    score_factor = 2.0
    gradients = staticmethod(kernels.poisson_gradients)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``y log(y / mu) - y + mu``; ``y log y`` is 0 at 0, its limit."""
        clipped = np.clip(raw[0], -kernels.RAW_LIMIT, kernels.RAW_LIMIT)
        log_target = np.log(np.where(target > 0.0, target, 1.0))
        return target * (log_target - clipped - 1.0) + np.exp(clipped)

    def response(self, raw: FloatArray) -> FloatArray:
        """The expected count, shape (n_rows,)."""
        return np.exp(np.clip(raw[0], -kernels.RAW_LIMIT, kernels.RAW_LIMIT))

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        smallest = float(target.min())
        if smallest < 0.0:
            raise InputError(
                f"The target must be >= 0 for the loss 'poisson'. Got {smallest}. "
                "Use loss='squared_error' for targets with negative values."
            )
        mean = exact_mean(target, weight)
        if not mean > 0.0:
            raise InputError(
                "The target must have a positive sum for the loss 'poisson'. Got only zeros. "
                "Check that the right column is the target."
            )
        return math.log(mean)


class Multinomial(Loss):
    """Log loss in nats, ``log(sum_k exp(raw_k)) - raw_y``, for class codes 0 to n_classes - 1.

    The hessian is the diagonal ``p_k (1 - p_k)`` of the full one, one tree per class.
    """

    name = "log_loss"
    max_step = MAX_LOGIT
    gradients = staticmethod(kernels.multinomial_gradients)
    _losses = staticmethod(kernels.multinomial_values)
    _probabilities = staticmethod(kernels.multinomial_probabilities)

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = int(n_classes)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """``log(sum_k exp(raw_k)) - raw_y``."""
        value = np.empty(len(target))
        self._losses(target, raw, value)
        return value

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Minus the entropy of q, ``q_k = [y = k] + slope_k``."""
        share = slope.copy()
        share[target.astype(np.int64), np.arange(len(target))] += 1.0
        share = np.clip(share, 0.0, 1.0)
        return xlogy(share, share).sum(axis=0)

    def response(self, raw: FloatArray) -> FloatArray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        probability = np.empty((raw.shape[1], max(2, raw.shape[0])))
        self._probabilities(raw, probability)
        return probability

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float | FloatArray:
        codes = range(self.n_outputs)
        shares = [exact_mean((target == code).astype(np.float64), weight) for code in codes]
        log_shares = np.log(np.maximum(shares, SMALLEST_SHARE))
        # The softmax ignores a common shift; the centred vector is the shortest.
        return np.asarray(log_shares - log_shares.mean(), dtype=np.float64)


class Logistic(Multinomial):
    """Log loss in nats, ``log(1 + exp(raw)) - y * raw``, for class codes 0 and 1."""

    gradients = staticmethod(kernels.logistic_gradients)
    _losses = staticmethod(kernels.logistic_losses)
    _probabilities = staticmethod(kernels.logistic_probabilities)

    def __init__(self) -> None:
        super().__init__(1)  # one raw output

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Minus the entropy of ``(q, 1 - q)``, q = y + slope."""
        share = np.clip(target + slope[0], 0.0, 1.0)
        return xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        share = exact_mean(target, weight)
        share = min(max(share, SMALLEST_SHARE), 1.0 - SMALLEST_SHARE)
        return math.log(share / (1.0 - share))


def get_loss(
    name: str, *, n_classes: int = 0, quantile: float | None = None, delta: float = 1.0
) -> Loss:
    """The loss of a given name; parameters that it does not have are ignored.

    "log_loss" of two classes has one raw output, of more one per class; ``delta`` is the residual
    beyond which "huber" counts a row by its absolute error.
    """
    if name == "log_loss":
        return Logistic() if n_classes == 2 else Multinomial(n_classes)
    if name == "huber":
        return Huber(delta)
    if name == "quantile":
        if quantile is None:
            raise ParameterError(
                "The loss 'quantile' needs 'quantile'. Got None. Use 0.5 for the median."
            )
        return Quantile(quantile)
    others: tuple[type[Loss], ...] = (SquaredError, AbsoluteError, Poisson)
    return {each.name: each for each in others}[name]()

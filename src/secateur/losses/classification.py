"""Log loss of several classes, with one raw output per class."""

from __future__ import annotations

import math

import numpy as np

from secateur._kernels.losses import (
    logistic_gradients,
    logistic_losses,
    logistic_probabilities,
    multinomial_gradients,
    multinomial_probabilities,
    multinomial_values,
)
from secateur.exceptions import ParameterError
from secateur.losses.base import LossBase, check_class_codes, exact_mean, plogp
from secateur.typing import FloatArray

# With one class only the log odds are infinite; this keeps them at about 36.
_SMALLEST_SHARE = float(np.finfo(np.float64).eps)


class Logistic(LossBase):
    """Log loss in nats, ``log(1 + exp(raw)) - y * raw``, for class codes 0 and 1.

    Examples
    --------
    >>> loss = Logistic()
    >>> loss.response(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """

    name: str = "log_loss"

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill ``y - p`` and ``p (1 - p)``, p the probability of class 1."""
        logistic_gradients(target, raw, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        value = np.empty(len(target))
        logistic_losses(target, raw, value)
        return value

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Convex conjugate per row: minus the entropy of ``(q, 1 - q)``, q = y + slope."""
        share = np.clip(target + slope[0], 0.0, 1.0)
        value: FloatArray = plogp(share) + plogp(1.0 - share)
        return value

    def response(self, raw: FloatArray) -> FloatArray:
        """Probabilities of both classes, shape (n_rows, 2)."""
        probability = np.empty((raw.shape[1], 2))
        logistic_probabilities(raw, probability)
        return probability

    def check_target(self, target: FloatArray) -> None:
        """Raise InputError if the target has something else than 0 and 1."""
        super().check_target(target)
        check_class_codes(target, 2)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> float:
        share = exact_mean(target, weight)
        share = min(max(share, _SMALLEST_SHARE), 1.0 - _SMALLEST_SHARE)
        return math.log(share / (1.0 - share))


_SMALLEST_CLASS_SHARE = float(np.finfo(np.float64).eps)


class Multinomial(LossBase):
    """Log loss in nats, ``log(sum_k exp(raw_k)) - raw_y``, for class codes 0 to n_classes - 1.

    The hessian is the diagonal ``p_k (1 - p_k)`` of the full one, one tree per class.

    Parameters
    ----------
    n_classes : int
        At least 2.

    Examples
    --------
    >>> loss = Multinomial(n_classes=4)
    >>> loss.response(np.zeros((4, 1)))
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    name: str = "log_loss"

    def __init__(self, n_classes: int) -> None:
        if n_classes < 2:
            raise ParameterError(
                f"'n_classes' must be >= 2. Got {n_classes}. Give a target with several classes."
            )
        self.n_outputs: int = int(n_classes)

    def gradients(
        self,
        target: FloatArray,
        raw: FloatArray,
        gradient_out: FloatArray,
        hessian_out: FloatArray,
    ) -> None:
        """Fill ``[y = k] - p_k`` and ``p_k (1 - p_k)``."""
        multinomial_gradients(target, raw, gradient_out, hessian_out)

    def pointwise(self, target: FloatArray, raw: FloatArray) -> FloatArray:
        """Loss per row, shape (n_rows,)."""
        value = np.empty(target.shape[0])
        multinomial_values(target, raw, value)
        return value

    def conjugate(self, target: FloatArray, slope: FloatArray) -> FloatArray:
        """Convex conjugate per row: minus the entropy of q, ``q_k = [y = k] + slope_k``."""
        share = slope.copy()
        share[target.astype(np.int64), np.arange(len(target))] += 1.0
        value: FloatArray = plogp(np.clip(share, 0.0, 1.0)).sum(axis=0)
        return value

    def response(self, raw: FloatArray) -> FloatArray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        probability = np.empty((raw.shape[1], raw.shape[0]))
        multinomial_probabilities(raw, probability)
        return probability

    def check_target(self, target: FloatArray) -> None:
        """Raise InputError if the target has something else than the class codes."""
        super().check_target(target)
        check_class_codes(target, self.n_outputs)

    def _best_constant(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        shares = [
            exact_mean((target == code).astype(np.float64), weight)
            for code in range(self.n_outputs)
        ]
        log_shares = np.log(np.maximum(shares, _SMALLEST_CLASS_SHARE))
        # The softmax does not see a common shift; centred is the shortest of the best vectors.
        return np.asarray(log_shares - log_shares.mean(), dtype=np.float64)

    def _settings(self) -> dict[str, object]:
        return {"n_classes": self.n_outputs}

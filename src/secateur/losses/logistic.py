"""Log loss of two classes, with one raw output: the log odds of the second class."""

from __future__ import annotations

import math

import numpy as np

from secateur._kernels.losses import logistic_gradients, logistic_losses, logistic_probabilities
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

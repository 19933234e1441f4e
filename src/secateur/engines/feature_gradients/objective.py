"""The objective of a search, from the estimates z of each target, and what is reported of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from secateur.typing import FloatArray

STRAIGHT_BELOW = 0.01  # this z the square root is too steep, and is continued as a line
TINY = 1e-12  # distance from 0 and 1 of z and of shares of classes, in reports
DERIVATIVE_ABOVE_ONE = 0.025  # a small slope above z = 1, so that the search can come back
TEMPERATURE = 0.1  # of the softmax over classes, in error rates: they lie between 0 and 0.5
ObjectiveKind = Literal["residual variance", "error rate"]


@dataclass(frozen=True, slots=True)
class Objective:
    """The loss by z: the residual variance 1 - z, or the error rate (1 - sqrt(z)) / 2.

    Over several targets it is their mean, or ``is_soft_maximum``, T log mean exp(loss / T).
    """

    kind: ObjectiveKind
    is_soft_maximum: bool = False

    def over_targets(self, z: FloatArray) -> float:
        """The loss of all targets together."""
        value = self.value(z)
        if not self.is_soft_maximum:
            return float(value.mean())
        top = value.max()
        return float(top + TEMPERATURE * np.log(np.exp((value - top) / TEMPERATURE).mean()))

    def by_target(self, z: FloatArray) -> FloatArray:
        """The derivative of the loss of all targets by each z, times their number."""
        if not self.is_soft_maximum:
            return self.derivative(z)
        value = self.value(z)
        weight = np.exp((value - value.max()) / TEMPERATURE)
        return self.derivative(z) * weight / weight.mean()

    def value(self, z: FloatArray) -> FloatArray:
        """The loss."""
        if self.kind == "residual variance":
            return 1.0 - z
        root = np.sqrt(np.clip(z, STRAIGHT_BELOW, 1.0))
        below, above = np.minimum(z - STRAIGHT_BELOW, 0.0), np.maximum(z - 1.0, 0.0)
        value: FloatArray = (1.0 - root) / 2.0 - below / (4.0 * np.sqrt(STRAIGHT_BELOW))
        return value - DERIVATIVE_ABOVE_ONE * above

    def derivative(self, z: FloatArray) -> FloatArray:
        """The derivative of the loss by z."""
        if self.kind == "residual variance":
            return np.full_like(z, -1.0)
        inside = -0.25 / np.sqrt(np.clip(z, STRAIGHT_BELOW, 1.0))
        return np.where(z > 1.0, -DERIVATIVE_ABOVE_ONE, inside)

    def estimate(self, z: FloatArray, share: FloatArray) -> FloatArray:
        """What is reported: 1 - z, or the error rate where the class has this share of the rows.

        The rate is that of the linear discriminant of two normal classes with equal covariance,
        d standard deviations apart: z / (1 - z) = share (1 - share) d^2. Of equal shares it is near
        (1 - sqrt(z)) / 2; of others that is far too high.
        """
        if self.kind == "residual variance":
            return 1.0 - z
        z, p = np.clip(z, TINY, 1.0 - TINY), np.clip(share, TINY, 1.0 - TINY)
        half = 0.5 * np.sqrt(z / ((1.0 - z) * p * (1.0 - p)))
        shift = 0.5 * np.log((1.0 - p) / p) / half
        rate: FloatArray = p * ndtr(shift - half) + (1.0 - p) * ndtr(-shift - half)
        return rate

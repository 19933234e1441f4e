"""How real numbers become integers whose sums cannot overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from secateur._data.weights import are_counts
from secateur.losses.base import fixed_point_sum
from secateur.typing import FloatArray

GRADIENT_STEPS = 32767
"""Weighted gradients are rounded to so many steps on either side of zero, or fewer."""

WEIGHT_STEPS = 65535.0
"""Weights that are not whole numbers are rounded to so many steps, or fewer."""


def fixed_point_scale(largest: float, n_rows: int) -> float:
    """The power of two by which terms up to ``largest`` can be rounded and summed in int64.

    >>> fixed_point_scale(1.0, 3) == 2.0 ** 58
    True
    """
    return math.ldexp(1.0, min(61 - math.frexp(largest)[1] - n_rows.bit_length(), 1000))


def gradient_scale(largest: float, sum_absolute: float, n_rows: int) -> float:
    """Steps per unit of gradient, such that no sum of rounded gradients reaches 2^31.

    Up to 65,000 rows these are always 32767 steps for the largest; above, as many as the sum of
    absolute gradients leaves room for.

    >>> gradient_scale(0.5, 100.0, 1000)
    65534.0
    """
    room = (2**31 - 1 - n_rows) * largest / sum_absolute
    return min(GRADIENT_STEPS, math.floor(room)) / largest


@dataclass(frozen=True, slots=True)
class WeightScale:
    """How row weights become integers: whole numbers as they are, others in steps.

    ``mean`` is what one row counts: 1 for whole weights, the mean weight otherwise.
    """

    scale: float
    mean: float
    most: float
    total: float

    @classmethod
    def of(cls, weight: FloatArray) -> WeightScale:
        """Whole weights count rows and stay exact; others are relative, as if their mean were one.

        >>> import numpy as np
        >>> WeightScale.of(np.array([1.0, 3.0])).scale
        1.0
        """
        most, total, n = float(weight.max()), fixed_point_sum(weight), len(weight)
        counts = are_counts(weight)
        room = (2**32 - 1 - 2 * n) / total
        exact = counts and most <= WEIGHT_STEPS and room >= 1.0
        scale = 1.0 if exact else min(WEIGHT_STEPS / most, room)
        return cls(scale, 1.0 if counts else total / n, most, total)

    def least(self, min_samples_leaf: float) -> int:
        """The smallest integer weight that counts as ``min_samples_leaf`` rows."""
        needed = min_samples_leaf * (1.0 - 1e-9) * self.mean * self.scale
        return max(1, math.ceil(needed))

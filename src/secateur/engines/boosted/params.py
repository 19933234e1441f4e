"""Parameters of a boosted fit, and the scales at which rows are rounded to integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from secateur.data.weights import are_counts
from secateur.losses.base import fixed_point_sum
from secateur.typing import FloatArray

NOISE = 1e-9  # reductions below this share of the root's squared error are rounding, not signal
# Reductions below this share of the sum of squared gradients are lost in its last digits.
ROUNDING = 1e-13
# Weighted gradients are rounded to at most this many steps on either side of zero.
GRADIENT_STEPS = 32767
WEIGHT_STEPS = 65535.0  # weights that are not whole numbers are rounded to at most this many steps


@dataclass(frozen=True, slots=True)
class BoostingParams:
    """Parameters of boosting with feature costs.

    ``criterion`` is "gbfs" (dSSE / 2 minus the penalty, Eq. 14 of GBFS) or "agbm" (dSSE / SSE of
    the root minus the penalty). ``lazy`` and ``whole`` choose between algorithms that grow the same
    trees: whether trees are drafted on few features, and whether small trees are grown in one call.
    """

    criterion: Literal["gbfs", "agbm"] = "agbm"
    penalty: float = 0.0
    learning_rate: float = 0.1
    n_rounds: int = 100
    max_depth: int = 4
    min_samples_leaf: float = 20
    l2: float = 0.0
    leaf: Literal["newton", "mean"] = "newton"
    max_features: int | None = None
    cost_budget: float | None = None
    subsample: float = 1.0
    seed: int = 0
    lazy: bool = True
    whole: bool = True


@dataclass(frozen=True, slots=True)
class TreeScale:
    """Units of one tree's gains.

    A gain is dSSE / ``unit`` - ``penalty`` * cost; ``unit`` is the SSE of the root for A-GBM and 2
    for GBFS. A dSSE of at most ``floor`` is rounding. ``steps`` = (1 / gradient scale, 1 / weight
    scale) turns sums of integers into sums of gradients and weights.
    """

    unit: float
    penalty: float
    floor: float
    steps: tuple[float, float]


def fixed_point_scale(largest: float, n_rows: int) -> float:
    """The power of two by which terms up to ``largest`` can be rounded and summed in int64."""
    return math.ldexp(1.0, min(61 - math.frexp(largest)[1] - n_rows.bit_length(), 1000))


def gradient_scale(largest: float, sum_absolute: float, n_rows: int) -> float:
    """Steps per unit of gradient, such that no sum of rounded gradients reaches 2^31.

    Up to 65,000 rows the largest gradient has 32767 steps; above, what the absolute sum allows.
    """
    max_steps = (2**31 - 1 - n_rows) * largest / sum_absolute
    return min(GRADIENT_STEPS, math.floor(max_steps)) / largest


@dataclass(frozen=True, slots=True)
class WeightScale:
    """How row weights become integers: whole numbers as they are, others in steps.

    ``mean`` is the weight of one row: 1 for whole weights, the mean weight otherwise.
    """

    scale: float
    mean: float
    largest: float
    total: float

    @classmethod
    def of(cls, weight: FloatArray) -> WeightScale:
        """Whole weights count rows and stay exact; others are relative, with mean one."""
        largest, total, n = float(weight.max()), fixed_point_sum(weight), len(weight)
        counts = are_counts(weight)
        max_scale = (2**32 - 1 - 2 * n) / total
        exact = counts and largest <= WEIGHT_STEPS and max_scale >= 1.0
        scale = 1.0 if exact else min(WEIGHT_STEPS / largest, max_scale)
        return cls(scale, 1.0 if counts else total / n, largest, total)

    def min_weight(self, min_samples_leaf: float) -> int:
        """The smallest integer weight that counts as ``min_samples_leaf`` rows."""
        needed = min_samples_leaf * (1.0 - 1e-9) * self.mean * self.scale
        return max(1, math.ceil(needed))

"""What a boosted fit is told: one frozen record, the same for all of its trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NOISE = 1e-9
"""Reductions below this share of the root's squared error are rounding, not signal."""

ROUNDING = 1e-13
"""Reductions below this share of the sum of squared gradients drown in its last digits."""


@dataclass(frozen=True, slots=True)
class BoostingParams:
    """Limits and rates of boosting with priced features.

    ``criterion`` is "gbfs" (dSSE / 2 less the price, Eq. 14 of GBFS) or "agbm" (dSSE / SSE of the
    root less the price). ``lazy`` and ``whole`` choose between ways to the same trees: whether
    drafts are tried, and whether small trees are grown in one call.
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

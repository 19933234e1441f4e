"""Which features are candidates of a round, and which of them is accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.costs import CostModel
from secateur.path.stopping import within_budget
from secateur.typing import BoolArray, FloatArray, IntArray

SCORE_TOL = 1e-12  # scores that differ by less are ties: folds are averaged in floating point


@dataclass(frozen=True, slots=True, eq=False)
class RoundResult:
    """Candidates of a round and their scores; the best of them, its folds and its rank."""

    candidates: IntArray
    scores: FloatArray
    feature: int
    folds: FloatArray
    rank: int

    def details(self, gain: float) -> dict[str, Any]:
        """Details of a step; lists become text, since details hold plain values only."""
        return {
            "rank": self.rank,
            "gain": gain if math.isfinite(gain) else None,
            "n_tried": len(self.candidates),
            "tried": " ".join(str(int(feature)) for feature in self.candidates),
            "tried_scores": " ".join(f"{score:.6g}" for score in self.scores),
        }


def read_tried(details: Mapping[str, Any]) -> tuple[IntArray, FloatArray]:
    """The candidates of a step and their scores, from its details.

    >>> read_tried({"tried": "4 2", "tried_scores": "0.5 0.75"})
    (array([4, 2]), array([0.5 , 0.75]))
    """
    features = np.array(str(details.get("tried", "")).split(), dtype=np.int64)
    return features, np.array(str(details.get("tried_scores", "")).split(), dtype=np.float64)


class SelectedFeatures:
    """The accepted features in order of entry, and their costs."""

    def __init__(self, cost_model: CostModel, budget: float | None = None) -> None:
        self._cost_model = cost_model
        self._budget = budget
        keep = cost_model.keep
        self.order: list[int] = [int(j) for j in np.flatnonzero(keep)]
        self.used: BoolArray = keep.copy()
        self.spent = 0.0
        self.cost: FloatArray = cost_model.costs(self.used)
        self.entry_cost: FloatArray = self.cost

    def add(self, feature: int) -> None:
        """Accept one more feature."""
        self.spent += float(self.cost[feature])
        self.used[feature] = True
        self.order.append(feature)
        self.cost = self._cost_model.costs(self.used)
        # accepted features cost nothing more, but ties in the ranking use their cost at entry
        self.entry_cost = np.where(self.used, self.entry_cost, self.cost)

    @property
    def features(self) -> IntArray:
        """The features in order of entry."""
        return np.array(self.order, dtype=np.int64)

    @property
    def allowed(self) -> BoolArray:
        """The accepted features, and those within the budget."""
        if self._budget is None:
            return np.ones(len(self.used), np.bool_)
        allowed: BoolArray = self.used | within_budget(self.spent + self.cost, self._budget)
        return allowed

    def is_full(self, max_features: int | None) -> bool:
        """Whether no more features may enter."""
        n_all = len(self.used)
        return len(self.order) >= (n_all if max_features is None else min(max_features, n_all))


def top_ranked(
    importance: FloatArray, cost: FloatArray, allowed: BoolArray, n_candidates: int
) -> IntArray:
    """The most important features that are allowed; ties by cost, then by position.

    >>> top_ranked(np.array([1.0, 3.0, 1.0]), np.array([2.0, 1.0, 1.0]), np.ones(3, bool), 2)
    array([1, 2])
    """
    if not (importance > 0.0).any():
        return np.empty(0, np.int64)
    order = np.lexsort((cost, -importance))
    return order[allowed[order]][:n_candidates]


def best_candidate(score: FloatArray, cost: FloatArray) -> int:
    """The position of the best score; ties by cost, then by rank.

    >>> best_candidate(np.array([0.5, 0.7, 0.7]), np.array([1.0, 5.0, 2.0]))
    2
    """
    usable = np.where(np.isnan(score), -np.inf, score)
    best = np.flatnonzero(usable >= usable.max() - SCORE_TOL)
    return int(best[np.argmin(cost[best])])


def gain_per_cost(score: FloatArray, before: float, cost: FloatArray) -> FloatArray:
    """The gain of each candidate divided by its cost; infinite for a gain at no cost.

    >>> gain_per_cost(np.array([0.6, 0.7, 0.5]), 0.5, np.array([1.0, 4.0, 0.0]))
    array([0.1 , 0.05, 0.  ])
    """
    gain = score - before
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cost = np.where(gain > 0.0, gain / cost, gain)
    return np.where(np.isnan(by_cost), gain, by_cost)

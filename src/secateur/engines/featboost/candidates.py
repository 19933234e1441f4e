"""Which features are candidates of a round, and which of them is accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from secateur.data.costs import CostModel
from secateur.path.step import Score
from secateur.path.stopping import within_budget
from secateur.typing import BoolArray, FloatArray, IntArray

SCORE_TOL = 1e-12  # scores that differ by less are ties: folds are averaged in floating point


class Ranker(Protocol):
    """H1 of Algorithm 1: ranks all features, and gives the loss of each row."""

    def rank(self, weight: FloatArray) -> FloatArray:
        """Importance of every feature, >= 0, in a fit to all rows with these weights."""

    def rank_for(self, target: FloatArray) -> FloatArray:
        """Importance of every feature, >= 0, in a fit to another target."""

    def losses(self, features: IntArray) -> FloatArray:
        """Loss of every row, >= 0, in a fit to these features alone."""

    def errors(self, features: IntArray) -> FloatArray:
        """1 for rows that a fit to these features alone classifies wrongly, else 0."""


class Evaluator(Protocol):
    """H2 of Algorithm 1: cross-validated scores of feature subsets; larger is better."""

    def accept(self, feature: int) -> None:
        """Add a feature to the accepted ones."""

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores of the accepted features with each candidate, (n_candidates, n_folds)."""

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate alone for another target, (n_candidates, n_folds)."""

    def current(self) -> FloatArray:
        """Scores of the accepted features in each fold; there must be some."""

    def predicted(self, target: FloatArray) -> FloatArray:
        """Held-out predictions of another target from the accepted features."""

    def score(self, folds: FloatArray) -> Score:
        """The scores of the folds as one score."""

    def model(self) -> Any:
        """A model on the accepted features, fitted to all rows."""


class FoldScorer(Protocol):
    """Scores predictions of the test rows of a fold; larger is better."""

    n_classes: int

    def value(self, fold: int, prediction: FloatArray) -> float:
        """Score of predicted values, or of probabilities of shape (n_test, n_classes)."""

    def value_for(self, fold: int, prediction: FloatArray, target: FloatArray) -> float:
        """As ``value`` for another target of the test rows."""

    def score(self, folds: FloatArray) -> Score:
        """The scores of all folds as one score."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundResult:
    """Candidates of a round and their scores; the best of them, its rank and its gain."""

    candidates: IntArray
    scores: FloatArray
    best: int
    folds: FloatArray
    gain: float
    rank: int

    @property
    def feature(self) -> int:
        """The best candidate."""
        return int(self.candidates[self.best])

    @property
    def details(self) -> dict[str, Any]:
        """Details of a step; lists become text, since details hold plain values only."""
        return {
            "rank": self.rank,
            "gain": self.gain if math.isfinite(self.gain) else None,
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


@dataclass(frozen=True, slots=True, eq=False)
class CostLimits:
    """Costs of the features, the budget, and whether the gain is divided by the cost."""

    cost_model: CostModel
    budget: float | None = None
    per_cost: bool = False


class SelectedFeatures:
    """The accepted features in order of entry, and their costs."""

    def __init__(self, limits: CostLimits) -> None:
        self._limits = limits
        keep = limits.cost_model.keep
        self.order: list[int] = [int(j) for j in np.flatnonzero(keep)]
        self.used: BoolArray = keep.copy()
        self.spent = 0.0
        self.cost: FloatArray = limits.cost_model.costs(self.used)
        self.entry_cost: FloatArray = self.cost

    def add(self, feature: int) -> None:
        """Accept one more feature."""
        self.spent += float(self.cost[feature])
        self.used[feature] = True
        self.order.append(feature)
        self.cost = self._limits.cost_model.costs(self.used)
        # accepted features cost nothing more, but ties in the ranking use their cost at entry
        self.entry_cost = np.where(self.used, self.entry_cost, self.cost)

    @property
    def features(self) -> IntArray:
        """The features in order of entry."""
        return np.array(self.order, dtype=np.int64)

    @property
    def allowed(self) -> BoolArray:
        """The accepted features, and those within the budget."""
        if self._limits.budget is None:
            return np.ones(len(self.used), np.bool_)
        affordable = within_budget(self.spent + self.cost, self._limits.budget)
        allowed: BoolArray = self.used | affordable
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

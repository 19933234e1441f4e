"""Which features are tried, and which of them wins; ties go to the cheaper one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from secateur.data.costs import CostModel
from secateur.path.step import Score
from secateur.typing import BoolArray, FloatArray, IntArray


class Ranker(Protocol):
    """H1 of Algorithm 1: ranks all features, and says how well each row is predicted."""

    def rank(self, weight: FloatArray) -> FloatArray:
        """The importance of every feature, >= 0, fitted to all rows with these weights."""
        ...

    def losses(self, features: IntArray) -> FloatArray:
        """The loss of every row, >= 0, by a fit to these features alone."""
        ...

    def errors(self, features: IntArray) -> FloatArray:
        """1 for every row that a fit to these features alone gets wrong, 0 for the others."""
        ...


class Evaluator(Protocol):
    """H2 of Algorithm 1: scores features together with those that were accepted."""

    def accept(self, feature: int) -> None:
        """One more feature is in from now on."""
        ...

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores of the accepted features and each candidate, shape (n_candidates, n_folds).

        Cross-validated; larger is better.
        """
        ...

    def current(self) -> FloatArray:
        """The score of the accepted features in each fold; there must be some."""
        ...

    def score(self, folds: FloatArray) -> Score:
        """What scores of the folds are called."""
        ...

    def model(self) -> Any:
        """A handle that predicts from the accepted features, fitted to all rows."""
        ...


class InputRanker(Protocol):
    """The ranker of Iterative Input Selection: the target changes instead of the weights."""

    def rank_for(self, target: FloatArray) -> FloatArray:
        """The importance of every feature for this target, >= 0."""
        ...


class InputEvaluator(Evaluator, Protocol):
    """The evaluator of Iterative Input Selection."""

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate by itself for this target, shape (n_candidates, n_folds)."""
        ...

    def predicted(self, target: FloatArray) -> FloatArray:
        """The target as the accepted features predict it for rows that took no part."""
        ...


class Judge(Protocol):
    """Says what predictions of some rows are worth; larger is better."""

    n_classes: int

    def value(self, fold: int, prediction: FloatArray) -> float:
        """The score of the predictions for the test rows of a fold.

        Numbers, or probabilities of shape (n_test, n_classes).
        """
        ...

    def value_for(self, fold: int, prediction: FloatArray, target: FloatArray) -> float:
        """As ``value`` for another target of the test rows."""
        ...

    def score(self, folds: FloatArray) -> Score:
        """The scores of all folds under their name."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """The candidates of a round with their scores, and the winner among them.

    ``rank`` is the winner's place in the ranking, ``gain`` what it adds to the score.
    """

    candidates: IntArray
    scores: FloatArray
    best: int
    folds: FloatArray
    gain: float
    rank: int

    @property
    def feature(self) -> int:
        """The winner."""
        return int(self.candidates[self.best])


def tried_details(tried: Tried) -> dict[str, Any]:
    """Facts for a step; lists become words, since details hold plain values only."""
    return {
        "rank": tried.rank,
        "gain": tried.gain if math.isfinite(tried.gain) else None,
        "n_tried": len(tried.candidates),
        "tried": " ".join(str(int(feature)) for feature in tried.candidates),
        "tried_scores": " ".join(f"{score:.6g}" for score in tried.scores),
    }


def read_tried(details: Mapping[str, Any]) -> tuple[IntArray, FloatArray]:
    """The candidates of a step and their scores, from its details.

    >>> read_tried({"tried": "4 2", "tried_scores": "0.5 0.75"})
    (array([4, 2]), array([0.5 , 0.75]))
    """
    features = np.array(str(details.get("tried", "")).split(), dtype=np.int64)
    return features, np.array(str(details.get("tried_scores", "")).split(), dtype=np.float64)


ROUNDING = 1e-12
"""A purchase may pass the budget by the rounding of a sum of costs."""

SAME = 1e-12
"""Scores that differ by less are the same: folds are averaged in floating point."""


@dataclass(frozen=True, slots=True, eq=False)
class Shop:
    """What features cost, how much may be spent, and whether the gain is set against the cost."""

    cost_model: CostModel
    budget: float | None = None
    per_cost: bool = False

    def affordable(self, used: BoolArray, spent: float) -> BoolArray:
        """The features that are used already, or can still be paid for."""
        if self.budget is None:
            return np.ones(len(used), np.bool_)
        allowed: BoolArray = used | (spent + self.cost_model.costs(used) <= self.budget + ROUNDING)
        return allowed


def top_ranked(
    importance: FloatArray, cost: FloatArray, allowed: BoolArray, n_candidates: int
) -> IntArray:
    """The most important features that are allowed; ties by cost, then by position.

    None where nothing is important: then there is nothing to learn from these rows.

    >>> top_ranked(np.array([1.0, 3.0, 1.0]), np.array([2.0, 1.0, 1.0]), np.ones(3, bool), 2)
    array([1, 2])
    """
    if not (importance > 0.0).any():
        return np.empty(0, np.int64)
    order = np.lexsort((cost, -importance))
    return order[allowed[order]][:n_candidates]


def winner(score: FloatArray, cost: FloatArray) -> int:
    """The place of the best score; ties go to the cheaper one, then to the better ranked.

    >>> winner(np.array([0.5, 0.7, 0.7]), np.array([1.0, 5.0, 2.0]))
    2
    """
    usable = np.where(np.isnan(score), -np.inf, score)
    best = np.flatnonzero(usable >= usable.max() - SAME)
    return int(best[np.argmin(cost[best])])


def gain_per_cost(score: FloatArray, before: float, cost: FloatArray) -> FloatArray:
    """What each candidate adds, by what it costs; what is free is worth any gain.

    >>> gain_per_cost(np.array([0.6, 0.7, 0.5]), 0.5, np.array([1.0, 4.0, 0.0]))
    array([0.1 , 0.05, 0.  ])
    """
    gain = score - before
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cost = np.where(gain > 0.0, gain / cost, gain)
    return np.where(np.isnan(by_cost), gain, by_cost)

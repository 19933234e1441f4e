"""Forward selection: FeatBoost (Algorithm 1) and Iterative Input Selection (appendix 4.A)."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from secateur.data.costs import CostModel
from secateur.engines.featboost.candidates import (
    RoundResult,
    SelectedFeatures,
    best_candidate,
    gain_per_cost,
    top_ranked,
)
from secateur.engines.featboost.evaluator import DistributedScores, Evaluator
from secateur.engines.featboost.weighting import Weighting, weight_summary
from secateur.path.step import Score, Step
from secateur.path.stopping import StopReason
from secateur.typing import FloatArray, IntArray, TaskExecutor


class Ranker(Protocol):
    """H1 of Algorithm 1: ranks all features, and gives the loss of each row."""

    def rank(self, target: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Importance of every feature, >= 0, in a fit to all rows; None is their own weights."""

    def losses(self, features: IntArray) -> FloatArray:
        """Loss of every row, >= 0, in a fit to these features alone."""

    def errors(self, features: IntArray) -> FloatArray:
        """1 for rows that a fit to these features alone classifies wrongly, else 0."""


@dataclass(frozen=True, slots=True)
class ForwardParams:
    """m, p' and epsilon of Algorithm 1, and what is added to it.

    ``reset`` the weights once after a failure; the ``budget`` of all costs; take the best gain
    ``per_cost``; the name of the ``metric``.
    """

    n_candidates: int = 50
    max_features: int | None = None
    epsilon: float = 1e-9
    reset: bool = True
    budget: float | None = None
    per_cost: bool = False
    metric: str = "score"


class ForwardSelection:
    """Accepts one feature after another: the state of a selection, and its ``trace``."""

    def __init__(
        self,
        ranker: Ranker,
        evaluator: Evaluator,
        target: FloatArray,
        cost_model: CostModel,
        params: ForwardParams,
        executor: TaskExecutor | None = None,
    ) -> None:
        self._ranker = ranker
        self._evaluator = evaluator
        self._target = target
        self._params = params
        scorer = evaluator if executor is None else DistributedScores(evaluator, executor)
        self._scores = scorer.scores
        self._selected = SelectedFeatures(cost_model, params.budget)
        self._importance = np.zeros(len(self._selected.used))
        self._utility = -math.inf
        for feature in self._selected.order:
            evaluator.accept(feature)

    def trace(self) -> Generator[Step, None, StopReason]:
        """A step for each accepted feature, after one with the kept features.

        If there is none of either, a step without features.
        """
        has_stepped = bool(self._selected.order)
        if has_stepped:
            yield self._first_step()
        reason = None
        while reason is None:
            found = self._next()
            if isinstance(found, Step):
                has_stepped = True
                yield found
            else:
                reason = found
        if not has_stepped:
            yield self._step(None, {})
        return reason

    def _next(self) -> Step | StopReason:
        """Accept one more feature, or say why there is none."""
        raise NotImplementedError

    @property
    def _is_full(self) -> bool:
        return self._selected.is_full(self._params.max_features)

    def _first_step(self) -> Step:
        """The step of the kept features."""
        folds = self._evaluator.current()
        self._utility = float(folds.mean())
        return self._step(folds, {})

    def _top_ranked(self) -> IntArray:
        selected = self._selected
        return top_ranked(
            self._importance, selected.entry_cost, selected.allowed, self._params.n_candidates
        )

    def _best(self, ranked: IntArray, tried: IntArray, target: FloatArray | None) -> RoundResult:
        """The best of the features that are tried."""
        cost = self._selected.cost[tried]
        folds = self._scores(tried, target)
        score = folds.mean(axis=1)
        rated = score
        if self._params.per_cost and math.isfinite(self._utility):
            rated = gain_per_cost(score, self._utility, cost)
        best = best_candidate(rated, cost)
        feature = int(tried[best])
        rank = int(np.flatnonzero(ranked == feature)[0]) + 1
        return RoundResult(tried, score, feature, folds[best], rank)

    def _gain(self, folds: FloatArray) -> float:
        return float(folds.mean()) - self._utility

    def _accept(self, feature: int, folds: FloatArray) -> None:
        self._selected.add(feature)
        self._evaluator.accept(feature)
        self._utility = float(folds.mean())

    def _step(self, folds: FloatArray | None, details: dict[str, Any]) -> Step:
        score = None
        if folds is not None:  # an inner score: the test rows also chose the features
            metric = self._params.metric
            score = Score.of(folds, origin="inner", metric=metric, greater_is_better=True)
        return Step.of(
            self._selected.features,
            self._importance,
            penalty=float(details.get("rank", math.nan)),
            cost=self._selected.spent,
            score=score,
            model=self._evaluator.model(),
            details=details,
        )


class FeatBoost(ForwardSelection):
    """FeatBoost: rank on weighted rows, score the best ranked, accept one, re-weight.

    A candidate that is accepted already has the score of the accepted features. So the second
    stopping rule of the paper, a feature chosen twice, is the first: no candidate improves the
    score by more than epsilon. The first feature has nothing to improve on and is accepted.
    """

    def __init__(self, weighting: Weighting, *args: Any) -> None:
        super().__init__(*args)
        self._weighting = weighting
        self._first_ranking: FloatArray | None = None

    def _next(self) -> Step | StopReason:
        if self._is_full:
            return StopReason.MAX_FEATURES
        for after_reset in (False, True):
            found = self._try_candidates()  # lines 4 to 7
            if found is not None and self._gain(found.folds) > self._params.epsilon:
                return self._accept_best(found, after_reset=after_reset)  # lines 8 to 16
            # lines 17 to 19; with the initial weights the ranking would be the same, and fail again
            if not self._params.reset or self._weighting.is_initial:
                break
            self._weighting.reset()
        new = self._selected.allowed[~self._selected.used]
        return StopReason.NO_GAIN if new.any() else StopReason.COST_BUDGET

    def _try_candidates(self) -> RoundResult | None:
        """Score the best ranked together with the accepted features; None if there are none."""
        self._importance = self._rank()
        ranked = self._top_ranked()
        new = ranked[~self._selected.used[ranked]]
        return self._best(ranked, new, None) if len(new) else None

    def _rank(self) -> FloatArray:
        weighting = self._weighting
        if not weighting.is_initial:
            return self._ranker.rank(self._target, weighting.weight)
        if self._first_ranking is None:
            self._first_ranking = self._ranker.rank(self._target, weighting.weight)
        return self._first_ranking

    def _accept_best(self, found: RoundResult, *, after_reset: bool) -> Step:
        """Accept the best candidate, and re-weight the rows if more features may follow."""
        details = {
            **found.details(self._gain(found.folds)),
            "after_reset": after_reset,
            **weight_summary(self._weighting.weight),
        }
        self._accept(found.feature, found.folds)
        if not self._is_full:
            self._weighting.update(self._ranker, self._selected.features)
        return self._step(found.folds, details)


class IIS(ForwardSelection):
    """Iterative Input Selection: accept features for what the ones before leave unexplained.

    In each round the features are ranked for the current target, the best ranked are scored alone
    on it, and the best of these is accepted. The next target is the residual

        y^{i+1} = y^i - prediction of y^i from the features so far            (Eq. 4.3)

    of held-out predictions: those of training rows would leave none where a model memorises its
    rows. It ends when a feature is best a second time, or when the score of all features for the
    original target rises by no more than epsilon.
    """

    def _first_step(self) -> Step:
        step = super()._first_step()
        self._target = self._target - self._evaluator.predicted(self._target)
        return step

    def _next(self) -> Step | StopReason:
        if self._is_full:
            return StopReason.MAX_FEATURES
        self._importance = self._ranker.rank(self._target)
        ranked = self._top_ranked()
        if len(ranked) == 0:
            has_budget = self._selected.allowed.any()
            return StopReason.NO_GAIN if has_budget else StopReason.COST_BUDGET
        found = self._best(ranked, ranked, self._target)
        if self._selected.used[found.feature]:
            return StopReason.REPEATED
        folds: FloatArray = self._evaluator.scores(np.array([found.feature]))[0]
        gain = self._gain(folds)
        if not gain > self._params.epsilon:
            return StopReason.NO_GAIN
        details = {**found.details(gain), "target_variance": float(np.var(self._target))}
        self._accept(found.feature, folds)
        self._target = self._target - self._evaluator.predicted(self._target)
        return self._step(folds, details)

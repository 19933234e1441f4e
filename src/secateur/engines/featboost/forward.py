"""Forward selection: FeatBoost (Algorithm 1) and Iterative Input Selection (appendix 4.A)."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.engines.featboost.candidates import (
    CostLimits,
    Evaluator,
    Ranker,
    RoundResult,
    SelectedFeatures,
    best_candidate,
    gain_per_cost,
    top_ranked,
)
from secateur.engines.featboost.weighting import Weighting, weight_summary
from secateur.path.step import Score, Step
from secateur.path.stopping import StopReason
from secateur.typing import FloatArray, IntArray

Trace = Generator[Step, None, StopReason]


@dataclass(frozen=True, slots=True)
class ForwardParams:
    """m, p' and epsilon of Algorithm 1, and whether a failure resets the weights once."""

    n_candidates: int = 50
    max_features: int | None = None
    epsilon: float = 1e-9
    reset: bool = True


def trace_featboost(
    ranker: Ranker,
    evaluator: Evaluator,
    weighting: Weighting,
    limits: CostLimits,
    params: ForwardParams,
) -> Trace:
    """FeatBoost: rank on weighted rows, score the best ranked, accept one, re-weight.

    A candidate that is accepted already has the score of the accepted features. So the second
    stopping rule of the paper, a feature chosen twice, is the first: no candidate improves the
    score by more than epsilon. The first feature has nothing to improve on and is accepted. There
    is a step for each accepted feature, after one with the kept features or, if nothing was
    accepted, with none.
    """
    run = _FeatBoostRun(ranker, evaluator, weighting, limits, params)
    if run.selected.order:
        yield run.begin()
    n_failures = 0
    while not run.is_full:
        result = run.try_candidates()  # lines 4 to 7
        if result is not None and result.gain > params.epsilon:
            yield run.accept(result, after_reset=n_failures > 0)  # lines 8 to 16
            n_failures = 0
            continue
        n_failures += 1  # lines 17 to 19
        # with the initial weights the ranking would be the same, and fail again
        if n_failures > 1 or not params.reset or weighting.is_initial:
            if not run.has_stepped:
                yield run.begin()
            new = run.selected.allowed[~run.selected.used]
            return StopReason.NO_GAIN if new.any() else StopReason.COST_BUDGET
        weighting.reset()
    if not run.has_stepped:
        yield run.begin()
    return StopReason.MAX_FEATURES


def trace_iis(
    ranker: Ranker,
    evaluator: Evaluator,
    target: FloatArray,
    limits: CostLimits,
    params: ForwardParams,
) -> Trace:
    """Iterative Input Selection: accept features for what the ones before leave unexplained.

    In each round the features are ranked for the current target, the best ranked are scored alone
    on it, and the best of these is accepted. The next target is the residual

        y^{i+1} = y^i - prediction of y^i from the features so far            (Eq. 4.3)

    of held-out predictions: those of training rows would leave none where a model memorises its
    rows. It ends when a feature is best a second time, or when the score of all features for the
    original target rises by no more than epsilon.
    """
    run = _IISRun(ranker, evaluator, target, limits, params)
    if run.selected.order:
        yield run.begin()
    reason = StopReason.MAX_FEATURES
    while not run.is_full:
        result = run.try_candidates()
        if result is None:
            has_budget = run.selected.allowed.any()
            reason = StopReason.NO_GAIN if has_budget else StopReason.COST_BUDGET
            break
        if run.selected.used[result.feature]:
            reason = StopReason.REPEATED
            break
        folds: FloatArray = evaluator.scores(np.array([result.feature]))[0]
        if not run.gain(folds) > params.epsilon:
            reason = StopReason.NO_GAIN
            break
        yield run.accept(result, folds)
    if not run.has_stepped:
        yield run.begin()
    return reason


class _ForwardRun:
    """State of a forward selection: accepted features, last ranking and score."""

    def __init__(
        self, ranker: Ranker, evaluator: Evaluator, limits: CostLimits, params: ForwardParams
    ) -> None:
        self._ranker = ranker
        self._evaluator = evaluator
        self._limits = limits
        self._params = params
        self.selected = SelectedFeatures(limits)
        self._importance = np.zeros(len(self.selected.used))
        self._utility = -math.inf
        self.has_stepped = False
        for feature in self.selected.order:
            evaluator.accept(feature)

    @property
    def is_full(self) -> bool:
        """Whether no more features may enter."""
        return self.selected.is_full(self._params.max_features)

    def begin(self) -> Step:
        """The step of the kept features, or of none."""
        score = None
        if self.selected.order:
            folds = self._evaluator.current()
            self._utility = float(folds.mean())
            score = self._evaluator.score(folds)
        return self._step(score, {})

    def gain(self, folds: FloatArray) -> float:
        """The improvement of the mean score."""
        return float(folds.mean()) - self._utility

    def _top_ranked(self) -> IntArray:
        selected = self.selected
        return top_ranked(
            self._importance, selected.entry_cost, selected.allowed, self._params.n_candidates
        )

    def _add(self, feature: int, folds: FloatArray) -> None:
        self.selected.add(feature)
        self._evaluator.accept(feature)
        self._utility = float(folds.mean())

    def _step(self, score: Score | None, details: dict[str, Any]) -> Step:
        self.has_stepped = True
        return Step.of(
            self.selected.features,
            self._importance,
            penalty=float(details.get("rank", math.nan)),
            cost=self.selected.spent,
            score=score,
            model=self._evaluator.model(),
            details=details,
        )


class _FeatBoostRun(_ForwardRun):
    """State of Algorithm 1."""

    def __init__(
        self,
        ranker: Ranker,
        evaluator: Evaluator,
        weighting: Weighting,
        limits: CostLimits,
        params: ForwardParams,
    ) -> None:
        super().__init__(ranker, evaluator, limits, params)
        self._weighting = weighting
        self._first_ranking: FloatArray | None = None

    def try_candidates(self) -> RoundResult | None:
        """Score the best ranked together with the accepted features; None if there are none."""
        self._importance = self._rank()
        candidates = self._top_ranked()
        new = candidates[~self.selected.used[candidates]]
        if len(new) == 0:
            return None
        cost = self.selected.cost[new]
        folds = self._evaluator.scores(new)
        score = folds.mean(axis=1)
        rated = score
        if self._limits.per_cost and math.isfinite(self._utility):
            rated = gain_per_cost(score, self._utility, cost)
        best = best_candidate(rated, cost)
        gain = float(score[best]) - self._utility
        return RoundResult(new, score, best, folds[best], gain, _rank_of(candidates, new[best]))

    def _rank(self) -> FloatArray:
        if not self._weighting.is_initial:
            return self._ranker.rank(self._weighting.weight)
        if self._first_ranking is None:
            self._first_ranking = self._ranker.rank(self._weighting.weight)
        return self._first_ranking

    def accept(self, result: RoundResult, *, after_reset: bool) -> Step:
        """Accept the best candidate, and re-weight the rows if more features may follow."""
        weights = weight_summary(self._weighting.weight)
        self._add(result.feature, result.folds)
        if self._weighting.changes and not self.is_full:
            self._weighting.update(self._ranker, self.selected.features)
        details = {**result.details, "after_reset": after_reset, **weights}
        return self._step(self._evaluator.score(result.folds), details)


class _IISRun(_ForwardRun):
    """State of Iterative Input Selection, with the current target."""

    def __init__(
        self,
        ranker: Ranker,
        evaluator: Evaluator,
        target: FloatArray,
        limits: CostLimits,
        params: ForwardParams,
    ) -> None:
        super().__init__(ranker, evaluator, limits, params)
        self._target = target

    def begin(self) -> Step:
        """The step of the kept features, or of none; the target becomes their residual."""
        step = super().begin()
        if self.selected.order:
            self._target = self._target - self._evaluator.predicted(self._target)
        return step

    def try_candidates(self) -> RoundResult | None:
        """Score the best ranked alone on the current target; None if there are none."""
        self._importance = self._ranker.rank_for(self._target)
        candidates = self._top_ranked()
        if len(candidates) == 0:
            return None
        folds = self._evaluator.alone(candidates, self._target)
        score = folds.mean(axis=1)
        best = best_candidate(score, self.selected.cost[candidates])
        rank = _rank_of(candidates, candidates[best])
        return RoundResult(candidates, score, best, folds[best], math.inf, rank)

    def accept(self, result: RoundResult, folds: FloatArray) -> Step:
        """Accept the best candidate; the target becomes the residual."""
        gain = self.gain(folds)
        details = {
            **result.details,
            "gain": gain if math.isfinite(gain) else None,
            "target_variance": float(np.var(self._target)),
        }
        self._add(result.feature, folds)
        self._target = self._target - self._evaluator.predicted(self._target)
        return self._step(self._evaluator.score(folds), details)


def _rank_of(candidates: IntArray, feature: int) -> int:
    """The position of a feature in the ranking, from 1."""
    return int(np.flatnonzero(candidates == feature)[0]) + 1

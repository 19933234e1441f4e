"""Iterative Input Selection (appendix 4.A): the target becomes what is left to explain."""

from __future__ import annotations

import math

import numpy as np

from secateur.engines.featboost.candidates import (
    InputEvaluator,
    InputRanker,
    Shop,
    Tried,
    top_ranked,
    tried_details,
    winner,
)
from secateur.engines.featboost.trace import ForwardParams, Selected, Trace, rank_of
from secateur.path.path import StopReason
from secateur.path.step import Step
from secateur.typing import FloatArray


def trace_iis(
    ranker: InputRanker,
    evaluator: InputEvaluator,
    target: FloatArray,
    shop: Shop,
    params: ForwardParams,
) -> Trace:
    """Accept feature after feature, each for what the ones before it leave unexplained.

    In each round the features are ranked for the target of the moment, the best ranked are tried
    by themselves on it, and the best of these enters. The features together then predict the
    target of the moment for rows that took no part, and what is left is the next target:

        y^{i+1} = y^i - prediction of y^i from the features so far            (Eq. 4.3)

    Predictions for the training rows themselves would leave nothing where a model remembers its
    rows. It ends when a feature comes out first a second time, or when the score of all features
    together for the original target rises by no more than epsilon.

    Yields
    ------
    Step
        One for each accepted feature, as ``trace_featboost``.
    """
    run = _Run(ranker, evaluator, target, shop)
    if run.selected.order:
        yield run.begin()
    while not run.selected.is_full(params.max_features):
        tried = run.try_candidates(params.n_candidates)
        if tried is None:
            reason = run.why_nothing()
            break
        if run.selected.used[tried.feature]:
            reason = StopReason.REPEATED
            break
        folds = run.together_with(tried.feature)
        if not run.gain(folds) > params.epsilon:
            reason = StopReason.NO_GAIN
            break
        yield run.accept(tried, folds)
    else:
        reason = StopReason.MAX_FEATURES
    if not run.has_stepped:
        yield run.begin()
    return reason


class _Run:
    """The moving state: the target of the moment, and what is in."""

    def __init__(
        self, ranker: InputRanker, evaluator: InputEvaluator, target: FloatArray, shop: Shop
    ) -> None:
        self._ranker = ranker
        self._evaluator = evaluator
        self._target = target
        self.selected = Selected(shop)
        self._importance = np.zeros(len(self.selected.used))
        self._utility = -math.inf
        self.has_stepped = False
        for feature in self.selected.order:
            evaluator.accept(feature)

    def begin(self) -> Step:
        """The step of the kept features, or of none; what they explain is explained."""
        self.has_stepped = True
        score = None
        if self.selected.order:
            folds = self._evaluator.current()
            self._utility = float(folds.mean())
            score = self._evaluator.score(folds)
            self._target = self._target - self._evaluator.predicted(self._target)
        model = self._evaluator.model()
        return Step.of(self.selected.features, self._importance, score=score, model=model)

    def try_candidates(self, n_candidates: int) -> Tried | None:
        """Rank for the target of the moment, and try the best ranked by themselves."""
        self._importance = self._ranker.rank_for(self._target)
        selected = self.selected
        candidates = top_ranked(self._importance, selected.tag, selected.allowed, n_candidates)
        if len(candidates) == 0:
            return None
        folds = self._evaluator.alone(candidates, self._target)
        score = folds.mean(axis=1)
        best = winner(score, selected.cost[candidates])
        rank = rank_of(candidates, candidates[best])
        return Tried(candidates, score, best, folds[best], math.inf, rank)

    def together_with(self, feature: int) -> FloatArray:
        """Scores of all accepted features and this one for the original target."""
        folds: FloatArray = self._evaluator.scores(np.array([feature]))[0]
        return folds

    def gain(self, folds: FloatArray) -> float:
        """What these scores add to those of the accepted features."""
        return float(folds.mean()) - self._utility

    def accept(self, tried: Tried, folds: FloatArray) -> Step:
        """Take the winner in and leave the rest as the next target."""
        gain = self.gain(folds)
        details = {
            **tried_details(tried),
            "gain": gain if math.isfinite(gain) else None,
            "target_variance": float(np.var(self._target)),
        }
        self.selected.add(tried.feature)
        self._evaluator.accept(tried.feature)
        self._utility = float(folds.mean())
        self._target = self._target - self._evaluator.predicted(self._target)
        self.has_stepped = True
        return Step.of(
            self.selected.features,
            self._importance,
            penalty=float(tried.rank),
            cost=self.selected.spent,
            score=self._evaluator.score(folds),
            model=self._evaluator.model(),
            details=details,
        )

    def why_nothing(self) -> StopReason:
        """Nothing left to explain, or no money for anything."""
        allowed = self.selected.allowed
        return StopReason.NO_GAIN if allowed.any() else StopReason.COST_BUDGET

"""FeatBoost, Algorithm 1: rank on weighted rows, try the best ranked, accept one, re-weight."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.engines.featboost.candidates import (
    Evaluator,
    Ranker,
    Shop,
    Tried,
    gain_per_cost,
    top_ranked,
    tried_details,
    winner,
)
from secateur.engines.featboost.weighting import Weighting, weight_facts
from secateur.path.path import StopReason
from secateur.path.step import Score, Step
from secateur.typing import BoolArray, FloatArray, IntArray

Trace = Generator[Step, None, StopReason]


@dataclass(frozen=True, slots=True)
class ForwardParams:
    """m, p' and epsilon of Algorithm 1, and whether a failure resets the weights once."""

    n_candidates: int = 50
    max_features: int | None = None
    epsilon: float = 1e-9
    reset: bool = True


class Selected:
    """The features that are in, in order of entry, and what was paid for them."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        keep = shop.cost_model.keep
        self.order: list[int] = [int(j) for j in np.flatnonzero(keep)]
        self.used: BoolArray = keep.copy()
        self.spent = 0.0
        self.cost: FloatArray = shop.cost_model.costs(self.used)
        self.tag: FloatArray = self.cost

    def add(self, feature: int) -> None:
        """Buy one more feature."""
        self.spent += float(self.cost[feature])
        self.used[feature] = True
        self.order.append(feature)
        self.cost = self._shop.cost_model.costs(self.used)
        # A selected feature is free, but ranked by the cost at which it was selected.
        self.tag = np.where(self.used, self.tag, self.cost)

    @property
    def features(self) -> IntArray:
        """The features in order of entry."""
        return np.array(self.order, dtype=np.int64)

    @property
    def allowed(self) -> BoolArray:
        """What may be tried: what is in, and what can be paid for."""
        return self._shop.affordable(self.used, self.spent)

    def is_full(self, most: int | None) -> bool:
        """Whether no more features may enter."""
        return len(self.order) >= (len(self.used) if most is None else min(most, len(self.used)))


def trace_featboost(
    ranker: Ranker,
    evaluator: Evaluator,
    weighting: Weighting,
    shop: Shop,
    params: ForwardParams,
) -> Trace:
    """Accept feature after feature and yield the state after each.

    A candidate that is in already changes nothing: it has the score of those that are in. So the
    second stopping rule of the paper, a feature chosen twice, is the first: no candidate improves
    the score by more than epsilon. The first feature has nothing to improve on and is accepted.

    Parameters
    ----------
    ranker : Ranker
        H1.
    evaluator : Evaluator
        H2, with no feature accepted yet.
    weighting : Weighting
        Holds the weights of the rows.
    shop : Shop
        What features cost, and how much may be spent.
    params : ForwardParams

    Yields
    ------
    Step
        One for each accepted feature; before them one with the kept features, if there are any; a
        step without features if nothing was accepted. ``details`` tell of candidates, reset and
        weights.

    Returns
    -------
    StopReason
        Why no more features were accepted.
    """
    run = _Run(ranker, evaluator, weighting, shop, params)
    if run.selected.order:
        yield run.begin()
    n_failures = 0
    while not run.selected.is_full(params.max_features):
        tried = run.try_candidates()  # lines 4 to 7
        if tried is not None and tried.gain > params.epsilon:
            yield run.accept(tried, after_reset=n_failures > 0)  # lines 8 to 16
            n_failures = 0
            continue
        n_failures += 1  # lines 17 to 19
        # The ranking of equal weights is known, and so is what it leads to: no gain again.
        if n_failures > 1 or not params.reset or weighting.is_initial:
            if not run.has_stepped:
                yield run.begin()
            return run.why_it_failed()
        weighting.reset()
    if not run.has_stepped:
        yield run.begin()
    return StopReason.MAX_FEATURES


class _Run:
    """The moving state of Algorithm 1."""

    def __init__(
        self,
        ranker: Ranker,
        evaluator: Evaluator,
        weighting: Weighting,
        shop: Shop,
        params: ForwardParams,
    ) -> None:
        self._ranker = ranker
        self._evaluator = evaluator
        self._weighting = weighting
        self._shop = shop
        self._params = params
        self.selected = Selected(shop)
        self._importance = np.zeros(len(self.selected.used))
        self._first_ranking: FloatArray | None = None
        self._utility = -math.inf
        self.has_stepped = False
        for feature in self.selected.order:
            evaluator.accept(feature)

    def begin(self) -> Step:
        """The step of the kept features, or of none."""
        score = None
        if self.selected.order:
            folds = self._evaluator.current()
            self._utility = float(folds.mean())
            score = self._evaluator.score(folds)
        return self._step(score, {})

    def try_candidates(self) -> Tried | None:
        """Rank, and score the best ranked together with what is in; None if there are none."""
        self._importance = self._rank()
        selected = self.selected
        candidates = top_ranked(
            self._importance, selected.tag, selected.allowed, self._params.n_candidates
        )
        new = candidates[~selected.used[candidates]]
        if len(new) == 0:
            return None
        folds = self._evaluator.scores(new)
        score = folds.mean(axis=1)
        rated = score
        if self._shop.per_cost and math.isfinite(self._utility):
            rated = gain_per_cost(score, self._utility, selected.cost[new])
        best = winner(rated, selected.cost[new])
        gain = float(score[best]) - self._utility
        return Tried(new, score, best, folds[best], gain, rank_of(candidates, new[best]))

    def _rank(self) -> FloatArray:
        if not self._weighting.is_initial:
            return self._ranker.rank(self._weighting.weight)
        if self._first_ranking is None:
            self._first_ranking = self._ranker.rank(self._weighting.weight)
        return self._first_ranking

    def accept(self, tried: Tried, *, after_reset: bool) -> Step:
        """Take the winner in, and re-weight the rows if any more features may follow."""
        weights = weight_facts(self._weighting.weight)
        self.selected.add(tried.feature)
        self._evaluator.accept(tried.feature)
        self._utility = float(tried.folds.mean())
        if self._weighting.changes and not self.selected.is_full(self._params.max_features):
            self._weighting.update(self._ranker, self.selected.features)
        details = {**tried_details(tried), "after_reset": after_reset, **weights}
        return self._step(self._evaluator.score(tried.folds), details)

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

    def why_it_failed(self) -> StopReason:
        """No money for anything new, or nothing that helps."""
        allowed = self.selected.allowed
        broke = not allowed[~self.selected.used].any()
        return StopReason.COST_BUDGET if broke else StopReason.NO_GAIN


def rank_of(candidates: IntArray, feature: int) -> int:
    """The place of a feature in the ranking, from 1."""
    return int(np.flatnonzero(candidates == feature)[0]) + 1

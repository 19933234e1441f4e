"""Forward selection: FeatBoost (Algorithm 1) and Iterative Input Selection (appendix 4.A)."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secateur.data.costs import CostModel
from secateur.data.table import Fold
from secateur.engines.featboost.evaluator import Evaluator, distributed_scores
from secateur.engines.limits import FeatureUse
from secateur.execution.dask import DaskExecutor
from secateur.path.step import Score, Step
from secateur.path.stopping import StopReason
from secateur.typing import FloatArray, IntArray

MIN_LOSS = 1e-10  # lower bound of losses, so that a row that is fitted perfectly keeps some weight
MAX_EXPONENT = 20.0  # bound of the logarithm of a weight's growth in one round of AdaBoost
SCORE_TOL = 1e-12  # scores that differ by less are ties: folds are averaged in floating point


class Weighting:
    """The weights of rows for the ranking: constant, or by how badly rows are predicted.

    ``kind="loss"``: each row by the ratio of its losses now and before (Eq. 4.2, lines 10 to 14).
    Losses are held above a floor, as a vanishing loss would make ratios 0 / 0; the ratios then
    multiply to the last loss over the first.

    ``kind="adaboost"``: all misclassified rows by the same factor (Eq. 4.4), alpha =
    log((1 - err) / err) + log(n_classes - 1); w <- w * exp(alpha / previous alpha) for
    misclassified rows. The paper writes this for all rows, which would change nothing. A round that
    is no better than chance, where AdaBoost would stop, leaves the weights and the previous alpha.
    """

    def __init__(self, initial: FloatArray, kind: str | None = None, n_classes: int = 0) -> None:
        self._initial, self._kind, self._n_classes = initial, kind, n_classes
        self._total = float(initial.sum())
        self._previous: Any = 1.0  # losses of rows, or alpha
        self.weight: FloatArray = initial

    @property
    def is_initial(self) -> bool:
        """Whether the weights are the initial ones; the ranking is then the first one."""
        return bool(np.array_equal(self.weight, self._initial))

    def reset(self) -> None:
        """Restore the initial weights (line 18)."""
        self.weight = self._initial

    def update(self, ranker: Evaluator, features: IntArray) -> None:
        """Multiply the weights by what the losses or errors of a fit say; their sum stays."""
        if self._kind is None:
            return
        if self._kind == "loss":
            latest: Any = np.maximum(ranker.losses(features), MIN_LOSS)
            factor = latest / self._previous
        else:
            wrong = ranker.errors(features)
            error = float(wrong @ self._initial) / self._total
            if not 0.0 < error < 1.0 - 1.0 / self._n_classes:  # not better than chance: alpha <= 0
                return
            latest = math.log((1.0 - error) / error) + math.log(self._n_classes - 1)
            exponent = min(latest / self._previous, MAX_EXPONENT)
            factor = np.where(wrong > 0.0, math.exp(exponent), 1.0)
        self._previous = latest
        changed = self.weight * factor
        self.weight = changed * (self._total / float(changed.sum()))


@dataclass(frozen=True, slots=True)
class ForwardParams:
    """m, p' and epsilon of Algorithm 1; ``reset`` the weights once after a failure."""

    n_candidates: int = 50
    max_features: int | None = None
    epsilon: float = 1e-9
    reset: bool = True
    budget: float | None = None
    per_cost: bool = False
    repeats: Literal["skip", "end", "add"] = "skip"
    metric: str = "score"


class ForwardSelection:
    """Accepts one feature after another: the state of a selection, and its ``trace``."""

    _next: Callable[[], Step | StopReason]  # accepts one more feature, or says why there is none

    def __init__(
        self,
        ranker: Evaluator,
        evaluator: Evaluator,
        target: FloatArray,
        cost_model: CostModel,
        params: ForwardParams,
        executor: DaskExecutor | None = None,
    ) -> None:
        self._ranker = ranker
        self._evaluator = evaluator
        self._target = target
        self._params = params
        self._scores: Callable[..., FloatArray] = evaluator.scores
        if executor is not None:
            self._scores = distributed_scores(evaluator, executor)
        self._selected = FeatureUse(cost_model, cost_budget=params.budget)
        self._entry_cost = self._selected.costs
        self._importance = np.zeros(len(self._selected.used))
        self._utility = -math.inf
        for feature in self._selected.order:
            evaluator.accept(feature)

    def trace(self) -> Generator[Step, None, StopReason]:
        """A step for the kept features, one for each accepted; one without features if none is."""
        if self._selected.order:
            yield self._first_step()
        while isinstance(found := self._next(), Step):
            yield found
        if not self._selected.order:
            yield self._step(None)
        return found

    def predictions(self) -> Iterator[tuple[Fold, FloatArray]]:
        """The test rows of each fold, predicted from the accepted features."""
        evaluator, features = self._evaluator, self._selected.entered
        for t, fold in enumerate(evaluator.folds):
            yield fold, evaluator.held_out(features, t, evaluator.target)

    @property
    def _is_full(self) -> bool:
        n_features, limit = len(self._selected.used), self._params.max_features
        most = min(n_features, n_features if limit is None else limit)
        if self._params.repeats == "add":  # with those that came twice
            return len(self._evaluator.features) >= most
        return len(self._selected.order) >= most

    def _first_step(self) -> Step:
        """The step of the kept features."""
        folds = self._evaluator.current()
        self._utility = float(folds.mean())
        return self._step(folds)

    def _top_ranked(self) -> IntArray:
        """The most important features within the budget; ties by cost, then by position.

        Features of importance 0 are left out, for their order would be that of the columns, unless
        they cost less than one that has some: they may be copies of it.
        """
        order = np.lexsort((self._entry_cost, -self._importance))
        is_important = self._selected.allowed & (self._importance > 0.0)
        highest = self._entry_cost[is_important].max(initial=-np.inf)
        is_candidate = self._selected.allowed & (is_important | (self._entry_cost < highest))
        return order[is_candidate[order]][: self._params.n_candidates]

    def _best(
        self, ranked: IntArray, tried: IntArray, target: FloatArray | None = None
    ) -> tuple[int, FloatArray, dict[str, Any]]:
        """The best of the features that are tried, its scores, and details of its step."""
        plain = self._params.repeats == "skip"  # else selected features are tried, at their cost
        cost = (self._selected.costs if plain else self._entry_cost)[tried]
        folds = self._scores(tried, target)
        score = folds.mean(axis=1)
        rated = score
        if self._params.per_cost and math.isfinite(self._utility):
            gain = score - self._utility
            with np.errstate(divide="ignore", invalid="ignore"):  # a gain at no cost is infinite
                by_cost = np.where(gain > 0.0, gain / cost, gain)
            rated = np.where(np.isnan(by_cost), gain, by_cost)
        usable = np.where(np.isnan(rated), -np.inf, rated)
        ties = np.flatnonzero(usable >= usable.max() - SCORE_TOL)
        best = int(ties[np.argmin(cost[ties])])  # by cost, then by rank
        details = {  # plain values only: lists become text
            "rank": int(np.flatnonzero(ranked == tried[best])[0]) + 1,
            "n_tried": len(tried),
            "tried": " ".join(map(str, tried.tolist())),
            "tried_scores": " ".join(f"{value:.6g}" for value in score),
        }
        return int(tried[best]), folds[best], details

    def _accept(self, feature: int, folds: FloatArray) -> None:
        self._selected.add(feature)
        # accepted features cost nothing more, but ties in the ranking use their cost at entry
        self._entry_cost = np.where(self._selected.used, self._entry_cost, self._selected.costs)
        self._evaluator.accept(feature)
        self._utility = float(folds.mean())

    def _step(self, folds: FloatArray | None, **details: Any) -> Step:
        score = None
        if folds is not None:  # an inner score: the test rows also chose the features
            metric = self._params.metric
            score = Score.of(folds, origin="inner", metric=metric, greater_is_better=True)
        return Step.of(
            self._selected.entered,
            self._importance,
            penalty=float(details.get("rank", math.nan)),
            cost=self._selected.total_cost,
            score=score,
            model=self._evaluator.model(),
            details=details,
        )


class FeatBoost(ForwardSelection):
    """FeatBoost: rank on weighted rows, score the best ranked, accept one, re-weight.

    With ``repeats="skip"`` selected features are no candidates. With "end", as in Algorithm 1, they
    are, and one that wins ends the round (line 8); with "add" it is added again, so that it counts
    twice in distances. The first feature has nothing to improve on and is accepted.
    """

    def __init__(self, weighting: Weighting, *args: Any) -> None:
        super().__init__(*args)
        self._weighting = weighting
        self._first_ranking: FloatArray | None = None

    def _next(self) -> Step | StopReason:
        if self._is_full:
            return StopReason.MAX_FEATURES
        for after_reset in (False, True):
            weighting = self._weighting
            if weighting.is_initial and self._first_ranking is not None:
                self._importance = self._first_ranking
            else:  # lines 4 to 7
                self._importance = self._ranker.rank(self._target, weighting.weight)
            if weighting.is_initial:
                self._first_ranking = self._importance
            ranked = self._top_ranked()
            is_new, repeats = ~self._selected.used[ranked], self._params.repeats
            tried = ranked[is_new] if repeats == "skip" else ranked
            if len(tried):
                feature, folds, details = self._best(ranked, tried)
                gain = float(folds.mean()) - self._utility
                is_repeated = repeats == "end" and bool(self._selected.used[feature])
                if gain > self._params.epsilon and not is_repeated:  # lines 8 to 16
                    details["after_reset"] = after_reset
                    details["gain"] = gain if math.isfinite(gain) else None
                    weight, total = weighting.weight, float(weighting.weight.sum())
                    details["effective_rows"] = total * total / float(weight @ weight)  # of Kish
                    details["largest_weight"] = float(weight.max()) / total
                    self._accept(feature, folds)
                    if not self._is_full:
                        self._weighting.update(self._ranker, self._selected.entered)
                    return self._step(folds, **details)
            # lines 17 to 19; with the initial weights the ranking would be the same, and fail again
            if not self._params.reset or self._weighting.is_initial:
                break
            self._weighting.reset()
        allowed = self._selected.allowed[~self._selected.used]
        return StopReason.NO_GAIN if allowed.any() else StopReason.COST_BUDGET


class IIS(ForwardSelection):
    """Iterative Input Selection: each target is what held-out predictions leave (Eq. 4.3)."""

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
        feature, _, details = self._best(ranked, ranked, self._target)
        if self._selected.used[feature]:
            return StopReason.REPEATED
        folds: FloatArray = self._evaluator.scores(np.array([feature]))[0]
        gain = float(folds.mean()) - self._utility
        if not gain > self._params.epsilon:
            return StopReason.NO_GAIN
        details["gain"] = gain if math.isfinite(gain) else None
        details["target_variance"] = float(np.var(self._target))
        self._accept(feature, folds)
        self._target = self._target - self._evaluator.predicted(self._target)
        return self._step(folds, **details)

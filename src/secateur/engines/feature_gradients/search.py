"""The search: gradient descent on v at one penalty, and one step per penalty along a grid.

minimise over v   mean over batches and targets of f(z(s)) + penalty / D * sum_j cost_j s_j,
s = sigmoid(2 v)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.feature_gradients import adam_step, squash
from secateur._kernels.threads import Threads
from secateur.data.table import Fold, Problem
from secateur.data.target import are_counts
from secateur.engines.feature_gradients.batches import (
    Batches,
    SearchParams,
    best_single_gain,
    make_batches,
)
from secateur.engines.feature_gradients.units import Units
from secateur.engines.fold_losses import FoldLosses
from secateur.engines.limits import Limits
from secateur.engines.linear_scorer import SHRINKAGES, LinearScorer, shrunken_losses
from secateur.engines.path_search import trace_to_size
from secateur.exceptions import InputError
from secateur.execution.dask import DaskExecutor
from secateur.path.step import Step
from secateur.typing import FloatArray

GRID_POINTS = 15  # penalties of the automatic grid
GRID_TOP = 4.0  # the first, as a multiple of that at which the best feature still pays
GRID_FACTOR = 2.0  # ratio of two penalties of the grid


class Adam:
    """The Adam optimiser on v (inf for kept units), which stays between -bound and bound."""

    def __init__(self, v: FloatArray, bound: float = np.inf) -> None:
        self.v = v.copy()
        self.s = np.empty_like(v)
        self.first, self.second = np.zeros_like(v), np.zeros_like(v)
        self.bound = bound
        self.restore(0)

    def restore(self, n_steps: int) -> None:
        """Compute s after v was changed from outside."""
        self.n_steps = n_steps
        squash(self.v, self.s)

    def update(
        self, gradient: FloatArray, cost: FloatArray, by: tuple[float, float], rate: float
    ) -> None:
        """One step against the gradient by s, by[0] times the first and by[1] times the second."""
        self.n_steps += 1
        moments = self.first, self.second
        adam_step(gradient, cost, by, rate, self.n_steps, self.bound, self.v, *moments, self.s)


@dataclass(frozen=True, slots=True, eq=False)
class Inclusion:
    """The state of a search as a model."""

    scores: FloatArray  # the v of each feature; -inf for those that took no part

    @property
    def inclusion(self) -> FloatArray:
        """The s of each feature."""
        inclusion = np.empty_like(self.scores)
        squash(self.scores, inclusion)
        return inclusion


class SearchState(NamedTuple):
    """State of a search after some epochs; v is not a copy."""

    v: FloatArray
    objective: float
    epoch: int


def search(batches: Batches, params: SearchParams, penalty: float) -> Iterator[SearchState]:
    """Minimise at one penalty, one state per epoch, until the objective converges."""
    units = batches.units
    rng = np.random.default_rng(params.seed)
    init = np.asarray(params.init, np.float64)
    units.reset_costs()
    adam = Adam(units.initial_v(init if init.ndim == 0 else init[units.features]))
    last = np.nan  # which nothing is close to
    for epoch in range(params.epochs(len(batches.rows))):
        if epoch > 0:
            units.update_costs(adam.v)
        steps = updates(batches, params, lambda: penalty, adam, rng)
        pairs = [(z, cost) for signals, cost in steps for z in signals]
        each = [batches.objective.over_targets(z) + cost for z, cost in pairs]
        objective = float(np.mean(each))
        yield SearchState(adam.v, objective, epoch + 1)
        if abs(last - objective) <= params.tol * abs(last):
            return
        last = objective


def updates(
    batches: Batches,
    params: SearchParams,
    penalty: Callable[[], float],
    adam: Adam,
    rng: np.random.Generator,
) -> Iterator[tuple[list[FloatArray], float]]:
    """Update v on all rows once; for each update the z of its batches, and the cost before it."""
    units, drawn = batches.units, list(batches.draw(params, rng))
    for first in range(0, len(drawn), params.accumulate):
        some = drawn[first : first + params.accumulate]
        signals, gradient = batches.gradients(units.to_columns(adam.s), some, batches.objective)
        if not np.isfinite(signals).all():
            raise InputError(
                f"The estimate of order {params.order} must be finite. Got {signals}: values of X "
                "are too far apart for float32. Use standardize=True, clip the outliers, or lower "
                "'order'."
            )
        cost_factor = penalty() / max(1, len(batches.columns.features))
        cost = cost_factor * units.total_cost(adam.s)
        if units.unit is not None:  # the sum over the columns of a unit
            gradient = np.bincount(units.unit, gradient, units.n_units).astype(np.float64)
        factors = 1.0 / len(some), cost_factor
        adam.update(gradient, units.cost_gradient(adam.s), factors, params.learning_rate)
        yield signals, cost


def step_of(units: Units, state: SearchState, penalty: float, limits: Limits | None = None) -> Step:
    """The step of a state: the selected features, weighted by s; within limits the first by v."""
    scores = np.full(units.n_features, -np.inf)
    scores[units.features] = units.to_columns(state.v)
    model = Inclusion(scores)
    return Step.of(
        units.order(state.v, limits),
        model.inclusion,
        penalty=penalty,
        objective=state.objective,
        model=model,
        details={"epoch": state.epoch},
    )


def trace_single(engine: GradientsEngine, penalty: float) -> Iterator[Step]:
    """One step per epoch at one penalty; the last step again with its estimate."""
    for state in search(engine.batches, engine.params, penalty):
        step = step_of(engine.batches.units, state, penalty, engine.limits)
        yield step
    yield engine.with_estimate(step)


def trace_size(engine: GradientsEngine, n_features: int) -> Iterator[Step]:
    """Search the penalty whose own support has the wanted size; the last step has it exactly.

    Only the last few are added or removed by v: the first of a much larger support are a poor one.
    """
    tried, count = [], engine.limits.cost_model.count
    for step in trace_to_size(engine, engine.grid(), n_features, count):
        yield engine.limited(step)
        tried.append(step)
    best = min(tried, key=lambda step: abs(count(step.support) - n_features))
    if count(best.support) != n_features:
        units = engine.batches.units
        v = units.with_size(best.model.scores[units.features], n_features)
        state = SearchState(v, best.objective, int(best.details["epoch"]))
        exact = replace(step_of(units, state, best.penalty), model=best.model)
        yield engine.limited(engine.with_estimate(exact))


class GradientsEngine:
    """Searches at one penalty after another, for `search_penalties`.

    A linear model on the subset found in a fold predicts its test rows. With several folds the step
    is a search on all rows; with a single held-out part that part stays out. The subset of the
    first penalty is made to fit the limits; others are for `search_penalties` to refuse.
    """

    def __init__(
        self,
        problem: Problem,
        params: SearchParams,
        threads: Threads,
        limits: Limits,
        folds: Sequence[Fold] = (),
        on_round: Callable[[], None] = lambda: None,
        executor: DaskExecutor | None = None,
    ) -> None:
        self.params, self.limits = params, limits
        self._threads, self._on_round = threads, on_round
        parts = [[problem.take(np.sort(rows)) for rows in fold] for fold in folds]
        self._scorers = [LinearScorer(train, test) for train, test in parts]
        trained = [train for train, _ in parts] + ([problem] if len(folds) != 1 else [])
        found = [make_batches(each, params, threads, executor) for each in trained]
        self._batches_of_folds, self.batches = found[: len(folds)], found[-1]
        self._counts = are_counts(problem.weight)
        self._is_first = True
        self.metric = self._scorers[0].metric if folds else ""

    def grid(self) -> list[float]:
        """Falling penalties, from the lowest that selects nothing: higher ones give the same."""
        batches, cost = self.batches, self.batches.units.column_cost
        gain = best_single_gain(batches, self._threads) if (cost > 0.0).any() else 0.0
        if not gain > 0.0:
            return [0.0]
        top = len(batches.columns.features) * (gain / float(cost[cost > 0.0].min()))
        grid = [GRID_TOP * top / GRID_FACTOR**k for k in range(GRID_POINTS)]
        n_kept = int(batches.units.to_columns(batches.units.kept).sum())

        def size(penalty: float) -> int:
            *_, last = search(batches, self.params, penalty)
            return step_of(batches.units, last, penalty).n_features

        first = bisect_right(grid[:-1], n_kept, key=size)
        return grid[max(0, first - 1) :]

    def _last_step(self, batches: Batches, penalty: float, limits: Limits | None) -> Step:
        """The last step of a search at one penalty."""
        state: SearchState
        for state in search(batches, self.params, penalty):  # noqa: B007
            self._on_round()
        return step_of(batches.units, state, penalty, limits)

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of a search at one penalty."""
        limits = self.limits if self._is_first else None
        self._is_first = False
        if max_features is not None:
            limits = replace(self.limits, max_features=max_features)
        self._fold_limits = limits or self.limits
        return self.with_estimate(self._last_step(self.batches, penalty, limits))

    def limited(self, step: Step) -> Step:
        """The step with those of its features, by v, that are within the limits."""
        order = self.batches.units.within(step.order, self.limits)
        if len(order) == step.n_features:
            return step
        taken = np.isin(step.support, order)
        less = replace(step, support=np.sort(order), order=order, weight=step.weight[taken])
        return self.with_estimate(less)

    def fold_losses(self, step: Step) -> list[FoldLosses]:
        """Losses of the test rows of each fold, for a search at the penalty of the step."""
        scorers = self._scorers
        if not scorers:
            return []
        if len(scorers) == 1 or step.n_features == 0:  # no features: a constant in every fold
            steps = [step] * len(scorers)
        else:
            limits, parts = self._fold_limits, self._batches_of_folds
            steps = [self._last_step(each, step.penalty, limits) for each in parts]
        pairs = zip(scorers, steps, strict=True)
        losses = [scorer.losses_by_shrinkage(each.support, SHRINKAGES) for scorer, each in pairs]
        weights = [scorer.weight for scorer in scorers]
        shrunken = zip(shrunken_losses(losses, weights), weights, strict=True)
        return [FoldLosses(*each, counts=self._counts) for each in shrunken]

    def with_estimate(self, step: Step) -> Step:
        """Add the estimate for the support itself: s = 1 inside and 0 outside."""
        batches = self.batches
        objective, estimator = batches.objective, batches.estimator
        selected, z = np.isin(batches.columns.features, step.support), [np.zeros(1)]
        if selected.any():
            estimator.set_inclusion(selected.astype(np.float64))
            rng = np.random.default_rng(self.params.seed)
            z = [estimator.signals(batch) for batch in batches.draw(self.params, rng)]
        # the mean comes first: single batches may leave [0, 1]
        mean = objective.estimate(np.clip(np.mean(z, axis=0), 0.0, 1.0), batches.shares).mean()
        each = np.array([objective.estimate(one, batches.shares).mean() for one in z])
        values, n = each - each.mean() + mean, len(z)
        details: dict[str, Any] = {
            **step.details,
            "estimate": float(values.mean()),
            "estimate_standard_error": float(values.std(ddof=1)) / np.sqrt(n) if n > 1 else None,
            "estimate_of": objective.kind,
        }
        return replace(step, details=details)

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
from secateur.engines.limits import Limits
from secateur.engines.linear_scorer import SHRINKAGES, LinearScorer, shrunken_losses
from secateur.engines.path_search import FoldLosses, trace_to_size
from secateur.exceptions import InputError
from secateur.execution.dask import DaskExecutor
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray

GRID_POINTS = 15  # penalties of the automatic grid
# The first of them, in units of the penalty at which the best single feature still pays.
GRID_TOP = 4.0
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

    def update(self, gradient: FloatArray, cost: FloatArray, rate: float) -> None:
        """One step against the gradient by s."""
        self.n_steps += 1
        adam_step(
            gradient, cost, rate, self.n_steps, self.bound, 0, len(self.v), self.v, self.first,
            self.second, self.s,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Inclusion:
    """The state of a search as a model; features that took no part have v = -inf and s = 0."""

    features: IntArray
    v: FloatArray
    n_features: int

    @property
    def scores(self) -> FloatArray:
        """The v of each feature."""
        scores = np.full(self.n_features, -np.inf)
        scores[self.features] = self.v
        return scores

    @property
    def inclusion(self) -> FloatArray:
        """The s of each feature."""
        s = np.empty(len(self.v))
        squash(self.v, s)
        inclusion = np.zeros(self.n_features)
        inclusion[self.features] = s
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
        objective = run_epoch(batches, params, penalty, adam, rng)
        yield SearchState(adam.v, objective, epoch + 1)
        if abs(last - objective) <= params.tol * abs(last):
            return
        last = objective


def run_epoch(
    batches: Batches, params: SearchParams, penalty: float, adam: Adam, rng: np.random.Generator
) -> float:
    """Update on all rows once; returns the mean objective of the batches."""
    steps = updates(batches, params, lambda: penalty, adam, rng)
    pairs = [(z, cost) for signals, cost in steps for z in signals]
    return float(np.mean([float(batches.objective.value(z).mean()) + cost for z, cost in pairs]))


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
        cost_factor = penalty() / max(1, batches.columns.n_columns)
        cost = cost_factor * units.total_cost(adam.s)
        by_cost = cost_factor * units.cost_gradient(adam.s)
        adam.update(units.sum_columns(gradient / len(some)), by_cost, params.learning_rate)
        yield signals, cost


def step_of(units: Units, state: SearchState, penalty: float, limits: Limits | None = None) -> Step:
    """The step of a state: the selected features, weighted by s; within limits the first by v."""
    model = Inclusion(units.features, units.to_columns(state.v).copy(), units.n_features)
    return Step.of(
        units.order(state.v, limits),
        model.inclusion,
        penalty=penalty,
        objective=state.objective,
        model=model,
        details={"epoch": state.epoch},
    )


@dataclass(frozen=True, slots=True, eq=False)
class SearchContext:
    """A problem and the parameters of its search."""

    problem: Problem
    params: SearchParams
    threads: Threads
    limits: Limits
    on_round: Callable[[], None] = lambda: None
    executor: DaskExecutor | None = None

    def batches(self, problem: Problem | None = None) -> Batches:
        """The batches of the problem, or of some of its rows."""
        return make_batches(problem or self.problem, self.params, self.threads, self.executor)

    def fit(
        self,
        batches: Batches,
        penalty: float,
        limits: Limits | None = None,
        *,
        silent: bool = False,
    ) -> Step:
        """The last step of a search at one penalty."""
        state: SearchState
        for state in search(batches, self.params, penalty):  # noqa: B007
            if not silent:
                self.on_round()
        return step_of(batches.units, state, penalty, limits)


def trace_single(context: SearchContext, penalty: float) -> Iterator[Step]:
    """One step per epoch at one penalty; the last step again with its estimate."""
    batches, params = context.batches(), context.params
    for state in search(batches, params, penalty):
        step = step_of(batches.units, state, penalty, context.limits)
        yield step
    yield with_estimate(batches, params, step)


def trace_size(context: SearchContext, n_features: int) -> Iterator[Step]:
    """Search the penalty whose own support has the wanted size; the last step has it exactly.

    Only the last few are added or removed by v: the first of a much larger support are a poor one.
    """
    engine, tried = GradientsEngine(context, ()), []
    count = context.problem.cost_model.count
    for step in trace_to_size(engine, engine.grid(), n_features, count):
        yield engine.limited(step)
        tried.append(step)
    best = min(tried, key=lambda step: abs(count(step.support) - n_features))
    if count(best.support) != n_features:
        yield engine.limited(engine.with_exact_size(best, n_features))


class GradientsEngine:
    """Searches at one penalty after another, for `search_penalties`.

    A linear model on the subset found in a fold predicts its test rows. With several folds the step
    is a search on all rows; with a single held-out part that part stays out. The subset of the
    first penalty is made to fit the limits; others are for `search_penalties` to refuse.
    """

    def __init__(self, context: SearchContext, folds: Sequence[Fold]) -> None:
        self._context = context
        parts = [[context.problem.take(np.sort(rows)) for rows in fold] for fold in folds]
        self._batches_of_folds = [context.batches(train) for train, _ in parts]
        self._scorers = [LinearScorer(train, test) for train, test in parts]
        is_single = len(folds) == 1
        self._batches = self._batches_of_folds[0] if is_single else context.batches()
        self._is_first = True

    @property
    def metric(self) -> str:
        """The name of the loss."""
        return self._scorers[0].metric

    def grid(self) -> list[float]:
        """Falling penalties, from the lowest that selects nothing: higher ones give the same."""
        context, batches = self._context, self._batches
        cost = batches.units.column_cost
        gain = best_single_gain(batches, context.threads) if (cost > 0.0).any() else 0.0
        if not gain > 0.0:
            return [0.0]
        top = batches.columns.n_columns * (gain / float(cost[cost > 0.0].min()))
        grid = [GRID_TOP * top / GRID_FACTOR**k for k in range(GRID_POINTS)]
        n_kept = int(batches.units.to_columns(batches.units.kept).sum())
        size = lambda penalty: context.fit(batches, penalty, silent=True).n_features  # noqa: E731
        first = bisect_right(grid[:-1], n_kept, key=size)
        return grid[max(0, first - 1) :]

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of a search at one penalty."""
        limits = self._context.limits if self._is_first else None
        self._is_first = False
        if max_features is not None:
            limits = replace(self._context.limits, max_features=max_features)
        self._fold_limits = limits or self._context.limits
        step = self._context.fit(self._batches, penalty, limits)
        return with_estimate(self._batches, self._context.params, step)

    def with_exact_size(self, step: Step, n_features: int) -> Step:
        """The step with the first ``n_features`` by v; of groups as many as fit."""
        units, model = self._batches.units, step.model
        v = units.with_size(model.v, n_features)
        state = SearchState(v, step.objective, int(step.details["epoch"]))
        exact = replace(step_of(units, state, step.penalty), model=model)
        return with_estimate(self._batches, self._context.params, exact)

    def limited(self, step: Step) -> Step:
        """The step with those of its features, by v, that are within the limits."""
        order = self._batches.units.within(step.order, self._context.limits)
        if len(order) == step.n_features:
            return step
        taken = np.isin(step.support, order)
        less = replace(step, support=np.sort(order), order=order, weight=step.weight[taken])
        return with_estimate(self._batches, self._context.params, less)

    def fold_losses(self, step: Step) -> list[FoldLosses]:
        """Losses of the test rows of each fold, for a search at the penalty of the step."""
        scorers = self._scorers
        if not scorers:
            return []
        if len(scorers) == 1 or step.n_features == 0:  # no features: a constant in every fold
            steps = [step] * len(scorers)
        else:
            limits, parts = self._fold_limits, self._batches_of_folds
            steps = [self._context.fit(each, step.penalty, limits) for each in parts]
        pairs = zip(scorers, steps, strict=True)
        losses = [scorer.losses_by_shrinkage(each.support, SHRINKAGES) for scorer, each in pairs]
        weights = [scorer.weight for scorer in scorers]
        counts = are_counts(self._context.problem.weight)
        shrunken = zip(shrunken_losses(losses, weights), weights, strict=True)
        return [FoldLosses(*each, counts=counts) for each in shrunken]


def with_estimate(batches: Batches, params: SearchParams, step: Step) -> Step:
    """Add the estimate for the support itself: s = 1 inside and 0 outside."""
    objective, estimator = batches.objective, batches.estimator
    selected, z = np.isin(batches.columns.features, step.support), [np.zeros(1)]
    if selected.any():
        estimator.set_inclusion(selected.astype(np.float64))
        rng = np.random.default_rng(params.seed)
        z = [estimator.signals(batch) for batch in batches.draw(params, rng)]
    # the mean comes first: single batches may leave [0, 1]
    mean = objective.clipped(np.mean(z, axis=0)).mean()
    each = np.array([objective.value(one).mean() for one in z])
    values, n = each - each.mean() + mean, len(z)
    details: dict[str, Any] = {
        **step.details,
        "estimate": float(values.mean()),
        "estimate_standard_error": float(values.std(ddof=1)) / np.sqrt(n) if n > 1 else None,
        "estimate_of": objective.kind,
    }
    return replace(step, details=details)

"""One step per penalty: a falling grid judged by folds, or a search for a wanted size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._data.problem import Problem
from secateur._data.weights import are_counts
from secateur._engines.feature_gradients.contrasts import Task
from secateur._engines.feature_gradients.field import Field, make_field
from secateur._engines.feature_gradients.params import SearchParams
from secateur._engines.feature_gradients.search import Found, step_of, trace_penalty
from secateur._execution.dask import DaskExecutor
from secateur._kernels.threads import Threads
from secateur.evaluation.cross_trace import Verdict, pool
from secateur.evaluation.folds import Fold
from secateur.evaluation.linear import LinearJudge
from secateur.path.step import Step
from secateur.typing import FloatArray

GRID_POINTS = 15
"""Penalties that "auto" tries."""

GRID_TOP = 4.0
"""The first of them, in units of the penalty at which the best single feature would still pay."""

GRID_STEP = 2.0
"""Each is so many times the next."""

MOST_TRIALS = 8
"""Penalties that are tried between two of the grid for a wanted number of features."""

NEAR = 0.03
"""A size that is this close to the wanted one, as a share of it, is near enough."""


def _nothing() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A problem and how it is to be searched."""

    problem: Problem
    task: Task
    params: SearchParams
    standardize: bool
    threads: Threads
    on_round: Callable[[], None] = _nothing
    executor: DaskExecutor | None = None

    def field(self, problem: Problem | None = None) -> Field:
        """The problem, or a part of it, ready to be searched."""
        return make_field(
            self.problem if problem is None else problem,
            self.task,
            self.params,
            standardize=self.standardize,
            threads=self.threads,
            executor=self.executor,
        )

    def settle(self, field: Field, penalty: float, *, silent: bool = False) -> Step:
        """The last step of a search at one penalty."""
        steps = trace_penalty(field, self.params, penalty, self.problem.n_features)
        tell: Callable[[], None] = _nothing if silent else self.on_round
        last = next(steps)  # there is at least one epoch
        tell()
        for step in steps:
            last = step
            tell()
        return last


def trace_grid(
    ground: Ground, penalties: Sequence[float] | None, folds: Sequence[Fold]
) -> Iterator[Step]:
    """One step per penalty, from dear to cheap, each with its held-out score.

    Without penalties they are made: the first is the cheapest of a grid that selects nothing.

    Each penalty is searched in every fold, from columns that were centred and scaled without the
    rows that judge, and a linear model on the found subset is judged by them. With several folds
    all rows then make the step; a single held-out part stays out. Without folds nothing is scored.
    """
    courts = [_Court(ground, fold) for fold in folds]
    field = courts[0].field if len(courts) == 1 else ground.field()
    for penalty in _paying(ground, field) if penalties is None else penalties:
        trials = [ground.settle(court.field, penalty) for court in courts]
        verdicts = [court.verdict(step) for court, step in zip(courts, trials, strict=True)]
        step = trials[0] if len(courts) == 1 else ground.settle(field, penalty)
        step = with_estimate(field, ground.params, step)
        if verdicts:
            metric = courts[0].metric
            step = replace(step, score=pool(verdicts, origin="held_out", metric=metric))
        yield step


class _Court:
    """One fold: the rows that train, ready to be searched, and the rows that judge."""

    def __init__(self, ground: Ground, fold: Fold) -> None:
        problem = ground.problem
        train, test = problem.take(np.sort(fold.train)), problem.take(np.sort(fold.test))
        self.field = ground.field(train)
        self._judge = LinearJudge(
            train.table, test.table, train.target.values, train.weight, problem.target.n_classes
        )
        self._target, self._weight = test.target.values, test.weight
        self._counts = are_counts(problem.weight)
        self.metric = self._judge.metric

    def verdict(self, step: Step) -> Verdict:
        losses = self._judge.losses(step.support, self._target)
        return Verdict(losses, self._weight, counts=self._counts)


def with_estimate(field: Field, params: SearchParams, step: Step) -> Step:
    """Add what the estimator says of the support itself, s = 1 inside and 0 outside."""
    values = _estimates(field, params, np.isin(field.columns.features, step.support))
    n = len(values)
    spread = float(values.std(ddof=1)) / np.sqrt(n) if n > 1 else float("nan")
    details: dict[str, Any] = {
        **step.details,
        "estimate": float(values.mean()),
        "estimate_spread": None if np.isnan(spread) else spread,
        "estimate_of": field.curve.kind,
    }
    return replace(step, details=details)


def _estimates(field: Field, params: SearchParams, inside: Any) -> FloatArray:
    """The estimate of each batch, averaged over targets."""
    if not inside.any():
        return field.curve.told(np.zeros(1))
    rng = np.random.default_rng(params.seed)
    field.estimator.see(inside.astype(np.float64))
    z = [field.estimator.signals(batch) for batch in field.batches(params, rng)]
    # the mean comes first: a batch alone may well leave [0, 1]
    told = field.curve.told(np.mean(z, axis=0)).mean()
    each = np.array([field.curve.value(one).mean() for one in z])
    centred: FloatArray = each - each.mean() + told
    return centred


def penalty_grid(field: Field) -> list[float]:
    """Falling penalties: at the first not even the best single feature pays.

    A feature that explains a share R^2 of the target lowers what is minimised by f(0) - f(R^2) at
    most, if it is alone.
    """
    gain = field.curve.value(np.zeros(1)) - field.curve.value(field.shares)
    price = field.units.column_price
    paid = price > 0.0
    if not paid.any():
        return [0.0]
    top = field.columns.n_columns * float((gain.max(initial=0.0)) / price[paid].min())
    if not top > 0.0:
        return [0.0]
    return [GRID_TOP * top / GRID_STEP**k for k in range(GRID_POINTS)]


def _paying(ground: Ground, field: Field) -> list[float]:
    """The grid from the cheapest penalty that selects nothing: dearer ones say the same."""
    grid = penalty_grid(field)
    n_kept = int(field.units.spread(field.units.kept).sum())
    low, high = 0, len(grid) - 1
    while low < high:  # the first that selects something
        middle = (low + high) // 2
        found = ground.settle(field, grid[middle], silent=True)
        if found.n_features > n_kept:
            high = middle
        else:
            low = middle + 1
    return grid[max(0, low - 1) :]


def trace_wanted(ground: Ground, n_features: int) -> Iterator[Step]:
    """Search the penalty whose own support has the wanted size; the last step has it exactly.

    The best features of a search whose own support is much larger or smaller are poor sets: what
    is redundant depends on how much is in. So penalties are halved in until the size is near, and
    only then the last few are added or taken away, in the order of v.
    """
    field = ground.field()
    best: Step | None = None
    for step in _approach(ground, field, n_features):
        yield with_estimate(field, ground.params, step)
        if best is None or _miss(step, n_features) < _miss(best, n_features):
            best = step
    if best is not None and best.n_features != n_features:
        yield with_estimate(field, ground.params, _exactly(field, best, n_features))


def _approach(ground: Ground, field: Field, n_features: int) -> Iterator[Step]:
    """Penalties from dear to cheap until the wanted size is passed, then between the last two.

    From the dear side: at high orders the same size may come again at a far cheaper penalty, made
    of noise that is all in while what matters is held at a level below it.
    """
    near = max(0, int(NEAR * n_features))
    dear = cheap = 0.0
    for penalty in _paying(ground, field):
        step = ground.settle(field, penalty)
        yield step
        if _miss(step, n_features) <= near:
            return
        dear, cheap = cheap, penalty
        if step.n_features > n_features:
            break
    for _ in range(MOST_TRIALS if dear > 0.0 else 0):
        penalty = float(np.sqrt(dear * cheap))
        step = ground.settle(field, penalty)
        yield step
        if _miss(step, n_features) <= near:
            return
        dear, cheap = (dear, penalty) if step.n_features > n_features else (penalty, cheap)


def _miss(step: Step, n_features: int) -> int:
    return abs(step.n_features - n_features)


def _exactly(field: Field, step: Step, n_features: int) -> Step:
    """The first so many by v; of groups as many as fit."""
    found: Found = step.model
    v = field.units.shifted(found.v, n_features)
    epoch = int(step.details["epoch"])
    exact = step_of(field.units, v, step.control, step.objective, epoch, found.n_features)
    return replace(exact, model=found)

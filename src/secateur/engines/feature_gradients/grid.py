"""One step per penalty: a falling grid, judged by folds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.folds import Fold
from secateur.data.problem import Problem
from secateur.data.weights import are_counts
from secateur.engines.feature_gradients.rows import Field, make_field
from secateur.engines.feature_gradients.search import Found, State, descend, step_of
from secateur.engines.feature_gradients.targets import SearchParams, TargetType
from secateur.engines.fold_losses import SHRINKAGES, FoldLosses, pool, shrunken_losses
from secateur.engines.linear_scorer import LinearJudge
from secateur.execution.dask import DaskExecutor
from secateur.path.path import StopReason
from secateur.path.step import Step
from secateur.typing import FloatArray

MOST_TRIALS = 8
"""Penalties that are tried between two of the grid for a wanted number of features."""

NEAR = 0.03
"""A size that is this close to the wanted one, as a share of it, is near enough."""


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
    for penalty in paying(ground, field):
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
    state = State(v, step.objective, int(step.details["epoch"]))
    exact = step_of(field.units, state, step.penalty, found.n_features)
    return replace(exact, model=found)


GRID_POINTS = 15
"""Penalties that "auto" tries."""

GRID_TOP = 4.0
"""The first of them, in units of the penalty at which the best single feature would still pay."""

GRID_STEP = 2.0
"""Each is so many times the next."""

FEW_TRIALS = 3
"""Penalties that are tried between the last that selects few enough and the first that does not."""


def _nothing() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A problem and how it is to be searched."""

    problem: Problem
    target_type: TargetType
    params: SearchParams
    standardize: bool
    threads: Threads
    on_round: Callable[[], None] = _nothing
    executor: DaskExecutor | None = None

    def field(self, problem: Problem | None = None) -> Field:
        """The problem, or a part of it, ready to be searched."""
        return make_field(
            self.problem if problem is None else problem,
            self.target_type,
            self.params,
            standardize=self.standardize,
            threads=self.threads,
            executor=self.executor,
        )

    def settle(self, field: Field, penalty: float, *, silent: bool = False) -> Step:
        """The last step of a search at one penalty."""
        states = descend(field, self.params, penalty)
        tell: Callable[[], None] = _nothing if silent else self.on_round
        last = next(states)  # there is at least one epoch
        tell()
        for state in states:
            last = state
            tell()
        return step_of(field.units, last, penalty, self.problem.n_features)


def trace_grid(
    ground: Ground,
    penalties: Sequence[float] | None,
    folds: Sequence[Fold],
    most: int | None = None,
) -> Generator[Step, None, StopReason]:
    """One step per penalty, from dear to cheap, each with its held-out score.

    Without penalties they are made: the first is the cheapest of a grid that selects nothing. The
    grid ends before a subset of more than ``most`` features.

    Each penalty is searched in every fold, from columns that were centred and scaled without the
    rows that judge, and a linear model on the found subset is judged by them, as far as they trust
    it. With several folds all rows then make the step; a single held-out part stays out. Without
    folds nothing is scored.
    """
    courts = [_Court(ground, fold) for fold in folds]
    field = courts[0].field if len(courts) == 1 else ground.field()
    steps = _steps_within(
        ground, field, paying(ground, field) if penalties is None else penalties, most
    )
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            reason: StopReason = end.value
            return reason
        yield _judged(ground, courts, with_estimate(field, ground.params, step))


def _judged(ground: Ground, courts: Sequence[_Court], step: Step) -> Step:
    """The step with what a search at its penalty in each fold is worth there."""
    if not courts:
        return step
    if len(courts) == 1 or step.n_features == 0:  # no features are the constant, in every fold
        trials = [step] * len(courts)
    else:
        trials = [ground.settle(court.field, step.penalty) for court in courts]
    by_shrinkage = [
        court.losses_by_shrinkage(trial) for court, trial in zip(courts, trials, strict=True)
    ]
    losses = shrunken_losses(by_shrinkage, [court.weight for court in courts])
    counts = are_counts(ground.problem.weight)
    fold_losses = [
        FoldLosses(each, court.weight, counts=counts)
        for each, court in zip(losses, courts, strict=True)
    ]
    return replace(step, score=pool(fold_losses, origin="held_out", metric=courts[0].metric))


def _steps_within(
    ground: Ground, field: Field, penalties: Sequence[float], most: int | None
) -> Generator[Step, None, StopReason]:
    """Steps from dear to cheap; where one has too many features, the last that has not.

    A grid may jump from few features to far too many. Penalties between are then halved in for
    the subset that is nearest to what is allowed.
    """
    dear = np.inf
    for penalty in penalties:
        step = ground.settle(field, penalty)
        is_first = np.isinf(dear)
        if is_first or most is None or step.n_features <= most:
            yield step
            dear = penalty
        else:
            yield from _between(ground, field, dear, penalty, most)
            return StopReason.MAX_FEATURES
    return StopReason.FINISHED


def _between(ground: Ground, field: Field, dear: float, cheap: float, most: int) -> Iterator[Step]:
    """Ever cheaper penalties that still select few enough, between one that does and one not."""
    for _ in range(FEW_TRIALS):
        penalty = float(np.sqrt(dear * cheap))
        step = ground.settle(field, penalty)
        if step.n_features > most:
            cheap = penalty
            continue
        yield step
        dear = penalty


class _Court:
    """One fold: the rows that train, ready to be searched, and the rows that judge."""

    def __init__(self, ground: Ground, fold: Fold) -> None:
        problem = ground.problem
        train, test = problem.take(np.sort(fold.train)), problem.take(np.sort(fold.test))
        self.field = ground.field(train)
        self._judge = LinearJudge(
            train.table, test.table, train.target.values, train.weight, problem.target.n_classes
        )
        self._target, self.weight = test.target.values, test.weight
        self.metric = self._judge.metric

    def losses_by_shrinkage(self, step: Step) -> FloatArray:
        """The losses of the rows that judge, from no trust in a model of the step to all."""
        return self._judge.losses_by_shrinkage(step.support, self._target, SHRINKAGES)


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


def paying(ground: Ground, field: Field) -> list[float]:
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

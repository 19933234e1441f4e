"""One step per penalty: a falling grid with held-out scores, or a search for a wanted size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.problem import Fold, Problem
from secateur.data.weights import are_counts
from secateur.engines.feature_gradients.batches import (
    Batches,
    SearchParams,
    TargetType,
    best_single_gain,
    make_batches,
)
from secateur.engines.feature_gradients.search import SearchState, search, step_of
from secateur.engines.fold_losses import SHRINKAGES, FoldLosses, shrunken_losses
from secateur.engines.linear_scorer import LinearScorer
from secateur.execution.dask import DaskExecutor
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray

GRID_POINTS = 15  # penalties of the automatic grid
# The first of them, in units of the penalty at which the best single feature still pays.
GRID_TOP = 4.0
GRID_FACTOR = 2.0  # ratio of two penalties of the grid
MAX_SIZE_TRIALS = 8  # penalties tried between two of the grid for a wanted number of features
SIZE_TOLERANCE = 0.03  # a size this close to the wanted one, as a share of it, is near enough


@dataclass(frozen=True, slots=True, eq=False)
class SearchContext:
    """A problem and the parameters of its search."""

    problem: Problem
    target_type: TargetType
    params: SearchParams
    standardize: bool
    threads: Threads
    on_round: Callable[[], None] = lambda: None
    executor: DaskExecutor | None = None

    def batches(self, problem: Problem | None = None) -> Batches:
        """The batches of the problem, or of some of its rows."""
        return make_batches(
            self.problem if problem is None else problem,
            self.target_type,
            self.params,
            standardize=self.standardize,
            threads=self.threads,
            executor=self.executor,
        )

    def fit(self, batches: Batches, penalty: float, *, silent: bool = False) -> Step:
        """The last step of a search at one penalty."""
        state: SearchState
        for state in search(batches, self.params, penalty):  # noqa: B007
            if not silent:
                self.on_round()
        return step_of(batches.units, state, penalty, self.problem.n_features)


def trace_single(context: SearchContext, penalty: float) -> Iterator[Step]:
    """One step per epoch at one penalty; the last step again with its estimate."""
    batches, params = context.batches(), context.params
    for state in search(batches, params, penalty):
        step = step_of(batches.units, state, penalty, context.problem.n_features)
        yield step
    yield with_estimate(batches, params, step)


def trace_size(context: SearchContext, n_features: int) -> Iterator[Step]:
    """Search the penalty whose own support has the wanted size; the last step has it exactly.

    The first features of a much larger or smaller support are poor subsets: which features are
    redundant depends on the others. So penalties are bisected until the size is near, and only
    the last few features are added or removed by their v.
    """
    batches = context.batches()
    tried = []
    for step in _bisect_size(context, batches, n_features):
        yield with_estimate(batches, context.params, step)
        tried.append(step)
    best = min(tried, key=lambda step: abs(step.n_features - n_features))
    if best.n_features != n_features:
        yield with_estimate(batches, context.params, _with_exact_size(batches, best, n_features))


def _bisect_size(context: SearchContext, batches: Batches, n_features: int) -> Iterator[Step]:
    """Falling penalties until the wanted size is passed, then penalties between the last two.

    From above: at high orders the same size may occur again at a far lower penalty, with noise
    features included and relevant ones held at a lower s.
    """
    tolerance = int(SIZE_TOLERANCE * n_features)
    high = low = 0.0
    for penalty in useful_grid(context, batches):
        step = context.fit(batches, penalty)
        yield step
        excess = step.n_features - n_features
        if abs(excess) <= tolerance:
            return
        high, low = low, penalty
        if excess > 0:
            break
    for _ in range(MAX_SIZE_TRIALS if high > 0.0 else 0):
        penalty = float(np.sqrt(high * low))
        step = context.fit(batches, penalty)
        yield step
        excess = step.n_features - n_features
        if abs(excess) <= tolerance:
            return
        high, low = (high, penalty) if excess > 0 else (penalty, low)


def _with_exact_size(batches: Batches, step: Step, n_features: int) -> Step:
    """The first ``n_features`` by v; of groups as many as fit."""
    model = step.model
    v = batches.units.with_size(model.v, n_features)
    state = SearchState(v, step.objective, int(step.details["epoch"]))
    exact = step_of(batches.units, state, step.penalty, model.n_features)
    return replace(exact, model=model)


class GradientsEngine:
    """Searches at one penalty after another, for `search_penalties`.

    Each penalty is searched in every fold, on columns standardised by the training rows, and a
    linear model on the subset predicts the test rows. With several folds the step is a search on
    all rows; with a single held-out part that part stays out.
    """

    def __init__(self, context: SearchContext, folds: Sequence[Fold]) -> None:
        self._context = context
        parts = [[context.problem.take(np.sort(rows)) for rows in fold] for fold in folds]
        self._batches_of_folds = [context.batches(train) for train, _ in parts]
        self._scorers = [LinearScorer(train, test) for train, test in parts]
        is_single = len(folds) == 1
        self._batches = self._batches_of_folds[0] if is_single else context.batches()

    @property
    def metric(self) -> str:
        """The name of the loss."""
        return self._scorers[0].metric

    def grid(self) -> list[float]:
        """Falling penalties; the first is the lowest that selects nothing."""
        return useful_grid(self._context, self._batches)

    def fit(self, penalty: float) -> Step:
        """The step of a search at one penalty."""
        step = self._context.fit(self._batches, penalty)
        return with_estimate(self._batches, self._context.params, step)

    def fold_losses(self, step: Step) -> list[FoldLosses]:
        """Losses of the test rows of each fold, for a search at the penalty of the step."""
        scorers = self._scorers
        if not scorers:
            return []
        if len(scorers) == 1 or step.n_features == 0:  # no features: a constant in every fold
            steps = [step] * len(scorers)
        else:
            steps = [self._context.fit(each, step.penalty) for each in self._batches_of_folds]
        pairs = zip(scorers, steps, strict=True)
        losses = [scorer.losses_by_shrinkage(each.support, SHRINKAGES) for scorer, each in pairs]
        weights = [scorer.weight for scorer in scorers]
        counts = are_counts(self._context.problem.weight)
        shrunken = zip(shrunken_losses(losses, weights), weights, strict=True)
        return [FoldLosses(*each, counts=counts) for each in shrunken]


def with_estimate(batches: Batches, params: SearchParams, step: Step) -> Step:
    """Add the estimate for the support itself: s = 1 inside and 0 outside."""
    values = _estimates(batches, params, np.isin(batches.columns.features, step.support))
    n = len(values)
    details: dict[str, Any] = {
        **step.details,
        "estimate": float(values.mean()),
        "estimate_standard_error": float(values.std(ddof=1)) / np.sqrt(n) if n > 1 else None,
        "estimate_of": batches.objective.kind,
    }
    return replace(step, details=details)


def _estimates(batches: Batches, params: SearchParams, selected: BoolArray) -> FloatArray:
    """The estimate of each batch, averaged over targets."""
    objective, estimator = batches.objective, batches.estimator
    if not selected.any():
        return objective.clipped(np.zeros(1))
    rng = np.random.default_rng(params.seed)
    estimator.set_inclusion(selected.astype(np.float64))
    z = [estimator.signals(batch) for batch in batches.draw(params, rng)]
    # the mean comes first: single batches may leave [0, 1]
    mean = objective.clipped(np.mean(z, axis=0)).mean()
    each = np.array([objective.value(one).mean() for one in z])
    centred: FloatArray = each - each.mean() + mean
    return centred


def useful_grid(context: SearchContext, batches: Batches) -> list[float]:
    """Falling penalties, from the lowest that selects nothing: higher ones give the same."""
    cost = batches.units.column_cost
    gain = best_single_gain(batches, context.threads) if (cost > 0.0).any() else 0.0
    if not gain > 0.0:
        return [0.0]
    top = batches.columns.n_columns * (gain / float(cost[cost > 0.0].min()))
    grid = [GRID_TOP * top / GRID_FACTOR**k for k in range(GRID_POINTS)]
    n_kept = int(batches.units.to_columns(batches.units.kept).sum())
    low, high = 0, len(grid) - 1
    while low < high:  # the first that selects something
        middle = (low + high) // 2
        step = context.fit(batches, grid[middle], silent=True)
        if step.n_features > n_kept:
            high = middle
        else:
            low = middle + 1
    return grid[max(0, low - 1) :]

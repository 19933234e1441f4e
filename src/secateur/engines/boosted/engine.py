"""Boosted fits on one binning: a step per round, with folds, and at one penalty after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from secateur._kernels.small_trees import LOGISTIC, MULTINOMIAL, SQUARED, boost
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, Category, narrowed
from secateur.data.costs import CostModel
from secateur.data.table import Fold, Table, all_rows
from secateur.data.target import are_counts, weight_of_a_row
from secateur.engines.boosted import rows
from secateur.engines.boosted.group_search import GroupSearch
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.grower import TreeGrower
from secateur.engines.boosted.nodes import ExactSearch, NodeHistograms
from secateur.engines.boosted.trees import BoostedModel, BoostingParams, Ensemble, Tree
from secateur.engines.limits import FeatureUse
from secateur.engines.path_search import FoldLosses, pool
from secateur.execution.blocks import CodeBlock, Executor, FitRows, LocalRowStore, RowStore
from secateur.losses import Loss, fixed_point_sum
from secateur.path.step import Score, Step
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.engines.boosted.multitask import TasksData

GRID_POINTS = 8  # penalties that "auto" tries
# The largest of them, as a share of the best gain that any single split has at the start.
GRID_TOP = 0.25
GRID_BOTTOM = 0.002  # the smallest, likewise
# The training loss of a step is the mean over at most this many rows, evenly spaced.
OBJECTIVE_ROWS = 10_000


def penalty_grid(data: BoostedData | TasksData, params: BoostingParams) -> list[float]:
    """Falling penalties, as shares of the best gain of a single split at the start."""
    top = data.best_gain(params)
    if top <= 0.0:
        return [0.0]
    return [float(p) for p in np.geomspace(GRID_TOP * top, GRID_BOTTOM * top, GRID_POINTS)]


def _root_errors(data: BoostedData, baseline: FloatArray) -> FloatArray:
    """The squared error of the gradients of each output at the baseline."""
    target, weight = data.target, data.weight
    if data.rows is not None:
        target, weight = target[data.rows], weight[data.rows]
    raw = np.repeat(baseline[:, None], len(target), axis=1)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    data.loss.gradients(target, raw, gradient, hessian)
    centred = gradient - np.average(gradient, axis=1, weights=weight)[:, None]
    return (centred * centred) @ weight


def higher_penalties(penalty: float, cost_model: CostModel) -> tuple[float, float]:
    """Two penalties above the first of a grid, so that any limit has a step: one takes none."""
    now = cost_model.costs(cost_model.keep)
    paid = now[now > 0.0]
    ratio = float(paid.mean() / paid.min()) if len(paid) else 1.0
    return 5.0 * ratio * penalty, 2.0 * penalty


class ValidationRows:
    """Validation rows beside the training table."""

    def __init__(self, table: Table, target: FloatArray, weight: FloatArray) -> None:
        self._table, self._target, self._weight = table, target, weight
        self._counts = are_counts(weight)
        self._ensemble: Ensemble | None = None
        self._n_rounds = 0
        self._raw: FloatArray = np.empty((0, 0))

    def fold_losses(self, step: Step, loss: Loss, threads: Threads) -> FoldLosses:
        """Their losses at a step; only the trees since the last step are added."""
        model: BoostedModel = step.model
        if model.ensemble is not self._ensemble:
            self._ensemble = model.ensemble
            self._n_rounds = 0
            self._raw = np.repeat(model.ensemble.baseline[:, None], self._table.n_rows, axis=1)
        fresh = model.ensemble.rounds[self._n_rounds : model.n_rounds]
        newest = Ensemble(loss, np.zeros(len(self._raw)), fresh)
        self._raw += BoostedModel(newest, len(fresh)).raw(self._table, threads)
        self._n_rounds = model.n_rounds
        losses = loss.scores(self._target, self._raw)
        return FoldLosses(losses, self._weight, counts=self._counts)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A fit, not yet begun: its steps, and the losses of its validation rows at the latest."""

    steps: Iterator[Step]
    fold_losses: Callable[[Step], FoldLosses]
    metric: str

    def score(self, step: Step) -> Score:
        """The inner score of the latest step."""
        return pool([self.fold_losses(step)], origin="inner", metric=self.metric)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedData:
    """Binned rows, held in ``row_store`` or ``columns``, and all that is the same in all fits.

    ``rows`` are those of the fits, if not all; ``category`` is the last of ``columns``.
    """

    columns: BinnedColumns
    target: FloatArray
    weight: FloatArray
    loss: Loss
    cost_model: CostModel
    threads: Threads
    given: ValidationRows | None = None
    groups: Groups | None = None
    row_store: RowStore | None = None
    rows: IntArray | None = None
    category: Category | None = None

    @property
    def where(self) -> RowStore:
        """Where the rows are: in ``columns`` if nothing else is said."""
        if self.row_store is not None:
            return self.row_store
        group_sums = None if self.groups is None else self.groups.codes
        return LocalRowStore([CodeBlock(self.columns, 0, self.threads, group_sums=group_sums)])

    @property
    def everything(self) -> Fold:
        """All rows train, or all of ``rows``; there are no validation rows."""
        if self.rows is None:
            return all_rows(len(self.target))
        return Fold(self.rows, np.empty(0, np.int64))

    @property
    def metric(self) -> str:
        """The name of the scores."""
        return self.loss.metric

    def best_gain(self, params: BoostingParams) -> float:
        """The best gain of a single split at the start, divided by the mean cost of a feature."""
        stump = replace(params, max_depth=1, n_rounds=1, subsample=1.0, penalty=0.0)
        stump = replace(stump, max_features=None, cost_budget=None)
        step = next(self.run(self.everything, stump).steps)
        gains = [float(tree.gain[0]) for tree in step.model.ensemble.rounds[0]]
        units = _root_errors(self, step.model.ensemble.baseline)
        if params.criterion == "gbfs":
            units = np.full(len(gains), 2.0 * weight_of_a_row(self.weight))
        top = max((g / u for g, u in zip(gains, units, strict=True) if u > 0.0), default=0.0)
        cost = self.cost_model.costs(self.cost_model.keep)
        return top / (float(cost[cost > 0.0].mean()) if (cost > 0.0).any() else 1.0)

    def run(
        self,
        fold: Fold,
        params: BoostingParams,
        feature_use: FeatureUse | None = None,
        *,
        done: Sequence[list[Tree]] = (),
    ) -> Run:
        """A fit on one fold, not yet begun; see `trace_boosted`."""
        train, test = np.sort(fold.train), np.sort(fold.test)
        fit = (self.loss.n_outputs, self.category)
        executor = self.where.executor(FitRows(self.target, self.weight, train, test, *fit))
        limits = params.max_features, params.cost_budget
        feature_use = feature_use or FeatureUse(self.cost_model, *limits)
        steps = trace_boosted(self, executor, params, feature_use, done)
        weight, counts = self.weight[test], are_counts(self.weight)

        def fold_losses(step: Step) -> FoldLosses:
            if self.given is not None:
                return self.given.fold_losses(step, self.loss, self.threads)
            losses = np.concatenate(executor.each(rows.row_losses, self.loss, "held"))
            return FoldLosses(self.loss.score_factor * losses, weight, counts=counts)

        return Run(steps, fold_losses, self.metric)


def trace_boosted(
    data: BoostedData,
    executor: Executor,
    params: BoostingParams,
    feature_use: FeatureUse,
    done: Sequence[list[Tree]] = (),
) -> Iterator[Step]:
    """Boost round after round and yield a step after each; its ``model`` predicts at that round.

    Algorithm 1 of GBFS. With groups, new features are found by group tests. ``feature_use`` may be
    shared with other fits; ``done`` are the first rounds of an interrupted fit, to continue from.
    """
    columns, loss, threads = data.columns, data.loss, data.threads
    with closing(executor):
        ensemble, weights, n_rows = _begin(executor, loss)
        executor.apply(rows.set_baseline, ensemble.baseline, weights.scale)
        plan = data.groups.plan if data.groups and data.groups.plan.design.has_tests else None
        # With group tests most features are never evaluated: their weights are not counted.
        divisible = columns.varying if plan else _divisible(executor, columns, weights, params)
        executor.apply(rows.narrow, divisible)
        columns = narrowed(columns, divisible)
        histograms = NodeHistograms(executor, columns, params.max_depth, threads)
        search = ExactSearch(histograms, feature_use, divisible)
        if plan is not None:
            search = GroupSearch(histograms, feature_use, divisible, executor, plan, threads)
            params = replace(params, lazy=False)
        grower = TreeGrower(executor, columns, params, search, threads, weights)
        stride = -(-n_rows // OBJECTIVE_ROWS)
        objective = _objective(executor, loss, stride)
        importances = np.zeros(columns.n_features)
        for n_rounds in range(1, params.n_rounds + 1):
            state = (ensemble.baseline, weights.scale, divisible, stride)
            executor.checkpoint(rows.restore, *state, tuple(ensemble.rounds))
            if n_rounds <= len(done):
                trees = _take_over(executor, search, done[n_rounds - 1])
            else:
                executor.apply(rows.begin_round, loss)
                outputs = range(loss.n_outputs)
                trees = [grower.grow(k, loss, _seed(params, n_rounds, k)) for k in outputs]
            ensemble.rounds.append(trees)
            ensemble.n_cells = histograms.n_cells
            for tree in trees:
                tree.add_gains(importances)
            yield Step.of(
                feature_use.entered,
                importances,
                penalty=params.penalty,
                objective=objective(),
                cost=feature_use.total_cost,
                model=BoostedModel(ensemble, n_rounds),
                details={"round": n_rounds},
            )


def _take_over(executor: Executor, search: ExactSearch, trees: list[Tree]) -> list[Tree]:
    """A round of an earlier fit: add its features, in the order of the splits, and its trees."""
    for tree in trees:
        search.skip_tree()
        for feature in tree.feature[tree.left >= 0]:
            search.feature_use.add(int(feature))
    executor.apply(rows.add_round, trees)
    return trees


def _divisible(
    executor: Executor, columns: BinnedColumns, scale: rows.WeightScale, params: BoostingParams
) -> IntArray:
    """The features that any split can use: all bins but the heaviest must weigh enough."""
    weights = executor.sum(rows.bin_weights)
    first = columns.offset[:-1]
    rest = np.add.reduceat(weights, first) - np.maximum.reduceat(weights, first)
    return np.flatnonzero(rest >= scale.min_weight(params.min_samples_leaf))


def _begin(executor: Executor, loss: Loss) -> tuple[Ensemble, rows.WeightScale, int]:
    """The best constant as a model, the scale of the weights, and the number of training rows."""
    parts = executor.each(rows.training_rows)
    targets, weights = map(list, zip(*parts, strict=True))
    del parts  # memory is short for long tables: pieces are freed once they are concatenated
    target = np.concatenate(targets)
    del targets
    weight = np.concatenate(weights)
    del weights
    return Ensemble(loss, loss.baseline(target, weight)), rows.WeightScale.of(weight), len(target)


def _objective(executor: Executor, loss: Loss, stride: int) -> Callable[[], float]:
    """The mean training loss, at the moment of the call, over every ``stride``-th row; exact."""
    weight = np.concatenate(executor.each(rows.choose_objective_rows, stride))
    total = fixed_point_sum(weight)

    def objective() -> float:
        losses = weight * np.concatenate(executor.each(rows.row_losses, loss, "objective_rows"))
        return fixed_point_sum(losses) / total if len(losses) else np.nan

    return objective


def _seed(params: BoostingParams, n_rounds: int, k: int) -> int:
    """The seed of a tree's sample of rows."""
    if params.subsample == 1.0:
        return 0
    sequence = np.random.SeedSequence([params.seed, n_rounds, k])
    return int(sequence.generate_state(1, np.uint64)[0])


def boost_small(
    columns: BinnedColumns,
    target: FloatArray,
    weight: FloatArray,
    loss: Loss,
    params: BoostingParams,
    fold: Fold,
) -> tuple[FloatArray, FloatArray]:
    """A fit of small trees in one kernel call: raw predictions and total gains.

    As by ``trace_boosted`` without penalties, for squared error and log loss. Rows outside the fold
    keep the baseline.
    """
    train = np.sort(fold.train).astype(np.uint32)
    train_weight = weight[train]
    scale = rows.WeightScale.of(train_weight)
    rounded = np.maximum(np.rint(weight * scale.scale), 1.0).astype(np.uint32)
    raw = np.empty((loss.n_outputs, len(target)))
    raw[:] = loss.baseline(target[train], train_weight)[:, None]
    gains = np.zeros(columns.n_features)
    if columns.n_features == 0:
        return raw, gains
    min_weight = scale.min_weight(params.min_samples_leaf)
    rate, l2 = float(params.learning_rate), float(params.l2 * scale.mean)
    log_loss = LOGISTIC if loss.n_outputs == 1 else MULTINOMIAL
    boost(
        columns.codes.codes,
        (columns.offset, columns.n_bins, columns.is_categorical),
        target,
        (weight, rounded, float(scale.scale)),
        train,
        fold.test.astype(np.uint32),
        SQUARED if loss.constant_hessian else log_loss,
        (params.n_rounds, params.max_depth, min_weight, rate, l2),
        raw,
        gains,
    )
    return raw, gains


class BoostedEngine:
    """Boosted trees at one penalty after another, for `search_penalties`.

    All folds are boosted side by side, until ``patience`` rounds have not lowered the validation
    loss; all rows then train for the best number of rounds. The validation rows of a single fold
    stay out: its step is the fit on the others. Without folds all rows train for all rounds.
    """

    def __init__(
        self,
        data: BoostedData | TasksData,
        params: BoostingParams,
        folds: Sequence[Fold],
        patience: int,
        on_round: Callable[[], None] = lambda: None,
    ) -> None:
        self._data, self._params, self._folds = data, params, folds
        self._patience, self._on_round = patience, on_round
        self._losses: Sequence[FoldLosses] = ()
        self.metric = data.metric

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of one penalty: the folds find the number of rounds, then all rows train."""
        limit = self._params.max_features if max_features is None else max_features
        params = replace(self._params, penalty=penalty, max_features=limit)
        runs = [self._data.run(fold, params) for fold in self._folds]
        least, best_round = np.inf, 0
        best: Step | None = None
        for n_rounds, steps in enumerate(zip(*(run.steps for run in runs), strict=True), start=1):
            losses = [run.fold_losses(step) for run, step in zip(runs, steps, strict=True)]
            score = pool(losses, origin="held_out", metric=self.metric)
            for _ in runs:
                self._on_round()
            if best is None or (score.is_usable and score.mean < least):
                least = score.mean if score.is_usable else np.inf
                best, best_round, self._losses = steps[0], n_rounds, losses
            elif n_rounds - best_round >= self._patience:
                break  # more rounds would fit noise
        if best is not None and len(runs) == 1:
            return best
        if best is not None:
            params = replace(params, n_rounds=best_round)
        for last in self._data.run(self._data.everything, params).steps:  # noqa: B007
            self._on_round()
        return last

    def fold_losses(self, step: Step) -> Sequence[FoldLosses]:
        """Validation losses at the best number of rounds."""
        del step  # the last one
        return self._losses

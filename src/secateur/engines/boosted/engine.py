"""Boosted fits on one binning: a step per round, with folds, and at one penalty after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, Category, described, with_bundles
from secateur.data.costs import CostModel
from secateur.data.sampling import shares_of
from secateur.data.table import Fold, Table, all_rows
from secateur.data.target import are_counts, weight_of_a_row
from secateur.engines.boosted import rows
from secateur.engines.boosted.groups import Groups, GroupSearch
from secateur.engines.boosted.grower import TreeColumns, TreeGrower
from secateur.engines.boosted.nodes import ExactSearch, NodeHistograms
from secateur.engines.boosted.trees import BoostedModel, BoostingParams, Ensemble, Tree
from secateur.engines.boosted.whole_fit import WholeFit, suits
from secateur.engines.fold_losses import FoldLosses, pool
from secateur.engines.limits import FeatureUse
from secateur.exceptions import InputError
from secateur.execution.blocks import CodeBlock, Executor, FitRows, LocalRowStore, RowStore
from secateur.losses import Loss, fixed_point_sum
from secateur.losses.ranking import Queries, RankingLoss
from secateur.path.step import Score, Step
from secateur.typing import AnyArray, CodeArray, FloatArray, IntArray

MAX_ROWS = 2**30 - 1  # the largest gradient of so many rows still has a step: see `gradient_scale`


def check_row_count(n_rows: int) -> None:
    """Refuse more rows than sums of rounded gradients have room for."""
    if n_rows > MAX_ROWS:
        raise InputError(
            f"Boosted trees are fitted to at most {MAX_ROWS:,} rows. Got {n_rows:,}. Give a sample "
            "of the rows."
        )


def _root_errors(data: BoostedData, baseline: FloatArray) -> FloatArray:
    """The squared error of the gradients of each output at the baseline."""
    target, weight, number = data.target, data.weight, data.queries
    if data.rows is not None:
        target, weight = target[data.rows], weight[data.rows]
        number = None if number is None else number[data.rows]
    raw = np.repeat(baseline[:, None], len(target), axis=1)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    if number is not None:
        queries, sample = Queries.of(number, target), np.full(len(target), 0.5)
        outs = (gradient[0], hessian[0])
        data.ranking_loss.query_gradients(queries, raw[0], sample, data.threads, outs)
    else:
        data.loss.gradients(target, raw, gradient, hessian)
    centred = gradient - np.average(gradient, axis=1, weights=weight)[:, None]
    return (centred * centred) @ weight


def query_losses(
    loss: RankingLoss, queries: Queries, raw: FloatArray, weight: FloatArray
) -> FoldLosses:
    """The losses of queries, each with the mean weight of its rows."""
    weights = queries.weights(weight)
    losses = loss.query_scores(queries, raw)
    return FoldLosses(losses, weights, counts=are_counts(weights))


class ValidationRows:
    """Validation rows beside the training table."""

    def __init__(
        self,
        table: Table,
        target: FloatArray,
        weight: FloatArray,
        queries: IntArray | None = None,
    ) -> None:
        self._table, self._target, self._weight = table, target, weight
        self._queries = None if queries is None else Queries.of(queries, target)
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
        if self._queries is not None and isinstance(loss, RankingLoss):
            return query_losses(loss, self._queries, self._raw[0], self._weight)
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

    ``rows`` are those of the fits, if not all; ``category`` is the last of ``columns``; ``queries``
    are the numbers of the rows' queries, for a loss by query.
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
    queries: IntArray | None = None

    @property
    def ranking_loss(self) -> RankingLoss:
        """The loss, where it is one by query."""
        assert isinstance(self.loss, RankingLoss)  # noqa: S101  # only then there are queries
        return self.loss

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
        stump = replace(stump, feature_subsample=1.0)
        stump = replace(stump, max_features=None, cost_budget=None)
        fit = self.whole_fit(self.everything, stump)
        steps = self.run(self.everything, stump).steps if fit is None else fit.steps()
        step = next(steps)
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
        executor = self._executor(fold)
        limits = params.max_features, params.cost_budget
        feature_use = feature_use or FeatureUse(self.cost_model, *limits)
        numbers = self.queries
        queries = None if numbers is None else QueryFit(self, numbers, executor, fold)
        steps = trace_boosted(self, executor, params, feature_use, done, queries)
        weight, counts = self.weight[np.sort(fold.test)], are_counts(self.weight)

        def fold_losses(step: Step) -> FoldLosses:
            if self.given is not None:
                return self.given.fold_losses(step, self.loss, self.threads)
            if queries is not None:
                return queries.test_losses()
            losses = np.concatenate(executor.each(rows.row_losses, self.loss, "held"))
            return FoldLosses(self.loss.score_factor * losses, weight, counts=counts)

        return Run(steps, fold_losses, self.metric)

    def whole_fit(
        self,
        fold: Fold,
        params: BoostingParams,
        *,
        has_objective: bool = True,
        shared: dict[Any, TreeColumns] | None = None,
    ) -> WholeFit | None:
        """A fit on one fold that grows many rounds in one call, where that is possible."""
        if self.given is not None or self.groups is not None or self.category is not None:
            return None
        executor, given = self._executor(fold), (self.columns, self.loss, self.cost_model, params)
        if not suits(executor, *given, is_alone=shared is None):
            return None
        return WholeFit(executor, *given, has_objective=has_objective, shared=shared)

    def refit(self, step: Step, params: BoostingParams) -> Step:
        """The step with a model of all rows and its features, at no cost."""
        data = replace(self, groups=None, given=None)
        params = replace(params, only=step.support)
        fit = data.whole_fit(data.everything, params)
        steps = data.run(data.everything, params).steps if fit is None else fit.steps()
        *_, last = steps
        return replace(step, model=last.model, objective=last.objective)

    def cells_per_row(self) -> float:
        """The cells of a row that have a code: all, or those of a sparse table that are stored."""
        n_cells, n_rows = self.where.code_executor().sum(rows.size_of_codes)
        return float(n_cells / n_rows)

    def codes(self, some: IntArray, features: IntArray) -> CodeArray:
        """The codes of some features in some rows, by feature and row, wherever these are."""
        ascending = np.argsort(some)
        with closing(self._executor(Fold(some, some[:0]))) as executor:
            parts = executor.each(rows.training_codes, features)
        found = np.empty((len(features), len(some)), np.uint8)
        found[:, ascending] = np.concatenate(parts, axis=1)
        return found

    def part(self, some: IntArray) -> BoostedData:
        """Some of the rows, wherever these are, as a table of their own in memory."""
        features = np.arange(self.columns.n_features)
        columns = described(self.columns, features, self.codes(some, features))
        columns = with_bundles(columns, self.threads)
        target, weight = self.target[some], self.weight[some]
        return replace(self, columns=columns, target=target, weight=weight, row_store=None)

    def _executor(self, fold: Fold) -> Executor:
        """The rows of a fold, where they are."""
        check_row_count(len(fold.train))
        rows_of = (np.sort(fold.train), np.sort(fold.test))
        fit = (self.loss.n_outputs, self.category)
        return self.where.executor(FitRows(self.target, self.weight, *rows_of, *fit))


class QueryFit:
    """The queries of a fit on one fold: no block needs to have all rows of a query."""

    def __init__(self, data: BoostedData, number: IntArray, executor: Executor, fold: Fold) -> None:
        self._executor, self._store = executor, data.where
        self._loss, self._threads = data.ranking_loss, data.threads
        self._weight, target = data.weight, data.target
        self._train = Queries.of(number, target, fold.train)
        self._test = Queries.of(number, target, fold.test)
        n_rows = len(self._train.order)
        self._objective = self._train.every(max(1, -(-n_rows // rows.OBJECTIVE_ROWS)))
        self._gradients = (np.zeros(len(target)), np.ones(len(target)))

    def _raw(self) -> FloatArray:
        parts = self._executor.each(rows.raw_predictions)
        return self._store.of_fit(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def begin_round(self, seed: int, weight_scale: float) -> None:
        """Set the gradients at the current predictions; the seed is that of sampled gains.

        Splits weigh rows by their hessians, so that the gain is that of a Newton step.
        """
        sample = (
            shares_of(np.arange(len(self._weight)), seed) if self._loss.has_sample else self._weight
        )
        self._loss.query_gradients(self._train, self._raw(), sample, self._threads, self._gradients)
        weight = self._split_weights() * weight_scale
        rounded = np.maximum(np.rint(weight), 1.0).astype(np.uint32)
        of_rows: Sequence[AnyArray] = (*self._gradients, rounded)
        self._executor.apply(rows.set_gradients, *map(self._store.of_blocks, of_rows))

    def _split_weights(self) -> FloatArray:
        """The weight of each row times its hessian as a multiple of the mean."""
        weight, hessian, train = self._weight, self._gradients[1], self._train.order
        total = fixed_point_sum(weight[train] * hessian[train])
        if not total > 0.0:
            return weight
        mean = total / fixed_point_sum(weight[train])
        return weight * np.minimum(hessian / mean, rows.MAX_CURVATURE)

    def objective(self) -> float:
        """The mean loss of some of the training queries, at the moment of the call."""
        return query_losses(self._loss, self._objective, self._raw(), self._weight).mean

    def test_losses(self) -> FoldLosses:
        """The losses of the queries that are held out, at the moment of the call."""
        return query_losses(self._loss, self._test, self._raw(), self._weight)


def trace_boosted(
    data: BoostedData,
    executor: Executor,
    params: BoostingParams,
    feature_use: FeatureUse,
    done: Sequence[list[Tree]] = (),
    queries: QueryFit | None = None,
) -> Iterator[Step]:
    """Boost round after round and yield a step after each; its ``model`` predicts at that round.

    Algorithm 1 of GBFS. With groups, new features are found by group tests. ``feature_use`` may be
    shared with other fits; ``done`` are the first rounds of an interrupted fit, to continue from.
    """
    loss, has_tests = data.loss, data.groups is not None
    with closing(executor):
        begun = rows.begin(executor, data.columns, loss, params, has_tests=has_tests)
        columns, weights, divisible = begun.columns, begun.weights, begun.divisible
        ensemble = Ensemble(loss, begun.baseline)
        histograms = NodeHistograms(executor, columns, params.max_depth, data.threads)
        search = ExactSearch(histograms, feature_use, divisible)
        if data.groups is not None:
            search = GroupSearch(histograms, feature_use, divisible, data.groups.plan)
            params = replace(params, lazy=False)
        grower = TreeGrower(params, search, weights)
        objective = _objective(executor, loss, begun.stride, queries)
        importances = np.zeros(columns.n_features)
        for n_rounds in range(1, params.n_rounds + 1):
            state = (ensemble.baseline, weights.scale, divisible, begun.stride)
            executor.checkpoint(rows.restore, *state, tuple(ensemble.rounds))
            if n_rounds <= len(done):
                trees = _take_over(executor, search, done[n_rounds - 1])
            else:
                if queries is None:
                    executor.apply(rows.begin_round, loss)
                else:
                    queries.begin_round(_seed(params, n_rounds, 1), weights.scale)
                has_sample = min(params.subsample, params.feature_subsample) < 1.0
                outputs = range(loss.n_outputs)
                seeds = [_seed(params, n_rounds, k) if has_sample else 0 for k in outputs]
                trees = [grower.grow(k, loss, seed) for k, seed in enumerate(seeds)]
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


def _objective(
    executor: Executor, loss: Loss, stride: int, queries: QueryFit | None
) -> Callable[[], float]:
    """The mean training loss, at the moment of the call, over every ``stride``-th row; exact."""
    if queries is not None:
        return queries.objective
    weight = np.concatenate(executor.each(rows.choose_objective_rows, stride))
    total = fixed_point_sum(weight)

    def objective() -> float:
        losses = weight * np.concatenate(executor.each(rows.row_losses, loss, "objective_rows"))
        return fixed_point_sum(losses) / total if len(losses) else np.nan

    return objective


def _seed(params: BoostingParams, n_rounds: int, k: int) -> int:
    """The seed of a round's sample of gains, or of a tree's sample of rows."""
    sequence = np.random.SeedSequence([params.seed, n_rounds, k])
    return int(sequence.generate_state(1, np.uint64)[0])

"""Fits of several tasks that share feature costs: trees for each task, or common trees.

Algorithm 1 and Eq. 2 of Han, Rao, Sorokina and Subbian (AISTATS 2020). Common trees are one fit on
all rows, in which the task is a category.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.records import MAX_BINS
from secateur._kernels.threads import Threads
from secateur.data.binning import Category, with_category
from secateur.data.costs import CostModel
from secateur.data.table import Fold, Table, all_rows
from secateur.data.target import are_counts
from secateur.engines.boosted.engine import BoostedData, Run
from secateur.engines.boosted.feature_use import NodeFeatureUse, TaskFeatureUse
from secateur.engines.boosted.trees import BoostedModel, BoostingParams
from secateur.engines.boosted.whole_tasks import WholeTasks
from secateur.engines.fold_losses import FoldLosses
from secateur.engines.limits import FeatureUse
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray

BELOW_ONE = 0.999  # no split gains a whole: penalties together stay below this
# What a split by task may cost, as shares of T / n: T tasks without any difference explain about so
# much of the squared error of n rows. At 0 the task costs as much as a feature, once: good where
# tasks come in kinds, while those that differ at random would be fitted too well.
TASK_SPLIT_PENALTIES = (0.0, 1.0)
MAX_NODES = 1 << 21  # of the trees of all tasks that a fit has room for: 170 MB


@dataclass(frozen=True, slots=True, eq=False)
class TaskData:
    """One task: ``rows`` of the whole table have a target in it, at ``place`` in ``data``."""

    name: str
    data: BoostedData
    rows: IntArray
    place: IntArray
    task_penalty: float | None  # None is a share of the group's
    least: float = 1.0  # rows in a leaf
    unit: float = 1.0  # of losses

    def params(self, params: BoostingParams) -> BoostingParams:
        """The parameters of this task: its penalties are part of the costs of `TaskFeatureUse`."""
        return replace(params, penalty=1.0, min_samples_leaf=self.least)

    def own_penalty(self, group: float, share: float) -> float:
        """The penalty of a feature that is new to the task: as given, or a share of the group's."""
        if self.task_penalty is not None:
            return self.task_penalty
        return min(share * group, max(0.0, BELOW_ONE - group))


@dataclass(frozen=True, slots=True, eq=False)
class TasksData:
    """Several tasks over one table; ``share`` is a task's own penalty by that of the group."""

    tasks: Sequence[TaskData]
    cost_model: CostModel
    n_rows: int
    metric: str
    share: float

    @property
    def everything(self) -> Fold:
        """All rows train; there are no validation rows."""
        return all_rows(self.n_rows)

    @property
    def threads(self) -> Threads:
        """The threads of a fit, which all tasks have in common."""
        return self.tasks[0].data.threads

    def parts(self, fold: Fold) -> list[Fold]:
        """The rows of a fold in each task; without training rows, its validation rows train."""
        is_in = np.zeros((2, self.n_rows), np.bool_)
        is_in[0, fold.train] = is_in[1, fold.test] = True
        folds = []
        for task in self.tasks:
            train, test = (task.place[is_here[task.rows]] for is_here in is_in)
            folds.append(Fold(train, test) if len(train) else Fold(test, train))
        return folds

    def run(self, fold: Fold, params: BoostingParams) -> Run:
        """A fit of all tasks on one fold, not yet begun; ``params.penalty`` is for the group."""
        common = FeatureUse(self.cost_model, params.max_features, params.cost_budget)
        folds = self.parts(fold)
        uses: dict[str, FeatureUse] = {}
        runs: list[Run] = []
        for task, its_fold in zip(self.tasks, folds, strict=True):
            own = task.own_penalty(params.penalty, self.share)
            use = TaskFeatureUse(self.cost_model, common, params.penalty, own)
            uses[task.name] = use
            runs.append(task.data.run(its_fold, task.params(params), use))
        latest: list[Step] = []

        def fold_losses(step: Step) -> FoldLosses:
            del step  # those of the tasks are asked
            return self.joined(folds, lambda t: runs[t].fold_losses(latest[t]))

        def steps() -> Iterator[Step]:
            """A round of each task in turn, then the state of all of them."""
            for _ in range(params.n_rounds):
                latest[:] = [next(run.steps) for run in runs]
                supports = {name: np.sort(use.entered) for name, use in uses.items()}
                yield self.step(params, common, supports, latest)

        return Run(steps(), fold_losses, self.metric)

    def whole_fit(self, fold: Fold, params: BoostingParams, **more: Any) -> WholeTasks | None:
        """The same with each tree grown in one call, where that is possible."""
        n_nodes = len(self.tasks) * params.n_rounds * 2 ** (params.max_depth + 1)
        is_limited = params.max_features is not None or params.cost_budget is not None
        if is_limited or n_nodes > MAX_NODES:
            return None
        fits = []
        for task, its_fold in zip(self.tasks, self.parts(fold), strict=True):
            given = (its_fold, task.params(params))
            fit = task.data.whole_fit(*given, **more)
            if fit is None:
                return None
            fits.append(fit)
        return WholeTasks(self, fits, fold, params)

    def joined(self, folds: Sequence[Fold], losses: Callable[[int], FoldLosses]) -> FoldLosses:
        """The losses of the tasks that have validation rows, as those of one."""
        scored = [t for t, fold in enumerate(folds) if len(fold.test)]
        return FoldLosses.joined([losses(t) for t in scored], [self.tasks[t].unit for t in scored])

    def step(
        self,
        params: BoostingParams,
        common: FeatureUse,
        supports: Mapping[str, IntArray],
        latest: Sequence[Step],
    ) -> Step:
        """The state of all tasks after a round, from the step of each."""
        weight = [float(task.data.weight[task.place].sum()) for task in self.tasks]
        # shares of each task's reduction of squared error, tasks by their weight
        importances = np.zeros(self.cost_model.n_features)
        for step, its_weight in zip(latest, weight, strict=True):
            whole = float(step.weight.sum())
            if whole > 0.0:
                importances[step.support] += its_weight * step.weight / whole
        model = TasksModel(tuple(step.model for step in latest))
        return Step.of(
            common.entered,
            importances / sum(weight),
            penalty=params.penalty,
            objective=self._objective(latest),
            cost=common.total_cost,
            model=model,
            details={"round": model.n_rounds},
            supports=supports,
        )

    def refit(self, step: Step, params: BoostingParams) -> Step:
        """The step with models of all rows, of each task with its own features, at no cost."""
        latest = []
        for task in self.tasks:
            given = replace(task.params(params), penalty=0.0)
            latest.append(task.data.refit(Step.of(step.supports[task.name]), given))
        model = TasksModel(tuple(each.model for each in latest))
        return replace(step, model=model, objective=self._objective(latest))

    def _objective(self, latest: Sequence[Step]) -> float:
        """The training loss of all tasks, by their weight."""
        weight = [float(task.data.weight[task.place].sum()) for task in self.tasks]
        return float(np.average([step.objective for step in latest], weights=weight))

    def best_gain(self, params: BoostingParams) -> float:
        """The best gain of one split at the start, of the middle task."""
        return float(np.median([task.data.best_gain(task.params(params)) for task in self.tasks]))


@dataclass(frozen=True, slots=True, eq=False)
class CommonData(TasksData):
    """The rows of all tasks as those of one; the task is one more column, of category ``code``."""

    data: BoostedData
    code: IntArray
    plain: BoostedData
    # a split by task costs this times T / n; with 0 only the first costs, the group penalty
    task_split_penalty: float = TASK_SPLIT_PENALTIES[-1]

    @classmethod
    def of(
        cls, plain: BoostedData, tasks: Sequence[TaskData], metric: str, share: float
    ) -> CommonData:
        """All rows, given those of each task; large tasks come first among the categories."""
        order = np.argsort([-len(task.rows) for task in tasks], kind="stable")
        code = np.empty(len(tasks), np.int64)
        code[order] = np.minimum(np.arange(len(tasks)), MAX_BINS - 1)
        codes = np.zeros(len(plain.target), np.uint8)
        for its_code, task in zip(code, tasks, strict=True):
            codes[task.rows] = its_code
        category, groups = Category(codes, int(code.max()) + 1), plain.groups
        if groups is not None:  # the category, the last feature, is in none of them
            alone = np.append(groups.plan.alone, True)
            groups = groups._replace(plan=replace(groups.plan, alone=alone))
        data = replace(
            plain,
            columns=with_category(plain.columns, category),
            groups=groups,
            row_store=plain.where,
            category=category,
        )
        n_rows = len(plain.target)
        return cls(tasks, plain.cost_model, n_rows, metric, share, data, code, plain)

    def run(self, fold: Fold, params: BoostingParams) -> Run:
        """A fit of all tasks on one fold, not yet begun; ``params.penalty`` is for the group."""
        feature_use = self.feature_use(fold, params)
        # penalties are part of the costs
        run = self.data.run(fold, replace(params, penalty=1.0), feature_use)
        # validation rows, or queries, of each task that trains: positions among those of the fold
        is_in = np.zeros((2, len(self.data.target)), np.bool_)
        is_in[0, fold.train] = is_in[1, fold.test] = True
        number = self.data.queries
        number = np.arange(len(self.data.target)) if number is None else number
        tested = np.unique(number[fold.test])
        scored = [task for task in self.tasks if is_in[0, task.rows].any()]
        own = [np.unique(number[task.rows[is_in[1, task.rows]]]) for task in scored]
        positions = np.searchsorted(tested, np.concatenate(own))
        unit = np.repeat([task.unit for task in scored], [len(each) for each in own])

        def fold_losses(step: Step) -> FoldLosses:
            return run.fold_losses(step).take(positions, unit)

        def steps() -> Iterator[Step]:
            """The same steps, with the models and supports of all tasks."""
            names = [task.name for task in self.tasks]
            for step in run.steps:
                model, supports = self._model(step), feature_use.supports(names)
                yield replace(step, penalty=params.penalty, model=model, supports=supports)

        return Run(steps(), fold_losses, self.metric)

    def refit(self, step: Step, params: BoostingParams) -> Step:
        """The step with common trees of all rows, in which tasks use no other features."""
        params = replace(params, only=np.append(step.support, self.plain.columns.n_features))
        feature_use = self.feature_use(self.everything, params)
        feature_use.fix([step.supports[task.name] for task in self.tasks])
        params, data = replace(params, penalty=1.0), replace(self.data, groups=None)
        *_, last = data.run(self.everything, params, feature_use).steps
        return replace(step, model=self._model(last), objective=last.objective)

    def _model(self, step: Step) -> TasksModel:
        """The models of all tasks, at a step of the common trees."""
        trees = (step.model.ensemble, step.model.n_rounds, self.plain.columns.n_features)
        return TasksModel(tuple(CommonModel(*trees, int(code)) for code in self.code))

    def best_gain(self, params: BoostingParams) -> float:
        """The best gain of one split of all rows at the start."""
        return self.plain.best_gain(params)

    def whole_fit(self, *given: Any, **more: Any) -> None:
        """None: the costs of common trees differ from node to node."""

    def feature_use(self, fold: Fold, params: BoostingParams) -> NodeFeatureUse:
        """The account of a fit: a task counts as much as its rows that train."""
        trains = np.zeros(len(self.data.weight))
        trains[fold.train] = self.data.weight[fold.train]
        weight = np.array([trains[task.rows].sum() for task in self.tasks])
        total = float(weight.sum())
        own = np.array([task.own_penalty(params.penalty, self.share) for task in self.tasks])
        limits = params.max_features, params.cost_budget
        penalties = params.penalty, own * weight / total, self.code
        n_rows = total if are_counts(self.data.weight[fold.train]) else len(fold.train)
        split_penalty = self.task_split_penalty * len(self.tasks) / n_rows
        first_penalty = 0.0 if self.task_split_penalty else params.penalty
        return NodeFeatureUse(self.cost_model, limits, *penalties, split_penalty, first_penalty)


@dataclass(frozen=True, eq=False)
class CommonModel(BoostedModel):
    """Common trees as a model of one task, whose category in column ``column`` is ``code``."""

    column: int
    code: int

    @property
    def features(self) -> IntArray:
        """The features that the trees ask for, of whatever task, sorted."""
        features = super().features
        return features[features < self.column]

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows), for rows of the task."""
        features = self.features
        columns = np.full((table.n_rows, len(features) + 1), float(self.code))
        columns[:, :-1] = table.columns(features)
        return self.raw_of(columns, np.append(features, self.column), threads)


@dataclass(frozen=True, slots=True, eq=False)
class TasksModel:
    """The models of all tasks at one round, in the order of the tasks."""

    models: tuple[BoostedModel, ...]

    @property
    def n_rounds(self) -> int:
        """The rounds of each."""
        return self.models[0].n_rounds

    @property
    def has_common_trees(self) -> bool:
        """Whether the tasks have their trees in common."""
        return isinstance(self.models[0], CommonModel)

    @property
    def features(self) -> IntArray:
        """The features that any task asks for, sorted."""
        if self.has_common_trees:
            return self.models[0].features
        return np.unique(np.concatenate([model.features for model in self.models]))

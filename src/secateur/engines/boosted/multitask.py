"""Fits of several tasks that share feature costs: trees for each task, or common trees.

Algorithm 1 and Eq. 2 of Han, Rao, Sorokina and Subbian (AISTATS 2020). Common trees are one fit on
all rows, in which the task is a category.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from secateur._kernels.records import MAX_BINS
from secateur._kernels.threads import Threads
from secateur.data.binning import Category, with_category
from secateur.data.costs import CostModel
from secateur.data.table import Fold, Table, all_rows
from secateur.data.target import are_counts
from secateur.engines.boosted.engine import BoostedData, BoostedRun, Run
from secateur.engines.boosted.feature_use import FeatureUse, NodeFeatureUse, TaskFeatureUse
from secateur.engines.boosted.trees import BoostedModel, BoostingParams
from secateur.engines.path_search import FoldLosses
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray

BELOW_ONE = 0.999  # no split gains a whole: penalties together stay below this
# What a split by task may cost, as shares of T / n: T tasks without any difference explain about so
# much of the squared error of n rows. At 0 the task costs as much as a feature, once: good where
# tasks come in kinds, while those that differ at random would be fitted too well.
TASK_SPLIT_PENALTIES = (0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class TaskData:
    """One task: its binned rows, and where they are in the whole table.

    ``rows`` of the table have a target in this task, at ``place`` in ``data``. ``task_penalty``
    None is a share of the group penalty, ``least`` the least rows of a leaf; losses are divided by
    ``unit``.
    """

    name: str
    data: BoostedData
    rows: IntArray
    place: IntArray
    task_penalty: float | None
    least: float = 1.0
    unit: float = 1.0

    def params(self, params: BoostingParams) -> BoostingParams:
        """The parameters of this task: its penalties are part of the costs of `TaskFeatureUse`."""
        return replace(params, penalty=1.0, min_samples_leaf=self.least)

    def own_penalty(self, group: float, share: float) -> float:
        """The penalty of a feature that is new to the task: as given, or a share of the group's."""
        if self.task_penalty is not None:
            return self.task_penalty
        return min(share * group, BELOW_ONE - group)

    def fold(self, is_train: BoolArray, is_test: BoolArray) -> Fold:
        """The task's part of a fold; without training rows, its validation rows train instead."""
        train, test = self.place[is_train[self.rows]], self.place[is_test[self.rows]]
        return Fold(train, test) if len(train) else Fold(test, train)


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

    def run(self, fold: Fold, params: BoostingParams) -> Run:
        """A fit of all tasks on one fold, not yet begun; ``params.penalty`` is for the group."""
        return TasksRun(self, fold, params)

    def best_gain(self, params: BoostingParams) -> float:
        """The best gain of one split at the start, of the middle task."""
        return float(np.median([task.data.best_gain(task.params(params)) for task in self.tasks]))


class TasksRun(Run):
    """One fit of all tasks, each with its own trees."""

    def __init__(self, data: TasksData, fold: Fold, params: BoostingParams) -> None:
        self.metric = data.metric
        self._data = data
        self._params = params
        self._common = FeatureUse(data.cost_model, params.max_features, params.cost_budget)
        is_in = np.zeros((2, data.n_rows), np.bool_)
        is_in[0, fold.train] = is_in[1, fold.test] = True
        self._folds = [task.fold(*is_in) for task in data.tasks]
        self._uses: dict[str, TaskFeatureUse] = {}
        self._runs: list[BoostedRun] = []
        for task, its_fold in zip(data.tasks, self._folds, strict=True):
            penalties = params.penalty, task.own_penalty(params.penalty, data.share)
            use = TaskFeatureUse(data.cost_model, self._common, *penalties)
            self._uses[task.name] = use
            self._runs.append(task.data.run(its_fold, task.params(params), use))
        self._latest: tuple[Step, ...] = ()
        self.steps = self._trace()

    def _trace(self) -> Iterator[Step]:
        """A round of each task in turn, then the state of all of them."""
        weight = [float(task.data.weight[task.place].sum()) for task in self._data.tasks]
        for k in range(1, self._params.n_rounds + 1):
            steps = tuple(next(run.steps) for run in self._runs)
            self._latest = steps
            yield Step.of(
                self._common.entered,
                _importances(steps, weight, self._data.cost_model.n_features),
                penalty=self._params.penalty,
                objective=float(np.average([step.objective for step in steps], weights=weight)),
                cost=self._common.total_cost,
                model=TasksModel(tuple(step.model for step in steps)),
                details={"round": k},
                supports={name: np.sort(use.entered) for name, use in self._uses.items()},
            )

    def fold_losses(self, step: Step) -> FoldLosses:
        """Losses of the validation rows of all tasks at the latest step."""
        del step  # runs remember the latest
        scored = [t for t, fold in enumerate(self._folds) if len(fold.test)]
        parts = [self._runs[t].fold_losses(self._latest[t]) for t in scored]
        return FoldLosses.joined(parts, [self._data.tasks[t].unit for t in scored])


def _importances(steps: Sequence[Step], weight: Sequence[float], n_features: int) -> FloatArray:
    """Shares of each task's reduction of squared error, tasks by their weight."""
    total = np.zeros(n_features)
    for step, its_weight in zip(steps, weight, strict=True):
        whole = float(step.weight.sum())
        if whole > 0.0:
            total[step.support] += its_weight * step.weight / whole
    return total / sum(weight)


@dataclass(frozen=True, slots=True, eq=False)
class CommonData(TasksData):
    """The rows of all tasks as those of one.

    ``data`` has one more column than ``plain``, the task, of category ``code``. A split by task
    costs ``task_split_penalty`` times T / n, with 0 only the first costs something, the group
    penalty.
    """

    data: BoostedData
    code: IntArray
    plain: BoostedData
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
        category = Category(codes, int(code.max()) + 1)
        data = replace(
            plain,
            columns=with_category(plain.columns, category),
            groups=None if plain.groups is None else plain.groups.with_extra_column(),
            row_store=plain.where,
            category=category,
        )
        n_rows = len(plain.target)
        return cls(tasks, plain.cost_model, n_rows, metric, share, data, code, plain)

    def run(self, fold: Fold, params: BoostingParams) -> Run:
        """A fit of all tasks on one fold, not yet begun; ``params.penalty`` is for the group."""
        return CommonRun(self, fold, params)

    def best_gain(self, params: BoostingParams) -> float:
        """The best gain of one split of all rows at the start."""
        return self.plain.best_gain(params)

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


class CommonRun(Run):
    """One fit of all tasks together."""

    def __init__(self, data: CommonData, fold: Fold, params: BoostingParams) -> None:
        self.metric = data.metric
        self._data = data
        self._penalty = params.penalty
        self._feature_use = data.feature_use(fold, params)
        params = replace(params, penalty=1.0)  # penalties are part of the costs
        self._run = data.data.run(fold, params, self._feature_use)
        self._positions, self._unit = _validation_rows(data, fold)
        self.steps = self._trace()

    def _trace(self) -> Iterator[Step]:
        """The same steps, with the models and supports of all tasks."""
        column = self._data.plain.columns.n_features
        names = [task.name for task in self._data.tasks]
        for step in self._run.steps:
            trees = (step.model.ensemble, step.model.n_rounds, column)
            model = TasksModel(tuple(CommonModel(*trees, int(code)) for code in self._data.code))
            supports = self._feature_use.supports(names)
            yield replace(step, penalty=self._penalty, model=model, supports=supports)

    def fold_losses(self, step: Step) -> FoldLosses:
        """Losses of the validation rows at the latest step, task after task."""
        seen = self._run.fold_losses(step)
        losses, weight = seen.losses[self._positions], seen.weights[self._positions]
        return FoldLosses(losses / self._unit, weight, counts=are_counts(self._data.data.weight))


def _validation_rows(data: CommonData, fold: Fold) -> tuple[IntArray, FloatArray]:
    """Positions of the validation rows of each task that trains among those of the fold; units."""
    n_rows = len(data.data.target)
    place, trains = np.full(n_rows, -1), np.zeros(n_rows, np.bool_)
    place[np.sort(fold.test)] = np.arange(len(fold.test))
    trains[fold.train] = True
    scored = [task for task in data.tasks if trains[task.rows].any()]
    places = [place[task.rows][place[task.rows] >= 0] for task in scored]
    units = [np.full(len(its), task.unit) for its, task in zip(places, scored, strict=True)]
    return np.concatenate(places), np.concatenate(units)


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

"""Fits of several tasks that share feature costs, and the models of tasks.

Algorithm 1 and Eq. 2 of Han, Rao, Sorokina and Subbian (AISTATS 2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.costs import CostModel
from secateur.data.problem import Fold, all_rows
from secateur.data.table import Table
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.feature_use import FeatureUse, TaskFeatureUse
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.trees import BoostedModel
from secateur.engines.fold_losses import FoldLosses, pool
from secateur.path.step import Score, Step
from secateur.typing import BoolArray, FloatArray, IntArray

BELOW_ONE = 0.999  # no split gains a whole: penalties together stay below this


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

    def run(self, fold: Fold, params: BoostingParams) -> TasksRun:
        """A fit of all tasks on one fold, not yet begun; ``params.penalty`` is for the group."""
        return TasksRun(self, fold, params)

    def best_gain(self, params: BoostingParams) -> float:
        """The best gain of one split at the start, of the middle task."""
        return float(np.median([task.data.best_gain(task.params(params)) for task in self.tasks]))


class TasksRun:
    """One fit of all tasks: its steps, and the losses of its validation rows."""

    def __init__(self, data: TasksData, fold: Fold, params: BoostingParams) -> None:
        self._data = data
        self._params = params
        self._common = FeatureUse(data.cost_model, params.max_features, params.cost_budget)
        is_train, is_test = (_mask(part, data.n_rows) for part in fold)
        self._folds = [task.fold(is_train, is_test) for task in data.tasks]
        self._feature_uses = [self._feature_use(task) for task in data.tasks]
        self._runs = [
            task.data.run(its_fold, task.params(params), feature_use)
            for task, its_fold, feature_use in zip(
                data.tasks, self._folds, self._feature_uses, strict=True
            )
        ]
        self._latest: tuple[Step, ...] = ()
        self.steps: Iterator[Step] = self._trace()

    def _feature_use(self, task: TaskData) -> TaskFeatureUse:
        group = self._params.penalty
        own = task.own_penalty(group, self._data.share)
        return TaskFeatureUse(self._data.cost_model, self._common, group, own)

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
                supports=self._supports(),
            )

    def _supports(self) -> dict[str, IntArray]:
        """The features of each task, now that all have had their turn."""
        return {
            task.name: np.sort(feature_use.entered)
            for task, feature_use in zip(self._data.tasks, self._feature_uses, strict=True)
        }

    def fold_losses(self, step: Step) -> FoldLosses:
        """Losses of the validation rows of all tasks at the latest step."""
        del step  # runs remember the latest
        judging = [t for t, fold in enumerate(self._folds) if len(fold.test)]
        parts = [self._runs[t].fold_losses(self._latest[t]) for t in judging]
        return FoldLosses.joined(parts, [self._data.tasks[t].unit for t in judging])

    def score(self, step: Step) -> Score:
        """The inner score of the latest step."""
        return pool([self.fold_losses(step)], origin="inner", metric=self._data.metric)


def _mask(rows: IntArray, n_rows: int) -> BoolArray:
    mask = np.zeros(n_rows, np.bool_)
    mask[rows] = True
    return mask


def _importances(steps: Sequence[Step], weight: Sequence[float], n_features: int) -> FloatArray:
    """Shares of each task's reduction of squared error, tasks by their weight."""
    total = np.zeros(n_features)
    for step, its_weight in zip(steps, weight, strict=True):
        whole = float(step.weight.sum())
        if whole > 0.0:
            total[step.support] += its_weight * step.weight / whole
    return total / sum(weight)


@dataclass(frozen=True, slots=True, eq=False)
class CommonModel:
    """Common trees as a model of one task, whose category in column ``column`` is ``code``."""

    common: BoostedModel
    column: int
    code: int

    @property
    def n_rounds(self) -> int:
        """The rounds of the trees."""
        return self.common.n_rounds

    @property
    def features(self) -> IntArray:
        """The features that the trees ask for, of whatever task, sorted."""
        features = self.common.features
        return features[features < self.column]

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows), for rows of the task."""
        features = self.features
        columns = np.full((table.n_rows, len(features) + 1), float(self.code))
        columns[:, :-1] = table.columns(features)
        return self.common.raw_of(columns, np.append(features, self.column), threads)

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the scale of the target."""
        return self.common.ensemble.loss.response(self.raw(table, threads))


@dataclass(frozen=True, slots=True, eq=False)
class TasksModel:
    """The models of all tasks at one round, in the order of the tasks."""

    models: tuple[BoostedModel | CommonModel, ...]

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
        found: IntArray = np.unique(np.concatenate([model.features for model in self.models]))
        return found

"""Trees that several tasks have in common: one fit on all rows, in which the task is a category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from secateur._kernels.records import MAX_BINS
from secateur.data.binning import Category, with_category
from secateur.data.costs import CostModel
from secateur.data.problem import Fold, all_rows
from secateur.data.weights import are_counts
from secateur.engines.boosted.engine import BoostedData, BoostedRun
from secateur.engines.boosted.feature_use import NodeFeatureUse
from secateur.engines.boosted.multitask import CommonModel, TaskData, TasksModel
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.fold_losses import FoldLosses, pool
from secateur.path.step import Score, Step
from secateur.typing import FloatArray, IntArray

# What a split by task may cost, as shares of T / n: T tasks without any difference explain about so
# much of the squared error of n rows. At 0 the task costs as much as a feature, once. Tasks that
# come in kinds are then separated at any node at no cost; those that differ at random would be
# fitted too well.
TASK_SPLIT_PENALTIES = (0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class CommonData:
    """The rows of all tasks as those of one.

    ``data`` has one more column than ``plain``, the task, of category ``code``. ``share`` is a
    task's own penalty by the group penalty, if not given; a split by task costs
    ``task_split_penalty`` times T / n, with 0 only the first costs something, the group penalty.
    """

    tasks: Sequence[TaskData]
    data: BoostedData
    code: IntArray
    plain: BoostedData
    metric: str
    share: float
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
        return cls(tasks, data, code, plain, metric, share)

    @property
    def everything(self) -> Fold:
        """All rows train; there are no validation rows."""
        return all_rows(len(self.data.target))

    @property
    def cost_model(self) -> CostModel:
        """Those of the features."""
        return self.data.cost_model

    def run(self, fold: Fold, params: BoostingParams) -> CommonRun:
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
        split_penalty = self.task_split_penalty * len(self.tasks) / total
        first_penalty = 0.0 if self.task_split_penalty else params.penalty
        return NodeFeatureUse(self.cost_model, limits, *penalties, split_penalty, first_penalty)


class CommonRun:
    """One fit of all tasks together: its steps, and the losses of its validation rows."""

    def __init__(self, data: CommonData, fold: Fold, params: BoostingParams) -> None:
        self._data = data
        self._penalty = params.penalty
        self._names = [task.name for task in data.tasks]
        self._feature_use = data.feature_use(fold, params)
        params = replace(params, penalty=1.0)  # penalties are part of the costs
        self._run: BoostedRun = data.data.run(fold, params, self._feature_use)
        self._positions, self._unit = _validation_rows(data, fold)
        self.steps: Iterator[Step] = self._trace()

    def _trace(self) -> Iterator[Step]:
        """The same steps, with the models and supports of all tasks."""
        column = self._data.plain.columns.n_features
        for step in self._run.steps:
            models = (CommonModel(step.model, column, int(code)) for code in self._data.code)
            yield replace(
                step,
                penalty=self._penalty,
                model=TasksModel(tuple(models)),
                supports=self._feature_use.supports(self._names),
            )

    def fold_losses(self, step: Step) -> FoldLosses:
        """Losses of the validation rows at the latest step, task after task."""
        seen = self._run.fold_losses(step)
        losses, weight = seen.losses[self._positions], seen.weights[self._positions]
        return FoldLosses(losses / self._unit, weight, counts=are_counts(self._data.data.weight))

    def score(self, step: Step) -> Score:
        """The inner score of the latest step."""
        return pool([self.fold_losses(step)], origin="inner", metric=self._data.metric)


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

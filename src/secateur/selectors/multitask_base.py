"""From rows of several tasks to a path of boosted trees: what the multitask selectors share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.folds import Fold
from secateur.data.target import Target
from secateur.data.tasks import all_classes
from secateur.engines.boosted.common_trees import TASK_SPLIT_PENALTIES, CommonData
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.multitask import TaskData, TasksData
from secateur.execution.local import RowStore, row_store_of
from secateur.model_selection.folds import default_folds, draw_folds, is_drawn
from secateur.selectors.base import PathSelector
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.boosted_input import least_rows, read_penalty
from secateur.selectors.group_testing import check_design, group_testing, make_groups
from secateur.selectors.inputs import store_lazy
from secateur.selectors.multitask_input import (
    MultitaskInput,
    TaskFit,
    check_common,
    check_folds,
    read_multitask,
    read_task_penalties,
    task_weight,
    why_not_common,
)
from secateur.selectors.multitask_prediction import TaskPredictions
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray

TASK_SHARE = 1.0
"""What a task's own penalty is of the group penalty, by default."""


class SharedRows(NamedTuple):
    """Rows that all tasks share: their columns, groups of features, and where they are.

    ``stacked`` are target and weight of the rows of all tasks, where no task is fitted by itself.
    """

    columns: BinnedColumns
    groups: Groups | None
    row_store: RowStore | None
    stacked: tuple[FloatArray, FloatArray] | None = None


class MultitaskSelector(TaskPredictions, BoostedSelector):
    """Fits boosted trees for several tasks that share the cost of their features."""

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _after_lost_cluster = "a fit of several tasks cannot go on from them."
    group_penalty: Any
    task_penalty: Any
    common_trees: bool | str
    search: str

    @property
    def _penalty(self) -> Any:
        return self.group_penalty

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, task: Any = None) -> Any:  # type: ignore[override]
        """Search the path of selections of all tasks and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
            The rows of all tasks. A stored table has y and task of its own.
        y : array or series of shape (n_rows,), or array or frame of shape (n_rows, n_tasks)
            With a column for each task, missing labels are NaN or None.
        sample_weight : array of shape (n_rows,), optional
        task : array or series of shape (n_rows,), optional
            The task of each row, any hashable values, where y has one column. None is one task.

        Returns
        -------
        self
        """
        return PathSelector.fit(self, X, y, sample_weight, task=task)

    def _problem(self, X: Any, y: Any, sample_weight: Any, *, task: Any) -> MultitaskInput:  # type: ignore[override]
        X, y = store_lazy(self, X, y, sample_weight, task)
        penalty = read_penalty(self.group_penalty, self._criterion, name="group_penalty")
        given, tasks, is_wide, has_names = read_multitask(
            self, self._target_type, X, y, sample_weight, task
        )
        own = read_task_penalties(self.task_penalty, tasks, penalty)
        classes = all_classes(tasks)
        fits = []
        for each, its_penalty in zip(tasks, own, strict=True):
            class_weight = getattr(self, "class_weight", None)
            weight = task_weight(given.problem.weight, each, classes, class_weight)
            loss = self._loss(each.target, weight)
            loss.baseline(each.target.values, weight)  # not every target has one
            fits.append(TaskFit(each, weight, loss, its_penalty))
        found = given.extended(
            MultitaskInput,
            loss=fits[0].loss,
            penalty=penalty,
            fits=fits,
            is_wide=is_wide,
            has_names=has_names,
            classes=classes,
        )
        if self.common_trees is True:
            check_common(found)
        return found

    def _folds(self, given: MultitaskInput) -> list[Fold]:  # type: ignore[override]
        """As for one task; each task and class has its share of every fold."""
        is_grid = not isinstance(given.penalty, float)
        if is_grid and self.cv is None:
            n_folds = default_folds(Target(given.strata.values))
            return draw_folds(given.strata, n_folds, random_state=given.seed)
        folds = super()._folds(given)
        if is_grid and not is_drawn(self.cv):
            check_folds(folds, given.tasks)
        return folds

    def _remember(self, given: MultitaskInput) -> None:
        self._remember_columns(given.problem.table.schema)
        if given.classes is not None:
            self.classes_ = given.classes
        self.tasks_ = [each.key for each in given.tasks]
        self._task_classes: list[Any] = [each.target.classes for each in given.tasks]
        self._is_wide, self._has_names = given.is_wide, given.has_names

    def _variants(self, given: Any, folds: list[Fold], threads: Threads) -> list[Any]:
        """Trees of each task's own, trees in common where the task is bought once or at each split.

        All that are asked for, in order of preference, where validation rows can choose; else
        common trees where each split by task has a penalty.
        """
        is_choice = bool(folds) and given.penalty is None
        has_common = self.common_trees is True or (
            self.common_trees == "auto"
            and is_choice
            and len(given.tasks) > 1
            and not why_not_common(given)
        )
        given = replace(given, has_common=has_common)
        if self.search == "group_testing":
            self._check_groups(given)
        own = self._tasks_data(given, folds, threads)
        if not has_common:
            return [own]
        common = self._common(given, own, threads)
        penalties = TASK_SPLIT_PENALTIES if is_choice else TASK_SPLIT_PENALTIES[-1:]
        shared = [replace(common, task_split_penalty=each) for each in penalties]
        return [own, *shared] if self.common_trees == "auto" else shared

    def _check_groups(self, given: MultitaskInput) -> None:
        middle = sorted(given.fits, key=lambda each: len(each.weight))[len(given.fits) // 2]
        table = given.problem.table
        n_copies = 1 + (given.has_common and not isinstance(table, StoredTable))
        n_rows = table.n_rows * (len(given.fits) if given.is_wide else n_copies)
        n_features = table.n_features - len(table.categories)
        settings = group_testing(self, middle.weight, given.seed)
        check_design(settings, n_features, n_rows, "search='exact'")

    def _tasks_data(self, given: MultitaskInput, folds: list[Fold], threads: Threads) -> TasksData:
        """Every task binned by itself; tasks that have all rows in common share one binning."""
        row_store = self._row_store(given, folds, threads)
        shares = given.is_wide or row_store is not None
        shared = self._shared(given, threads, row_store) if shares else None
        tasks = [self._task_data(given, each, shared, threads) for each in given.fits]
        (name,) = {each.loss.name for each in given.fits}
        is_relative = len(tasks) > 1 and given.classes is None
        metric = f"relative {name}" if is_relative else name
        return TasksData(tasks, given.problem.cost_model, given.problem.n_rows, metric, TASK_SHARE)

    def _row_store(
        self, given: MultitaskInput, folds: list[Fold], threads: Threads
    ) -> RowStore | None:
        n_fits = max(1, len(folds)) * (len(given.fits) if self._has_own(given) else 1)
        n_outputs = max(each.loss.n_outputs for each in given.fits)
        return row_store_of(given.problem.table, threads, n_outputs, n_fits)

    def _common(self, given: MultitaskInput, own: TasksData, threads: Threads) -> CommonData:
        """The rows of all tasks as those of one, for trees that all have in common."""
        target, weight = self._stacked(given)
        loss = self._loss(Target(target, given.fits[0].task.target.classes), weight)
        data = replace(own.tasks[0].data, target=target, weight=weight, loss=loss, rows=None)
        if data.row_store is None:  # a task has bins of its own
            columns = self._bin(given.problem.table, weight, given.seed, threads)
            groups = self._groups(columns, given.problem.weight, given.seed, threads, None)
            data = replace(data, columns=columns, groups=groups)
        return CommonData.of(data, own.tasks, own.metric, own.share)

    def _stacked(self, given: MultitaskInput) -> tuple[FloatArray, FloatArray]:
        """Target and weight of the rows of all tasks."""
        target, weight = given.problem.target.values.copy(), given.problem.weight.copy()
        for each in given.fits:
            target[each.task.rows], weight[each.task.rows] = each.task.target.values, each.weight
        return target, weight

    def _has_own(self, given: MultitaskInput) -> bool:
        """Whether tasks are fitted by themselves at all."""
        return not given.has_common or self.common_trees == "auto"

    def _shared(
        self, given: MultitaskInput, threads: Threads, row_store: RowStore | None
    ) -> SharedRows:
        problem = given.problem
        columns = self._bin(problem.table, problem.weight, given.seed, threads)
        groups = self._groups(columns, problem.weight, given.seed, threads, row_store)
        # Long tables have no room for a target and a weight of all rows for each task.
        stacked = None if self._has_own(given) else self._stacked(given)
        return SharedRows(columns, groups, row_store, stacked)

    def _groups(self, *given: Any) -> Groups | None:
        return make_groups(self, *given) if self.search == "group_testing" else None

    def _task_data(
        self,
        given: MultitaskInput,
        each: TaskFit,
        shared: SharedRows | None,
        threads: Threads,
    ) -> TaskData:
        task, problem = each.task, given.problem
        where, rows = None, None
        if shared is None:
            table = problem.table
            table = table if len(task.rows) == table.n_rows else table.take(task.rows)
            columns = self._bin(table, each.weight, given.seed, threads)
            groups = self._groups(columns, each.weight, given.seed, threads, None)
            target, weight, place = task.target.values, each.weight, np.arange(len(task.rows))
        else:
            columns, groups, where, stacked = shared
            rows = None if given.is_wide else task.rows
            target, weight = stacked or (np.zeros(problem.n_rows), np.ones(problem.n_rows))
            target[task.rows], weight[task.rows], place = task.target.values, each.weight, task.rows
        data = BoostedData(
            columns,
            target,
            weight,
            each.loss,
            problem.cost_model,
            threads,
            groups=groups,
            row_store=where,
            rows=rows,
        )
        least = least_rows(self.min_samples_leaf, each.weight)
        unit = each.unit if len(given.fits) > 1 else 1.0
        return TaskData(str(task.key), data, task.rows, place, each.penalty, least, unit)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

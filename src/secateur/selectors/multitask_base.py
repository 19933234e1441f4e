"""From rows of several tasks to a path of boosted trees: what the multitask selectors share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.binning import BinnedColumns
from secateur.data.folds import Fold, all_rows
from secateur.data.target import Target
from secateur.engines.boosted.common_trees import TASK_SPLIT_PENALTIES, CommonData
from secateur.engines.boosted.grid import BoostedData, falling_from
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.multitask import TaskData, TasksData
from secateur.engines.boosted.params import BoostingParams
from secateur.execution.local import Place, place_of
from secateur.model_selection.folds import default_folds, draw_folds, hold_out, is_drawn, read_folds
from secateur.model_selection.scorers import read_seed
from secateur.selectors.base import keeping_steps
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.boosted_input import BoostedJob, least_rows, read_penalty
from secateur.selectors.group_testing import check_design, group_testing, make_groups
from secateur.selectors.inputs import store_lazy
from secateur.selectors.multitask_input import (
    MultitaskInput,
    MultitaskJob,
    TaskJob,
    check_common,
    check_folds,
    read_multitask,
    read_task_penalties,
    task_weight,
    why_not_common,
)
from secateur.selectors.multitask_prediction import TaskPredictions
from secateur.selectors.parameters import check_kept
from secateur.selectors.progress import with_callbacks
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
    place: Place | None
    stacked: tuple[FloatArray, FloatArray] | None = None


class MultitaskSelector(TaskPredictions, BoostedSelector):
    """Fits boosted trees for several tasks that share the cost of their features."""

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _exact: ClassVar[str]
    group_penalty: Any
    task_penalty: Any
    common_trees: bool | str
    search: str

    @property
    def _penalty(self) -> Any:
        return self.group_penalty

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, task: Any = None) -> Any:  # type: ignore[override]
        """Trace the path of selections of all tasks and choose one.

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
        job = self._read_tasks(X, y, sample_weight, task)
        with keeping_steps(self, "a fit of several tasks cannot go on from them."):
            path = self._work(job, X, y)
        given = job.given
        assert given is not None  # noqa: S101  # as _read_tasks made it
        self._remember(job.problem.table.schema)
        if given.classes is not None:
            self.classes_ = given.classes
        self.tasks_ = [each.task.key for each in job.tasks]
        self._task_classes: list[Any] = [each.task.target.classes for each in job.tasks]
        self._is_wide, self._has_names = given.is_wide, given.has_names
        self._set_path(path)
        return self

    # ---- reading ------------------------------------------------------------------------------

    def _read_tasks(self, X: Any, y: Any, sample_weight: Any, task: Any) -> MultitaskJob:
        """Everything that can be wrong is found here, before any work."""
        self._check_parameters()
        X, y = store_lazy(self, X, y, sample_weight, task)
        penalty = read_penalty(self.group_penalty, self._criterion, name="group_penalty")
        seed, n_threads = read_seed(self.random_state), resolve_n_jobs(self.n_jobs)
        given = read_multitask(self, self._target_type, X, y, sample_weight, task)
        check_kept(given.problem.cost_model.keep, self.max_features)
        own = read_task_penalties(self.task_penalty, given.tasks, penalty)
        tasks = [self._read_task(given, t, its_penalty) for t, its_penalty in enumerate(own)]
        folds = self._folds_of_tasks(given, penalty, seed)
        has_common = self._has_common(given, folds if penalty is None else [])
        read = (given.problem, tasks[0].loss, penalty, folds, None, seed, n_threads)
        job = MultitaskJob(*read, tasks=tasks, given=given, has_common=has_common)
        if self.search == "group_testing":
            self._check_groups(job)
        return job

    def _read_task(self, given: MultitaskInput, t: int, penalty: float | None) -> TaskJob:
        task = given.tasks[t]
        weight = task_weight(given, task, getattr(self, "class_weight", None))
        loss = self._loss(task.target, weight)
        loss.baseline(task.target.values, weight)  # not every target has one
        return TaskJob(task, weight, loss, penalty)

    def _has_common(self, given: MultitaskInput, judges: list[Fold]) -> bool:
        """Whether rounds may begin with a tree for all; "auto" wants rows that can judge it."""
        if self.common_trees == "auto":
            return bool(judges) and len(given.tasks) > 1 and not why_not_common(given)
        if self.common_trees:
            check_common(given)
        return bool(self.common_trees)

    def _check_groups(self, job: MultitaskJob) -> None:
        middle = sorted(job.tasks, key=lambda each: len(each.weight))[len(job.tasks) // 2]
        table = job.problem.table
        n_copies = 1 + (job.has_common and not isinstance(table, StoredTable))
        n_rows = table.n_rows * (len(job.tasks) if self._shares_rows(job) else n_copies)
        n_features = table.n_features - len(table.categories)
        told = group_testing(self, middle.weight, job.seed)
        check_design(told, n_features, n_rows, "search='exact'", stacklevel=6)

    def _folds_of_tasks(
        self, given: MultitaskInput, penalty: float | list[float] | None, seed: int
    ) -> list[Fold]:
        """As for one task; each task and class has its share of every part."""
        n_rows = given.problem.n_rows
        mixed = given.mixed
        if isinstance(penalty, float):
            if not self._stops_early(n_rows):
                return [all_rows(n_rows)]
            return [hold_out(mixed, self.validation_fraction, seed)]
        if is_drawn(self.cv):
            cv = default_folds(Target(mixed.values)) if self.cv is None else self.cv
            return draw_folds(mixed, cv, random_state=seed)
        folds = read_folds(self.cv, given.target, given.kept)
        check_folds(folds, given.tasks)
        return folds

    # ---- working ------------------------------------------------------------------------------

    def _ways(self, job: BoostedJob, threads: Threads) -> list[Any]:
        """Trees of each task's own, or trees in common, without or with a task-split penalty.

        All that is asked for, in the order in which they are liked, where held-out rows can choose;
        else common trees have the task-split penalty.
        """
        assert isinstance(job, MultitaskJob)  # noqa: S101  # as _read_tasks made it
        own = self._data(job, threads)
        if not job.has_common:
            return [own]
        common = self._common(job, own, threads)
        every = job.folds and job.penalty is None
        penalties = TASK_SPLIT_PENALTIES if every else TASK_SPLIT_PENALTIES[-1:]
        shared = [replace(common, task_split_penalty=each) for each in penalties]
        return [own, *shared] if self.common_trees == "auto" else shared

    def _data(self, job: BoostedJob, threads: Threads) -> Any:
        """Every task binned by itself; tasks that have all rows in common share one binning."""
        assert isinstance(job, MultitaskJob)  # noqa: S101  # as _read_tasks made it
        place = self._place(job, threads)
        shares = self._shares_rows(job) or place is not None
        shared = self._shared(job, threads, place) if shares else None
        tasks = [self._task_data(job, each, shared, threads) for each in job.tasks]
        names = {each.loss.name for each in job.tasks}
        is_relative = len(tasks) > 1 and job.problem.target.classes is None
        is_relative = is_relative and job.tasks[0].task.target.classes is None
        metric = f"relative {names.pop()}" if is_relative else names.pop()
        return TasksData(tasks, job.problem.cost_model, job.problem.n_rows, metric, TASK_SHARE)

    def _place(self, job: MultitaskJob, threads: Threads) -> Place | None:
        n_fits = max(1, len(job.folds)) * (len(job.tasks) if self._has_own(job) else 1)
        n_outputs = max(each.loss.n_outputs for each in job.tasks)
        return place_of(job.problem.table, threads, n_outputs, n_fits)

    def _common(self, job: MultitaskJob, own: TasksData, threads: Threads) -> CommonData:
        """The rows of all tasks as those of one, for trees that all have in common."""
        target, weight = self._stacked(job)
        loss = self._loss(Target(target, job.tasks[0].task.target.classes), weight)
        data = replace(own.tasks[0].data, target=target, weight=weight, loss=loss, rows=None)
        if data.place is None:  # a task has bins of its own
            columns = self._bin(job.problem.table, weight, job, threads)
            groups = self._groups_of(columns, job.problem.weight, job, threads)
            data = replace(data, columns=columns, groups=groups)
        return CommonData.of(data, own.tasks, own.metric, own.share)

    def _stacked(self, job: MultitaskJob) -> tuple[FloatArray, FloatArray]:
        """Target and weight of the rows of all tasks."""
        target, weight = job.problem.target.values.copy(), job.problem.weight.copy()
        for each in job.tasks:
            target[each.task.rows], weight[each.task.rows] = each.task.target.values, each.weight
        return target, weight

    def _has_own(self, job: MultitaskJob) -> bool:
        """Whether tasks are fitted by themselves at all."""
        return not job.has_common or self.common_trees == "auto"

    def _shares_rows(self, job: MultitaskJob) -> bool:
        return job.given is not None and job.given.is_wide

    def _shared(self, job: MultitaskJob, threads: Threads, place: Place | None) -> SharedRows:
        problem = job.problem
        columns = self._bin(problem.table, problem.weight, job, threads)
        groups = self._groups_of(columns, problem.weight, job, threads, place)
        # Long tables have no room for a target and a weight of all rows for each task.
        stacked = None if self._has_own(job) else self._stacked(job)
        return SharedRows(columns, groups, place, stacked)

    def _groups_of(
        self,
        columns: BinnedColumns,
        weight: FloatArray,
        job: BoostedJob,
        threads: Threads,
        place: Place | None = None,
    ) -> Groups | None:
        if self.search != "group_testing":
            return None
        return make_groups(self, columns, weight, job.seed, threads, place)

    def _task_data(
        self,
        job: MultitaskJob,
        each: TaskJob,
        shared: SharedRows | None,
        threads: Threads,
    ) -> TaskData:
        task, problem = each.task, job.problem
        where, rows = None, None
        if shared is None:
            table = problem.table
            table = table if len(task.rows) == table.n_rows else table.take(task.rows)
            columns = self._bin(table, each.weight, job, threads)
            groups = self._groups_of(columns, each.weight, job, threads)
            target, weight, place = task.target.values, each.weight, np.arange(len(task.rows))
        else:
            columns, groups, where, stacked = shared
            rows = None if self._shares_rows(job) else task.rows
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
            place=where,
            rows=rows,
        )
        least = least_rows(self.min_samples_leaf, each.weight)
        unit = each.unit if len(job.tasks) > 1 else 1.0
        return TaskData(str(task.key), data, task.rows, place, each.penalty, least, unit)

    def _penalty_grid(self, data: Any, params: BoostingParams) -> list[float]:
        return falling_from(data.best_gain(params))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

"""The base of the multitask selectors: from rows of several tasks to a path of boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.table import Fold, Table
from secateur.data.target import Target
from secateur.data.tasks import all_classes, read_keys, rows_by_key
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.multitask import (
    TASK_SPLIT_PENALTIES,
    CommonData,
    TaskData,
    TasksData,
    TasksModel,
)
from secateur.engines.boosted.trees import min_leaf_rows
from secateur.exceptions import InputError, ParameterError, import_optional, some_of
from secateur.execution.disk import row_store_of
from secateur.model_selection.folds import is_drawn, with_classes_trained
from secateur.selectors.base import PathSelector
from secateur.selectors.boosted import GroupTestedSelector
from secateur.selectors.inputs import store_lazy
from secateur.selectors.multitask_input import (
    MultitaskInput,
    TaskFit,
    check_folds,
    read_multitask,
    read_task_penalties,
    task_weight,
    why_not_common,
)
from secateur.selectors.parameters import (
    one_of,
    read_penalty,
    with_constructor,
    with_parameters_of,
)
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

TASK_SHARE = 1.0  # what a task's own penalty is of the group penalty, by default


@with_constructor
class TaskParameters:
    """What tasks pay for features.

    Parameters
    ----------
    group_penalty : float, "auto" or sequence of float, default="auto"
        What a feature that no task uses yet costs, times its cost, as a share of the squared error
        at the root of a tree; from 0, which makes the tasks independent, to below 1.
        "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own. Where there are too few rows for folds (see ``cv``), "auto"
        is one value from the middle of the grid.
    task_penalty : float, dict, sequence or "auto", default="auto"
        What a feature that is new to a task costs that task, used by others or not; one number, or
        one per task: a dict by task, or a sequence in the order of ``tasks_``. "auto" is as much
        as the group penalty. With 0 all tasks have one common set.
    common_trees : bool or "auto", default="auto"
        Whether a round is one tree for the rows of all tasks, which may ask for the task, instead
        of one tree for each. A node of it pays for every task that can come to it: what a feature
        new to the task costs, by the task's share of the rows. "auto" tries both, where the group
        penalty is "auto" too and rows of several tasks with the same classes come stacked; trees
        in common are kept where held-out rows find those of the tasks clearly worse. Else it is
        False. ``common_trees_`` says what was kept.
    search : {"exact", "group_testing"}, default="exact"
        Whether nodes look at every feature, or find new ones by group tests as GT-GBM does; the
        next four parameters are those of group tests.
    """

    group_penalty: Any = "auto"
    task_penalty: Any = "auto"
    common_trees: Any = one_of(True, False, "auto").default("auto")
    search: str = one_of("exact", "group_testing").default("exact")

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"
    _max_penalty: ClassVar[float] = 1.0


class MultitaskSelector(GroupTestedSelector):
    """Fits boosted trees for several tasks that share the cost of their features."""

    _exact = "search='exact'"
    _after_lost_cluster = "a fit of several tasks cannot go on from them."

    def _read_penalty(self) -> float | list[float] | None:
        return read_penalty("group_penalty", self.group_penalty, self._max_penalty)

    @with_parameters_of(PathSelector.fit)
    def fit(  # type: ignore[override]  # explicit arguments
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        task: Any = None,
        *,
        groups: Any = None,
    ) -> Any:
        """Search the path of selections of all tasks and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
            The rows of all tasks. A stored table has y and task of its own.
        y : array or series of shape (n_rows,), or array or frame of shape (n_rows, n_tasks)
            With a column for each task, missing labels are NaN or None.
        task : array or series of shape (n_rows,), optional
            The task of each row, any hashable values, where y has one column. None is one task.
        """
        return self._fit(X, y, sample_weight, groups, task=task)

    def _problem(self, X: Any, y: Any, sample_weight: Any, *, task: Any) -> MultitaskInput:  # type: ignore[override]
        X, y = store_lazy(self, X, y, sample_weight, task)
        penalty = self._read_penalty()
        given, tasks, is_wide, has_names = read_multitask(
            self, self._target_type, X, y, sample_weight, task
        )
        own = read_task_penalties(self.task_penalty, tasks, penalty)
        classes = all_classes(tasks)
        class_weight = getattr(self, "class_weight", None)
        fits = []
        for each, its_penalty in zip(tasks, own, strict=True):
            weight = task_weight(given.problem.weight, each, classes, class_weight)
            fits.append(TaskFit(each, weight, self._loss(each.target, weight), its_penalty))
        more = {"fits": fits, "is_wide": is_wide, "has_names": has_names}
        found = given.extended(MultitaskInput, loss=fits[0].loss, penalty=penalty, **more)
        if self.common_trees is True and (reason := why_not_common(found)):
            raise ParameterError(f"'common_trees' must be False or 'auto' {reason}")
        return found

    def _folds(self, given: MultitaskInput) -> list[Fold]:  # type: ignore[override]
        """As for one task; each task and class has its share of every fold."""
        folds = super()._folds(given)
        is_grid = not isinstance(given.penalty, float)
        if is_grid and (given.groups is not None or not is_drawn(self.cv)):
            check_folds(folds, given.tasks)
        elif given.is_wide:  # classes of each column, which no strata have
            for each in given.tasks:
                codes = np.full(given.problem.n_rows, -1)
                codes[each.rows] = each.target.values if each.target.n_classes else -1
                folds = [with_classes_trained(fold, codes) for fold in folds]
        return folds

    def _remember(self, given: MultitaskInput) -> None:
        super()._remember(given)
        self.tasks_ = [each.key for each in given.tasks]
        self._task_classes: list[Any] = [each.target.classes for each in given.tasks]
        self._is_wide, self._has_names = given.is_wide, given.has_names
        if self.search != "group_testing":
            del self.design_

    def _variants(self, given: Any, folds: list[Fold], threads: Threads) -> list[Any]:
        """Trees for each task, and common ones: all variants, by order of preference."""
        is_choice = bool(folds) and given.penalty is None
        has_common = self.common_trees is True or (
            self.common_trees == "auto"
            and is_choice
            and len(given.tasks) > 1
            and not why_not_common(given)
        )
        given = replace(given, has_common=has_common)
        if self.search == "group_testing":
            n_rows, is_stored = given.problem.n_rows, isinstance(given.problem.table, StoredTable)
            n_copies = len(given.fits) if given.is_wide else 1 + (has_common and not is_stored)
            self._check_design(given, n_rows * n_copies)
        own = self._tasks_data(given, folds, threads)
        if not has_common:
            return [own]
        common = self._common(given, own, threads)
        penalties = TASK_SPLIT_PENALTIES if is_choice else TASK_SPLIT_PENALTIES[-1:]
        shared = [replace(common, task_split_penalty=each) for each in penalties]
        return [own, *shared] if self.common_trees == "auto" else shared

    def _design_weight(self, given: MultitaskInput) -> FloatArray:
        # of the task with the median number of rows
        return sorted((each.weight for each in given.fits), key=len)[len(given.fits) // 2]

    def _tasks_data(self, given: MultitaskInput, folds: list[Fold], threads: Threads) -> TasksData:
        """Every task binned by itself; tasks that have all rows in common share one binning."""
        problem, fits = given.problem, given.fits
        has_own = not given.has_common or self.common_trees == "auto"
        n_fits = max(1, len(folds)) * (len(fits) if has_own else 1)
        n_outputs = max(each.loss.n_outputs for each in fits)
        row_store = None
        if isinstance(problem.table, StoredTable):
            row_store = row_store_of(problem.table, threads, n_outputs, n_fits)
        shared, stacked = None, None
        if given.is_wide or row_store is not None:
            shared = self._data(given, problem.table, problem.weight, threads, row_store)
            # Long tables would need too much memory for a target and a weight for each task.
            stacked = None if has_own else _stacked(given)
        tasks, table = [], problem.table
        for each in fits:
            rows, values = each.task.rows, each.task.target.values
            if shared is None:  # binned by itself
                own = table if len(rows) == table.n_rows else table.take(rows)
                data = self._data(given, own, each.weight, threads)
                data, place = replace(data, target=values, loss=each.loss), np.arange(len(rows))
            else:
                target, weight = stacked or (np.zeros(table.n_rows), np.ones(table.n_rows))
                target[rows], weight[rows] = values, each.weight
                data = replace(shared, target=target, weight=weight, loss=each.loss, rows=rows)
                place = rows
            min_leaf = min_leaf_rows(self.min_samples_leaf, each.weight)
            unit, key = each.unit if len(fits) > 1 else 1.0, str(each.task.key)
            tasks.append(TaskData(key, data, rows, place, each.penalty, min_leaf, unit))
        name = fits[0].loss.metric
        metric = f"relative {name}" if len(tasks) > 1 and given.classes is None else name
        return TasksData(tasks, problem.cost_model, problem.n_rows, metric, TASK_SHARE)

    def _common(self, given: MultitaskInput, own: TasksData, threads: Threads) -> CommonData:
        """The rows of all tasks as those of one, for trees that all have in common."""
        target, weight = _stacked(given)
        loss = self._loss(Target(target, given.fits[0].task.target.classes), weight)
        data = replace(own.tasks[0].data, target=target, weight=weight, loss=loss, rows=None)
        if data.row_store is None:  # a task has bins of its own
            problem = given.problem
            binned = self._data(given, problem.table, weight, threads, group_weight=problem.weight)
            data = replace(data, columns=binned.columns, groups=binned.groups)
        return CommonData.of(data, own.tasks, own.metric, own.share)

    def _groups(self, *rows: Any) -> Groups | None:
        return super()._groups(*rows) if self.search == "group_testing" else None

    @property
    def task_support_(self) -> Any:
        """Which features each task uses: a frame of booleans, tasks by features."""
        check_is_fitted(self)
        pd = import_optional(
            "pandas", "A data frame", "pandas", ", or use path_[selection_.index].supports"
        )
        step = self.path_[self.selection_.index]
        mask = np.zeros((len(self.tasks_), self.n_features_in_), np.bool_)
        for t, key in enumerate(self.tasks_):
            mask[t, step.supports[str(key)]] = True
        index = pd.Index(self.tasks_, tupleize_cols=False, name="task")
        return pd.DataFrame(mask, index=index, columns=list(self._schema.names))

    @property
    def common_trees_(self) -> bool:
        """Whether the tasks have trees in common."""
        model: TasksModel = self._model
        return model.has_common_trees

    def _rows_of(self, task: Any, n_rows: int) -> dict[int, IntArray]:
        """Which rows each task predicts, by the number of the task."""
        number = {key: t for t, key in enumerate(self.tasks_)}
        if task is None:
            if len(self.tasks_) > 1:
                tasks = some_of(self.tasks_, limit=20)
                raise InputError(
                    f"'task' must hold a task per row. Got None. The tasks are {tasks}."
                )
            return {0: np.arange(n_rows)}
        keys = [task] * n_rows if np.isscalar(task) else read_keys(task, n_rows)
        found = rows_by_key(keys)
        unknown = [key for key in found if key not in number]
        if unknown or not (self._has_names or self._is_wide):
            raise InputError(
                f"'task' must hold tasks that the fit knows. Got {some_of(unknown or list(found))}."
                f" The tasks are {some_of(self.tasks_, limit=20) if number else 'none'}."
            )
        return {number[key]: rows for key, rows in found.items()}

    def _by_task(
        self, model: TasksModel, table: Table, task: Any, predict: Callable[[Any, Table, int], Any]
    ) -> Any:
        """Predictions row by row, each by its own task; or of every task, where y had columns."""
        with Threads(resolve_n_jobs(self.n_jobs)):
            if task is None and self._is_wide:
                return [predict(each, table, t) for t, each in enumerate(model.models)]
            parts = []
            for t, rows in self._rows_of(task, table.n_rows).items():
                own = table if len(rows) == table.n_rows else table.take(rows)
                parts.append((rows, predict(model.models[t], own, t)))
        sample = parts[0][1]
        out = np.empty((table.n_rows, *sample.shape[1:]), sample.dtype)
        for rows, values in parts:
            out[rows] = values
        return out

    def _predicted(self, X: Any, task: Any, predict: Callable[[Any, Table, int], Any]) -> Any:
        return self._by_task(self._model, self._read_for_model(X), task, predict)

    def _staged_by_task(
        self, X: Any, task: Any, predict: Callable[[Any, Table, int], Any]
    ) -> Iterator[Any]:
        """Predictions of every step; X is read and checked once, before the first."""
        models, table = self._models_and_rows(X)
        if task is not None or not self._is_wide:
            self._rows_of(task, table.n_rows)  # refuses before the first step
        return (self._by_task(model, table, task, predict) for model in models)

    def _values(self, model: Any, table: Table, t: int) -> AnyArray:  # noqa: ARG002
        return self._predict(model, table)

    def predict(self, X: Any, task: Any = None) -> AnyArray:
        """The prediction of each row in its task; a column per task where y had columns."""
        return _as_columns(self._predicted(X, task, self._values))

    def staged_predict(self, X: Any, task: Any = None) -> Iterator[AnyArray]:
        """The predictions at each step of the path."""
        return map(_as_columns, self._staged_by_task(X, task, self._values))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _as_columns(found: Any) -> Any:
    return np.column_stack(found) if isinstance(found, list) else found


def _stacked(given: MultitaskInput) -> tuple[FloatArray, FloatArray]:
    target, weight = given.problem.target.values.copy(), given.problem.weight.copy()
    for each in given.fits:
        target[each.task.rows], weight[each.task.rows] = each.task.target.values, each.weight
    return target, weight

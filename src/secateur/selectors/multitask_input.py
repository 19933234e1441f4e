"""The input of a fit of several tasks, read and checked, and the score of their predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.frames import as_array
from secateur.data.table import Fold
from secateur.data.target import Target, TargetType, check_labels, combine_weights, read_weights
from secateur.data.tasks import (
    TaskRows,
    all_classes,
    check_tasks,
    is_wide,
    labelled_rows,
    read_keys,
    read_stacked,
    read_wide,
    rows_by_key,
)
from secateur.exceptions import InputError, ParameterError, some_of
from secateur.losses import Loss
from secateur.model_selection.folds import strata_of_tasks
from secateur.selectors.inputs import BoostedInput, FitInput, read_problem, read_stored
from secateur.selectors.parameters import number
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray

_OWN = "Use 'auto' for as much as the group penalty, 0 for one common set."


@dataclass(frozen=True, slots=True, eq=False)
class TaskFit:
    """One task of a fit: its rows and target, their weight, its loss and its own penalty."""

    task: TaskRows
    weight: FloatArray
    loss: Loss
    penalty: float | None

    @property
    def unit(self) -> float:
        """What its best constant loses on average in regression; other losses need no unit."""
        if self.task.target.classes is not None or self.loss.by_query:
            return 1.0
        values = self.task.target.values
        best = self.loss.baseline(values, self.weight)
        losses = self.loss.scores(values, np.repeat(best[:, None], len(values), axis=1))
        return float(np.average(losses, weights=self.weight)) or 1.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MultitaskInput(BoostedInput):
    """The input of a fit of several tasks; its target is that of all rows, as one task."""

    fits: Sequence[TaskFit]
    is_wide: bool
    has_names: bool
    has_common: bool = False

    @property
    def tasks(self) -> list[TaskRows]:
        """The rows and targets of all tasks."""
        return [each.task for each in self.fits]

    @property
    def classes(self) -> AnyArray | None:
        """The classes of all tasks."""
        return all_classes(self.tasks)

    @property
    def strata(self) -> Target:
        """A class for each task and class, by which folds are drawn; none where rows are shared."""
        return strata_of_tasks(() if self.is_wide else self.tasks, self.problem.n_rows)

    def stacked(self) -> tuple[FloatArray, FloatArray]:
        """Target and weight of the rows of all tasks, as those of one."""
        target, weight = self.problem.target.values.copy(), self.problem.weight.copy()
        for each in self.fits:
            target[each.task.rows], weight[each.task.rows] = each.task.target.values, each.weight
        return target, weight


def read_multitask(
    estimator: Any, target_type: TargetType, X: Any, y: Any, sample_weight: Any, task: Any
) -> tuple[FitInput, list[TaskRows], bool, bool]:
    """The input, the tasks, whether y has a column for each, and whether they have names."""
    if isinstance(X, StoredTable):
        y, sample_weight, task = _read_stored(estimator, X, y, sample_weight, task)
    wide = isinstance(y, dict) or is_wide(y)
    if wide and task is not None:
        raise InputError(
            "'task' must be None where y has a column for each task. Got both. Give one of them."
        )
    parameters = estimator.get_params(deep=False)
    class_weight = parameters.get("class_weight")
    known = class_weight.items() if isinstance(class_weight, Mapping) else ()
    # the classes of weight zero, whose rows are no rows
    left_out = {label: 0.0 for label, weight in known if np.isscalar(weight) and weight == 0}
    more: dict[str, Any] = {"class_weight": left_out or None}
    if wide:  # the columns of y are read task by task
        more = {"read_y": lambda y, target_type, n_rows: Target(np.zeros(n_rows))}  # noqa: ARG005
    given = read_problem(parameters, target_type, X, y, sample_weight, **more)
    n_rows = len(given.target.values)
    if wide:
        tasks = read_wide(y, target_type=target_type, n_rows=n_rows)
        for t, each in enumerate(tasks if left_out else ()):
            labels = [] if each.target.classes is None else each.target.classes.tolist()
            codes = [code for code, label in enumerate(labels) if label in left_out]
            kept = np.flatnonzero(~np.isin(each.target.values, codes))
            tasks[t] = TaskRows(each.key, each.rows[kept], each.target.take(kept))
    else:
        tasks = read_stacked(given.target, task, n_rows)
    if len(given.kept) < n_rows:
        tasks = [each.take(given.kept, n_rows) for each in tasks]
    check_tasks(tasks, given.problem.weight)
    return given, tasks, wide, task is not None


def _read_stored(
    estimator: Any, table: StoredTable, y: Any, sample_weight: Any, task: Any
) -> tuple[Any, Any, Any]:
    """Targets, weight and tasks of a table on disk; several targets by their names."""
    if task is not None:
        raise InputError(
            "A stored table already has its tasks. Got 'task' as well. Give open_table the column."
        )
    if len(table.target_names) == 1:
        y, sample_weight = read_stored(table, y, sample_weight, estimator.categorical_features)
        return y, sample_weight, table.task
    targets = {name: table.target(t) for t, name in enumerate(table.target_names)}
    return targets, table.weight if sample_weight is None else sample_weight, table.task


def task_weight(
    weight: FloatArray, task: TaskRows, classes: AnyArray | None, class_weight: Any
) -> FloatArray:
    """The weights of a task's rows, those of its classes included."""
    if isinstance(class_weight, Mapping) and classes is not None:
        check_labels(class_weight, classes.tolist())
        own = set(task.target.classes.tolist()) if task.target.classes is not None else set()
        class_weight = {label: w for label, w in class_weight.items() if label in own}
    return combine_weights(task.target, weight[task.rows], class_weight)


def read_task_penalties(
    value: Any, tasks: Sequence[TaskRows], group: float | list[float] | None
) -> list[float | None]:
    """The own penalty of each task: one for all, one per task, or None for "auto"."""
    keys = [task.key for task in tasks]
    if isinstance(value, Mapping):
        unknown = [key for key in value if key not in keys]
        left_out = [key for key in keys if key not in value]
        if unknown or left_out:
            raise ParameterError(
                "'task_penalty' must have the tasks as keys. Got "
                f"{some_of(unknown or left_out)} {'without rows' if unknown else 'left out'}. The "
                f"tasks are {some_of(keys)}."
            )
        values = [value[key] for key in keys]
    elif isinstance(value, str) or not np.iterable(value):
        values = [value] * len(keys)
    else:
        values = list(value)
    if len(values) != len(keys):
        n_tasks, n_given = len(keys), len(values)
        raise ParameterError(
            f"'task_penalty' must be one per task, {n_tasks}. Got {n_given}. {_OWN}"
        )
    each = number(0, 1, below=True, words=("auto",), advice=_OWN)
    for own in values:
        each.check("task_penalty", own)
    found = [None if isinstance(own, str) else float(own) for own in values]
    highest = max((own for own in found if own is not None), default=0.0)
    largest = max(group) if isinstance(group, list) else group or 0.0
    if highest + largest >= 1.0:  # no split gains as much
        raise ParameterError(
            "'group_penalty' and 'task_penalty' together must be < 1. Got "
            f"{largest:g} and {highest:g}. Lower one of them."
        )
    return found


def check_folds(folds: Sequence[Fold], tasks: Sequence[TaskRows]) -> None:
    """Refuse folds in which no task has both training and validation rows."""
    for which, fold in enumerate(folds):
        if not any(all(np.isin(task.rows, side).any() for side in fold) for task in tasks):
            raise ParameterError(
                "'cv' must have rows of a task on both sides of every fold. Got none in fold "
                f"{which}. Split the rows within tasks, not whole tasks from each other."
            )


def why_not_common(given: MultitaskInput) -> str:
    """Trees that all tasks have in common need one kind of target; empty where there is one."""
    if given.is_wide:
        return (
            "where y has a column for each task. Got True. Stack the rows and give 'task' if the "
            "columns are of one kind."
        )
    n_classes = 0 if given.classes is None else len(given.classes)
    if any(task.target.n_classes < n_classes for task in given.tasks):
        return "where tasks have different classes. Got True. Leave out tasks that lack a class."
    return ""


def mean_score(
    score: Callable[..., float], predicted: AnyArray, y: Any, sample_weight: Any, task: Any
) -> float:
    """The score of each task, and of these the mean by the weight of its rows."""
    n_rows = len(predicted)
    weight = read_weights(sample_weight, n_rows)
    if is_wide(y):
        columns = enumerate(labelled_rows(y, n_rows))
        parts = [(true, predicted[rows, t], weight[rows]) for t, (_, rows, true) in columns]
    else:
        given = as_array(y, "y").ravel()
        is_one = task is None or np.isscalar(task)
        by_task = rows_by_key([0] * n_rows if is_one else read_keys(task, n_rows)).values()
        parts = [(given[rows], predicted[rows], weight[rows]) for rows in by_task]
    scores = [score(true, found, sample_weight=w) for true, found, w in parts]
    return float(np.average(scores, weights=[w.sum() for _, _, w in parts]))

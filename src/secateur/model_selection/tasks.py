"""Several tasks in one table: folds that all are in, models asked about the task of each row."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.data.folds import Fold
from secateur.data.target import Target
from secateur.data.tasks import read_keys, read_stacked, rows_by_key
from secateur.exceptions import InputError
from secateur.model_selection.scorers import Measure, read_measure
from secateur.typing import AnyArray, FloatArray

if TYPE_CHECKING:
    from secateur.model_selection.rows import Rows


RELATIVE = "relative "
"""How the names of losses begin that are divided by what a constant loses in the same task."""

ASKED = {"predict", "predict_proba", "decision_function"}


class TaskModel:
    """A fitted model, asked about rows whose tasks are known.

    Models that know of no tasks are asked as they are.
    """

    def __init__(self, model: Any, tasks: AnyArray) -> None:
        self.model = model
        self.tasks = tasks

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.model, name)
        if name in ASKED and knows_tasks(self.model):
            return partial(found, task=self.tasks)
        return found


def knows_tasks(estimator: Any) -> bool:
    """Whether an estimator, or its class, wants to know the task of each row.

    >>> from secateur import AGBMClassifier, MultitaskAGBMClassifier
    >>> knows_tasks(AGBMClassifier()), knows_tasks(MultitaskAGBMClassifier)
    (False, True)
    """
    fit = getattr(estimator, "fit", None)
    return fit is not None and "task" in inspect.signature(fit).parameters


def read_tasks(task: Any, n_rows: int) -> AnyArray:
    """The name of the task of each row, as an array of objects: names may be of any type."""
    names: AnyArray = np.empty(n_rows, object)
    names[:] = read_keys(task, n_rows)
    return names


def mixed_target(target: Target, tasks: AnyArray) -> Target:
    """A class for each task and class, so that every fold has its share of all of them."""
    mixed = np.zeros(len(tasks))
    n_known = 0
    for each in read_stacked(target, tasks.tolist(), len(tasks)):
        mixed[each.rows] = n_known
        if each.target.classes is not None:
            mixed[each.rows] += each.target.values
        n_known += max(1, each.target.n_classes)
    return Target(mixed, np.arange(n_known)) if n_known > 1 else Target(mixed)


def check_task_folds(folds: Sequence[Fold], target: Target, tasks: AnyArray) -> None:
    """Refuse, before any work, folds whose training rows do not do for every task."""
    for number, fold in enumerate(folds, start=1):
        training = rows_by_key(tasks[fold.train].tolist())
        for task in rows_by_key(tasks[fold.test].tolist()):
            if task not in training:
                raise InputError(_lacking(task, "no rows", number))
        for task, places in training.items():
            n_classes = len(np.unique(target.values[fold.train[places]]))
            if len(places) < 2:
                raise InputError(_lacking(task, "one row", number))
            if target.classes is not None and n_classes < 2:
                raise InputError(_lacking(task, "one class", number))


def measure_of(scoring: Any, rows: Rows, own: str | None) -> Measure:
    """What scores of these rows are made with: what was asked for, or what the path's own are.

    Losses of several tasks of numbers are relative, so that tasks whose numbers are large do not
    count more.
    """
    plain = None if own is None else own.removeprefix(RELATIVE)
    measure = read_measure(scoring, rows.target_type, plain)
    is_plain = scoring is not None or rows.target_type == "classification"
    if is_plain or rows.tasks is None or len(set(rows.tasks.tolist())) == 1:
        return measure
    return _relative(measure, _units(measure.name, rows))


def _relative(plain: Measure, units: dict[Any, float]) -> Measure:
    def of_rows(model: Any, X: Any, y: AnyArray) -> FloatArray:
        assert plain.of_rows is not None  # noqa: S101 - losses of numbers have a value per row
        unit = np.array([units[task] for task in model.tasks.tolist()])
        losses: FloatArray = plain.of_rows(model, X, y) / unit
        return losses

    return replace(plain, name=f"{RELATIVE}{plain.name}", of_rows=of_rows)


def _units(loss: str, rows: Rows) -> dict[Any, float]:
    """What the best constant loses in each task; 1 where it loses nothing."""
    assert rows.tasks is not None  # noqa: S101 - as measure_of has seen
    units = {}
    for task, places in rows_by_key(rows.tasks.tolist()).items():
        y, weight = rows.y[places], rows.weight[places]
        if loss == "squared_error":
            losses = (y - np.average(y, weights=weight)) ** 2
        else:
            losses = np.abs(y - _median(y, weight))
        units[task] = float(np.average(losses, weights=weight)) or 1.0
    return units


def _median(y: AnyArray, weight: FloatArray) -> float:
    order = np.argsort(y, kind="stable")
    below = np.cumsum(weight[order])
    return float(y[order][np.searchsorted(below, below[-1] / 2)])


def _lacking(task: Any, what: str, fold: int) -> str:
    return (
        f"Every fold must train every task, with two rows and two classes at least. Got {what} of "
        f"task {task!r} in fold {fold}. Use fewer folds, or leave that task out or join it to "
        "another."
    )

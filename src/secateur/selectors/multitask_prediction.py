"""What fitted multitask selectors share: which features each task has, and who predicts a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.messages import some_of
from secateur.data.table import Table
from secateur.data.tasks import read_keys, rows_by_key
from secateur.engines.boosted.multitask import TasksModel
from secateur.exceptions import InputError, MissingDependencyError
from secateur.path import Selection, SelectionPath
from secateur.typing import FloatArray, IntArray


def has_one_target(estimator: Any) -> bool:
    """Whether y had one column, as long as it is known."""
    return not getattr(estimator, "_is_wide", False)


def log_odds(shares: FloatArray) -> FloatArray:
    """Log odds where there are two classes, else log probabilities."""
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(shares)
    return logs[:, 1] - logs[:, 0] if shares.shape[1] == 2 else logs


class TaskPredictions:
    """Predictions of several tasks, row by row or task by task."""

    tasks_: list[Any]
    path_: SelectionPath
    selection_: Selection
    n_features_in_: int
    n_jobs: int | None
    _is_wide: bool
    _has_names: bool
    _schema: Any
    _model: Any
    _read_again: Callable[..., Table]

    @property
    def task_support_(self) -> Any:
        """Which features each task uses: a frame of booleans, tasks by features."""
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            msg = (
                "A frame of tasks and features needs pandas. Got no such package. Install it with "
                "'pip install pandas', or use path_[selection_.index].supports."
            )
            raise MissingDependencyError(msg) from error
        step = self.path_[self.selection_.index]
        mask = np.zeros((len(self.tasks_), self.n_features_in_), np.bool_)
        for t, key in enumerate(self.tasks_):
            mask[t, step.supports[str(key)]] = True
        index = pd.Index(self.tasks_, tupleize_cols=False, name="task")
        return pd.DataFrame(mask, index=index, columns=list(self._schema.names))

    @property
    def common_trees_(self) -> bool:
        """Whether the tasks have trees in common."""
        check_is_fitted(self)
        model: TasksModel = self._model
        return model.has_common_trees

    def _rows_of(self, task: Any, n_rows: int) -> dict[int, IntArray]:
        """Which rows each task predicts, by the number of the task."""
        number = {key: t for t, key in enumerate(self.tasks_)}
        if task is None:
            if len(self.tasks_) > 1:
                msg = (
                    "'task' must name the task of every row. Got None. The tasks are "
                    f"{some_of(self.tasks_, limit=20)}."
                )
                raise InputError(msg)
            return {0: np.arange(n_rows)}
        keys = [task] * n_rows if np.isscalar(task) else read_keys(task, n_rows)
        found = rows_by_key(keys)
        unknown = [key for key in found if key not in number]
        if unknown or not (self._has_names or self._is_wide):
            msg = (
                f"'task' must hold tasks that the fit knows. Got {some_of(unknown or list(found))}."
                f" The tasks are {some_of(self.tasks_, limit=20) if number else 'none'}."
            )
            raise InputError(msg)
        return {number[key]: rows for key, rows in found.items()}

    def _by_task(
        self, model: TasksModel, table: Table, task: Any, predict: Callable[[Any, Table, int], Any]
    ) -> Any:
        """Predictions row by row, each by its own task; or of every task, where y had columns."""
        with Threads(resolve_n_jobs(self.n_jobs)):
            if task is None and self._is_wide:
                return [predict(each, table, t) for t, each in enumerate(model.models)]
            parts = {
                t: (rows, predict(model.models[t], _taken(table, rows), t))
                for t, rows in self._rows_of(task, table.n_rows).items()
            }
        sample = next(iter(parts.values()))[1]
        out = np.empty((table.n_rows, *sample.shape[1:]), sample.dtype)
        for rows, values in parts.values():
            out[rows] = values
        return out

    def _predicted(self, X: Any, task: Any, predict: Callable[[Any, Table, int], Any]) -> Any:
        model: Any = self._model
        return self._by_task(model, self._read_again(X, only=model.features), task, predict)

    def _staged_by_task(
        self, X: Any, task: Any, predict: Callable[[Any, Table, int], Any]
    ) -> Iterator[Any]:
        """Predictions of every step; X is read and checked once, before the first."""
        check_is_fitted(self)
        models: list[TasksModel] = [step.model for step in self.path_]
        asked = np.unique(np.concatenate([model.features for model in models]))
        table = self._read_again(X, only=asked)
        if task is not None or not self._is_wide:
            self._rows_of(task, table.n_rows)  # refuses before the first step
        return (self._by_task(model, table, task, predict) for model in models)


def _taken(table: Table, rows: IntArray) -> Table:
    return table if len(rows) == table.n_rows else table.take(rows)

"""Rows that train and rows that judge, in the container that they came in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._data.frames import read_table, select_columns, select_rows
from secateur._data.guessing import guess_task
from secateur._data.target import Target, Task, read_target
from secateur._data.weights import read_weights
from secateur.evaluation.cloning import prepared
from secateur.evaluation.cross_trace import Verdict
from secateur.evaluation.judging import Measure
from secateur.evaluation.outer import labels_of, read_groups
from secateur.evaluation.tasks import TaskModel, knows_tasks, read_tasks
from secateur.exceptions import ParameterError
from secateur.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table, its target in the user's own words, and how much each row counts.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        As it was given.
    target : Target
    task : {"classification", "regression"}
    names : tuple of str
        Of the columns.
    weight : array of shape (n_rows,)
    is_weighted : bool
        Whether somebody gave weights.
    groups : array of int, shape (n_rows,), or None
        Which rows belong together.
    is_sparse : bool
    tasks : array of object, shape (n_rows,), or None
        The task of each row, where there are several.
    """

    X: Any
    target: Target
    task: Task
    names: tuple[str, ...]
    weight: FloatArray
    is_weighted: bool
    groups: IntArray | None
    is_sparse: bool
    tasks: AnyArray | None = None

    @property
    def y(self) -> AnyArray:
        """Labels or numbers, as they were given."""
        return labels_of(self.target)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.names)

    def take(self, rows: IntArray) -> Rows:
        """Some of the rows."""
        return replace(
            self,
            X=select_rows(self.X, rows),
            target=self.target.take(rows),
            weight=self.weight[rows],
            groups=None if self.groups is None else self.groups[rows],
            tasks=None if self.tasks is None else self.tasks[rows],
        )

    def fit(self, estimator: Any, support: IntArray | None = None) -> Any:
        """Fit an estimator to some of the columns, all by default."""
        from secateur.evaluation.validators import fit_weighted

        X = self.X if support is None else select_columns(self.X, support)
        weight = self.weight if self.is_weighted else None
        if self.tasks is not None and knows_tasks(estimator):
            return fit_weighted(estimator, X, self.y, weight, task=self.tasks.tolist())
        return fit_weighted(estimator, X, self.y, weight)

    def judge(self, model: Any, measure: Measure, support: IntArray | None = None) -> Verdict:
        """What these rows say of a fitted model on some of the columns."""
        X = self.X if support is None else select_columns(self.X, support)
        return measure.judge(self.asking(model), X, self.y, self.weight)

    def asking(self, model: Any) -> Any:
        """A fitted model that is asked about the tasks of these rows, where they have any."""
        return model if self.tasks is None else TaskModel(model, self.tasks)


def read_rows(
    X: Any,
    y: Any,
    *,
    task: Task | None,
    sample_weight: Any = None,
    groups: Any = None,
    tasks: Any = None,
) -> Rows:
    """Check what was given, before any work; the kind of task is guessed from y if it is None."""
    table = read_table(X, categorical_features="from_dtype")
    if task is None and y is not None:
        task = guess_task(y)
    target = read_target(y, task=task or "regression", n_rows=table.n_rows)
    return Rows(
        X=X,
        target=target,
        task=task or "regression",
        names=table.names,
        weight=read_weights(sample_weight, table.n_rows),
        is_weighted=sample_weight is not None,
        groups=None if groups is None else read_groups(groups, table.n_rows),
        is_sparse=table.is_sparse,
        tasks=None if tasks is None else read_tasks(tasks, table.n_rows),
    )


def verdict_on(
    support: IntArray, validator: Any, train: Rows, test: Rows, measure: Measure, seed: int
) -> Verdict:
    """What the rows of `test` say of a validator fitted to some columns of `train`."""
    from secateur.evaluation.validators import constant_model

    if len(support) == 0:
        nothing = np.zeros((len(train.y), 1))
        model = constant_model(train.task).fit(nothing, train.y, sample_weight=train.weight)
        nowhere = np.zeros((len(test.y), 1))
        return measure.judge(test.asking(model), nowhere, test.y, test.weight)
    model = train.fit(prepared(validator, seed), support)
    return test.judge(model, measure, support)


def task_of(estimator: Any) -> Task | None:
    """What kind of target an estimator is for; None if it does not say.

    >>> from secateur import AGBMClassifier
    >>> task_of(AGBMClassifier())
    'classification'
    """
    from sklearn.base import is_classifier, is_regressor

    if is_classifier(estimator):
        return "classification"
    if is_regressor(estimator):
        return "regression"
    told = getattr(estimator, "task", None)
    if told in {"classification", "ordinal"}:
        return "classification"
    return "regression" if told == "regression" else None


def check_validator(validator: Any) -> None:
    """Refuse what cannot be fitted and asked for predictions."""
    if not (hasattr(validator, "fit") and hasattr(validator, "predict")):
        raise ParameterError(
            "'validator' must be an estimator with fit and predict. Got "
            f"{validator!r}. Use for instance sklearn.linear_model.LogisticRegression()."
        )

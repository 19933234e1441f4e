"""Rows that train and rows that judge, in the container that they came in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.frames import read_table, select_columns, select_rows
from secateur.data.messages import some_of
from secateur.data.target import Target, TargetType, guess_target_type, read_target
from secateur.data.weights import read_weights
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import InputError, ParameterError
from secateur.model_selection.outer_folds import labels_of, read_groups
from secateur.model_selection.scorers import Measure, prepared
from secateur.model_selection.tasks import TaskModel, knows_tasks, read_tasks
from secateur.storage.stored_rows import SampledRows, sample_stored
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

JUDGING_SEED = 1
"""Of the rows on disk that are read into memory to judge by."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table, its target in the user's own words, and how much each row counts.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        As it was given.
    target : Target
    target_type : {"classification", "regression"}
    names : tuple of str
        Of the columns.
    weight : array of shape (n_rows,)
    is_weighted : bool
        Whether somebody gave weights.
    groups : array of int, shape (n_rows,), or None
        Which rows belong together.
    is_sparse : bool
    has_categories : bool
        Whether some columns are categories, or text.
    sample : SampledRows or None
        Where X is on disk: rows of it that are in memory, and judge for all.
    tasks : array of object, shape (n_rows,), or None
        The task of each row, where there are several.
    """

    X: Any
    target: Target
    target_type: TargetType
    names: tuple[str, ...]
    weight: FloatArray
    is_weighted: bool
    groups: IntArray | None
    is_sparse: bool
    has_categories: bool = False
    sample: SampledRows | None = None
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
        """Fit an estimator to some of the columns, all by default.

        One that does not fit on tables on disk is given those rows that are kept in memory.
        """
        from secateur.model_selection.validators import fit_weighted

        if isinstance(self.X, StoredTable):
            if support is None and getattr(estimator, "_fits_on_disk", None):
                return estimator.fit(self.X)  # the table brings target and weights
            return self._in_memory().fit(estimator, support)
        X = self.X if support is None else select_columns(self.X, support)
        weight = self.weight if self.is_weighted else None
        if self.tasks is not None and knows_tasks(estimator):
            return fit_weighted(estimator, X, self.y, weight, task=self.tasks.tolist())
        return fit_weighted(estimator, X, self.y, weight)

    def judge(self, model: Any, measure: Measure, support: IntArray | None = None) -> FoldLosses:
        """What these rows say of a fitted model on some of the columns.

        Of rows on disk those say it that are kept in memory.
        """
        rows = self._in_memory()
        X = rows.X if support is None else select_columns(rows.X, support)
        return measure.judge(rows.asking(model), X, rows.y, rows.weight)

    def asking(self, model: Any) -> Any:
        """A fitted model that is asked about the tasks of these rows, where they have any."""
        return model if self.tasks is None else TaskModel(model, self.tasks)

    def _in_memory(self) -> Rows:
        if self.sample is None:
            return self
        places, X = self.sample.among(self.X)
        return replace(
            self,
            X=X,
            target=self.target.take(places),
            weight=self.weight[places],
            groups=None,
            sample=None,
            tasks=None if self.tasks is None else self.tasks[places],
        )


def read_rows(
    X: Any,
    y: Any,
    *,
    target_type: TargetType | None,
    sample_weight: Any = None,
    groups: Any = None,
    tasks: Any = None,
) -> Rows:
    """Check what was given, before any work; the type of target is guessed from y if it is None."""
    if isinstance(X, StoredTable):
        if tasks is not None:
            raise InputError(
                "A stored table brings the tasks of its rows. Got some beside it. Give them to "
                "open_table instead."
            )
        return _read_stored(X, y, target_type or "regression", sample_weight, groups)
    table = read_table(X, categorical_features="from_dtype")
    if target_type is None and y is not None:
        target_type = guess_target_type(y)
    target = read_target(y, target_type=target_type or "regression", n_rows=table.n_rows)
    return Rows(
        X=X,
        target=target,
        target_type=target_type or "regression",
        names=table.names,
        weight=read_weights(sample_weight, table.n_rows),
        is_weighted=sample_weight is not None,
        groups=None if groups is None else read_groups(groups, table.n_rows),
        is_sparse=table.is_sparse,
        has_categories=len(table.categories) > 0,
        tasks=None if tasks is None else read_tasks(tasks, table.n_rows),
    )


def _read_stored(
    X: StoredTable, y: Any, target_type: TargetType, sample_weight: Any, groups: Any
) -> Rows:
    """Rows on disk, which bring all that is beside them; some are read into memory to judge."""
    if y is not None or sample_weight is not None:
        raise InputError(
            "A stored table brings its target and its weights. Got some beside it. Give them to "
            "open_table instead."
        )
    if len(X.target_names) > 1:
        raise InputError(
            f"Rows that judge must have one target. Got {some_of(X.target_names)}. Open the table "
            "with one of them, or stack the rows and name the column of their tasks."
        )
    weight, tasks = X.weight, X.task
    return Rows(
        X=X,
        target=read_target(X.target(), target_type=target_type, n_rows=X.n_rows),
        target_type=target_type,
        names=X.names,
        weight=read_weights(weight, X.n_rows),
        is_weighted=weight is not None,
        groups=None if groups is None else read_groups(groups, X.n_rows),
        is_sparse=X.is_sparse,
        sample=sample_stored(X, JUDGING_SEED),
        tasks=None if tasks is None else read_tasks(tasks, X.n_rows),
    )


def verdict_on(
    support: IntArray, validator: Any, train: Rows, test: Rows, measure: Measure, seed: int
) -> FoldLosses:
    """What the rows of `test` say of a validator fitted to some columns of `train`."""
    from secateur.model_selection.validators import constant_model

    if len(support) == 0:
        nothing = np.zeros((len(train.y), 1))
        model = constant_model(train.target_type).fit(nothing, train.y, sample_weight=train.weight)
        nowhere = np.zeros((len(test.y), 1))
        return measure.judge(test.asking(model), nowhere, test.y, test.weight)
    model = train.fit(prepared(validator, seed), support)
    return test.judge(model, measure, support)


def target_type_of(estimator: Any) -> TargetType | None:
    """What kind of target an estimator is for; None if it does not say.

    >>> from secateur import AGBMClassifier
    >>> target_type_of(AGBMClassifier())
    'classification'
    """
    from sklearn.base import is_classifier, is_regressor

    if is_classifier(estimator):
        return "classification"
    if is_regressor(estimator):
        return "regression"
    told = getattr(estimator, "target_type", None)
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

"""Rows of a problem in the container that they came in: taken, fitted to, and evaluated on."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from secateur.data.frames import read_table, select_columns, select_rows
from secateur.data.table import Fold
from secateur.data.target import (
    Target,
    TargetType,
    guess_target_type,
    in_range,
    read_target,
    read_weights,
)
from secateur.data.tasks import read_keys
from secateur.engines.path_search import FoldLosses
from secateur.exceptions import InputError, ParameterError, some_of
from secateur.model_selection.folds import check_groups, group_numbers
from secateur.model_selection.scorers import Metric, prepared, with_threads
from secateur.storage.stored_table import SampledRows, StoredTable, sample_stored
from secateur.typing import AnyArray, FloatArray, IntArray

# Seed of the sample of stored rows that is read into memory to evaluate models on.
TEST_SAMPLE_SEED = 1
COLUMNS_AT_ONCE = 256
TASK_METHODS = {"predict", "predict_proba", "decision_function"}


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table with its target, weights and groups."""

    X: Any  # as it was given
    target: Target
    target_type: TargetType
    names: tuple[str, ...]
    weight: FloatArray
    is_weighted: bool  # whether weights were given
    groups: IntArray | None
    is_sparse: bool
    has_categories: bool = False  # or text
    sample: SampledRows | None = None  # of a stored table, rows in memory to evaluate models on
    tasks: AnyArray | None = None  # of each row, where there are several

    @property
    def y(self) -> AnyArray:
        """Labels or numbers, as they were given."""
        codes, classes = self.target.values, self.target.classes
        return codes if classes is None else classes[codes.astype(np.int64)]

    def take(self, rows: IntArray, X: Any = None) -> Rows:
        """Some of the rows; X is their table if it is known already."""
        return replace(
            self,
            X=select_rows(self.X, rows) if X is None else X,
            target=self.target.take(rows),
            weight=self.weight[rows],
            groups=None if self.groups is None else self.groups[rows],
            tasks=None if self.tasks is None else self.tasks[rows],
        )

    def fit(self, estimator: Any, support: IntArray | None = None) -> Any:
        """Fit an estimator to some of the columns, all by default."""
        if isinstance(self.X, StoredTable):
            if support is None and getattr(estimator, "_fits_on_disk", None):
                # it has target and weights; groups are for the folds of the estimator
                has_folds = getattr(estimator, "_folds_on_disk", True)
                return estimator.fit(self.X, groups=self.groups if has_folds else None)
            return self._in_memory().fit(estimator, support)
        X = self.X if support is None else select_columns(self.X, support)
        more: dict[str, Any] = {}
        if self.groups is not None and has_fit_parameter(estimator, "groups"):
            more["groups"] = self.groups
        if self.tasks is not None and knows_tasks(estimator):
            more["task"] = self.tasks.tolist()
        is_pipeline = isinstance(estimator, Pipeline)  # the last step of it takes the weights
        name, last = estimator.steps[-1] if is_pipeline else ("", estimator)
        if self.is_weighted and has_fit_parameter(last, "sample_weight"):
            more[f"{name}__sample_weight" if is_pipeline else "sample_weight"] = self.weight
        return estimator.fit(X, self.y, **more)

    def evaluate(self, model: Any, metric: Metric, support: IntArray | None = None) -> FoldLosses:
        """Evaluate a fitted model on these rows and some of the columns, all by default."""
        rows = self._in_memory()
        X = rows.X if support is None else select_columns(rows.X, support)
        return metric.evaluate(rows.with_tasks(model), X, rows.y, rows.weight)

    def with_tasks(self, model: Any) -> Any:
        """A fitted model that predicts for the tasks of these rows, if they have any."""
        return model if self.tasks is None else TaskModel(model, self.tasks)

    def _in_memory(self) -> Rows:
        if self.sample is None:
            return self
        places, X = self.sample.among(self.X)
        return replace(self.take(places, X), sample=None)


def read_rows(
    X: Any,
    y: Any,
    *,
    target_type: TargetType | None,
    sample_weight: Any = None,
    groups: Any = None,
    tasks: Any = None,
) -> Rows:
    """Check the input, before any work; the type of target is guessed from y if it is None."""
    table, sample = X, None
    if isinstance(X, StoredTable):
        if any(value is not None for value in (y, sample_weight, tasks)):
            raise InputError(
                "A stored table has its target, weights and tasks. Got some beside it. Give them "
                "to open_table instead."
            )
        if len(X.target_names) > 1:
            raise InputError(
                f"A stored table must have one target here. Got {some_of(X.target_names)}. Open it "
                "with one of them, or stack the rows and name the column of their tasks."
            )
        y, sample_weight, tasks = X.target(), X.weight, X.task
        target_type, sample = target_type or "regression", sample_stored(X, TEST_SAMPLE_SEED)
    else:
        table = read_table(X, categorical_features="from_dtype")
    if target_type is None:
        target_type = "regression" if y is None else guess_target_type(y)
    n_rows = table.n_rows
    names = None
    if tasks is not None:
        names = np.empty(n_rows, object)  # of any type, also tuples
        names[:] = read_keys(tasks, n_rows)
    return Rows(
        X=X,
        target=read_target(y, target_type=target_type, n_rows=n_rows),
        target_type=target_type,
        names=table.names,
        weight=in_range(read_weights(sample_weight, n_rows)),
        is_weighted=sample_weight is not None,
        groups=None if groups is None else group_numbers(check_groups(groups, n_rows)),
        is_sparse=table.is_sparse,
        has_categories=sample is None and len(table.categories) > 0,
        sample=sample,
        tasks=names,
    )


def hash_of(rows: Rows, folds: Sequence[Fold]) -> str:
    """A hash of the table, its target, weights, groups and folds."""
    table = read_table(rows.X, categorical_features="from_dtype")
    parts: Iterable[Any]
    if table.is_sparse:
        parts = [table.csc.data, table.csc.indices.astype(np.int64), table.csc.indptr]
    else:
        starts = range(0, table.n_features, COLUMNS_AT_ONCE)
        parts = (table.block(start, start + COLUMNS_AT_ONCE).T for start in starts)
    groups = [] if rows.groups is None else [rows.groups]
    found = hashlib.sha256(str((table.names, rows.target.classes)).encode())
    for part in chain(parts, [rows.target.values, rows.weight], groups, *folds):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


class TaskModel:
    """A fitted model that predicts for rows of known tasks; others predict as they are."""

    def __init__(self, model: Any, tasks: AnyArray) -> None:
        self.model, self.tasks = model, tasks

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.model, name)
        if name in TASK_METHODS and knows_tasks(self.model):
            return partial(found, task=self.tasks)
        return found


def knows_tasks(estimator: Any) -> bool:
    """Whether ``fit`` of an estimator, or of its class, takes the task of each row."""
    fit = getattr(estimator, "fit", None)
    return fit is not None and "task" in inspect.signature(fit).parameters


def fit_clone(selector: Any, rows: Rows, seed: int, n_jobs: int | None) -> Any:
    """A clone fitted to some rows, with seeds and threads set where they were None."""
    fresh = with_threads(prepared(selector, seed), n_jobs)
    if "on_interrupt" in fresh.get_params(deep=False):
        fresh.set_params(on_interrupt="raise")  # a part of a path would be taken for the whole
    return rows.fit(fresh)


def target_type_of(estimator: Any) -> TargetType | None:
    """The type of target that an estimator is for; None if it does not say."""
    own = getattr(estimator, "target_type", None)
    if is_classifier(estimator) or own in {"classification", "ordinal"}:
        return "classification"
    return "regression" if is_regressor(estimator) or own == "regression" else None


def check_target_type(name: str, estimator: Any, target_type: TargetType) -> None:
    """Refuse a regressor for classes, and a classifier for numbers."""
    own = target_type_of(estimator) if hasattr(estimator, "fit") else None
    if own is not None and own != target_type:
        kinds = {"classification": "classifier", "regression": "regressor"}
        raise ParameterError(
            f"{name!r} must be a {kinds[target_type]}, as the target asks for {target_type}. Got "
            f"the {kinds[own]} {estimator!r}. Use its counterpart for {target_type}."
        )

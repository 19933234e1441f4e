"""Rows of a problem in the container that they came in, and the metrics of models on them."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from secateur.data.frames import read_table, select_columns, select_rows
from secateur.data.table import Fold
from secateur.data.target import (
    Target,
    TargetType,
    are_counts,
    guess_target_type,
    in_range,
    read_target,
    read_weights,
)
from secateur.data.tasks import read_keys, read_queries, rows_by_key, weights_of_rows
from secateur.engines.fold_losses import FoldLosses, pool
from secateur.exceptions import InputError, ParameterError, some_of
from secateur.losses.ranking import Queries
from secateur.model_selection.folds import check_groups, group_numbers
from secateur.model_selection.ranking import QueryValues, query_metric
from secateur.path.step import QUERY_QUANTILES, Score
from secateur.storage.sampled_rows import SampledRows, sample_stored
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

TEST_SAMPLE_SEED = 1  # of the sample of stored rows that models are evaluated on
COLUMNS_AT_ONCE = 256
TASK_METHODS = {"predict", "predict_proba", "decision_function"}
MIN_PROBABILITY = 1e-15  # lower bound, so that one row does not decide the log loss alone
DEFAULT = {"classification": "log_loss", "regression": "squared_error", "ranking": "ndcg@10"}
DEFAULT_SCORING = {"classification": "accuracy", "regression": "r2", "ranking": "ndcg@10"}
# Prefix of the names of losses that are divided by the loss of a constant in the same task.
RELATIVE = "relative "
Scorer = Callable[..., float]
RowValues = Callable[[Any, Any, AnyArray], FloatArray]


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
    queries: IntArray | None = None  # a number for that of each row, for ranking

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
            queries=None if self.queries is None else self.queries[rows],
        )

    def fit(self, estimator: Any, support: IntArray | None = None) -> Any:
        """Fit an estimator to some of the columns, all by default."""
        if isinstance(self.X, StoredTable):
            if support is None and getattr(estimator, "_fits_on_disk", None):
                # it has target and weights; groups are for the folds of the estimator
                has_folds = getattr(estimator, "_folds_on_disk", True)
                groups = self.groups if has_folds else None
                return estimator.fit(self.X, groups=groups, **self._qid(estimator))
            return self._in_memory().fit(estimator, support)
        X = self.X if support is None else select_columns(self.X, support)
        more: dict[str, Any] = self._qid(estimator)
        if self.groups is not None and has_fit_parameter(estimator, "groups"):
            more["groups"] = self.groups
        if self.tasks is not None and knows_tasks(estimator):
            more["task"] = self.tasks.tolist()
        is_pipeline = isinstance(estimator, Pipeline)  # the last step of it takes the weights
        name, last = estimator.steps[-1] if is_pipeline else ("", estimator)
        if self.is_weighted and has_fit_parameter(last, "sample_weight"):
            more[f"{name}__sample_weight" if is_pipeline else "sample_weight"] = self.weight
        return estimator.fit(X, self.y, **more)

    def _qid(self, estimator: Any) -> dict[str, Any]:
        """The queries, for an estimator that takes them."""
        is_asked = self.queries is not None and has_fit_parameter(estimator, "qid")
        return {"qid": self.queries} if is_asked else {}

    def evaluate(self, model: Any, metric: Metric, support: IntArray | None = None) -> FoldLosses:
        """Evaluate a fitted model on these rows and some of the columns, all by default."""
        rows = self._in_memory()
        X = rows.X if support is None else select_columns(rows.X, support)
        return metric.evaluate(rows.with_tasks(model), X, rows.y, rows.weight, rows.queries)

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
    categorical_features: Any = "from_dtype",
    qid: Any = None,
) -> Rows:
    """Check the input, before any work; the type of target is guessed from y if it is None."""
    table, is_stored = X, isinstance(X, StoredTable)
    if is_stored:
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
        target_type = target_type or "regression"
    else:
        table = read_table(X, categorical_features=categorical_features)
    if target_type is None:
        target_type = guess_target_type(y)
    n_rows, names, queries = table.n_rows, None, None
    if target_type == "ranking":
        queries = read_queries(qid, n_rows)
        groups = queries if groups is None else groups
        sample_weight = weights_of_rows(sample_weight, queries)
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
        has_categories=not is_stored and len(table.categories) > 0,
        sample=sample_stored(X, TEST_SAMPLE_SEED, queries=queries) if is_stored else None,
        tasks=names,
        queries=queries,
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
    groups = [each for each in (rows.groups, rows.queries) if each is not None]
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
    if "ranking" in {own, getattr(estimator, "_target_type", None)}:
        return "ranking"
    if is_classifier(estimator) or own in {"classification", "ordinal"}:
        return "classification"
    return "regression" if is_regressor(estimator) or own == "regression" else None


def check_target_type(name: str, estimator: Any, target_type: TargetType) -> None:
    """Refuse a regressor for classes, and a classifier for values; grades are values too."""
    own = target_type_of(estimator) if hasattr(estimator, "fit") else None
    if own is not None and own != target_type and (own, target_type) != ("regression", "ranking"):
        kinds = {"classification": "classifier", "regression": "regressor", "ranking": "ranker"}
        raise ParameterError(
            f"{name!r} must be a {kinds[target_type]}, since the target is for {target_type}. Got "
            f"the {kinds[own]} {estimator!r}. Use its counterpart for {target_type}."
        )


def prepared(estimator: Any, seed: int) -> Any:
    """A clone with every random state set that was None."""
    fresh = clone(estimator)
    unset = [name for name, value in fresh.get_params(deep=True).items() if value is None]
    states = [name for name in unset if name.rsplit("__", 1)[-1] == "random_state"]
    return fresh.set_params(**dict.fromkeys(states, seed)) if states else fresh


def with_threads(estimator: Any, n_jobs: int | None) -> Any:
    """A clone with ``n_jobs`` set, if it has that parameter and it is None."""
    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if n_jobs is None or known.get("n_jobs", n_jobs) is not None:
        return estimator
    return clone(estimator).set_params(n_jobs=n_jobs)


def read_scoring(scoring: Any, target_type: str) -> tuple[Scorer, str]:
    """A scorer and its name, from what a user may write."""
    default = DEFAULT_SCORING[target_type]
    wanted = default if scoring is None else scoring
    if callable(wanted):
        return wanted, getattr(wanted, "__name__", "score")
    if query_metric(wanted) is not None:
        raise ParameterError(
            f"'scoring' must be a metric of rows here. Got {scoring!r}, which is one of queries. "
            "Use AGBMRanker or another ranker, whose fit takes 'qid'."
        )
    try:
        return get_scorer(wanted), str(wanted)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"'scoring' must be None, the name of a scorer of scikit-learn, or a callable "
            f"(estimator, X, y). Got {scoring!r}. Use {default!r} for a start."
        ) from error


def takes_weight(scorer: Any) -> bool:
    """Whether the metric of a scorer of scikit-learn takes ``sample_weight``."""
    metric = getattr(scorer, "_score_func", None)
    return metric is not None and "sample_weight" in inspect.signature(metric).parameters


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of predictions: a value for each row or query, or one for a fold by a scorer."""

    name: str
    of_rows: RowValues | None
    scorer: Any  # of scikit-learn, if there is no value for each row
    greater_is_better: bool
    of_queries: QueryValues | None = None

    def evaluate(
        self, model: Any, X: Any, y: AnyArray, weight: FloatArray, number: IntArray | None = None
    ) -> FoldLosses:
        """Evaluate a fitted model on test rows; ``number`` is that of the query of each."""
        if self.of_queries is not None:
            number = read_queries(None) if number is None else number  # raises without any
            queries = Queries.of(number, np.asarray(y, np.float64))
            values, weight = self.of_queries(queries, _predicted(model, X)), queries.weights(weight)
            return FoldLosses(values, weight, counts=are_counts(weight))
        if self.of_rows is not None:
            return FoldLosses(self.of_rows(model, X, y), weight, counts=are_counts(weight))
        is_even = bool((weight == weight[0]).all())
        more = {} if is_even or not takes_weight(self.scorer) else {"sample_weight": weight}
        return FoldLosses(np.array([float(self.scorer(model, X, y, **more))]), np.ones(1))

    def score(self, folds: Sequence[FoldLosses]) -> Score:
        """The held-out score over all folds."""
        if self.of_rows is not None or self.of_queries is not None:
            pooled = pool(folds, origin="held_out", metric=self.name)
            return replace(pooled, greater_is_better=self.greater_is_better)
        means = [fold.mean for fold in folds]
        return Score.of(means, origin="held_out", metric=self.name, greater_is_better=True)

    def details(self, folds: Sequence[FoldLosses]) -> dict[str, float]:
        """How a metric of queries is distributed over them, for the details of a step."""
        if self.of_queries is None:
            return {}
        whole, shares = FoldLosses.joined(folds, [1.0] * len(folds)), [*QUERY_QUANTILES.values()]
        more: Any = {"weights": whole.weights, "method": "inverted_cdf"}
        found = np.quantile(whole.losses, shares, **more)
        return dict(zip(QUERY_QUANTILES, found.tolist(), strict=True))


def read_metric(scoring: Any, target_type: str, own: str | None = None) -> Metric:
    """The metric that a user asks for; None is that of the path's own scores, or the plain loss."""
    wanted = scoring
    if wanted is None:
        wanted = own if own in OF_ROWS or query_metric(own) else DEFAULT[target_type]
    if (by_query := query_metric(wanted)) is not None:
        name, of_queries = by_query
        return Metric(name, None, None, greater_is_better=True, of_queries=of_queries)
    if isinstance(wanted, str) and wanted in OF_ROWS:
        return Metric(wanted, OF_ROWS[wanted], None, wanted == "accuracy")
    scorer, name = read_scoring(wanted, target_type)
    return Metric(name, None, scorer, greater_is_better=True)


def metric_for(scoring: Any, rows: Rows, own: str | None) -> Metric:
    """The metric for some rows; `own` is that of the path's own scores."""
    plain = None if own is None else own.removeprefix(RELATIVE)
    metric = read_metric(scoring, rows.target_type, plain)
    is_plain = scoring is not None or rows.target_type != "regression"
    if is_plain or rows.tasks is None or len(set(rows.tasks.tolist())) == 1:
        return metric
    # divided by the losses of a constant, so that tasks with large targets do not count more
    units = {}
    for task, places in rows_by_key(rows.tasks.tolist()).items():
        y, weight = rows.y[places], rows.weight[places]
        if metric.name == "squared_error":
            losses = (y - np.average(y, weights=weight)) ** 2
        else:
            losses = np.abs(y - np.quantile(y, 0.5, weights=weight, method="inverted_cdf"))
        units[task] = float(np.average(losses, weights=weight)) or 1.0

    def of_rows(model: Any, X: Any, y: AnyArray) -> FloatArray:
        unit = np.array([units[task] for task in model.tasks.tolist()])
        return OF_ROWS[metric.name](model, X, y) / unit

    return replace(metric, name=f"{RELATIVE}{metric.name}", of_rows=of_rows)


def log_losses(model: Any, X: Any, y: AnyArray) -> FloatArray:
    """-log of the probability of the true class, 0 for a class that the model does not know."""
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            "'validator' must have predict_proba for the log loss. Got "
            f"{type(model).__name__} without. Use scoring='accuracy', or another validator."
        )
    shares = np.asarray(model.predict_proba(X), np.float64)
    place = {label: column for column, label in enumerate(np.asarray(model.classes_).tolist())}
    columns = np.fromiter(map(place.get, y.tolist(), repeat(-1)), np.int64, len(y))
    true = np.where(columns >= 0, shares[np.arange(len(y)), columns], 0.0)
    return -np.log(np.clip(true, MIN_PROBABILITY, 1.0))


def _predicted(model: Any, X: Any) -> FloatArray:
    return np.asarray(model.predict(X), np.float64).reshape(-1)


def _residuals(model: Any, X: Any, y: AnyArray) -> FloatArray:
    return np.asarray(y, np.float64) - _predicted(model, X)


OF_ROWS: dict[str, RowValues] = {
    "log_loss": log_losses,
    "squared_error": lambda model, X, y: _residuals(model, X, y) ** 2,
    "absolute_error": lambda model, X, y: np.abs(_residuals(model, X, y)),
    "accuracy": lambda model, X, y: (np.asarray(model.predict(X)) == y).astype(np.float64),
}
"""Metrics with a value for every row, by the names that paths use for them."""

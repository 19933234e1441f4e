"""Metrics of fitted models on test rows: a value for each row, or any scorer of scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer

from secateur.data.target import are_counts
from secateur.data.tasks import rows_by_key
from secateur.engines.path_search import FoldLosses, pool
from secateur.exceptions import ParameterError
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray

if TYPE_CHECKING:
    from secateur.model_selection.rows import Rows

Scorer = Callable[..., float]
RowValues = Callable[[Any, Any, AnyArray], FloatArray]

# Smaller probabilities count as this, so that one row does not decide the log loss alone.
MIN_PROBABILITY = 1e-15
DEFAULT = {"classification": "log_loss", "regression": "squared_error"}
# Prefix of the names of losses that are divided by the loss of a constant in the same task.
RELATIVE = "relative "


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
    default = "accuracy" if target_type == "classification" else "r2"
    wanted = default if scoring is None else scoring
    if callable(wanted):
        return wanted, getattr(wanted, "__name__", "score")
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
    """A metric of predictions: a value for each row, or one for all rows of a fold by a scorer."""

    name: str
    of_rows: RowValues | None
    scorer: Any  # of scikit-learn, if there is no value for each row
    greater_is_better: bool

    def evaluate(self, model: Any, X: Any, y: AnyArray, weight: FloatArray) -> FoldLosses:
        """Evaluate a fitted model on test rows."""
        if self.of_rows is not None:
            return FoldLosses(self.of_rows(model, X, y), weight, counts=are_counts(weight))
        is_even = bool((weight == weight[0]).all())
        more = {} if is_even or not takes_weight(self.scorer) else {"sample_weight": weight}
        return FoldLosses(np.array([float(self.scorer(model, X, y, **more))]), np.ones(1))

    def score(self, folds: Sequence[FoldLosses]) -> Score:
        """The held-out score over all folds."""
        if self.of_rows is not None:
            pooled = pool(folds, origin="held_out", metric=self.name)
            return replace(pooled, greater_is_better=self.greater_is_better)
        means = [fold.mean for fold in folds]
        return Score.of(means, origin="held_out", metric=self.name, greater_is_better=True)


def read_metric(scoring: Any, target_type: str, own: str | None = None) -> Metric:
    """The metric that a user asks for; None is that of the path's own scores, or the plain loss."""
    wanted = scoring
    if wanted is None:
        wanted = own if own in OF_ROWS else DEFAULT[target_type]
    if isinstance(wanted, str) and wanted in OF_ROWS:
        return Metric(wanted, OF_ROWS[wanted], None, wanted == "accuracy")
    scorer, name = read_scoring(wanted, target_type)
    return Metric(name, None, scorer, greater_is_better=True)


def metric_for(scoring: Any, rows: Rows, own: str | None) -> Metric:
    """The metric for some rows; `own` is that of the path's own scores."""
    plain = None if own is None else own.removeprefix(RELATIVE)
    metric = read_metric(scoring, rows.target_type, plain)
    is_plain = scoring is not None or rows.target_type == "classification"
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
    columns = np.array([place.get(label, -1) for label in y.tolist()])
    true = np.where(columns >= 0, shares[np.arange(len(y)), columns], 0.0)
    return -np.log(np.clip(true, MIN_PROBABILITY, 1.0))


def _residuals(model: Any, X: Any, y: AnyArray) -> FloatArray:
    predicted = np.asarray(model.predict(X), np.float64).reshape(len(y))
    return np.asarray(y, np.float64) - predicted


OF_ROWS: dict[str, RowValues] = {
    "log_loss": log_losses,
    "squared_error": lambda model, X, y: _residuals(model, X, y) ** 2,
    "absolute_error": lambda model, X, y: np.abs(_residuals(model, X, y)),
    "accuracy": lambda model, X, y: (np.asarray(model.predict(X)) == y).astype(np.float64),
}
"""Metrics with a value for every row, by the names that paths use for them."""

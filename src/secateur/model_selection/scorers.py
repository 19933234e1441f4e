"""What a fitted model is worth on rows it never saw, by a loss of each row or by a scorer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.weights import are_counts
from secateur.engines.fold_losses import FoldLosses, pool
from secateur.exceptions import ParameterError
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray


def read_seed(random_state: Any) -> int:
    """A number that all chance of a fit comes from."""
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        msg = (
            f"'random_state' must be None, an int >= 0 or a RandomState. Got {random_state!r}. Use "
            "0 for results that repeat."
        )
        raise ParameterError(msg) from error


def prepared(estimator: Any, seed: int) -> Any:
    """A clone whose random states are set wherever they were left open."""
    from sklearn.base import clone

    fresh = clone(estimator)
    names = [n for n in fresh.get_params(deep=True) if n.rsplit("__", 1)[-1] == "random_state"]
    unset = {name: seed for name in names if fresh.get_params(deep=True)[name] is None}
    return fresh.set_params(**unset) if unset else fresh


def with_threads(estimator: Any, n_jobs: int | None) -> Any:
    """A clone with so many threads, where it has such a parameter and it was left open."""
    from sklearn.base import clone

    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if n_jobs is None or known.get("n_jobs", n_jobs) is not None:
        return estimator
    return clone(estimator).set_params(n_jobs=n_jobs)


Scorer = Callable[..., float]


def read_scoring(scoring: Any, target_type: str) -> tuple[Scorer, str]:
    """A scorer and its name, from what a user may write.

    >>> read_scoring(None, "classification")[1]
    'accuracy'
    """
    from sklearn.metrics import get_scorer

    default = "accuracy" if target_type == "classification" else "r2"
    wanted = default if scoring is None else scoring
    if callable(wanted):
        return wanted, getattr(wanted, "__name__", "score")
    try:
        return get_scorer(wanted), str(wanted)
    except (ValueError, TypeError) as error:
        msg = (
            f"'scoring' must be None, the name of a scorer of scikit-learn, or a callable "
            f"(estimator, X, y). Got {scoring!r}. Use {default!r} for a start."
        )
        raise ParameterError(msg) from error


def takes_weight(scorer: Any) -> bool:
    """Whether a scorer of scikit-learn has a metric that knows weights."""
    metric = getattr(scorer, "_score_func", None)
    return metric is not None and "sample_weight" in inspect.signature(metric).parameters


LEAST_PROBABILITY = 1e-15
"""Probabilities below this count as this: a row thought impossible does not decide alone."""

DEFAULT = {"classification": "log_loss", "regression": "squared_error"}


@dataclass(frozen=True, slots=True)
class Measure:
    """How predictions are measured: a value for each row, or one for all rows by a scorer.

    Parameters
    ----------
    name : str
    of_rows : callable or None
        From a fitted model, X and y to one value per row. The standard error of a score is then
        that of the mean over rows.
    scorer : callable or None
        Any scorer of scikit-learn. The standard error is then that of the mean over folds.
    greater_is_better : bool
    """

    name: str
    of_rows: Callable[[Any, Any, AnyArray], FloatArray] | None
    scorer: Scorer | None
    greater_is_better: bool

    def judge(self, model: Any, X: Any, y: AnyArray, weight: FloatArray) -> FoldLosses:
        """The verdict of some rows on a fitted model."""
        if self.of_rows is not None:
            return FoldLosses(self.of_rows(model, X, y), weight, counts=are_counts(weight))
        assert self.scorer is not None  # noqa: S101 - one or the other
        even = bool((weight == weight[0]).all())
        more = {} if even or not takes_weight(self.scorer) else {"sample_weight": weight}
        return FoldLosses(np.array([float(self.scorer(model, X, y, **more))]), np.ones(1))

    def score(self, fold_losses: Sequence[FoldLosses]) -> Score:
        """One held-out score of the fold_losses of all folds."""
        if self.of_rows is not None:
            pooled = pool(fold_losses, origin="held_out", metric=self.name)
            return replace(pooled, greater_is_better=self.greater_is_better)
        folds = [each.mean for each in fold_losses]
        return Score.of(folds, origin="held_out", metric=self.name, greater_is_better=True)


def read_measure(scoring: Any, target_type: str, own: str | None = None) -> Measure:
    """What a user asks for; None is what the selector itself is judged by, else the plain loss.

    >>> read_measure(None, "regression").name, read_measure("roc_auc", "classification").name
    ('squared_error', 'roc_auc')
    """
    wanted = scoring
    if wanted is None:
        wanted = own if own in OF_ROWS else DEFAULT[target_type]
    if isinstance(wanted, str) and wanted in OF_ROWS:
        return Measure(wanted, OF_ROWS[wanted], None, wanted == "accuracy")
    scorer, name = read_scoring(wanted, target_type)
    return Measure(name, None, scorer, greater_is_better=True)


def log_losses(model: Any, X: Any, y: AnyArray) -> FloatArray:
    """-log of the probability of the true class; of one that the model never met, the largest."""
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            "'validator' must have predict_proba for the log loss. Got "
            f"{type(model).__name__} without. Use scoring='accuracy', or another validator."
        )
    shares = np.asarray(model.predict_proba(X), np.float64)
    place = {label: column for column, label in enumerate(np.asarray(model.classes_).tolist())}
    columns = np.array([place.get(label, -1) for label in y.tolist()])
    true = np.where(columns >= 0, shares[np.arange(len(y)), columns], 0.0)
    losses: FloatArray = -np.log(np.clip(true, LEAST_PROBABILITY, 1.0))
    return losses


def _squared_errors(model: Any, X: Any, y: AnyArray) -> FloatArray:
    return _residuals(model, X, y) ** 2


def _absolute_errors(model: Any, X: Any, y: AnyArray) -> FloatArray:
    return np.abs(_residuals(model, X, y))


def _residuals(model: Any, X: Any, y: AnyArray) -> FloatArray:
    predicted = np.asarray(model.predict(X), np.float64).reshape(len(y))
    return np.asarray(y, np.float64) - predicted


def _right(model: Any, X: Any, y: AnyArray) -> FloatArray:
    right: FloatArray = (np.asarray(model.predict(X)) == y).astype(np.float64)
    return right


OF_ROWS: dict[str, Callable[[Any, Any, AnyArray], FloatArray]] = {
    "log_loss": log_losses,
    "squared_error": _squared_errors,
    "absolute_error": _absolute_errors,
    "accuracy": _right,
}
"""Measures that have a value for every row, by the names that paths use for them."""

"""Models that judge columns: any table as numbers first, then a plain estimator."""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from secateur.evaluation.numbers import AsNumbers
from secateur.typing import FloatArray

ALPHAS = tuple(10.0**power for power in range(-3, 4))
"""The penalties that ridge regression chooses from, by leaving one row out."""


def numbers_then(estimator: Any, *, is_sparse: bool) -> Pipeline:
    """An estimator behind columns as numbers: means for missing cells, standard deviation one."""
    fill = SimpleImputer(keep_empty_features=True)
    return make_pipeline(AsNumbers(), fill, StandardScaler(with_mean=not is_sparse), estimator)


def linear_model(task: str, *, is_sparse: bool) -> Pipeline:
    """Logistic regression, or ridge regression that chooses its penalty."""
    if task == "classification":
        return numbers_then(LogisticRegression(max_iter=1000), is_sparse=is_sparse)
    return numbers_then(RidgeCV(alphas=ALPHAS), is_sparse=is_sparse)


def constant_model(task: str) -> Any:
    """What predicts without any column: the shares of the classes, or the mean."""
    return DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()


def fit_weighted(estimator: Any, X: Any, y: Any, weight: FloatArray | None, **more: Any) -> Any:
    """Fit with weights, where the estimator (or the last one of a pipeline) takes them."""
    if weight is None:
        return estimator.fit(X, y, **more)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        if has_fit_parameter(last, "sample_weight"):
            return estimator.fit(X, y, **{f"{name}__sample_weight": weight})
        return estimator.fit(X, y)
    if has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(X, y, sample_weight=weight, **more)
    return estimator.fit(X, y, **more)

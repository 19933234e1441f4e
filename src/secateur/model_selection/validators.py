"""Validators by name: the models that judge what methods have chosen."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from secateur.data.target import TargetType
from secateur.exceptions import ParameterError
from secateur.model_selection.encoding import AsNumbers
from secateur.model_selection.rows import check_validator
from secateur.typing import FloatArray

ALPHAS = tuple(10.0**power for power in range(-3, 4))
"""The penalties that ridge regression chooses from, by leaving one row out."""


def numbers_then(estimator: Any, *, is_sparse: bool) -> Pipeline:
    """An estimator behind columns as numbers: means for missing cells, standard deviation one."""
    fill = SimpleImputer(keep_empty_features=True)
    return make_pipeline(AsNumbers(), fill, StandardScaler(with_mean=not is_sparse), estimator)


def linear_model(target_type: str, *, is_sparse: bool) -> Pipeline:
    """Logistic regression, or ridge regression that chooses its penalty."""
    if target_type == "classification":
        return numbers_then(LogisticRegression(max_iter=1000), is_sparse=is_sparse)
    return numbers_then(RidgeCV(alphas=ALPHAS), is_sparse=is_sparse)


def constant_model(target_type: str) -> Any:
    """What predicts without any column: the shares of the classes, or the mean."""
    return (
        DummyClassifier(strategy="prior") if target_type == "classification" else DummyRegressor()
    )


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


LINEAR = {"classification": "logistic", "regression": "ridge"}


def known_validators(target_type: TargetType, *, is_sparse: bool) -> dict[str, Any]:
    """The validators that have a name.

    Parameters
    ----------
    target_type : {"classification", "regression"}
    is_sparse : bool
        Whether the table is a sparse matrix.

    Examples
    --------
    >>> list(known_validators("regression", is_sparse=False))
    ['ridge', 'knn', 'trees']
    """
    is_classes = target_type == "classification"
    neighbours = KNeighborsClassifier() if is_classes else KNeighborsRegressor()
    booster = (
        importlib.import_module("secateur").AGBMClassifier
        if is_classes
        else importlib.import_module("secateur").AGBMRegressor
    )
    # nothing to pay: plain boosted trees, which take missing cells, categories and sparse tables
    trees = booster(
        penalty=0.0, max_iter=100, early_stopping=False, categorical_features="from_dtype"
    )
    return {
        LINEAR[target_type]: linear_model(target_type, is_sparse=is_sparse),
        "knn": numbers_then(neighbours, is_sparse=is_sparse),
        "trees": trees.set_params(categorical_features=None) if is_sparse else trees,
    }


def read_validators(validators: Any, target_type: TargetType, *, is_sparse: bool) -> dict[str, Any]:
    """Validators in the user's words as estimators by name.

    Parameters
    ----------
    validators : None, str, estimator, sequence of these, or dict of estimators
        None is all that have a name. Text is a name, or several parted by commas.
    """
    known = known_validators(target_type, is_sparse=is_sparse)
    if validators is None:
        return known
    if isinstance(validators, Mapping):
        given: list[Any] = list(validators.items())
    elif isinstance(validators, str):
        given = [part.strip() for part in validators.split(",") if part.strip()]
    elif hasattr(validators, "fit") or not isinstance(validators, Iterable):
        given = [validators]
    else:
        given = list(validators)
    found: dict[str, Any] = {}
    for value in given:
        if isinstance(value, str):
            found[value] = _named(value, target_type, known)
            continue
        label, judge = value if isinstance(value, tuple) else (type(value).__name__.lower(), value)
        found[str(label)] = _named(judge, target_type, known) if isinstance(judge, str) else judge
        check_validator(found[str(label)])
    if not found:
        raise ParameterError(
            f"'validators' must name at least one. Got none. Use some of {', '.join(known)}."
        )
    return found


def _named(name: str, target_type: TargetType, known: Mapping[str, Any]) -> Any:
    if name == "linear":
        return known[LINEAR[target_type]]
    if name not in known:
        raise ParameterError(
            f"'validators' must be names for {target_type}, or estimators. Got {name!r}. "
            f"Use some of {', '.join(known)}."
        )
    return known[name]

"""Validators by name: the models that score what methods selected."""

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

from secateur.data.target import TargetType
from secateur.exceptions import ParameterError
from secateur.model_selection.encoding import AsNumbers
from secateur.model_selection.rows import check_validator

ALPHAS = tuple(10.0**power for power in range(-3, 4))
"""The penalties that ridge regression chooses from, by leave-one-out cross-validation."""


def numbers_then(estimator: Any, *, is_sparse: bool) -> Pipeline:
    """An estimator behind an encoder, mean imputation and a standard scaler."""
    fill = SimpleImputer(keep_empty_features=True)
    return make_pipeline(AsNumbers(), fill, StandardScaler(with_mean=not is_sparse), estimator)


def linear_model(target_type: str, *, is_sparse: bool) -> Pipeline:
    """Logistic regression, or ridge regression that chooses its penalty by cross-validation."""
    if target_type == "classification":
        return numbers_then(LogisticRegression(max_iter=1000), is_sparse=is_sparse)
    return numbers_then(RidgeCV(alphas=ALPHAS), is_sparse=is_sparse)


def constant_model(target_type: str) -> Any:
    """Predicts the frequencies of the classes, or the mean."""
    return (
        DummyClassifier(strategy="prior") if target_type == "classification" else DummyRegressor()
    )


LINEAR = {"classification": "logistic", "regression": "ridge"}


def known_validators(target_type: TargetType, *, is_sparse: bool) -> dict[str, Any]:
    """The validators that have a name."""
    is_classes = target_type == "classification"
    neighbours = KNeighborsClassifier() if is_classes else KNeighborsRegressor()
    # by name, because selectors are above this package
    package = importlib.import_module("secateur")
    # without a penalty: plain boosted trees, for missing cells, categories and sparse tables
    trees = (package.AGBMClassifier if is_classes else package.AGBMRegressor)(
        penalty=0.0, max_iter=100, early_stopping=False, categorical_features="from_dtype"
    )
    return {
        LINEAR[target_type]: linear_model(target_type, is_sparse=is_sparse),
        "knn": numbers_then(neighbours, is_sparse=is_sparse),
        "trees": trees.set_params(categorical_features=None) if is_sparse else trees,
    }


def read_validators(validators: Any, target_type: TargetType, *, is_sparse: bool) -> dict[str, Any]:
    """Validators as estimators by name, from what a user may write."""
    known = known_validators(target_type, is_sparse=is_sparse)
    if validators is None:
        return known
    found: dict[str, Any] = {}
    for label, value in labelled(validators):
        name = label or type(value).__name__.lower()
        found[name] = _named(value, target_type, known) if isinstance(value, str) else value
        check_validator(found[name])
    if not found:
        raise ParameterError(
            f"'validators' must name at least one. Got none. Use some of {', '.join(known)}."
        )
    return found


def labelled(given: Any) -> list[tuple[str | None, Any]]:
    """Names or estimators with their labels, from text, an estimator, a sequence or a mapping."""
    if isinstance(given, Mapping):
        return [(str(name), value) for name, value in given.items()]
    if isinstance(given, str):
        return [(part.strip(), part.strip()) for part in given.split(",") if part.strip()]
    if hasattr(given, "fit") or not isinstance(given, Iterable):
        return [(None, given)]
    return [pair for value in given for pair in _labelled_item(value)]


def _labelled_item(value: Any) -> list[tuple[str | None, Any]]:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return [value]
    return labelled(value) if isinstance(value, str) else [(None, value)]


def _named(name: str, target_type: TargetType, known: Mapping[str, Any]) -> Any:
    if name == "linear":
        return known[LINEAR[target_type]]
    if name not in known:
        raise ParameterError(
            f"'validators' must be names for {target_type}, or estimators. Got {name!r}. "
            f"Use some of {', '.join(known)}."
        )
    return known[name]

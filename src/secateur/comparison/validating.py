"""Validators by name: the models that judge what methods have chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from secateur._data.target import Task
from secateur.evaluation.rows import check_validator
from secateur.evaluation.validators import linear_model, numbers_then
from secateur.exceptions import ParameterError
from secateur.selectors.boosted import AGBMClassifier, AGBMRegressor

LINEAR = {"classification": "logistic", "regression": "ridge"}


def known_validators(task: Task, *, is_sparse: bool) -> dict[str, Any]:
    """The validators that have a name.

    Parameters
    ----------
    task : {"classification", "regression"}
    is_sparse : bool
        Whether the table is a sparse matrix.

    Examples
    --------
    >>> list(known_validators("regression", is_sparse=False))
    ['ridge', 'knn', 'trees']
    """
    is_classes = task == "classification"
    neighbours = KNeighborsClassifier() if is_classes else KNeighborsRegressor()
    booster = AGBMClassifier if is_classes else AGBMRegressor
    # nothing to pay: plain boosted trees, which take missing cells, categories and sparse tables
    trees = booster(
        penalty=0.0, max_iter=100, early_stopping=False, categorical_features="from_dtype"
    )
    return {
        LINEAR[task]: linear_model(task, is_sparse=is_sparse),
        "knn": numbers_then(neighbours, is_sparse=is_sparse),
        "trees": trees.set_params(categorical_features=None) if is_sparse else trees,
    }


def read_validators(validators: Any, task: Task, *, is_sparse: bool) -> dict[str, Any]:
    """Validators in the user's words as estimators by name.

    Parameters
    ----------
    validators : None, str, estimator, sequence of these, or dict of estimators
        None is all that have a name. Text is a name, or several parted by commas.
    """
    known = known_validators(task, is_sparse=is_sparse)
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
            found[value] = _named(value, task, known)
            continue
        label, judge = value if isinstance(value, tuple) else (type(value).__name__.lower(), value)
        found[str(label)] = _named(judge, task, known) if isinstance(judge, str) else judge
        check_validator(found[str(label)])
    if not found:
        raise ParameterError(
            f"'validators' must name at least one. Got none. Use some of {', '.join(known)}."
        )
    return found


def _named(name: str, task: Task, known: Mapping[str, Any]) -> Any:
    if name == "linear":
        return known[LINEAR[task]]
    if name not in known:
        raise ParameterError(
            f"'validators' must be names for {task}, or estimators. Got {name!r}. "
            f"Use some of {', '.join(known)}."
        )
    return known[name]

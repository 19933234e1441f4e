"""Methods by name: the selectors of secateur, found by walking its public names, and baselines."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from secateur.data.messages import similar_to
from secateur.data.target import TargetType
from secateur.exceptions import ParameterError
from secateur.model_selection import baselines
from secateur.model_selection import baselines as baseline_models
from secateur.model_selection.tasks import knows_tasks


class Unsuited(BaseEstimator):  # type: ignore[misc]  # untyped base
    """A method that cannot predict this type of target; its fit fails and says so.

    Parameters
    ----------
    why : str
        What is wrong, in a sentence.
    """

    def __init__(self, why: str = "") -> None:
        self.why = why

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002 - looks at nothing
        """Say why not."""
        raise ParameterError(self.why)

    def get_support(self) -> Any:
        """Never comes to it."""
        raise ParameterError(self.why)


NICKNAMES = {"featuregradients": "fg", "multitaskagbm": "multitask"}
ENDINGS = {"Classifier": "classification", "Regressor": "regression", "Selector": None}
"""How the names of selectors end, and which type of target that means; None is both."""

BASELINES: dict[str, Callable[[str], Any]] = {
    "mutual_info": baselines.MutualInformation,
    "mrmr": baselines.MRMR,
    "l1": baseline_models.L1,
    "rfecv": baseline_models.Elimination,
    "boruta": baseline_models.BorutaChoice,
    "cegb": baseline_models.CoupledCEGB,
    "random": baselines.Chance,
    "all": lambda _: baselines.Everything(),
}
F_TESTS = {"classification": "f_classif", "regression": "f_regression"}
DEFAULT_BASELINES = ("mutual_info", "l1", "random", "all")
PACKAGES = {"boruta": "boruta", "cegb": "lightgbm"}
"""Baselines that need a package of their own."""


def own_methods(target_type: TargetType) -> dict[str, Any]:
    """The selectors of secateur that can be raced: those that want X and y and nothing more.

    >>> sorted(own_methods("regression"))
    ['agbm', 'featboost', 'fg', 'gbfs', 'grafting', 'gtgbm', 'iis']
    """
    return {name: each for name, each in all_methods(target_type).items() if not knows_tasks(each)}


def all_methods(target_type: TargetType) -> dict[str, Any]:
    """All selectors of secateur for a type of target, not fitted, by their short names.

    >>> sorted(set(all_methods("regression")) - set(own_methods("regression")))
    ['multitask']
    """
    # by name, because the front door is above this room: a new selector is found by itself
    front = importlib.import_module("secateur")
    found = {}
    for name in front.__all__:
        stem, its_type = _parted(name)
        if stem and its_type in {target_type, None}:
            kind = getattr(front, name)
            if inspect.isclass(kind) and hasattr(kind, "with_cut"):
                found[NICKNAMES.get(stem, stem)] = _made(kind, target_type)
    return found


def plain_name(method: str) -> str:
    """The short name of a method, however it is written.

    >>> plain_name("GT-GBM"), plain_name("FeatureGradients"), plain_name("f_classif")
    ('gtgbm', 'fg', 'f_classif')
    """
    lower = method.strip().lower()
    if lower in BASELINES or lower in F_TESTS.values():
        return lower
    plain = lower.replace("-", "").replace("_", "")
    return NICKNAMES.get(plain, plain)


def known_methods(target_type: TargetType) -> dict[str, Any]:
    """All methods that have a name, own ones first.

    >>> [name for name in known_methods("classification") if name.startswith("f")]
    ['featboost', 'fg', 'f_classif']
    """
    f_test = {F_TESTS[target_type]: baselines.FTest(target_type)}
    return (
        own_methods(target_type)
        | f_test
        | {name: make(target_type) for name, make in BASELINES.items()}
    )


def read_methods(selectors: Any, target_type: TargetType) -> dict[str, Any]:
    """Methods in the user's words as estimators by name.

    A method that is for another task becomes one that fails and says why, as long as there are
    others to race.

    Parameters
    ----------
    selectors : None, str, estimator, sequence of these, or dict of estimators
        None is all selectors of secateur and a few baselines. Text is a name, or several parted by
        commas.
    target_type : {"classification", "regression"}
    """
    if selectors is None:
        names = [*own_methods(target_type), F_TESTS[target_type], *DEFAULT_BASELINES]
        return {name: known_methods(target_type)[name] for name in names}
    if isinstance(selectors, Mapping):
        given = [(str(name), value) for name, value in selectors.items()]
    else:
        given = [_labelled(value) for value in _listed(selectors)]
    known = known_methods(target_type)
    methods: dict[str, Any] = {}
    for label, value in given:
        name = label if label not in methods or isinstance(value, str) else _unused(label, methods)
        methods[name] = (
            _named(value, target_type, known) if isinstance(value, str) else _checked(value)
        )
    if not methods:
        raise ParameterError(
            f"'selectors' must name at least one method. Got none. Use some of {_list(known)}."
        )
    unsuited = [each for each in methods.values() if isinstance(each, Unsuited)]
    if len(unsuited) == len(methods):
        raise ParameterError(unsuited[0].why)
    return methods


def _parted(name: str) -> tuple[str, str | None]:
    for ending, target_type in ENDINGS.items():
        if name.endswith(ending):
            return name.removesuffix(ending).lower(), target_type
    return "", None


def _made(kind: type, target_type: TargetType) -> Any:
    # columns of text are categories to those that know categories
    wanted = {"target_type": target_type, "categorical_features": "from_dtype"}
    known = inspect.signature(kind).parameters
    return kind(**{name: value for name, value in wanted.items() if name in known})


def _listed(selectors: Any) -> list[Any]:
    if isinstance(selectors, str):
        return [part.strip() for part in selectors.split(",") if part.strip()]
    if hasattr(selectors, "fit") or not isinstance(selectors, Iterable):
        return [selectors]
    return [
        part for value in selectors for part in (_listed(value) if _is_text(value) else [value])
    ]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _labelled(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return value
    kind = type(value).__name__
    stem, _ = _parted(kind)
    return NICKNAMES.get(stem, stem or kind.lower()), value


def _unused(label: str, taken: Mapping[str, Any]) -> str:
    number = 2
    while f"{label}_{number}" in taken:
        number += 1
    return f"{label}_{number}"


def _named(name: str, target_type: TargetType, known: Mapping[str, Any]) -> Any:
    plain = plain_name(name)
    if plain in known:
        return known[plain]
    others: TargetType = "regression" if target_type == "classification" else "classification"
    if plain in known_methods(others):
        what = (
            f"'selectors' must be methods for {target_type}. Got {name!r}, which is for {others}."
        )
    elif plain in all_methods(target_type):
        what = (
            "'selectors' must be methods that want X and y only. Got "
            f"{name!r}, which wants the task of each row."
        )
    else:
        raise ParameterError(
            f"'selectors' must be names of methods, or estimators. Got {name!r}."
            f"{similar_to(name, list(known))} Use some of {_list(known)}."
        )
    return Unsuited(f"{what} Use some of {_list(known)}.")


def _checked(value: Any) -> Any:
    chooses = any(hasattr(value, name) for name in ("with_cut", "get_support", "transform"))
    if isinstance(value, type) or not hasattr(value, "fit") or not chooses:
        raise ParameterError(
            "'selectors' must be names of methods, or estimators with fit and get_support. Got "
            f"{value!r}. Use for instance 'agbm', or AGBMClassifier()."
        )
    return value


def _list(known: Mapping[str, Any]) -> str:
    there = [name for name in known if _is_installed(name)]
    return ", ".join(there)


def _is_installed(name: str) -> bool:
    return name not in PACKAGES or importlib.util.find_spec(PACKAGES[name]) is not None

"""Methods by name: the selectors of secateur, found among its public names, and baselines."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import itertools
from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from secateur.data.target import TargetType
from secateur.exceptions import ParameterError, similar_to
from secateur.model_selection.baselines import RANKERS, Baseline
from secateur.model_selection.rows import check_target_type, knows_tasks
from secateur.model_selection.validators import labelled


class Unsuited(BaseEstimator):  # type: ignore[misc]  # untyped base
    """A method that cannot predict this type of target; its fit fails and says so."""

    def __init__(self, why: str = "") -> None:
        self.why = why

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002 - looks at nothing
        """Raise the reason."""
        raise ParameterError(self.why)


TARGET_TYPES: tuple[TargetType, ...] = ("regression", "classification", "ranking")
NICKNAMES = {"featuregradients": "fg", "multitaskagbm": "multitask"}
# How the names of selectors end, and which type of target that means; None is the first two.
ENDINGS: dict[str, str | None] = {"Classifier": "classification", "Regressor": "regression"}
ENDINGS |= {"Ranker": "ranking", "Selector": None}
BASELINES = (*RANKERS, "all")
F_TESTS = {"classification": "f_classif", "regression": "f_regression"}
RANKING_BASELINES = ("gbdt_topk", "xgb_topk", "cegb", "random", "all")
DEFAULT_BASELINES = ("mutual_info", "l1", "random", "all")
# Baselines that need a package of their own.
PACKAGES = {"boruta": "boruta", "cegb": "lightgbm", "gbdt_topk": "lightgbm"}
PACKAGES |= {"xgb_topk": "xgboost", "hsic_lasso": "pyHSICLasso"}


def own_methods(target_type: TargetType) -> dict[str, Any]:
    """The selectors of secateur that can be compared: those whose fit needs X and y only."""
    found = {}
    for name, kind in selector_classes(target_type).items():
        if not knows_tasks(kind):
            is_for_both = "target_type" in inspect.signature(kind).parameters
            found[name] = kind(target_type=target_type) if is_for_both else kind()
    return found


def selector_classes(target_type: TargetType) -> dict[str, type]:
    """The classes of all selectors of secateur for a type of target, by their short names."""
    # by name, because selectors are above this package; a new selector is found by itself
    package = importlib.import_module("secateur")
    found = {}
    for name in package.__all__:
        stem, its_type = _stem(name)
        if stem and its_type in {target_type, None if target_type != "ranking" else "ranking"}:
            kind = getattr(package, name)
            if inspect.isclass(kind) and hasattr(kind, "with_cut"):
                found[stem] = kind
    return found


def plain_name(method: str) -> str:
    """The short name of a method, however it is written."""
    lower = method.strip().lower()
    if lower in {*BASELINES, *RANKING_BASELINES}:
        return lower
    plain = lower.replace("-", "").replace("_", "")
    return NICKNAMES.get(plain, plain)


def known_methods(target_type: TargetType) -> dict[str, Any]:
    """All methods that have a name, own ones first."""
    names: tuple[str, ...] = RANKING_BASELINES
    if target_type != "ranking":
        others = {*F_TESTS.values()} - {F_TESTS[target_type]}
        names = tuple(name for name in BASELINES if name not in others)
    return own_methods(target_type) | {name: Baseline(name, target_type) for name in names}


def read_methods(
    selectors: Any, target_type: TargetType, what: str = "selectors"
) -> dict[str, Any]:
    """Methods as estimators by name, from what a user may write for `what`; see `Unsuited`."""
    known = known_methods(target_type)
    if selectors is None and target_type == "ranking":
        return {name: known[name] for name in _list(known).split(", ")}
    if selectors is None:
        own = [name for name, each in own_methods(target_type).items() if not tries_methods(each)]
        return {name: known[name] for name in [*own, F_TESTS[target_type], *DEFAULT_BASELINES]}
    methods: dict[str, Any] = {}
    for label, value in labelled(selectors):
        if isinstance(value, str):
            methods[label or value] = _named(value, target_type, known, what)
            continue
        kind = type(value).__name__
        name = label or _stem(kind)[0] or kind.lower()
        numbered = itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2)))
        free = next(name for name in numbered if name not in methods)
        methods[free] = _checked(value, target_type, what)
    if not methods:
        raise ParameterError(
            f"'{what}' must name at least one method. Got none. Use some of {_list(known)}."
        )
    unsuited = [each for each in methods.values() if isinstance(each, Unsuited)]
    if len(unsuited) == len(methods):
        raise ParameterError(unsuited[0].why)
    return methods


def _stem(name: str) -> tuple[str, str | None]:
    for ending, target_type in ENDINGS.items():
        if name.endswith(ending):
            stem = name.removesuffix(ending).lower()
            return NICKNAMES.get(stem, stem), target_type
    return "", None


def tries_methods(selector: Any) -> bool:
    """Whether a selector, or its class, compares methods itself."""
    return getattr(selector, "_tries_methods", False)


def _named(name: str, target_type: TargetType, known: Mapping[str, Any], option: str) -> Any:
    plain = plain_name(name)
    if plain in known:
        return known[plain]
    others = [each for each in TARGET_TYPES if plain in known_methods(each)]
    if others:
        what = f"methods for {target_type}. Got {name!r}, which is for {others[0]}."
    elif plain in selector_classes(target_type):
        what = f"methods that need X and y only. Got {name!r}, which needs the task of each row."
    else:
        raise ParameterError(
            f"'{option}' must be names of methods, or estimators. Got {name!r}."
            f"{similar_to(name, list(known))} Use some of {_list(known)}."
        )
    return Unsuited(f"'{option}' must be {what} Use some of {_list(known)}.")


def _checked(value: Any, target_type: TargetType, option: str) -> Any:
    chooses = any(hasattr(value, name) for name in ("with_cut", "get_support", "transform"))
    if isinstance(value, type) or not hasattr(value, "fit") or not chooses:
        raise ParameterError(
            f"'{option}' must be names of methods, or estimators with fit and get_support. Got "
            f"{value!r}. Use for instance 'agbm', or AGBMClassifier()."
        )
    if hasattr(value, "with_cut"):  # others may rank by any model
        check_target_type(option, value, target_type)
    return value


def _list(known: Mapping[str, Any]) -> str:
    return ", ".join(
        name for name in known if name not in PACKAGES or importlib.util.find_spec(PACKAGES[name])
    )

"""Methods by short names, found among the public names: ``agbm`` for AGBMClassifier."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import secateur
from secateur._data.wording import similar_to
from secateur.exceptions import ParameterError

_NICKNAMES = {"featuregradients": "fg"}
_KINDS = {"Classifier": "classification", "Regressor": "regression", "Selector": ""}


def known_methods() -> dict[str, dict[str, str]]:
    """The public selectors: short name, then task ("" for any), then name of the class.

    >>> known_methods()["agbm"]["regression"]
    'AGBMRegressor'
    >>> known_methods()["fg"]
    {'': 'FeatureGradientsSelector'}
    """
    found: dict[str, dict[str, str]] = {}
    for name in secateur.__all__:
        for suffix, task in _KINDS.items():
            if name.endswith(suffix):
                found.setdefault(short_name(name.removesuffix(suffix)), {})[task] = name
    return found


def short_name(stem: str) -> str:
    """What a family is called for short.

    >>> short_name("FeatureGradients"), short_name("feat-boost"), short_name("AGBM")
    ('fg', 'featboost', 'agbm')
    """
    name = stem.lower().replace("-", "").replace("_", "")
    return _NICKNAMES.get(name, name)


def selector_class(method: str, task: str) -> type:
    """The class of a method for a task."""
    chosen = _found(method)
    name = chosen.get(task) or chosen.get("")
    if name is None:
        methods = known_methods()
        others = sorted(short for short, kinds in methods.items() if task in kinds or "" in kinds)
        raise ParameterError(
            f"{method!r} does not do {task}. Got that task. Use one of {', '.join(others)}, or "
            "another --task."
        )
    found: type = getattr(secateur, name)
    return found


def _found(method: str) -> dict[str, str]:
    methods = known_methods()
    chosen = methods.get(short_name(method))
    if chosen is None:
        raise ParameterError(
            f"'method' must be one of {', '.join(sorted(methods))}. Got {method!r}."
            f"{similar_to(method, list(methods))}"
        )
    return chosen


def takes_categories(method: str) -> bool:
    """Whether all classes of a method take categories as they are."""
    tasks = ("classification", "regression")
    kinds = {_found(method).get(task) or _found(method).get("") for task in tasks} - {None}
    return all("categorical_features" in parameters_of(getattr(secateur, str(k))) for k in kinds)


def parameters_of(selector: type) -> dict[str, inspect.Parameter]:
    """The parameters of a selector by name."""
    return dict(inspect.signature(selector).parameters)


def read_settings(settings: Sequence[str], selector: type) -> dict[str, Any]:
    """Further parameters, each as ``name=value``; values as in Python, or text.

    >>> from secateur import AGBMClassifier
    >>> read_settings(["max_depth=3", "leaf=newton"], AGBMClassifier)
    {'max_depth': 3, 'leaf': 'newton'}
    """
    known = parameters_of(selector)
    found = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or name not in known:
            raise ParameterError(
                f"'--set' must be name=value with a parameter of {selector.__name__}. Got "
                f"{setting!r}.{similar_to(name, list(known))} There are {', '.join(sorted(known))}."
            )
        found[name] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)

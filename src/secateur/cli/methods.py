"""Methods by short names, as ``agbm`` for AGBMClassifier, and their parameters in plain text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from secateur.data.messages import similar_to
from secateur.exceptions import ParameterError
from secateur.model_selection.methods import all_methods, plain_name

if TYPE_CHECKING:
    from secateur.data.target import TargetType


TARGET_TYPES: tuple[TargetType, ...] = ("classification", "regression")


def selector_class(method: str, target_type: TargetType) -> type:
    """The class of a method for a type of target.

    >>> selector_class("agbm", "regression").__name__
    'AGBMRegressor'
    """
    by_type = _classes(method)
    if target_type not in by_type:
        raise ParameterError(
            f"{method!r} does not do {target_type}. Got that type of target. Use one of "
            f"{', '.join(sorted(all_methods(target_type)))}, or another --target-type."
        )
    return by_type[target_type]


def takes_categories(method: str) -> bool:
    """Whether a method takes categories as they are, whatever the target."""
    return all("categorical_features" in parameters_of(kind) for kind in _classes(method).values())


def fits_stored(method: str, *, on_cluster: bool = False) -> bool:
    """Whether a method fits on tables on disk, block by block, and can be judged there."""
    where = "cluster" if on_cluster else "here"
    kinds = _classes(method).values()
    return all(where in getattr(kind, "_fits_on_disk", ()) for kind in kinds)


def uses_bins(method: str) -> bool:
    """Whether a method sees numbers as bins."""
    return all("max_bins" in parameters_of(kind) for kind in _classes(method).values())


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


def _classes(method: str) -> dict[TargetType, type]:
    """The class of a method for each type of target that it can predict."""
    name = plain_name(method)
    known = {target_type: all_methods(target_type) for target_type in TARGET_TYPES}
    found = {
        target_type: type(methods[name])
        for target_type, methods in known.items()
        if name in methods
    }
    if not found:
        names = sorted({name for methods in known.values() for name in methods})
        raise ParameterError(
            f"'method' must be one of {', '.join(names)}. Got {method!r}."
            f"{similar_to(method, names)}"
        )
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)

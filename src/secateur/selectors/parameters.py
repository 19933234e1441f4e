"""Parameters of selectors: constraints, reading, storing and documenting them.

An error says what is asked for, what was given and what to do:
'penalty' must be a number >= 0. Got -1.0. Use 0 for no penalty.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from itertools import chain
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from secateur.exceptions import ParameterError
from secateur.execution.dask import is_executor
from secateur.model_selection.folds import is_drawn
from secateur.typing import BoolArray


class Constraint(NamedTuple):
    """A test of a value, its condition in words, and advice."""

    accepts: Callable[[Any], bool]
    must: str
    advice: str

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError unless the value passes."""
        if not self.accepts(value):
            raise ParameterError(f"'{name}' must be {self.must}. Got {value!r}. {self.advice}")


def number(
    least: float,
    most: float = math.inf,
    *,
    advice: str,
    above: bool = False,
    below: bool = False,
    or_none: bool = False,
    words: tuple[str, ...] = (),
    whole: bool = False,
) -> Constraint:
    """A number in a range; ``above`` and ``below`` leave the ends out.

    >>> number(0, advice="Use 0 for no penalty.").check("penalty", 0.5)
    """
    kind = "an int" if whole else "a finite number" if below and most == math.inf else "a number"
    span = kind if least == -math.inf else f"{kind} {'>' if above else '>='} {least:g}"
    if most < math.inf:
        span += f" and {'<' if below else '<='} {most:g}"

    def accepts(value: Any) -> bool:
        if value is None:
            return or_none
        if isinstance(value, str):
            return value in words
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if whole else Real):
            return False
        size = float(value)
        low = size > least if above else size >= least
        return low and (size < most if below else size <= most)

    return Constraint(accepts, _join([span, *map(repr, words)], or_none), advice)


def one_of(*options: Any, advice: str) -> Constraint:
    """One of a few values."""

    def accepts(value: Any) -> bool:
        plain = value.item() if isinstance(value, np.generic) else value
        # by type as well: 1 is not True
        return any(type(plain) is type(option) and plain == option for option in options)

    return Constraint(accepts, _join([repr(option) for option in options]), advice)


def _join(parts: list[str], or_none: bool = False) -> str:
    options = [*parts, "None"] if or_none else parts
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


def check_parameters(constraints: Mapping[str, Constraint], values: Mapping[str, Any]) -> None:
    """Check each value that has a constraint."""
    for name, constraint in constraints.items():
        if name in values:
            constraint.check(name, values[name])


def cv_from(least: int, advice: str) -> Constraint:
    """Folds: None, a number of them, a splitter or lists of rows."""

    def accepts(value: Any) -> bool:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return bool(value >= least)
        return value is None or (not is_drawn(value) and not isinstance(value, bool))

    must = f"None, an int >= {least}, a splitter or a list of (train, test) rows"
    return Constraint(accepts, must, advice)


SHARED_CONSTRAINTS: dict[str, Constraint] = {
    "cv": cv_from(0, "Use 5 for five folds."),
    "max_features": number(1, whole=True, or_none=True, advice="Use None for no limit."),
    "verbose": number(0, whole=True, advice="Use 1 for a progress bar."),
    "n_jobs": number(-np.inf, whole=True, or_none=True, advice="Use None for all cores."),
    "executor": Constraint(
        is_executor, "None or a DaskExecutor", "Use secateur.DaskExecutor(client)."
    ),
}


def read_penalty(name: str, given: Any, most: float = math.inf) -> float | list[float] | None:
    """One number, a falling grid, or None for "auto"; each from 0 to below ``most``.

    >>> read_penalty("penalty", [0.01, 0.1], 1.0)
    [0.1, 0.01]
    """
    advice = "Use 'auto' to have it chosen, 0 for no penalty."
    if isinstance(given, str) and given == "auto":
        return None
    if isinstance(given, str) or not np.iterable(given):
        number(0, most, below=True, words=("auto",), advice=advice).check(name, given)
        return float(given)
    values = list(given)
    if not values:
        raise ParameterError(f"{name!r} must hold at least one value. Got {given!r}. {advice}")
    each = number(0, most, below=True, advice=advice)
    for value in values:
        each.check(name, value)
    return sorted({float(value) for value in values}, reverse=True)


def check_kept(keep: BoolArray, max_features: int | None) -> None:
    """Features that are always in must be allowed to be."""
    if max_features is not None and keep.sum() > max_features:
        raise ParameterError(
            f"'max_features' must be at least the number of kept features, {keep.sum()}. Got "
            f"{max_features}. Keep fewer, or raise it."
        )


Class = TypeVar("Class", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False)
def with_constructor(cls: Class) -> Class:
    """Make the constructor of a class from annotated defaults: its own and those of its bases.

    Constraints are collected alike. The docstring of a class with examples gets the parameters and
    attributes of its bases.
    """
    types = {name: kind for name, kind in inspect.get_annotations(cls).items() if name[0] != "_"}
    cls._own = [  # type: ignore[attr-defined]
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=vars(cls)[name], annotation=kind
        )
        for name, kind in types.items()
    ]
    for name in types:
        delattr(cls, name)  # instances have it, as those of scikit-learn
    bases = cls.__mro__[::-1]
    own = {each.name: each for base in bases for each in vars(base).get("_own", ())}
    defaults = {name: each.default for name, each in own.items()}

    def __init__(self: Any, **given: Any) -> None:  # noqa: N807
        signature.bind(self, **given)  # refuses other names
        vars(self).update(defaults | given)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, *own.values()])
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[misc]
    constraints = (vars(base).get("_constraints", {}).items() for base in bases)
    cls._constraints = dict(chain.from_iterable(constraints))  # type: ignore[attr-defined]
    head, title, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    if title and not _section(cls, "Parameters"):
        sections = [head.rstrip()]
        for name in ("Parameters", "Attributes"):
            texts = filter(None, (_section(base, name) for base in bases))
            sections.append(f"{name}\n----------\n" + "\n".join(texts))
        cls.__doc__ = "\n\n".join([*sections, title + examples])
    return cls


def _section(cls: type, title: str) -> str:
    """A section of the docstring of a class of this library."""
    if not cls.__module__.startswith("secateur."):
        return ""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    return text.partition(f"{title}\n{'-' * len(title)}\n")[2].partition("\n\n")[0]

"""The names of a table's columns: brought by X or made up, and the same again later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from secateur._data.wording import some_of
from secateur.exceptions import InputError, InputTypeError


def made_up_names(n_features: int) -> tuple[str, ...]:
    """Name columns that have no name.

    Examples
    --------
    >>> made_up_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple([f"x{position}" for position in range(n_features)])


def names_of(X: Any) -> tuple[tuple[str, ...], bool]:
    """Give the names that a data frame brings, and whether it brings any.

    As in scikit-learn, names that are not text (pandas' 0, 1, 2, ...) count as none.
    """
    found: Any = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
    labels = list(found) if _is_listed(found) else []
    _refuse_doubles(labels)
    n_text = sum(isinstance(label, str) for label in labels)
    if n_text == 0:
        return made_up_names(len(labels)), False
    if n_text < len(labels):
        raise InputTypeError(
            f"The column names of X must all be text. Got {some_of(labels)}. Convert them with "
            "X.columns = X.columns.astype(str)."
        )
    return tuple(map(str, labels)), True


def check_width(n_features: int, names: Sequence[str]) -> None:
    """Refuse a table with another number of columns than at fit time."""
    if n_features != len(names):
        raise InputError(
            f"X has {n_features} features, but secateur is expecting {len(names)} features as "
            "input, as at fit time. Give the same columns in the same order."
        )


def align(names: Sequence[str], expected: Sequence[str]) -> list[int] | None:
    """Give the order that brings names into that of fit time; None if they are in it.

    Examples
    --------
    >>> align(("b", "a"), ("a", "b"))
    [1, 0]
    """
    if tuple(names) == tuple(expected):
        return None
    positions = {name: position for position, name in enumerate(names)}
    wanted = set(expected)
    missing = [name for name in expected if name not in positions]
    extra = [name for name in names if name not in wanted]
    if missing or extra:
        parts = [f"missing: {some_of(missing)}"] if missing else []
        parts += [f"unknown: {some_of(extra)}"] if extra else []
        raise InputError(
            f"X must have the columns it had at fit time. Got {'; '.join(parts)}. Give the same "
            "columns."
        )
    return [positions[name] for name in expected]


def _is_listed(found: Any) -> bool:
    # polars' and pandas' columns are lists of a kind; those of other objects may be anything
    return hasattr(found, "__iter__") and hasattr(found, "__len__")


def _refuse_doubles(labels: list[Any]) -> None:
    doubled = [label for label, count in Counter(labels).items() if count > 1]
    if doubled:
        raise InputError(
            f"The column names of X must differ. Got more than one {some_of(doubled)}. Rename or "
            "drop the doubled columns."
        )

"""Finding features by what users call them: names, indices or a boolean mask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secateur.exceptions import InputError, InputTypeError, similar_to, some_of
from secateur.typing import AnyArray, IntArray


def made_up_names(n_features: int) -> tuple[str, ...]:
    """Name columns that have no name."""
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


@dataclass(frozen=True, eq=False)
class FeatureIndex:
    """The features of a table, to be found by name, index or mask.

    Parameters
    ----------
    names : sequence of str
        The names, in the order of the columns.

    Examples
    --------
    >>> index = FeatureIndex(("age", "height", "mass"))
    >>> index.find(["mass", 0], parameter="keep")
    array([2, 0])
    >>> index.find([False, True, False], parameter="keep")
    array([1])
    """

    names: Sequence[str]

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each name; made on first use, for tables may be very wide."""
        return {name: position for position, name in enumerate(self.names)}

    def find(self, features: Any, *, parameter: str) -> IntArray:
        """Give the indices of features, in the order given."""
        if isinstance(features, str) or np.isscalar(features):
            features = [features]  # one name is meant whole, not letter by letter
        array = _as_array(features)
        if array.dtype.kind == "b" and array.size:
            return self._from_mask(array, parameter)
        if array.dtype.kind in "iu":
            return self._from_indices(array, parameter)
        items = array.tolist()
        return np.fromiter((self.find_one(f, parameter=parameter) for f in items), np.int64)

    def find_one(self, feature: Any, *, parameter: str) -> int:
        """Give the index of one feature, called by name or by index."""
        if isinstance(feature, str):
            if feature not in self.positions:
                raise self._unknown_name(feature, parameter)
            return self.positions[feature]
        if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
            return int(self._from_indices(np.array([feature]), parameter)[0])
        raise InputError(
            f"{parameter!r} must hold names or indices of features. Got {feature!r}. Use the "
            "column's name as text or its position as a whole number."
        )

    def _unknown_name(self, name: str, parameter: str) -> InputError:
        hint = similar_to(name, self.names) or f" The features are {some_of(self.names)}."
        return InputError(f"{parameter!r} must name features of X. Got {name!r}.{hint}")

    def _from_mask(self, mask: AnyArray, parameter: str) -> IntArray:
        if mask.shape != (len(self.names),):
            raise InputError(
                f"{parameter!r} as a mask must have one value per feature, {len(self.names)}. "
                f"Got shape {mask.shape}. Give the names or indices instead if in doubt."
            )
        return np.flatnonzero(mask)

    def _from_indices(self, indices: AnyArray, parameter: str) -> IntArray:
        wrong = indices[(indices < 0) | (indices >= len(self.names))]
        if wrong.size:
            raise InputError(
                f"{parameter!r} must hold indices from 0 to {len(self.names) - 1}. "
                f"Got {some_of(wrong.tolist())}. X has {len(self.names)} features."
            )
        return indices.astype(np.int64)


def _as_array(features: Iterable[Any]) -> AnyArray:
    if isinstance(features, np.ndarray):
        return features.ravel() if features.dtype.kind != "f" else features.astype(object)
    items = list(features)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        return np.array(items, dtype=np.bool_)
    # objects, so that numpy does not turn the 0 of ["mass", 0] into text
    return np.fromiter(items, dtype=object, count=len(items))

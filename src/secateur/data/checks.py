"""Checks of X, and features by what users call them: names, indices or a boolean mask."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from secateur.data.categories import is_missing, missing_in
from secateur.exceptions import InputError, InputTypeError, similar_to, some_of
from secateur.typing import AnyArray, FloatArray, IntArray

# Names as Python writes whole numbers, so that the text of a number finds them.
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}", re.ASCII)
_TIMES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is not a table of at least one row and one column."""
    if len(shape) < 2:
        kind = "1D" if shape else "scalar"
        raise InputError(
            f"Expected 2D array, got {kind} array instead. Got shape {shape}. Reshape your data "
            "with X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a single sample."
        )
    if len(shape) > 2:
        raise InputError(
            f"Expected 2D array, found array with dim {len(shape)}. Got shape {shape}. Reshape "
            "your data with X.reshape(len(X), -1)."
        )
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise InputError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required. "
                "Check the filters that made X."
            )


def check_real(dtype: np.dtype[np.generic], what: str = "X") -> None:
    """Refuse complex numbers."""
    if dtype.kind == "c":
        raise InputError(
            f"Complex data not supported. Got {what} of dtype {dtype}. Give both parts as columns."
        )


def to_floats(array: AnyArray) -> FloatArray:
    """Turn objects or text into floats, missing values into NaN."""
    try:
        return array.astype(np.float64)
    except TypeError as error:
        missing = missing_in(array)  # numpy reads None as NaN, but neither pandas' NA nor NaT
        if not missing.any():
            raise InputTypeError(
                f"X holds objects that are not numbers: {error}. Convert them to numbers."
            ) from error
        out = np.full(array.shape, np.nan)
        out[~missing] = to_floats(array[~missing])
        return out
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"X holds values that are not numbers: {error}. Got dtype {array.dtype}. Convert "
            "them to numbers, or name their columns in categorical_features."
        ) from error


def kind_of_objects(values: AnyArray) -> str:
    """What objects are that are not all numbers: "text", "time", "complex" or "other"."""
    if values.dtype.kind == "c":
        return "complex"
    kinds = {type(value): value for value in values.tolist() if not is_missing(value)}
    if any(isinstance(value, complex | np.complexfloating) for value in kinds.values()):
        return "complex"
    if any(isinstance(value, _TIMES) or hasattr(value, "start_time") for value in kinds.values()):
        return "time"  # a period of pandas has a start
    has_text = any(isinstance(value, str) for value in kinds.values())
    return "text" if has_text or not kinds else "other"


def made_up_names(n_features: int) -> tuple[str, ...]:
    """Name columns that have no name."""
    return tuple([f"x{position}" for position in range(n_features)])


def labels_of(X: Any) -> list[Hashable]:
    """The column names of a data frame as they are: text, numbers, tuples, dates."""
    found: Any = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
    # polars' and pandas' columns are like lists; those of other objects may be anything
    labels = list(found) if hasattr(found, "__iter__") and hasattr(found, "__len__") else []
    doubled = [label for label, count in Counter(labels).items() if count > 1]
    if doubled:
        raise InputError(
            f"The column names of X must differ. Got more than one {some_of(doubled)}. Rename them."
        )
    return labels


def names_of(X: Any) -> tuple[tuple[str, ...], bool]:
    """The names of the columns of a data frame as text, and whether it has any but 0, 1, 2, ..."""
    labels = labels_of(X)
    n_text = sum(isinstance(label, str) for label in labels)
    if labels == list(range(len(labels))):
        return made_up_names(len(labels)), False
    if 0 < n_text < len(labels):
        raise InputTypeError(
            f"The column names of X must all be text, or none of them. Got {some_of(labels)}. "
            "Convert them with X.columns = X.columns.astype(str)."
        )
    return tuple(map(name_of, labels)), True


def name_of(label: Any) -> str:
    """A column's name as text.

    >>> name_of(7), name_of(("age", 2)), name_of(7.0)
    ('7', "('age', 2)", '7')
    """
    if isinstance(label, tuple):
        label = tuple([each.item() if isinstance(each, np.generic) else each for each in label])
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if is_whole else label)


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
    positions, known = {name: place for place, name in enumerate(names)}, set(expected)
    missing = [name for name in expected if name not in positions]
    unknown = [name for name in names if name not in known]
    wrong = {"missing": missing, "unknown": unknown}
    parts = [f"{kind}: {some_of(found)}" for kind, found in wrong.items() if found]
    if parts:
        raise InputError(
            f"X must have the columns of fit time. Got {'; '.join(parts)}. Give the same columns."
        )
    return [positions[name] for name in expected]


@dataclass(frozen=True, eq=False)
class FeatureIndex:
    """The features of a table, to be found by name, index or mask.

    Names need not be given as text: 7 is the column '7'. If all names are whole numbers, numbers
    are names; otherwise they are positions, unless only a name fits.

    Examples
    --------
    >>> index = FeatureIndex(("age", "height", "mass"))
    >>> index.find(["mass", 0], parameter="keep")
    array([2, 0])
    >>> index.find([False, True, False], parameter="keep")
    array([1])
    >>> FeatureIndex(("7", "6", "5")).find([5, 7], parameter="keep")
    array([2, 0])
    """

    names: Sequence[str]  # in the order of the columns

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each name; made on first use, for tables may be very wide."""
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The names that are whole numbers."""
        return frozenset(int(name) for name in self.names if _NUMBER.fullmatch(name))

    def find(self, features: Any, *, parameter: str) -> IntArray:
        """Give the indices of features, in the order given."""
        is_tuple = isinstance(features, tuple) and name_of(features) in self.positions
        if is_tuple or isinstance(features, str) or not np.iterable(features):
            features = [features]  # a name is one item, not letters
        if isinstance(features, np.ndarray):
            is_float = features.dtype.kind == "f"
            array: AnyArray = features.astype(object) if is_float else features.ravel()
        else:
            items = list(features)
            is_mask = items and all(isinstance(item, bool | np.bool_) for item in items)
            # else objects, so that numpy does not turn the 0 of ["mass", 0] into text
            array = np.fromiter(items, np.bool_ if is_mask else object, len(items))
        if array.dtype.kind == "b" and array.size:
            if array.shape != (len(self.names),):
                raise InputError(
                    f"{parameter!r} as a mask must have one value per feature, {len(self.names)}. "
                    f"Got shape {array.shape}. Give the names or indices instead if in doubt."
                )
            return np.flatnonzero(array)
        if array.dtype.kind in "iu" and not self.numbers:
            return self._from_indices(array, parameter)
        return np.fromiter((self._find_one(f, parameter) for f in array.tolist()), np.int64)

    def _find_one(self, feature: Any, parameter: str) -> int:
        is_number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        is_position = is_number and len(self.numbers) < len(self.names)
        if is_position and feature not in self.numbers:
            return int(self._from_indices(np.array([feature]), parameter)[0])
        found = self.positions.get(name_of(feature))
        if is_position and 0 <= feature < len(self.names) and found != feature:
            raise InputError(
                f"{parameter!r} must distinguish names from positions. Got {feature}, the name of "
                f"column {found} and the position of {self.names[feature]!r}. Give names as text."
            )
        if found is None or isinstance(feature, bool):
            hint = similar_to(feature, self.names) if isinstance(feature, str) else ""
            hint = hint or f" The features are {some_of(self.names)}."
            raise InputError(f"{parameter!r} must name features of X. Got {feature!r}.{hint}")
        return found

    def _from_indices(self, indices: AnyArray, parameter: str) -> IntArray:
        wrong = indices[(indices < 0) | (indices >= len(self.names))]
        if wrong.size:
            raise InputError(
                f"{parameter!r} must hold indices from 0 to {len(self.names) - 1}. "
                f"Got {some_of(wrong.tolist())}. X has {len(self.names)} features."
            )
        return indices.astype(np.int64)

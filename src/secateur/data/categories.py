"""Category columns: which values there are, and the code of each, matched by value."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from secateur.exceptions import InputTypeError, SecateurWarning, UnknownCategoryWarning, some_of
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

MAX_CATEGORIES = 255
OTHER = "(other)"
_NUMERIC = "biuf"  # kinds of arrays
NEVER_MISSING = {str, bytes, bool, int}


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """The values of one category column, in the order of their codes."""

    values: AnyArray  # the code of a value is its position
    has_other: bool = False  # whether all other values share one more code, the last

    @property
    def labels(self) -> AnyArray:
        """The name of every code, the shared one included."""
        if not self.has_other:
            return self.values
        return _frozen(np.fromiter([*self.values.tolist(), OTHER], dtype=object))

    def encode(self, column: AnyArray) -> FloatArray:
        """Turn values into codes; missing and unknown values become NaN."""
        if column.dtype.kind in _NUMERIC and self.values.dtype.kind in _NUMERIC:
            if self.values.size == 0:
                return np.full(column.shape, np.nan)
            order = np.argsort(self.values)
            position = np.searchsorted(self.values, column, sorter=order)
            code = order[np.minimum(position, self.values.size - 1)]
            found = self.values[code] == column
            codes = np.where(found, code.astype(np.float64), np.nan)
            if self.has_other:
                codes[~found & ~missing_in(column)] = self.values.size
            return codes
        items = column.tolist()
        lookup = {value: float(code) for code, value in enumerate(self.values.tolist())}
        default = float(self.values.size) if self.has_other else np.nan
        try:
            if self.has_other:
                lookup |= {item: np.nan for item in dict.fromkeys(items) if is_missing(item)}
            return np.fromiter(map(lookup.get, items, repeat(default)), np.float64, len(items))
        except TypeError as error:
            raise _unhashable(error) from error


def learn_categories(
    column: AnyArray, *, name: str = "", order: Iterable[Any] | None = None
) -> Categories:
    """Find the distinct values of a column and give each a code, at most 255 of them."""
    if column.dtype.kind in _NUMERIC and order is None:
        values, counts = np.unique(column[~missing_in(column)], return_counts=True)
        return _most_frequent(values, counts.astype(np.int64), name)
    return categories_of(count_values(column.tolist()), name, order)


def categories_of(
    counts: Mapping[Any, int], name: str = "", order: Iterable[Any] | None = None
) -> Categories:
    """As `learn_categories`, from counts of the values."""
    ordered = sort_values(counts) if order is None else [each for each in order if each in counts]
    is_numeric = all(isinstance(value, int | float | np.number) for value in ordered)
    # one by one: numpy would unpack values that are themselves sequences
    values = np.array(ordered) if is_numeric and ordered else np.fromiter(ordered, dtype=object)
    numbers = np.fromiter((counts[value] for value in ordered), np.int64, len(ordered))
    return _most_frequent(values, numbers, name)


def _most_frequent(values: AnyArray, counts: IntArray, name: str) -> Categories:
    """A code for each value, or for the most frequent ones, where there are too many."""
    if values.size <= MAX_CATEGORIES:
        return Categories(_frozen(values))
    warnings.warn(
        f"Column {name!r} has more than {MAX_CATEGORIES} categories. Got {values.size}; the "
        f"{MAX_CATEGORIES - 1} most frequent are kept and all others count as one, {OTHER!r}. "
        "Group rare values beforehand to decide this yourself.",
        SecateurWarning,
        stacklevel=3,
    )
    frequent = np.argsort(-counts, kind="stable")[: MAX_CATEGORIES - 1]
    return Categories(_frozen(values[np.sort(frequent)]), has_other=True)


def warn_of_unknown(categories: Categories, column: AnyArray, name: str) -> None:
    """Warn of values that were not there when the categories were learnt."""
    if categories.has_other:
        return
    unknown = count_values(column[np.isnan(categories.encode(column))].tolist())
    if unknown:
        warnings.warn(
            f"Column {name!r} has categories that were not there at fit time. "
            f"Got {some_of(unknown)}. They count as missing.",
            UnknownCategoryWarning,
            stacklevel=2,
        )


def is_missing(value: Any) -> bool:
    """Whether one value stands for no value: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def types_in(objects: AnyArray) -> set[type]:
    """The types of an array of objects; a look at each takes a fraction of a check of each."""
    return set(map(type, objects.ravel().tolist()))


def missing_in(column: AnyArray) -> BoolArray:
    """Which values of an array of any kind are missing."""
    if column.dtype.kind in "fc":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind != "O" or types_in(column) <= NEVER_MISSING:
        return np.zeros(column.shape, dtype=np.bool_)
    return np.fromiter(map(is_missing, column.ravel()), np.bool_, column.size).reshape(column.shape)


def count_values(items: Iterable[Any]) -> dict[Any, int]:
    """Count the distinct values that are not missing, in order of appearance."""
    try:
        counts = Counter(items)
    except TypeError as error:
        raise _unhashable(error) from error
    return {value: n for value, n in counts.items() if not is_missing(value)}


def sort_values(values: Iterable[Any]) -> list[Any]:
    """Sort values; those that cannot be compared go by the name of their type, then as text."""
    values = list(values)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _unhashable(error: TypeError) -> InputTypeError:
    return InputTypeError(
        f"Categories must be plain values such as text or numbers. Got values of another kind "
        f"({error}). Convert the column to text or numbers."
    )


def _frozen(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array

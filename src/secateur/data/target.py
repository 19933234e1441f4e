"""The target: reading, checking, and guessing its type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secateur.data.categories import Categories, count_values, missing_in, sort_values
from secateur.data.checks import check_real
from secateur.data.frames import as_array, as_column, check_length
from secateur.exceptions import InputError, InputTypeError, some_of
from secateur.typing import AnyArray, FloatArray, IntArray

TargetType = Literal["classification", "regression"]


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The target, one value per row."""

    values: FloatArray  # numbers, or the codes 0 .. n_classes - 1
    classes: AnyArray | None = None  # labels, sorted, in their own type; None for regression

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    def take(self, rows: IntArray) -> Target:
        """Give the target of some rows, with the same classes."""
        return Target(self.values[rows], self.classes)


def read_target(y: Any, *, target_type: TargetType, n_rows: int | None = None) -> Target:
    """Check y and return it as numbers or codes, in new arrays."""
    if y is None:
        raise InputError(
            "Selecting features requires y to be passed, but the target y is None. Got None. Give "
            "one target value per row."
        )
    array = as_array(y, "y")
    check_real(array.dtype, "y")
    array = as_column(array)
    check_length(len(array), n_rows, "y")
    _check_filled(array)
    return _read_classes(array) if target_type == "classification" else _read_numbers(array)


def read_target_like(y: Any, like: Target, *, n_rows: int) -> Target:
    """Read the target of further rows in the classes of a target that is known already."""
    if like.classes is None:
        return read_target(y, target_type="regression", n_rows=n_rows)
    array = as_column(as_array(y, "y"))
    check_length(len(array), n_rows, "y")
    _check_filled(array)
    codes = {label: code for code, label in enumerate(like.classes.tolist())}
    unknown = sorted({str(label) for label in array.tolist() if label not in codes})
    if unknown:
        raise InputError(
            f"y must hold labels that the fit knows. Got {some_of(unknown)}. The labels are "
            f"{some_of(like.classes.tolist())}."
        )
    return Target(np.array([codes[label] for label in array.tolist()], np.float64), like.classes)


def _check_filled(array: AnyArray) -> None:
    if array.size == 0:
        raise InputError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required. Got an "
            "empty y. Give one target value per row."
        )
    n_missing = int(missing_in(array).sum())
    if n_missing:
        raise InputError(
            f"Input y contains NaN. Got {n_missing} missing of {array.size} target values. Drop "
            "those rows from X and y."
        )
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise InputError(
            "Input y contains infinity or a value too large for dtype('float64'). Got "
            f"{int(np.isinf(array).sum())} infinite of {array.size} target values. Replace them, "
            "or drop those rows."
        )


# ---- regression -------------------------------------------------------------------------------


def _read_numbers(array: AnyArray) -> Target:
    if array.dtype.kind in "USmM" or any(isinstance(value, str | bytes) for value in _peek(array)):
        raise InputError(
            f"y must hold numbers for regression. Got {some_of(array[:3].tolist())}, dtype "
            f"{array.dtype}. Convert y to numbers, or use the classifier."
        )
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(
            f"y must hold numbers for regression. Got values that are none: {error}. Convert y to "
            "numbers."
        ) from error
    if array.dtype.kind == "O":
        _check_filled(values)
    return Target(values)


def _peek(array: AnyArray) -> AnyArray:
    return array if array.dtype.kind == "O" else array[:0]


# ---- classification ---------------------------------------------------------------------------


def _read_classes(array: AnyArray) -> Target:
    if array.dtype.kind == "O":
        target = _read_labels(array)
    else:
        classes, codes = np.unique(array, return_inverse=True)
        target = Target(codes.astype(np.float64), classes)
    _check_classes(target.classes)
    return target


def _read_labels(array: AnyArray) -> Target:
    labels = sort_values(count_values(array.tolist()))
    is_text = [isinstance(label, str) for label in labels]
    if any(is_text) and not all(is_text):
        raise InputError(
            f"Unknown label type: a mixture. Got labels {some_of(labels)}, some text and some not. "
            "Make all labels text, for instance with y.astype(str)."
        )
    # nullable and object columns of numbers get the type that the numbers have
    classes = np.fromiter(labels, dtype=object) if all(is_text) else np.array(labels)
    return Target(Categories(np.fromiter(labels, dtype=object)).encode(array), classes)


def _check_classes(classes: AnyArray | None) -> None:
    if classes is None:
        return
    if classes.dtype.kind == "f" and (classes != np.floor(classes)).any():
        fractions = classes[classes != np.floor(classes)]
        raise InputError(
            f"Unknown label type: continuous. Got values such as {some_of(fractions[:3])}. Use the "
            "regressor, or turn y into a few classes."
        )
    if len(classes) < 2:
        raise InputError(
            "Classification needs at least two classes. Got 1 class: "
            f"{some_of(classes)}. Check the rows that y was taken from."
        )


# Whole numbers with at most so many different values are classes, if nobody says otherwise.
MOST_CLASSES = 20


def guess_target_type(y: Any) -> TargetType:
    """The type of target that y looks like.

    Text, booleans, categories, and whole numbers with at most 20 different values are classes,
    the last where there are two rows for each of them.

    >>> [guess_target_type(y) for y in ([0.1, 0.2], ["a", "b"], [3, 1, 3, 1])]
    ['regression', 'classification', 'classification']
    """
    array = as_array(y, "y")
    check_real(array.dtype, "y")
    return "classification" if _looks_like_classes(array.ravel()) else "regression"


def _looks_like_classes(array: AnyArray) -> bool:
    if array.dtype.kind in "USb":
        return True
    if array.dtype.kind == "O" and any(isinstance(value, str | bool) for value in array.tolist()):
        return True
    try:
        values: FloatArray = np.unique(array.astype(np.float64))
    except (TypeError, ValueError):
        return False
    is_whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    return bool(is_whole) and len(values) <= min(MOST_CLASSES, max(2, len(array) // 2))

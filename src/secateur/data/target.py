"""The target and the weights of rows: reading, checking, and guessing the type of target."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secateur.data.categories import (
    Categories,
    count_values,
    missing_in,
    sort_values,
    types_in,
)
from secateur.data.checks import check_real
from secateur.data.frames import as_array, as_column, check_length
from secateur.exceptions import (
    InputError,
    InputTypeError,
    ManyClassesWarning,
    ParameterError,
    some_of,
)
from secateur.typing import AnyArray, FloatArray, IntArray

TargetType = Literal["classification", "regression", "ranking"]
MAX_EXPONENT = 50  # of two: whole weights up to 2^50 count rows, larger ones are relative
MANY_CLASSES = 50  # a classifier warns of more
MAX_GUESSED_CLASSES = 20  # whole numbers of at most so many values are taken for classes
MAX_GRADE = 30  # of a document: gains are 2^grade - 1


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
            "The fit requires y to be passed, but the target y is None. Got no y. "
            "Give one value per row."
        )
    array = _read_vector(y, n_rows)
    if target_type == "ranking":
        return _read_grades(array)
    return _read_classes(array) if target_type == "classification" else _read_numbers(array)


def read_target_like(
    y: Any, like: Target, *, n_rows: int, target_type: TargetType = "regression"
) -> Target:
    """Read the target of further rows in the classes of a target that is known already."""
    if like.classes is None:
        return read_target(y, target_type=target_type, n_rows=n_rows)
    labels = _read_vector(y, n_rows).tolist()
    codes = {label: code for code, label in enumerate(like.classes.tolist())}
    unknown = sorted({str(label) for label in labels if label not in codes})
    if unknown:
        raise InputError(
            f"y must hold labels that the fit knows. Got {some_of(unknown)}. The labels are "
            f"{some_of(like.classes.tolist())}."
        )
    return Target(np.array([codes[label] for label in labels], np.float64), like.classes)


def _read_vector(y: Any, n_rows: int | None) -> AnyArray:
    array = as_array(y, "y")
    check_real(array.dtype, "y")
    array = as_column(array)
    check_length(len(array), n_rows, "y")
    _check_filled(array)
    return array


def _check_filled(array: AnyArray) -> None:
    if array.size == 0:
        raise InputError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required for y."
        )
    n_missing = int(missing_in(array).sum())
    if n_missing:
        raise InputError(
            f"Input y contains NaN. Got {n_missing} missing of {array.size} values. Drop the rows."
        )
    n_infinite = int(np.isinf(array).sum()) if array.dtype.kind == "f" else 0
    if array.dtype.kind == "O" and any(issubclass(kind, float) for kind in types_in(array)):
        n_infinite = sum(isinstance(value, float) and np.isinf(value) for value in array.ravel())
    if n_infinite:
        raise InputError(
            "Input y contains infinity or a value too large for dtype('float64'). Got "
            f"{n_infinite} infinite of {array.size} target values. Replace them, or drop those "
            "rows."
        )


def _read_numbers(
    array: AnyArray, advice: str = "for regression. {} Convert y to numbers, or use the classifier."
) -> Target:
    objects = array if array.dtype.kind == "O" else array[:0]
    if array.dtype.kind in "USmM" or any(isinstance(value, str | bytes) for value in objects):
        raise InputError(
            "y must hold numbers "
            + advice.format(f"Got {some_of(array[:3].tolist())}, dtype {array.dtype}.")
        )
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(
            f"y must hold numbers. Got others: {error}. Convert y to numbers."
        ) from error
    if len(objects):
        _check_filled(values)
    return Target(values)


def _read_grades(array: AnyArray) -> Target:
    """Grades of relevance: whole numbers from 0 to 30."""
    target = _read_numbers(array, "for ranking. {} Give grades, 0 for what is not relevant.")
    grade = target.values
    wrong = grade[(grade < 0) | (grade > MAX_GRADE) | (grade != np.floor(grade))]
    if wrong.size:
        raise InputError(
            f"y must hold whole grades from 0 to {MAX_GRADE} for ranking: gains are 2^grade - 1. "
            f"Got {some_of(np.unique(wrong)[:3].tolist())}. Use the rank of each value among its "
            "kind, or a few bins of y."
        )
    return target


def _read_classes(array: AnyArray) -> Target:
    codes: AnyArray
    if array.dtype.kind == "O":
        labels = sort_values(count_values(array.tolist()))
        is_text = [isinstance(label, str) for label in labels]
        if any(is_text) and not all(is_text):
            raise InputError(
                f"Unknown label type: a mixture. Got labels {some_of(labels)}, some text and some "
                "not. Make all labels text, for instance with y.astype(str)."
            )
        objects = np.fromiter(labels, dtype=object)
        # nullable and object columns of numbers get the type that the numbers have
        classes = objects if all(is_text) else np.array(labels)
        codes = Categories(objects).encode(array)
    else:
        classes, codes = np.unique(array, return_inverse=True)
    if classes.dtype.kind == "f" and (classes != np.floor(classes)).any():
        fractions = classes[classes != np.floor(classes)]
        raise InputError(
            f"Unknown label type: continuous. Got values such as {some_of(fractions[:3])}. Use the "
            "regressor, or turn y into a few classes."
        )
    if len(classes) < 2:
        raise InputError(
            f"Classification needs at least two classes. Got 1 class: {some_of(classes)}. Check y."
        )
    if len(classes) > MANY_CLASSES:
        warnings.warn(
            f"y has {len(classes)} classes in {len(array)} rows; a fit takes time in proportion. "
            "Use the regressor if y holds numbers, or join rare classes.",
            ManyClassesWarning,
            stacklevel=2,
        )
    return Target(codes.astype(np.float64), classes)


def guess_target_type(y: Any) -> TargetType:
    """The type of target that y looks like.

    Text, booleans, categories, and whole numbers with at most 20 different values are classes,
    the last where there are two rows for each of them. None is refused when it is read.

    >>> [guess_target_type(y) for y in ([0.1, 0.2], ["a", "b"], [3, 1, 3, 1])]
    ['regression', 'classification', 'classification']
    """
    if y is None:
        return "regression"
    array = as_array(y, "y").ravel()
    check_real(array.dtype, "y")
    objects = array.tolist() if array.dtype.kind == "O" else []
    if array.dtype.kind in "USb" or any(isinstance(value, str | bool) for value in objects):
        return "classification"
    try:
        values: FloatArray = np.unique(array.astype(np.float64))
    except (TypeError, ValueError):
        return "regression"
    is_whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    is_few = len(values) <= min(MAX_GUESSED_CLASSES, max(2, len(array) // 2))
    return "classification" if is_whole and is_few else "regression"


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Check the weights of the rows; one each by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    array = as_array(sample_weight, "sample_weight")
    try:
        weight = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"'sample_weight' must hold numbers. Got others: {error}. Give one number per row."
        ) from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise InputError(
            f"'sample_weight' must be a 1D array or a number: one value per row. Got shape "
            f"{weight.shape}. Use sample_weight.ravel() for a single column."
        )
    check_length(len(weight), n_rows, "sample_weight")
    _check_weights(weight)
    return weight


def class_weights(
    target: Target, class_weight: Any, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Give the weight of each class; "balanced" makes the sums of all classes the same."""
    if target.classes is None or class_weight is None:
        return np.ones(target.n_classes)
    if isinstance(class_weight, Mapping):
        labels = target.classes.tolist()
        check_labels(class_weight, labels)
        weight = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise ParameterError(
                f"'class_weight' must hold finite weights >= 0. Got {dict(class_weight)!r}. Use 0 "
                "to leave a class out."
            )
        return in_range(weight)
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ParameterError(
            f"'class_weight' must be None, 'balanced' or a dict by label. Got {class_weight!r}."
        )
    codes = target.values.astype(np.int64)
    total = np.bincount(codes, weights=sample_weight, minlength=target.n_classes)
    # a class without weight has no rows that count: its factor changes nothing
    safe = np.where(total > 0, total, 1.0)
    return np.where(total > 0, total.sum() / (target.n_classes * safe), 1.0)


def check_labels(class_weight: Mapping[Any, Any], labels: list[Any]) -> None:
    """Refuse weights of classes that y has not."""
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ParameterError(
            f"'class_weight' must have labels of y as keys. Got {some_of(unknown)}. The labels are "
            f"{some_of(labels)}."
        )


def combine_weights(target: Target, sample_weight: FloatArray, class_weight: Any) -> FloatArray:
    """Multiply the weights of the rows by those of their classes."""
    if class_weight is None or target.classes is None:
        return sample_weight
    factors = class_weights(target, class_weight, sample_weight)
    weight: FloatArray = sample_weight * factors[target.values.astype(np.int64)]
    _check_weights(weight)
    return weight


def _check_weights(weight: FloatArray) -> None:
    wrong = weight[~(np.isfinite(weight) & (weight >= 0))]
    if wrong.size:
        raise InputError(
            f"'sample_weight' must be finite and >= 0. Got {some_of(wrong)}. Use 0 to drop a row."
        )
    if not weight.any():
        raise InputError(
            "'sample_weight' must be > 0 for at least one row. Got zeros only. Use None for ones."
        )


def in_range(weight: FloatArray) -> FloatArray:
    """Weights times a power of two, so that sums and squares neither overflow nor vanish."""
    exponent = math.frexp(float(weight.max()))[1]
    return weight if abs(exponent) <= MAX_EXPONENT else np.ldexp(weight, -exponent)


def are_counts(weight: FloatArray) -> bool:
    """Whether all weights are whole numbers, so that a weight of 2 may mean two rows."""
    return bool((weight == np.floor(weight)).all())


def weight_of_a_row(weight: FloatArray) -> float:
    """The weight that stands for one row: 1 for counts, else the mean."""
    return 1.0 if are_counts(weight) else float(weight.mean())


def whole_weights(weight: FloatArray) -> FloatArray:
    """Weights as whole numbers whose sums are exact, so that they do not depend on the order."""
    if are_counts(weight):
        return weight
    power = 49 - math.frexp(float(weight.max()))[1] - (len(weight) - 1).bit_length()
    return np.rint(np.ldexp(weight, power))

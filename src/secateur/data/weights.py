"""How much each row counts: the user's weights, and those of the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secateur.data.frames import as_array, check_length
from secateur.data.target import Target
from secateur.exceptions import InputError, InputTypeError, ParameterError, some_of
from secateur.typing import FloatArray


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Check the weights of the rows; one each by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    array = as_array(sample_weight, "sample_weight")
    try:
        weight = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"'sample_weight' must hold numbers. Got values that are none: {error}. Give one "
            "number per row."
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
    """Give the weight of each class.

    "balanced" gives class k the weight W / (K W_k), where W is the sum of the rows' weights, W_k
    that of the rows of class k, and K the number of classes: all classes then count the same.
    """
    if target.classes is None or class_weight is None:
        return np.ones(target.n_classes)
    if isinstance(class_weight, Mapping):
        return _weights_by_label(target.classes.tolist(), class_weight)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return _balanced(target, sample_weight)
    raise ParameterError(
        f"'class_weight' must be None, 'balanced' or a dict. Got {class_weight!r}. Use a dict from "
        "label to weight."
    )


def combine_weights(target: Target, sample_weight: FloatArray, class_weight: Any) -> FloatArray:
    """Multiply the weights of the rows by those of their classes."""
    if class_weight is None or target.classes is None:
        return sample_weight
    factors = class_weights(target, class_weight, sample_weight)
    weight: FloatArray = sample_weight * factors[target.values.astype(np.int64)]
    _check_weights(weight)
    return weight


def are_counts(weight: FloatArray) -> bool:
    """Tell whether all weights are whole numbers, so that a weight of 2 may mean two rows."""
    return bool((weight == np.floor(weight)).all())


def _check_weights(weight: FloatArray) -> None:
    wrong = weight[~(np.isfinite(weight) & (weight >= 0))]
    if wrong.size:
        raise InputError(
            f"'sample_weight' must be finite and >= 0. Got {some_of(wrong)}. Use 0 to leave a row "
            "out."
        )
    if not weight.any():
        raise InputError(
            "'sample_weight' must be > 0 for at least one row. Got zeros only. Use None to count "
            "every row the same."
        )


def _balanced(target: Target, sample_weight: FloatArray | None) -> FloatArray:
    codes = target.values.astype(np.int64)
    total = np.bincount(codes, weights=sample_weight, minlength=target.n_classes)
    # a class without weight has no rows that count: its factor changes nothing
    safe = np.where(total > 0, total, 1.0)
    return np.where(total > 0, total.sum() / (target.n_classes * safe), 1.0)


def _weights_by_label(labels: list[Any], class_weight: Mapping[Any, Any]) -> FloatArray:
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ParameterError(
            f"'class_weight' must have labels of y as keys. Got {some_of(unknown)}. The labels are "
            f"{some_of(labels)}."
        )
    weight = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ParameterError(
            f"'class_weight' must hold finite weights >= 0. Got {dict(class_weight)!r}. Use 0 to "
            "leave a class out."
        )
    return weight


def whole_weights(weight: FloatArray) -> FloatArray:
    """Weights as whole numbers whose sums are exact, so that they do not depend on the order."""
    if are_counts(weight):
        return weight
    power = 49 - math.frexp(float(weight.max()))[1] - (len(weight) - 1).bit_length()
    whole: FloatArray = np.rint(np.ldexp(weight, power))
    return whole

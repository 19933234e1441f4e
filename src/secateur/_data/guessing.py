"""What kind of target there is, where nobody says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._data.checks import check_real
from secateur._data.target import Task
from secateur._data.vectors import as_array
from secateur.typing import AnyArray, FloatArray

MOST_CLASSES = 20
"""Whole numbers with at most so many different values are classes, if nobody says otherwise."""


def guess_task(y: Any) -> Task:
    """The task as y looks.

    Text, booleans, categories, and whole numbers with at most 20 different values are classes,
    the last where there are two rows for each of them.

    >>> guess_task([0.1, 0.2]), guess_task(["a", "b"]), guess_task([3, 1, 3, 1])
    ('regression', 'classification', 'classification')
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

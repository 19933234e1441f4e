"""What kind of question a target asks: classes or numbers, guessed and said."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._data import guessing
from secateur._data.reading.frames import whole_labels
from secateur._data.target import Task
from secateur._data.wording import some_of
from secateur.exceptions import InputError
from secateur.typing import AnyArray


def guess_task(target: AnyArray, name: str) -> tuple[Task, str]:
    """Guess what is asked, and say why.

    Parameters
    ----------
    target : array of float or of text, without missing values
    name : str

    Examples
    --------
    >>> guess_task(np.array([0.5, 1.25, 3.0]), "price")
    ('regression', "Task: regression, since 'price' holds numbers (--task overrules).")
    """
    values = np.unique(target)
    if len(values) < 2:
        raise InputError(
            f"The target must have at least two values. Got {some_of(values)} in every row of "
            f"{name!r}. Name another target, or look at how its rows were chosen."
        )
    if target.dtype.kind == "O":
        _check_texts(len(values), len(target), name)
        return "classification", _classes(name, values)
    if guessing.guess_task(target) == "classification":
        return "classification", _classes(name, [int(value) for value in values])
    is_whole = bool((values == np.floor(values)).all())
    why = "whole numbers, too many for classes" if is_whole else "numbers"
    return "regression", f"Task: regression, since {name!r} holds {why} (--task overrules)."


def labels_of(target: AnyArray, task: Task) -> AnyArray:
    """The target as selectors want it: whole class labels as integers, so that they print so."""
    if task == "classification" and target.dtype.kind == "f":
        return whole_labels(target)
    return target


def _classes(name: str, values: Any) -> str:
    return (
        f"Task: classification, since {name!r} has {len(values)} classes: {some_of(values)} "
        "(--task overrules)."
    )


def _check_texts(n_values: int, n_rows: int, name: str) -> None:
    if n_values > max(guessing.MOST_CLASSES, n_rows // 2):
        raise InputError(
            f"The target must be classes or numbers. Got {n_values} different texts in the "
            f"{n_rows} rows of {name!r}. Name another column, or convert it to numbers."
        )

"""Targets of variance one: numbers, classes one against the rest, ranks by thresholds."""

from __future__ import annotations

from typing import Literal

import numpy as np

from secateur._data.target import Target
from secateur.exceptions import InputError
from secateur.typing import FloatArray

Task = Literal["classification", "ordinal", "regression"]


def contrasts(target: Target, task: Task) -> FloatArray:
    """One row per question that the target asks, not yet standardised.

    Parameters
    ----------
    target : Target
    task : {"classification", "ordinal", "regression"}
        Two classes are one question, more are one per class (one against the rest); ordered
        classes ask one question per threshold between them.

    Examples
    --------
    >>> contrasts(Target(np.array([0.0, 1.0, 2.0]), np.array(["a", "b", "c"])), "ordinal")
    array([[-1.,  1.,  1.],
           [-1., -1.,  1.]])
    """
    y = target.values
    if task == "regression":
        return y[None, :].copy()
    if task == "ordinal" or target.n_classes == 2:
        cuts = np.arange(1, target.n_classes)
        return np.where(y[None, :] >= cuts[:, None], 1.0, -1.0)
    return np.where(y[None, :] == np.arange(target.n_classes)[:, None], 1.0, -1.0)


def standardise(questions: FloatArray, weight: FloatArray) -> FloatArray:
    """Mean 0 and variance 1 for each question; those that do not vary are left out.

    Labels of two classes of equal size stay the -1 and 1 of the paper. Where classes differ in
    size, a centred label has the same expectation of y x for centred x, and less noise.

    Examples
    --------
    >>> standardise(np.array([[1.0, 3.0], [2.0, 2.0]]), np.ones(2))
    array([[-1.,  1.]])
    """
    share = weight / weight.sum()
    centred = questions - (questions @ share)[:, None]
    spread = np.sqrt((centred * centred) @ share)
    varies = spread > 1e-12 * np.abs(questions).max(axis=1, initial=0.0)
    if not varies.any():
        raise InputError(
            "The target must vary. Got the same value in all rows that train. Check the rows that "
            "y was taken from."
        )
    standard: FloatArray = centred[varies] / spread[varies, None]
    return standard

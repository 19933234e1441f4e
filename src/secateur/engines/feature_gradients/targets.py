"""Targets of variance one: numbers, classes one against the rest, ranks by thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secateur.data.target import Target
from secateur.engines.feature_gradients.units import GroupMode
from secateur.exceptions import InputError
from secateur.typing import FloatArray

STEPS = 100
"""Updates after which "auto" epochs end: what is in and what is out has then settled."""


@dataclass(frozen=True, slots=True)
class SearchParams:
    """How v is searched.

    ``accumulate`` batches give one update of Adam; ``n_epochs`` None is as many as make about a
    hundred updates; ``init`` is v to start from, one number or one per feature.
    """

    order: int = 4
    batch_size: int = 1000
    accumulate: int = 1
    n_epochs: int | None = None
    learning_rate: float = 0.1
    tol: float = 1e-5
    init: Any = 0.0
    group_mode: GroupMode = "hard"
    seed: int = 0

    def epochs(self, n_rows: int) -> int:
        """How many times the rows are gone through.

        >>> SearchParams().epochs(500), SearchParams().epochs(6000)
        (100, 17)
        """
        if self.n_epochs is not None:
            return self.n_epochs
        updates = max(1, self.n_batches(n_rows) // self.accumulate)
        return -(-STEPS // updates)

    def n_batches(self, n_rows: int) -> int:
        """Batches of an epoch: as even as can be, none with a small rest."""
        return max(1, round(n_rows / self.batch_size))


Kind = Literal["residual variance", "error rate"]

LOW = 0.01
"""Below this z the root is too steep to follow, and goes on as a straight line."""

BEYOND = 0.025
"""A small slope where z is above 1, so that the search can come back."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What is minimised, as a function of z.

    Regression: 1 - z, the residual variance of a target of variance one (Eq. 1). Classification:
    (1 - sqrt(z)) / 2, the error rate; where z leaves [0.01, 1], straight lines go on.

    Examples
    --------
    >>> Curve("error rate").value(np.array([0.25, 1.0]))
    array([0.25, 0.  ])
    """

    kind: Kind

    def value(self, z: FloatArray) -> FloatArray:
        """What is minimised."""
        if self.kind == "residual variance":
            return 1.0 - z
        root = np.sqrt(np.clip(z, LOW, 1.0))
        below, above = np.minimum(z - LOW, 0.0), np.maximum(z - 1.0, 0.0)
        value: FloatArray = (1.0 - root) / 2.0 - below / (4.0 * np.sqrt(LOW)) - BEYOND * above
        return value

    def slope(self, z: FloatArray) -> FloatArray:
        """Its derivative by z."""
        if self.kind == "residual variance":
            return np.full_like(z, -1.0)
        inside = -0.25 / np.sqrt(np.clip(z, LOW, 1.0))
        return np.where(z > 1.0, -BEYOND, inside)

    def told(self, z: FloatArray) -> FloatArray:
        """What is reported: the same, kept to what such a number can be."""
        kept = np.clip(z, 0.0, 1.0)
        return 1.0 - kept if self.kind == "residual variance" else (1.0 - np.sqrt(kept)) / 2.0


TargetType = Literal["classification", "ordinal", "regression"]


def contrasts(target: Target, target_type: TargetType) -> FloatArray:
    """One row per question that the target asks, not yet standardised.

    Parameters
    ----------
    target : Target
    target_type : {"classification", "ordinal", "regression"}
        Two classes are one question, more are one per class (one against the rest); ordered
        classes ask one question per threshold between them.

    Examples
    --------
    >>> contrasts(Target(np.array([0.0, 1.0, 2.0]), np.array(["a", "b", "c"])), "ordinal")
    array([[-1.,  1.,  1.],
           [-1., -1.,  1.]])
    """
    y = target.values
    if target_type == "regression":
        return y[None, :].copy()
    if target_type == "ordinal" or target.n_classes == 2:
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

"""From the estimated signal z to what is minimised: residual variance, or error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from secateur.typing import FloatArray

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

"""What the estimator says of a subset, marked as what it is: an estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._engines.feature_gradients.curves import Kind
from secateur.path import Step


@dataclass(frozen=True, slots=True)
class Learnability:
    """What the estimator says of the selected features: an estimate, never a measurement.

    Parameters
    ----------
    value : float
        The residual variance of a linear model on them, as a share of the target's, or its error
        rate, averaged over classes (one against the rest) or thresholds.
    spread : float
        Standard error over batches; NaN with a single batch.
    kind : {"residual variance", "error rate"}

    Examples
    --------
    >>> print(Learnability(0.125, 0.01, "error rate"))
    estimated error rate 0.125 ± 0.010
    """

    value: float
    spread: float
    kind: Kind
    is_estimate: bool = True

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        around = "" if np.isnan(self.spread) else f" ± {self.spread:.3f}"
        return f"estimated {self.kind} {self.value:.3f}{around}"


def learnability_of(step: Step) -> Learnability:
    """The estimate that a step carries; NaN where its search was interrupted before it."""
    told = step.details
    spread = told.get("estimate_spread")
    return Learnability(
        float(told.get("estimate", np.nan)),
        np.nan if spread is None else float(spread),
        told.get("estimate_of", "error rate"),
    )

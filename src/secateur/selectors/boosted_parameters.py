"""What the parameters of the boosted selectors may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._data.weights import are_counts
from secateur.selectors.constraints import Constraint, number, one_of
from secateur.selectors.parameters import SHARED_CONSTRAINTS, read_grid
from secateur.typing import FloatArray

CONSTRAINTS: dict[str, Constraint] = SHARED_CONSTRAINTS | {
    "learning_rate": number(0, above=True, below=True, advice="Use 0.1 for a start."),
    "max_iter": number(1, whole=True, advice="Use 200 for a start."),
    "max_depth": number(1, 16, whole=True, advice="Use 4 for a start."),
    "max_bins": number(2, 255, whole=True, advice="Use 255 for the finest bins."),
    "min_samples_leaf": number(
        1, below=True, words=("auto",), advice="Use 'auto' for 1 to 20 by the rows."
    ),
    "l2_regularization": number(0, below=True, advice="Use 0 for none."),
    "early_stopping": one_of(True, False, "auto", advice="Use 'auto' to stop where rows allow it."),
    "validation_fraction": number(
        0, 1, above=True, below=True, advice="Use 0.1 for one row in ten."
    ),
    "n_iter_no_change": number(1, whole=True, advice="Use 10 for a start."),
    "subsample": number(0, 1, above=True, advice="Use 1 for all rows."),
    "cost_budget": number(0, or_none=True, advice="Use None for no limit."),
    "leaf": one_of("newton", "mean", advice="Use 'newton' for a Newton step."),
}
LOSS_CONSTRAINTS: dict[str, Constraint] = {
    "loss": one_of(
        "squared_error",
        "absolute_error",
        "huber",
        "poisson",
        "quantile",
        advice="Use 'squared_error' for the mean.",
    ),
    "quantile": number(
        0, 1, above=True, below=True, or_none=True, advice="Use 0.5 for the median."
    ),
    "huber_delta": number(
        0, above=True, below=True, or_none=True, advice="Use None to have it chosen from y."
    ),
}
_PENALTY = "Use 'auto' to have it chosen, 0 for no penalty."


def read_penalty(penalty: Any, criterion: str, name: str = "penalty") -> float | list[float] | None:
    """One number, a falling grid, or None for "auto"; each in the range of the criterion.

    >>> read_penalty([0.01, 0.1], "agbm")
    [0.1, 0.01]
    """
    most = 1.0 if criterion == "agbm" else np.inf
    return read_grid(name, penalty, most, _PENALTY)


def least_rows(min_samples_leaf: Any, weight: FloatArray) -> float:
    """The least rows of a leaf: as told, or one for every 50 rows, from 1 to 20.

    >>> least_rows("auto", np.ones(500))
    10.0
    """
    if min_samples_leaf != "auto":
        return float(min_samples_leaf)
    n_rows = weight.sum() if are_counts(weight) else len(weight)
    return float(np.clip(n_rows // 50, 1, 20))

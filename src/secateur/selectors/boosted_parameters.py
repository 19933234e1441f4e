"""What the parameters of the boosted selectors may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from secateur._data.weights import are_counts
from secateur.evaluation.folds import is_drawn
from secateur.exceptions import ParameterError
from secateur.selectors.constraints import Constraint, number, one_of
from secateur.typing import BoolArray, FloatArray


def _may_be_cv(value: Any) -> bool:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return bool(value >= 0)
    return value is None or (not is_drawn(value) and not isinstance(value, bool))


CONSTRAINTS: dict[str, Constraint] = {
    "cv": Constraint(
        _may_be_cv,
        "None, an int >= 0, a splitter or a list of (train, test) rows",
        "Use 5 for five folds.",
    ),
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
    "max_features": number(1, whole=True, or_none=True, advice="Use None for no limit."),
    "cost_budget": number(0, or_none=True, advice="Use None for no limit."),
    "leaf": one_of("newton", "mean", advice="Use 'newton' for a Newton step."),
    "verbose": number(0, whole=True, advice="Use 1 for a progress bar."),
    "n_jobs": number(-np.inf, whole=True, or_none=True, advice="Use None for all cores."),
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
    if isinstance(penalty, str) and penalty == "auto":
        return None
    most = 1.0 if criterion == "agbm" else np.inf
    one = number(0, most, below=True, words=("auto",), advice=_PENALTY)
    if isinstance(penalty, str) or not np.iterable(penalty):
        one.check(name, penalty)
        return float(penalty)
    values = list(penalty)
    if not values:
        msg = f"'{name}' must hold at least one value. Got {penalty!r}. {_PENALTY}"
        raise ParameterError(msg)
    each = number(0, most, below=True, advice=_PENALTY)
    for value in values:
        each.check(name, value)
    return sorted({float(value) for value in values}, reverse=True)


def read_seed(random_state: Any) -> int:
    """A number that all chance of a fit comes from."""
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        msg = (
            f"'random_state' must be None, an int >= 0 or a RandomState. Got {random_state!r}. Use "
            "0 for results that repeat."
        )
        raise ParameterError(msg) from error


def check_kept(keep: BoolArray, max_features: int | None) -> None:
    """Features that are always in must be allowed to be."""
    if max_features is not None and keep.sum() > max_features:
        msg = (
            f"'max_features' must be at least the number of kept features, {keep.sum()}. Got "
            f"{max_features}. Keep fewer, or raise it."
        )
        raise ParameterError(msg)


def least_rows(min_samples_leaf: Any, weight: FloatArray) -> float:
    """The least rows of a leaf: as told, or one for every 50 rows, from 1 to 20.

    >>> least_rows("auto", np.ones(500))
    10.0
    """
    if min_samples_leaf != "auto":
        return float(min_samples_leaf)
    n_rows = weight.sum() if are_counts(weight) else len(weight)
    return float(np.clip(n_rows // 50, 1, 20))

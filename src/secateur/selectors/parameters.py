"""Parameters that many selectors have: what they may be, and how they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._execution.dask import is_executor
from secateur.evaluation.folds import is_drawn
from secateur.exceptions import ParameterError
from secateur.selectors.constraints import Constraint, number
from secateur.typing import BoolArray


def _may_be_cv(value: Any) -> bool:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return bool(value >= 0)
    return value is None or (not is_drawn(value) and not isinstance(value, bool))


SHARED_CONSTRAINTS: dict[str, Constraint] = {
    "cv": Constraint(
        _may_be_cv,
        "None, an int >= 0, a splitter or a list of (train, test) rows",
        "Use 5 for five folds.",
    ),
    "max_features": number(1, whole=True, or_none=True, advice="Use None for no limit."),
    "verbose": number(0, whole=True, advice="Use 1 for a progress bar."),
    "n_jobs": number(-np.inf, whole=True, or_none=True, advice="Use None for all cores."),
    "executor": Constraint(
        is_executor, "None or a DaskExecutor", "Use secateur.DaskExecutor(client)."
    ),
}


def read_grid(name: str, given: Any, most: float, advice: str) -> float | list[float] | None:
    """One number, a falling grid, or None for "auto"; each from 0 to below ``most``.

    >>> read_grid("penalty", [0.01, 0.1], 1.0, "Use 'auto'.")
    [0.1, 0.01]
    """
    if isinstance(given, str) and given == "auto":
        return None
    one = number(0, most, below=True, words=("auto",), advice=advice)
    if isinstance(given, str) or not np.iterable(given):
        one.check(name, given)
        return float(given)
    values = list(given)
    if not values:
        msg = f"{name!r} must hold at least one value. Got {given!r}. {advice}"
        raise ParameterError(msg)
    each = number(0, most, below=True, advice=advice)
    for value in values:
        each.check(name, value)
    return sorted({float(value) for value in values}, reverse=True)


def check_kept(keep: BoolArray, max_features: int | None) -> None:
    """Features that are always in must be allowed to be."""
    if max_features is not None and keep.sum() > max_features:
        msg = (
            f"'max_features' must be at least the number of kept features, {keep.sum()}. Got "
            f"{max_features}. Keep fewer, or raise it."
        )
        raise ParameterError(msg)

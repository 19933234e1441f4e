"""What the parameters of the Feature Gradients selector may be, and what it is told of its task."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._data.guessing import guess_task
from secateur._data.target import Target, read_target
from secateur._engines.feature_gradients.contrasts import Task
from secateur.exceptions import ParameterError
from secateur.selectors.boosted_parameters import CONSTRAINTS as SHARED
from secateur.selectors.constraints import Constraint, number, one_of


def _may_be_init(value: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(value, np.float64)).all())
    except (TypeError, ValueError):
        return False


CONSTRAINTS: dict[str, Constraint] = {
    "task": one_of(
        "auto",
        "classification",
        "ordinal",
        "regression",
        advice="Use 'auto' to have it read from y.",
    ),
    "order": number(1, 12, whole=True, advice="Use 4 for a start."),
    "n_features": number(1, whole=True, or_none=True, advice="Use None to have the number chosen."),
    "group_mode": one_of("hard", "soft", advice="Use 'hard' to select groups as a whole."),
    "batch_size": number(4, whole=True, advice="Use 1000 for a start."),
    "accumulate": number(1, whole=True, advice="Use 1 for an update after every batch."),
    "max_epochs": number(
        1, whole=True, words=("auto",), advice="Use 'auto' for about a hundred updates."
    ),
    "learning_rate": number(0, above=True, below=True, advice="Use 0.1 for a start."),
    "standardize": one_of(True, False, advice="Use True unless columns share a unit."),
    "init": Constraint(
        _may_be_init, "a finite number or one per feature", "Use 0 to begin half way in."
    ),
    "tol": number(0, below=True, advice="Use 0 to go through all epochs."),
    **{name: SHARED[name] for name in ("cv", "verbose", "n_jobs", "executor")},
}


def check_executor(executor: Any, accumulate: int, *, is_stream: bool) -> None:
    """Refuse a cluster where there is nothing to part."""
    if executor is None:
        return
    if is_stream:
        msg = (
            "'executor' must be None for a stream, whose blocks are used one after another. Got "
            "one. Leave it out, or give X as an array or data frame."
        )
        raise ParameterError(msg)
    if accumulate < 2:
        msg = (
            "'accumulate' must be at least 2 with an executor: workers share the batches of one "
            f"update. Got {accumulate}. Use the number of workers."
        )
        raise ParameterError(msg)


def check_against(n_features: int, wanted: int | None, init: Any, n_kept: int) -> None:
    """Refuse what does not fit the number of features."""
    if wanted is not None and not max(1, n_kept) <= wanted <= n_features:
        msg = (
            f"'n_features' must be from {max(1, n_kept)}, the number of kept features, to "
            f"{n_features}, the number of all. Got {wanted}. Use None to have it chosen."
        )
        raise ParameterError(msg)
    size = np.asarray(init, np.float64)
    if size.ndim > 1 or (size.ndim == 1 and len(size) != n_features):
        msg = (
            f"'init' must be a number or one per feature, {n_features}. Got shape {size.shape}. "
            "Use 0 to begin half way in."
        )
        raise ParameterError(msg)


def task_of(task: str, y: Any) -> Task:
    """The task: as told, or as y looks.

    Text, booleans, categories, and whole numbers with at most 20 different values are classes,
    the last where there are two rows for each of them.

    >>> task_of("auto", [0.1, 0.2]), task_of("auto", ["a", "b"]), task_of("auto", [3, 1, 3, 1])
    ('regression', 'classification', 'classification')
    """
    if task != "auto":
        return task  # type: ignore[return-value]  # checked against the constraint
    if y is None:
        return "regression"  # which says that there must be one
    return guess_task(y)


def read_task_target(y: Any, task: Task, n_rows: int | None) -> Target:
    """The target as its task reads it."""
    return read_target(
        y, task="regression" if task == "regression" else "classification", n_rows=n_rows
    )

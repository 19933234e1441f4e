"""What a boosted selector is given, checked and read before any work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.frames import read_table
from secateur._data.problem import Problem
from secateur._data.target import read_target_like
from secateur._data.weights import read_weights
from secateur._data.wording import some_of
from secateur._engines.boosted.given import GivenRows
from secateur.evaluation.folds import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.path import SelectionPath
from secateur.selectors.inputs import FitInput
from secateur.typing import Loss


@dataclass(frozen=True, slots=True, eq=False)
class BoostedJob:
    """All that a fit needs: nothing of it can be wrong any more.

    ``penalty`` is one number, a falling grid, or None for one that is made; ``judges`` are the
    user's own rows, if there are any, and ``folds`` part the others. ``resume`` is the path of a
    fit that was broken off.
    """

    problem: Problem
    loss: Loss
    penalty: float | list[float] | None
    folds: list[Fold]
    judges: GivenRows | None
    seed: int
    n_threads: int
    resume: SelectionPath | None = None


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Say which of several tables or vectors an error is about."""
    try:
        yield
    except SecateurError as error:
        raise type(error)(f"{what}: {error}") from error


def read_judges(
    given: FitInput, X_val: Any, y_val: Any, sample_weight_val: Any
) -> GivenRows | None:
    """The user's own validation rows; their classes weigh what those of the other rows do."""
    if X_val is None and y_val is None and sample_weight_val is None:
        return None
    if X_val is None or y_val is None:
        msg = (
            "'X_val' and 'y_val' must come together. Got only one of them, or neither but "
            "'sample_weight_val'. Give both."
        )
        raise InputError(msg)
    with _named("X_val"):
        table = read_table(X_val, like=given.problem.table.schema)
    with _named("y_val"):
        target = read_target_like(y_val, given.target, n_rows=table.n_rows)
    with _named("sample_weight_val"):
        weight = read_weights(sample_weight_val, table.n_rows)
    if target.classes is not None:
        weight = weight * given.class_factors[target.values.astype(np.int64)]
    return GivenRows(table, target.values, weight)


MAY_DIFFER = {"max_iter", "n_jobs", "verbose", "cut", "n_iter_no_change", "max_bins"}
"""Parameters that say how far to go, not along which path."""


def read_resume(resume: Any, told: dict[str, Any]) -> SelectionPath | None:
    """The path of a fit that was broken off; it must be of the same selector and columns."""
    if resume is None:
        return None
    if not isinstance(resume, SelectionPath) or len(resume) == 0:
        msg = (
            "'resume' must be the path of a fit that was broken off. Got "
            f"{type(resume).__name__}. Give selector.path_, or the path of the error."
        )
        raise InputError(msg)
    others = {
        name
        for name, value in told["parameters"].items()
        if name not in MAY_DIFFER and resume.parameters.get(name) != value
    }
    if resume.algorithm != told["algorithm"]:
        others.add("the selector")
    if resume.feature_names != tuple(told["feature_names"]):
        others.add("the columns")
    if others:
        msg = (
            "'resume' must be a path of the same selector, parameters and columns. Got other "
            f"{some_of(sorted(others))}. Fit without resume."
        )
        raise InputError(msg)
    if any(step.model is None for step in resume):
        msg = (
            "'resume' must be a path with its models. Got one that was read from a file. Fit "
            "without resume, or keep the selector by pickle."
        )
        raise InputError(msg)
    return resume


def rounds_to_resume(job: BoostedJob) -> list[Any]:
    """The trees of a single fit that was broken off; its rows must be those of this one."""
    assert job.resume is not None  # noqa: S101  # asked for only then
    ensemble = job.resume[-1].model.ensemble
    train, target = job.folds[0].train, job.problem.target.values
    baseline = job.loss.baseline(target[train], job.problem.weight[train])
    if not np.array_equal(baseline, ensemble.baseline):
        msg = (
            "'resume' must be a path of the same rows. Got one with another best constant. Give "
            "the same rows and a random_state that is a number, or fit without resume."
        )
        raise InputError(msg)
    return list(ensemble.rounds)

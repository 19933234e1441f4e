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
from secateur._engines.boosted.given import GivenRows
from secateur.evaluation.folds import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.selectors.inputs import FitInput
from secateur.typing import Loss


@dataclass(frozen=True, slots=True, eq=False)
class BoostedJob:
    """All that a fit needs: nothing of it can be wrong any more.

    ``penalty`` is one number, a falling grid, or None for one that is made; ``judges`` are the
    user's own rows, if there are any, and ``folds`` part the others.
    """

    problem: Problem
    loss: Loss
    penalty: float | list[float] | None
    folds: list[Fold]
    judges: GivenRows | None
    seed: int
    n_threads: int


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

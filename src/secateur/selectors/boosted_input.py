"""What a boosted selector is given, checked and read before any work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.costs import as_costs
from secateur._data.frames import read_table
from secateur._data.problem import Problem
from secateur._data.target import Target, Task, read_target, read_target_like
from secateur._data.weights import class_weights, combine_weights, read_weights
from secateur._engines.boosted.given import GivenRows
from secateur.evaluation.folds import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.typing import FloatArray, IntArray, Loss


@dataclass(frozen=True, slots=True, eq=False)
class BoostedInput:
    """The problem of a fit, and what is known of the rows beyond it.

    Parameters
    ----------
    problem : Problem
        The rows of positive weight: a row of weight zero is no row.
    target : Target
        That of all rows.
    kept : array of int
        Which rows the problem has.
    class_factors : array of shape (n_classes,)
        What the rows of each class were multiplied by.
    """

    problem: Problem
    target: Target
    kept: IntArray
    class_factors: FloatArray


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


def read_input(estimator: Any, task: Task, X: Any, y: Any, sample_weight: Any) -> BoostedInput:
    """Check X, y, the weights and the costs, and give them as a problem."""
    if y is None:  # before X, as scikit-learn does
        read_target(y, task=task)
    table = read_table(X, categorical_features=estimator.categorical_features)
    prices = as_costs(estimator.costs, estimator.groups, estimator.keep).bind(table.names)
    prices.prices(prices.keep)  # a rule of the user's own may raise
    target = read_target(y, task=task, n_rows=table.n_rows)
    plain = read_weights(sample_weight, table.n_rows)
    class_weight = getattr(estimator, "class_weight", None)
    weight = combine_weights(target, plain, class_weight)
    kept = np.flatnonzero(weight)
    problem = Problem(table, target, weight, prices, task)
    if len(kept) < len(weight):
        problem = problem.take(kept)
        _check_classes(problem.target)
    return BoostedInput(problem, target, kept, class_weights(target, class_weight, plain))


def _check_classes(target: Target) -> None:
    if target.classes is not None and len(np.unique(target.values)) < 2:
        msg = (
            "y must have at least two classes among the rows of positive weight. Got 1 class. "
            "Give weight to rows of another class."
        )
        raise InputError(msg)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Say which of several tables or vectors an error is about."""
    try:
        yield
    except SecateurError as error:
        raise type(error)(f"{what}: {error}") from error


def read_judges(
    given: BoostedInput, X_val: Any, y_val: Any, sample_weight_val: Any
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

"""Rows apart: which train and which judge, in folds or in one held-out part."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from secateur._data.target import Target
from secateur.exceptions import ParameterError
from secateur.typing import IntArray

MANY_ROWS = 20_000
"""Above so many rows one held-out part is precise enough, and folds would only cost time."""

FEW_ROWS = 40
"""Below so many rows folds are too small to judge anything."""


class Fold(NamedTuple):
    """Row numbers of one fold: those that train and those that judge."""

    train: IntArray
    test: IntArray


def make_folds(
    target: Target, cv: Any, *, random_state: int, fraction: float = 0.2, X: Any = None
) -> list[Fold]:
    """The folds of a fit; an empty list where there are too few rows for any.

    Parameters
    ----------
    target : Target
        Classes are kept in proportion.
    cv : None, int or a splitter with ``split(X, y)``
        None: five folds up to 2,000 rows, three up to 20,000, one held-out part above.
    random_state : int
    fraction : float, default=0.2
        The share of rows of a single held-out part.
    X : array, optional
        Handed on to a splitter of the user's own.

    Examples
    --------
    >>> from secateur._data.target import read_target
    >>> target = read_target(list(range(100)), task="regression")
    >>> [len(fold.test) for fold in make_folds(target, None, random_state=0)]
    [20, 20, 20, 20, 20]
    """
    if hasattr(cv, "split"):
        places = np.arange(len(target.values)) if X is None else X
        return [Fold(train, test) for train, test in cv.split(places, target.values)]
    n_folds = _default_folds(target) if cv is None else cv
    if not isinstance(n_folds, int | np.integer) or isinstance(n_folds, bool) or n_folds < 0:
        msg = f"'cv' must be None, an int >= 2 or a splitter. Got {cv!r}. Use 5 for five folds."
        raise ParameterError(msg)
    if n_folds == 0:
        return []
    if n_folds == 1:
        return [hold_out(target, fraction, random_state)]
    return _split_evenly(target, int(n_folds), random_state)


def _default_folds(target: Target) -> int:
    n = len(target.values)
    if n < FEW_ROWS or _smallest_class(target) < 6:
        return 0
    if n > MANY_ROWS:
        return 1
    return 5 if n <= 2000 else 3


def _smallest_class(target: Target) -> int:
    if target.classes is None:
        return len(target.values)
    return int(np.bincount(target.values.astype(np.int64)).min())


def hold_out(target: Target, fraction: float, random_state: int) -> Fold:
    """One part of the rows, drawn at random and in each class alike."""
    parts = max(2, round(1.0 / fraction)) if fraction <= 0.5 else 2
    place = _places(target, random_state)
    if fraction > 0.5:
        test = place / len(place) < fraction
        return Fold(np.flatnonzero(~test), np.flatnonzero(test))
    return _fold(place, parts, 0)


def _split_evenly(target: Target, n_folds: int, random_state: int) -> list[Fold]:
    if n_folds > len(target.values):
        msg = (
            f"'cv' must not be more than the number of rows. Got {n_folds} folds for "
            f"{len(target.values)} rows. Use fewer folds."
        )
        raise ParameterError(msg)
    place = _places(target, random_state)
    return [_fold(place, n_folds, fold) for fold in range(n_folds)]


def _fold(place: IntArray, n_folds: int, fold: int) -> Fold:
    test = place % n_folds == fold
    return Fold(np.flatnonzero(~test), np.flatnonzero(test))


def _places(target: Target, random_state: int) -> IntArray:
    """A number for each row, dealt out at random, class after class: row % k is then stratified."""
    order = np.random.default_rng(random_state).permutation(len(target.values))
    if target.classes is not None:
        order = order[np.argsort(target.values[order], kind="stable")]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place

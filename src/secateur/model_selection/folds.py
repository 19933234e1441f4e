"""Rows apart: which train and which judge, in folds or in one held-out part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from secateur.data.folds import Fold
from secateur.data.target import Target
from secateur.exceptions import ParameterError
from secateur.typing import IntArray

MANY_ROWS = 5_000
"""Above so many rows one held-out part is precise enough, and folds would only cost time."""

FEW_ROWS = 40
"""Below so many rows folds are too small to judge anything."""

SMALLEST_CLASS = 6
"""A class with fewer rows would be missing from some fold, or nearly so."""


def is_drawn(cv: Any) -> bool:
    """Whether folds are ours to draw: for None and numbers, not for splitters and lists of folds.

    >>> is_drawn(5), is_drawn([([0, 1], [2])])
    (True, False)
    """
    is_text = isinstance(cv, str)
    return is_text or not (hasattr(cv, "split") or isinstance(cv, Iterable))


def draw_folds(
    target: Target, cv: int | None, *, random_state: int, fraction: float = 0.2
) -> list[Fold]:
    """Folds drawn at random, classes in proportion; none where there are too few rows for any.

    Parameters
    ----------
    target : Target
    cv : None or int
        None: five folds up to 2,000 rows, three up to 5,000, one held-out part above; no folds
        below 40 rows, or where a class has fewer than 6. 1 is one held-out part, 0 no folds.
    random_state : int
    fraction : float, default=0.2
        The share of rows of a single held-out part.

    Examples
    --------
    >>> from secateur.data.target import read_target
    >>> target = read_target(list(range(100)), target_type="regression")
    >>> [len(fold.test) for fold in draw_folds(target, None, random_state=0)]
    [20, 20, 20, 20, 20]
    """
    n_folds = default_folds(target) if cv is None else cv
    if not isinstance(n_folds, int | np.integer) or isinstance(n_folds, bool) or n_folds < 0:
        msg = (
            "'cv' must be None, an int >= 0, a splitter or a list of (train, test) rows. Got "
            f"{cv!r}. Use 5 for five folds."
        )
        raise ParameterError(msg)
    if n_folds > len(target.values):
        msg = (
            f"'cv' must not be more than the number of rows. Got {n_folds} folds for "
            f"{len(target.values)} rows. Use fewer folds."
        )
        raise ParameterError(msg)
    if n_folds == 0:
        return []
    if n_folds == 1:
        return [hold_out(target, fraction, random_state)]
    place = _places(target, random_state)
    return [_fold(place, int(n_folds), fold) for fold in range(n_folds)]


def default_folds(target: Target) -> int:
    """How many folds there are by default, fewer with more rows; see `draw_folds`."""
    n = len(target.values)
    if n < FEW_ROWS or _smallest_class(target) < SMALLEST_CLASS:
        return 0
    if n > MANY_ROWS:
        return 1
    return 5 if n <= 2000 else 3


def _smallest_class(target: Target) -> int:
    if target.classes is None:
        return len(target.values)
    counts = np.bincount(target.values.astype(np.int64))
    return int(counts[counts > 0].min())


def hold_out(target: Target, fraction: float, random_state: int) -> Fold:
    """One part of the rows, drawn at random and in each class alike.

    Of two rows or more, at least one trains and one judges; a single row trains.
    """
    n = len(target.values)
    place = _places(target, random_state)
    n_test = min(max(1, round(fraction * n)), n - 1)
    # Evenly spread over the places: a class that comes first does not give more than its share.
    test = np.zeros(n, np.bool_)
    test[(np.arange(n_test) * n) // max(1, n_test)] = True
    return Fold(np.flatnonzero(~test[place]), np.flatnonzero(test[place]))


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


def read_folds(cv: Any, target: Target, kept: IntArray, groups: Any = None) -> list[Fold]:
    """The user's own folds, in the numbers of the rows that are kept.

    Parameters
    ----------
    cv : splitter with ``split(X, y)``, or iterable of (train, test)
        Speaks of all rows.
    target : Target
        Of all rows.
    kept : array of int
        The rows that the fit sees, sorted.
    groups : array, optional
        Which rows belong together, for splitters that ask for it.

    Examples
    --------
    >>> from secateur.data.target import read_target
    >>> target = read_target([1, 2, 3, 4], target_type="regression")
    >>> read_folds([([0, 1], [2, 3])], target, kept=np.array([0, 2, 3]))
    [Fold(train=array([0]), test=array([1, 2]))]
    """
    n_rows = len(target.values)
    labels = target.values if target.classes is None else target.values.astype(np.int64)
    pairs = cv
    if hasattr(cv, "split"):
        more = () if groups is None else (groups,)
        pairs = cv.split(np.zeros((n_rows, 1)), labels, *more)
    number = np.full(n_rows, -1, np.int64)
    number[kept] = np.arange(len(kept))
    folds = []
    for pair in pairs:
        train, test = _read_pair(pair, n_rows)
        folds.append(Fold(_renumbered(train, number), _renumbered(test, number)))
    _check_folds(folds)
    return folds


def _read_pair(pair: Any, n_rows: int) -> tuple[IntArray, IntArray]:
    """The rows of one fold: numbers or masks, each row in one part at most."""
    try:
        train, test = (_row_numbers(part, n_rows) for part in pair)
        everyone = np.concatenate([train, test])
    except (TypeError, ValueError, IndexError) as error:
        msg = (
            f"'cv' must give pairs of row numbers (train, test) from 0 to {n_rows - 1}. Got "
            f"something else: {error}. Use 5 for five folds."
        )
        raise ParameterError(msg) from error
    if len(np.unique(everyone)) < len(everyone):
        msg = (
            "'cv' must give each row to one part of a fold, once. Got rows that train and judge, "
            "or that come twice. Use 5 for five folds."
        )
        raise ParameterError(msg)
    return train, test


def _row_numbers(part: Any, n_rows: int) -> IntArray:
    given = np.asarray(part)
    if given.size and given.dtype.kind not in "iub":
        raise TypeError(f"rows of type {given.dtype}")
    if given.ndim != 1 or (given.dtype.kind == "b" and len(given) != n_rows):
        raise ValueError(f"rows of shape {given.shape}")
    # numbers below 0 count from the end, as everywhere in numpy; those beyond it raise
    rows: IntArray = np.arange(n_rows)[given if given.size else given.astype(np.int64)]
    return rows


def _renumbered(rows: IntArray, number: IntArray) -> IntArray:
    found = number[np.sort(rows)]
    return found[found >= 0]


def _check_folds(folds: list[Fold]) -> None:
    if not folds:
        msg = "'cv' must give at least one fold. Got none. Use None to have folds drawn."
        raise ParameterError(msg)
    empty = [k for k, fold in enumerate(folds) if not (len(fold.train) and len(fold.test))]
    if empty:
        msg = (
            "'cv' must give every fold rows of positive weight that train, and some that judge. "
            f"Got none in fold {empty[0]}. Use fewer folds, or leave that one out."
        )
        raise ParameterError(msg)

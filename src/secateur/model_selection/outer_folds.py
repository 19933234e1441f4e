"""Folds around a whole selection: each is repeated without the rows that judge it."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.data.folds import Fold
from secateur.data.target import Target
from secateur.data.vectors import as_array, check_length
from secateur.exceptions import InputError, ParameterError
from secateur.model_selection.folds import MANY_ROWS, draw_folds, is_drawn, read_folds
from secateur.typing import AnyArray, FloatArray, IntArray


def outer_folds(
    target: Target, cv: Any, groups: IntArray | None, seed: int, weight: FloatArray | None = None
) -> list[Fold]:
    """The folds of ``cv``, at least one.

    Parameters
    ----------
    target : Target
    cv : None, int, splitter or list of (train, test)
        None is five folds, three above 5,000 rows; 1 is one held-out fifth. Numbers deal out
        classes in proportion, and rows of one group together.
    groups : array of int, shape (n_rows,), or None
        Which rows belong together: none of them judges what others of its group chose.
    seed : int
    weight : array of shape (n_rows,), optional
        Rows of weight zero are no rows: they are in no fold.

    Returns
    -------
    list of Fold
        In the numbers of all rows.

    Examples
    --------
    >>> from secateur.data.target import read_target
    >>> target = read_target([0, 1] * 10, target_type="classification")
    >>> [len(fold.test) for fold in outer_folds(target, None, None, seed=0)]
    [4, 4, 4, 4, 4]
    """
    kept = np.arange(len(target.values)) if weight is None else np.flatnonzero(weight)
    if not is_drawn(cv):
        folds = read_folds(cv, target, kept, groups)
    else:
        folds = _drawn(target.take(kept), cv, None if groups is None else groups[kept], seed)
    return [Fold(kept[fold.train], kept[fold.test]) for fold in folds]


def _drawn(target: Target, cv: Any, groups: IntArray | None, seed: int) -> list[Fold]:
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv == 0:
        raise ParameterError(
            "'cv' must give at least one fold. Got 0. Use None for as many as are sensible."
        )
    n_folds = _default(len(target.values)) if cv is None else cv
    if groups is None:
        return draw_folds(target, n_folds, random_state=seed)
    return group_folds(target, groups, n_folds, seed)


def read_groups(groups: Any, n_rows: int) -> IntArray:
    """A number for the group of each row.

    >>> read_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    values = as_array(groups, "groups")
    if values.ndim != 1:
        raise InputError(
            f"'groups' must have one value per row. Got shape {values.shape}. Give the column that "
            "tells which rows belong together."
        )
    check_length(len(values), n_rows, "groups")
    _, numbers = np.unique(values.astype(str), return_inverse=True)
    return numbers.astype(np.int64)


def group_folds(target: Target, groups: IntArray, n_folds: Any, seed: int) -> list[Fold]:
    """Folds that keep groups together, classes in proportion as far as that goes."""
    from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold

    n_groups = len(np.unique(groups))
    if not isinstance(n_folds, int | np.integer) or isinstance(n_folds, bool) or n_folds < 1:
        draw_folds(target, n_folds, random_state=seed)  # says what is wrong with it
    if n_groups < max(2, n_folds):
        raise ParameterError(
            f"'cv' must not be more than the number of groups. Got {n_folds} folds for {n_groups} "
            "groups of rows. Use fewer folds, or leave 'groups' out."
        )
    if n_folds == 1:
        splitter: Any = GroupShuffleSplit(1, test_size=0.2, random_state=seed)
    else:
        kind = GroupKFold if target.classes is None else StratifiedGroupKFold
        splitter = kind(int(n_folds), shuffle=True, random_state=seed)
    return read_folds(splitter, target, np.arange(len(groups)), groups)


def labels_of(target: Target) -> AnyArray:
    """The target in the user's own words: labels, or numbers."""
    if target.classes is None:
        return target.values
    labels: AnyArray = target.classes[target.values.astype(np.int64)]
    return labels


def _default(n_rows: int) -> int:
    return max(2, min(n_rows // 2, 5 if n_rows <= MANY_ROWS else 3))

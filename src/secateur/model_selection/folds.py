"""Folds: which rows train and which validate or test, inside a fit and around a whole selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from secateur.data.frames import as_array, check_length
from secateur.data.table import Fold
from secateur.data.target import Target
from secateur.data.tasks import TaskRows, read_stacked, rows_by_key
from secateur.exceptions import InputError, ParameterError
from secateur.typing import AnyArray, IntArray

if TYPE_CHECKING:
    from secateur.model_selection.rows import Rows

MANY_ROWS = 5_000  # above this number of rows one validation part is precise enough
FEWEST_ROWS = 20  # the same where there are twice as many columns, for boosted trees
FEW_ROWS = 40  # below this number of rows folds are too small for a meaningful score
PARTS_TRIED = 10  # validation parts of whole groups: the first with the most classes is taken


def read_seed(random_state: Any) -> int:
    """A seed from any random state of scikit-learn."""
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ParameterError(
            f"'random_state' must be None, an int >= 0 or RandomState. Got {random_state!r}. Use 0."
        ) from error


def is_drawn(cv: Any) -> bool:
    """Whether folds are drawn here: for None and numbers, not for splitters and lists of folds."""
    return isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable))


def draw_folds(
    target: Target,
    cv: int | None,
    *,
    random_state: int,
    groups: IntArray | None = None,
    default: int | None = None,
) -> list[Fold]:
    """Random folds, stratified by class, that keep groups of rows together; 1 is one part, 0 none.

    Without groups every training part has rows of every class: one with one row is never validated.
    """
    if cv is not None:
        n_folds = cv
    else:
        n_folds = default_folds(len(target.values)) if default is None else default
        n_folds = n_folds if groups is None else min(n_folds, len(np.unique(groups)))
    if not _is_whole(n_folds) or n_folds < 0:
        raise ParameterError(
            "'cv' must be None, an int >= 0, a splitter or a list of (train, test) rows. Got "
            f"{cv!r}. Use 5 for five folds."
        )
    if n_folds > len(target.values):
        raise ParameterError(
            f"'cv' must not be more than the number of rows. Got {n_folds} folds for "
            f"{len(target.values)} rows. Use fewer folds."
        )
    if n_folds == 0:
        return []
    if n_folds == 1:
        return [hold_out(target, 0.2, random_state, groups)]
    if groups is not None:
        return _group_folds(target, groups, n_folds, random_state)
    fold_of = _shuffled_places(target, random_state) % n_folds
    folds = [Fold(*map(np.flatnonzero, (fold_of != k, fold_of == k))) for k in range(n_folds)]
    return _trained(folds, target)


def _trained(folds: list[Fold], target: Target) -> list[Fold]:
    """The folds with every class in the training rows; without those that lose all test rows."""
    if target.classes is None:
        return folds
    trained = [with_classes_trained(fold, target.values.astype(np.int64)) for fold in folds]
    return [fold for fold in trained if len(fold.test)] or folds


def with_classes_trained(fold: Fold, codes: IntArray) -> Fold:
    """A fold in which every class trains: rows of a class that would not are moved; -1 is none."""
    trains = np.zeros(codes.max() + 2, np.bool_)
    trains[codes[fold.train]] = trains[-1] = True
    stays = trains[codes[fold.test]]
    if stays.all():
        return fold
    return Fold(np.sort(np.concatenate([fold.train, fold.test[~stays]])), fold.test[stays])


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def default_folds(n_rows: int, n_columns: int = 0) -> int:
    """Five folds up to 2,000 rows, three up to 5,000, one validation part above; none below 40.

    Rows with twice as many columns have five from 20 rows on: they are tested by permutations too.
    """
    if n_rows < (FEWEST_ROWS if n_columns >= 2 * n_rows else FEW_ROWS):
        return 0
    if n_rows > MANY_ROWS:
        return 1
    return 5 if n_rows <= 2000 else 3


def hold_out(
    target: Target, fraction: float, random_state: int, groups: IntArray | None = None
) -> Fold:
    """One random validation part, stratified by class, or a share of the groups of rows."""
    if groups is not None:
        return _group_folds(target, groups, 1, random_state, fraction)[0]
    n = len(target.values)
    place = _shuffled_places(target, random_state)
    n_test = min(max(1, round(fraction * n)), n - 1)
    # Evenly distributed over the places: the first class does not give more than its share.
    test = np.zeros(n, np.bool_)
    test[(np.arange(n_test) * n) // max(1, n_test)] = True
    drawn = Fold(np.flatnonzero(~test[place]), np.flatnonzero(test[place]))
    return _trained([drawn], target)[0]


def _shuffled_places(target: Target, random_state: int) -> IntArray:
    """A random number for each row, class after class: places modulo k are stratified."""
    order = np.random.default_rng(random_state).permutation(len(target.values))
    if target.classes is not None:
        order = order[np.argsort(target.values[order], kind="stable")]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def read_folds(cv: Any, target: Target, kept: IntArray, groups: Any = None) -> list[Fold]:
    """The folds of a splitter or a list, in the numbers of the rows that are kept (sorted)."""
    n_rows, pairs = len(target.values), cv
    if hasattr(cv, "split"):
        labels = target.values if target.classes is None else target.values.astype(np.int64)
        more = () if groups is None else (groups,)
        try:
            pairs = list(cv.split(np.zeros((n_rows, 1)), labels, *more))
        except ValueError as error:
            lacks_groups = groups is None and "groups" in str(error)
            advice = "Give 'groups', the group of each row." if lacks_groups else "Use fewer folds."
            raise InputError(
                f"'cv' must be able to split the rows. Got {type(cv).__name__}: {error} {advice}"
            ) from error
    number = np.full(n_rows, -1, np.int64)
    number[kept] = np.arange(len(kept))
    folds: list[Fold] = []
    for pair in pairs:
        parts = [number[part] for part in _read_pair(pair, n_rows)]
        fold = Fold(*(part[part >= 0] for part in parts))
        if not (len(fold.train) and len(fold.test)):
            raise ParameterError(
                "'cv' must give every fold training rows and test rows of positive weight. "
                f"Got none in fold {len(folds)}. Use fewer folds, or leave that one out."
            )
        folds.append(fold)
    if not folds:
        raise ParameterError(
            "'cv' must give at least one fold. Got none. Use None to have folds drawn."
        )
    return folds


def _read_pair(pair: Any, n_rows: int) -> list[IntArray]:
    """The rows of one fold: numbers or masks, each row in one part at most."""
    try:
        train, test = (_row_numbers(part, n_rows) for part in pair)
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError(
            f"'cv' must give pairs of row numbers (train, test) from 0 to {n_rows - 1}. Got "
            f"something else: {error}. Use 5 for five folds."
        ) from error
    if len(np.unique(np.concatenate([train, test]))) < len(train) + len(test):
        raise ParameterError(
            "'cv' must give each row to one part of a fold, once. Got rows in both train and test, "
            "or repeated rows. Use 5 for five folds."
        )
    return [train, test]


def _row_numbers(part: Any, n_rows: int) -> IntArray:
    given = np.asarray(part)
    if given.size and given.dtype.kind not in "iub":
        raise TypeError(f"rows of type {given.dtype}")
    if given.ndim != 1 or (given.dtype.kind == "b" and len(given) != n_rows):
        raise ValueError(f"rows of shape {given.shape}")
    # numbers below 0 count from the end, as everywhere in numpy; those beyond it raise
    rows: IntArray = np.arange(n_rows)[given if given.size else given.astype(np.int64)]
    return np.sort(rows)


def default_outer_folds(n_rows: int) -> int:
    """Five folds, three above 5,000 rows, fewer for less than ten rows."""
    return max(2, min(n_rows // 2, 5 if n_rows <= MANY_ROWS else 3))


def outer_folds(rows: Rows, cv: Any, seed: int) -> list[Fold]:
    """The outer folds of nested cross-validation, at least one, in the numbers of all rows."""
    kept = np.flatnonzero(rows.weight)  # rows of weight zero are in no fold
    if _is_whole(cv) and cv == 0:
        raise ParameterError(
            "'cv' must give at least one fold. Got 0. Use None for as many as are sensible."
        )
    if is_drawn(cv):
        groups = None if rows.groups is None else rows.groups[kept]
        target, n_rows = rows.target, len(rows.weight)
        if rows.tasks is not None:
            tasks = read_stacked(target, rows.tasks.tolist(), n_rows)
            target = strata_of_tasks(tasks, n_rows)
        target, default = target.take(kept), default_outer_folds(len(kept))
        folds = draw_folds(target, cv, random_state=seed, groups=groups, default=default)
    else:
        folds = read_folds(cv, rows.target, kept, rows.groups)
    folds = [Fold(kept[fold.train], kept[fold.test]) for fold in folds]
    if rows.tasks is not None:
        check_task_folds(folds, rows.target, rows.tasks)
    return folds


def check_groups(groups: Any, n_rows: int) -> AnyArray:
    """The group of each row, none of them missing."""
    values = as_array(groups, "groups")
    if values.ndim != 1:
        raise InputError(
            f"'groups' must have one value per row. Got shape {values.shape}. Give the column that "
            "says which rows belong together."
        )
    check_length(len(values), n_rows, "groups")
    is_missing = (values != values) | (values == np.array(None))  # noqa: PLR0124 - NaN, NaT
    if is_missing.any():
        raise InputError(
            f"'groups' must name the group of every row. Got {int(is_missing.sum())} missing, the "
            f"first in row {int(np.argmax(is_missing))}. Give each such row a group of its own."
        )
    return values


def group_numbers(groups: AnyArray) -> IntArray:
    """A number for the group of each row."""
    return np.unique(groups.astype(str), return_inverse=True)[1].astype(np.int64)


def _group_folds(
    target: Target, groups: IntArray, n_folds: int, seed: int, fraction: float = 0.2
) -> list[Fold]:
    """Folds that keep groups together, by class as far as that goes; one is a share of them."""
    from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold

    n_groups = len(np.unique(groups))
    if n_groups < max(2, n_folds):
        raise ParameterError(
            f"'cv' must not be more than the number of groups. Got {n_folds} folds for {n_groups} "
            "groups of rows. Use fewer folds, or leave 'groups' out."
        )
    kind = GroupKFold if target.classes is None else StratifiedGroupKFold
    splitter: Any = GroupShuffleSplit(PARTS_TRIED, test_size=fraction, random_state=seed)
    if n_folds > 1:
        splitter = kind(int(n_folds), shuffle=True, random_state=seed)
    folds = read_folds(splitter, target, np.arange(len(groups)), groups)
    if n_folds > 1 or target.classes is None:
        return folds[:n_folds]
    return [max(folds, key=lambda fold: len(np.unique(target.values[fold.train])))]


def strata_of_tasks(tasks: Iterable[TaskRows], n_rows: int) -> Target:
    """A class for each task and class, so that folds are stratified by both."""
    strata = np.zeros(n_rows)
    n_known = 0
    for each in tasks:
        strata[each.rows] = n_known
        if each.target.classes is not None:
            strata[each.rows] += each.target.values
        n_known += max(1, each.target.n_classes)
    return Target(strata, np.arange(n_known)) if n_known > 1 else Target(strata)


def check_task_folds(folds: Sequence[Fold], target: Target, tasks: AnyArray) -> None:
    """Raise if the training rows of a fold are not enough for every task."""
    for number, fold in enumerate(folds, start=1):
        training = rows_by_key(tasks[fold.train].tolist())
        tested = rows_by_key(tasks[fold.test].tolist())
        few = [(task, "no rows") for task in tested if task not in training]
        for task, places in training.items():
            if len(places) < 2:
                few.append((task, "one row"))
            elif target.classes is not None and np.ptp(target.values[fold.train[places]]) == 0:
                few.append((task, "one class"))
        if few:
            task, what = few[0]
            raise InputError(
                "The training rows of every fold must have two rows and two classes of every task "
                f"at least. Got {what} of task {task!r} in fold {number}. Use fewer folds, or "
                "leave that task out or join it to another."
            )

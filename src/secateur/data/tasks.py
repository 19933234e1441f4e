"""The tasks or queries that rows belong to: reading and checking them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.categories import is_missing, missing_in
from secateur.data.frames import as_array, as_frame, check_length
from secateur.data.table import Fold, read_values
from secateur.data.target import Target, TargetType, read_target
from secateur.exceptions import InputError, InputTypeError, SecateurError, some_of
from secateur.typing import AnyArray, FloatArray, IntArray

ONLY_TASK = "all"  # the name of the task where there is only one


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """One task: its name, its rows in the table (sorted), and their target."""

    key: Any
    rows: IntArray
    target: Target

    def take(self, kept: IntArray, n_rows: int) -> TaskRows:
        """The same task in a table of some rows only."""
        number = np.full(n_rows, -1, np.int64)
        number[kept] = np.arange(len(kept))
        inside = number[self.rows] >= 0
        target = self.target.take(np.flatnonzero(inside))
        return TaskRows(self.key, number[self.rows[inside]], target)


def is_wide(y: Any) -> bool:
    """Whether y has a column for each of several tasks."""
    shape = getattr(y, "shape", None)
    if isinstance(y, list | tuple) and y and isinstance(y[0], list | tuple | np.ndarray):
        shape = (len(y), len(y[0]))
    return shape is not None and len(shape) == 2 and shape[1] > 1


def read_wide(y: Any, *, target_type: TargetType, n_rows: int) -> list[TaskRows]:
    """A task for each column of y; missing labels leave a row out of that task."""
    tasks = []
    for key, rows, labels in labelled_rows(y, n_rows):
        if len(rows) == 0:
            raise InputError(
                f"Each column of y must have labels. Got none in column {key!r}: all are missing. "
                "Leave that column out."
            )
        try:
            tasks.append(TaskRows(key, rows, read_target(labels, target_type=target_type)))
        except SecateurError as error:
            raise type(error)(f"Column {key!r} of y: {error}") from error
    return tasks


def labelled_rows(y: Any, n_rows: int) -> Iterator[tuple[Any, IntArray, AnyArray]]:
    """Of each column of an array, frame or dict its name, the rows with a label, and the labels."""
    columns: Iterable[tuple[Any, AnyArray]]
    if isinstance(y, dict):
        columns = y.items()
    elif (frame := as_frame(y)) is None:
        columns = enumerate(as_array(y, "y").T)
    else:
        columns = ((name, read_values(frame[name])) for name in frame.columns)
    for key, column in columns:
        check_length(len(column), n_rows, "y")
        rows = np.flatnonzero(~missing_in(column))
        yield key, rows, column[rows]


def read_stacked(target: Target, task: Any, n_rows: int) -> list[TaskRows]:
    """The tasks of rows that carry the name of their task; one task if there are no names.

    >>> target = read_target([0, 1, 1, 2], target_type="classification")
    >>> tasks = read_stacked(target, ["b", "a", "b", "a"], 4)
    >>> [(each.key, each.rows.tolist(), each.target.classes) for each in tasks]
    [('a', [1, 3], array([1, 2])), ('b', [0, 2], array([0, 1]))]
    """
    if task is None:
        return [TaskRows(ONLY_TASK, np.arange(n_rows), target)]
    tasks = []
    for key, rows in rows_by_key(read_keys(task, n_rows)).items():
        own = target.take(rows)
        if own.classes is not None:  # those that occur in the task
            present, codes = np.unique(own.values.astype(np.int64), return_inverse=True)
            own = Target(codes.astype(np.float64), own.classes[present])
        tasks.append(TaskRows(key, rows, own))
    return tasks


def read_keys(keys: Any, n_rows: int | None, name: str = "task", what: str = "task") -> list[Any]:
    """The name of the task, or query, of each row, in the user's own type."""
    array = None if isinstance(keys, list | tuple) else as_array(keys, name)
    if array is not None and array.ndim != 1:
        raise InputError(
            f"{name!r} must be one value per row. Got shape {array.shape}. Give a flat list or "
            "array."
        )
    found = list(keys) if array is None else array.tolist()
    check_length(len(found), n_rows, name)
    n_missing = sum(is_missing(key) for key in found)
    if n_missing:
        raise InputError(
            f"{name!r} must name the {what} of every row. Got {n_missing} missing of {len(found)}. "
            f"Drop those rows, or give them a {what} of their own."
        )
    try:
        set(found)
    except TypeError as error:
        raise InputTypeError(
            f"{name!r} must hold hashable values. Got others: {error}. Use numbers, text or tuples."
        ) from error
    return found


def _numbered(keys: Sequence[Any]) -> tuple[IntArray, dict[Any, int]]:
    """The number of each name by first appearance, and the numbers of all names."""
    number: dict[Any, int] = {}
    codes = (number.setdefault(key, len(number)) for key in keys)
    return np.fromiter(codes, np.int64, len(keys)), number


def rows_by_key(keys: Sequence[Any]) -> dict[Any, IntArray]:
    """The rows of each name; names in sorted order where they have one, else as they come."""
    codes, number = _numbered(keys)
    rows: IntArray = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[rows], np.arange(len(number) + 1))
    found = {key: rows[cuts[code] : cuts[code + 1]].copy() for key, code in number.items()}
    try:
        return dict(sorted(found.items(), key=lambda each: each[0]))
    except TypeError:
        return found


def check_tasks(tasks: Sequence[TaskRows], weight: FloatArray) -> None:
    """Refuse tasks that nothing can be learnt from, once rows of weight zero are gone."""
    for each in tasks:
        if len(each.rows) == 0 or not weight[each.rows].any():
            raise InputError(
                f"Task {each.key!r} must have rows of positive weight. Got none. Leave it out."
            )
        n_classes = len(np.unique(each.target.values))
        if each.target.classes is not None and n_classes < 2:
            raise InputError(
                f"Task {each.key!r} must have at least two classes among its rows of positive "
                "weight. Got 1 class. Leave it out, or give it rows of another class."
            )
        if len(tasks) > 1 and len(each.rows) < 2:
            raise InputError(
                f"Task {each.key!r} must have at least two labels. Got {len(each.rows)}. Drop it."
            )
    names = [str(each.key) for each in tasks]
    if len(set(names)) < len(names):
        doubled = sorted({name for name in names if names.count(name) > 1})
        raise InputError(
            f"Tasks must have names that differ when written out. Got {some_of(doubled)} more than "
            "once. Use numbers only, or text only."
        )


def all_classes(tasks: Sequence[TaskRows]) -> AnyArray | None:
    """The classes of all tasks, sorted; None for numbers."""
    known = [each.target.classes for each in tasks if each.target.classes is not None]
    if not known:
        return None
    try:
        return np.unique(np.concatenate(known))
    except TypeError:  # text in one task, numbers in another
        return np.array(sorted({c for part in known for c in part.tolist()}, key=str), object)


def read_queries(qid: Any, n_rows: int | None = None, name: str = "qid") -> IntArray:
    """A number for the query of each row, by first appearance, so that names do not matter.

    >>> read_queries(["b", "a", "b", ("c", 1)])
    array([0, 1, 0, 2])
    """
    if qid is None:
        raise InputError(
            f"'{name}' must name the query of every row. Got None. Give one value per row, rows of "
            "the same query the same."
        )
    if isinstance(qid, np.ndarray) and qid.ndim == 1 and qid.dtype.kind in "iu":  # fast
        check_length(len(qid), n_rows, name)
        _, first, number = np.unique(qid, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[number]
    return _numbered(read_keys(qid, n_rows, name, "query"))[0]


def check_pairs(number: IntArray, grade: FloatArray) -> None:
    """Refuse queries from which no order can be learnt."""
    sizes = np.bincount(number)
    if sizes.max() < 2:
        raise InputError(
            f"Some queries must have several documents. Got {len(sizes)} queries of one row each. "
            "Give 'qid' the same value for all rows of one query."
        )
    order = np.lexsort((grade, number))
    same = np.diff(number[order]) == 0
    if not (same & (np.diff(grade[order]) > 0)).any():
        raise InputError(
            "Some query must have documents of different grades. Got one grade in each query. "
            "Check y and 'qid'."
        )


def check_one_task(number: IntArray, tasks: Sequence[TaskRows]) -> None:
    """Refuse queries with rows in several tasks."""
    task_of = np.empty(len(number), np.int64)
    for t, each in enumerate(tasks):
        task_of[each.rows] = t
    _, first, of_row = np.unique(number, return_index=True, return_inverse=True)
    own = task_of[first][of_row]
    others = np.flatnonzero(task_of != own)
    if len(others):
        n_shared, row = len(np.unique(number[others])), int(others[0])
        names = [tasks[int(t)].key for t in (own[row], task_of[row])]
        raise InputError(
            f"The rows of a query must be of one task. Got {n_shared} queries in several tasks, one"
            f" of them in {some_of(names)}. Name queries by task as well, as in (task, query)."
        )


def check_pairs_of_tasks(number: IntArray, tasks: Sequence[TaskRows]) -> None:
    """Refuse tasks from which no order can be learnt."""
    for each in tasks:
        try:
            check_pairs(np.unique(number[each.rows], return_inverse=True)[1], each.target.values)
        except InputError as error:
            raise InputError(f"Task {each.key!r}: {error}") from error


def weights_of_rows(sample_weight: Any, number: IntArray) -> Any:
    """Weights of queries, in the order of their first rows, as weights of rows; others as given."""
    if sample_weight is None or np.ndim(sample_weight) != 1:
        return sample_weight
    n_queries = int(number.max(initial=-1)) + 1
    if len(sample_weight) == len(number) or len(sample_weight) != n_queries:
        return sample_weight
    return as_array(sample_weight, "sample_weight")[number]


def check_whole(folds: Sequence[Fold], number: IntArray) -> None:
    """Refuse folds that have rows of a query in both parts."""
    for at, fold in enumerate(folds):
        shared = np.intersect1d(number[fold.train], number[fold.test])
        if len(shared):
            raise InputError(
                f"Folds must not split a query. Got {len(shared)} of them in both parts of fold "
                f"{at}. Use a number of folds, or a splitter of groups as GroupKFold."
            )

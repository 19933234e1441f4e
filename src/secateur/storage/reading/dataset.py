"""`Dataset`: a file with its columns told apart into features, target, weights and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data import target as guessing
from secateur.data.messages import similar_to, some_of
from secateur.data.target import TargetType
from secateur.exceptions import InputError
from secateur.storage.reading.columns import TableSummary, as_days, date_formats
from secateur.storage.reading.formats import RawTable
from secateur.storage.reading.matrices import LABEL
from secateur.storage.reading.plan import Features, Plan, make_features, plan_of
from secateur.storage.reading.read_file import whole_labels
from secateur.typing import AnyArray, FloatArray, IntArray


def guess_target_type(target: AnyArray, name: str) -> tuple[TargetType, str]:
    """Guess what is asked, and say why.

    Parameters
    ----------
    target : array of float or of text, without missing values
    name : str

    Examples
    --------
    >>> guess_target_type(np.array([0.5, 1.25, 3.0]), "y")
    ('regression', "Target type: regression, since 'y' holds numbers (--target-type overrules).")
    """
    values = np.unique(target)
    if len(values) < 2:
        raise InputError(
            f"The target must have at least two values. Got {some_of(values)} in every row of "
            f"{name!r}. Name another target, or look at how its rows were chosen."
        )
    if target.dtype.kind == "O":
        _check_texts(len(values), len(target), name)
        return "classification", _classes(name, values)
    if guessing.guess_target_type(target) == "classification":
        return "classification", _classes(name, [int(value) for value in values])
    is_whole = bool((values == np.floor(values)).all())
    why = "whole numbers, too many for classes" if is_whole else "numbers"
    return (
        "regression",
        f"Target type: regression, since {name!r} holds {why} (--target-type overrules).",
    )


def labels_of(target: AnyArray, target_type: TargetType) -> AnyArray:
    """The target as selectors want it: whole class labels as integers, so that they print so."""
    if target_type == "classification" and target.dtype.kind == "f":
        return whole_labels(target)
    return target


def _classes(name: str, values: Any) -> str:
    return (
        f"Target type: classification, since {name!r} has {len(values)} classes: {some_of(values)} "
        "(--target-type overrules)."
    )


def _check_texts(n_values: int, n_rows: int, name: str) -> None:
    if n_values > max(guessing.MOST_CLASSES, n_rows // 2):
        raise InputError(
            f"The target must be classes or numbers. Got {n_values} different texts in the "
            f"{n_rows} rows of {name!r}. Name another column, or convert it to numbers."
        )


@dataclass(frozen=True, slots=True)
class Roles:
    """What the user said of the columns, by name."""

    target: str | None = None
    weight: str | None = None
    time: str | None = None
    group: str | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    tasks: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """What a selection needs of a file.

    Parameters
    ----------
    features : Features
        X with its names, rows as in ``rows``.
    y : array of shape (n_rows,)
    target_type : {"classification", "regression"}
    target : str
        The name of y.
    weight, time, group : array of shape (n_rows,) or None
    rows : array of int
        The rows of the file that are used, in this order: those with a target, by time where
        there is one.
    plan : Plan
    raw : RawTable
    notes : tuple of str
    tasks : array of object, shape (n_rows,), or None
        The task of each row, where there are several.
    """

    features: Features
    y: AnyArray
    target_type: TargetType
    target: str
    weight: FloatArray | None
    time: FloatArray | None
    group: AnyArray | None
    rows: IntArray
    plan: Plan
    raw: RawTable
    notes: tuple[str, ...]
    tasks: AnyArray | None = None

    @property
    def is_stored(self) -> bool:
        """Whether the features are in a table on disk."""
        from secateur.storage.stored_table import StoredTable  # takes seconds to load

        return isinstance(self.features.X, StoredTable)

    @property
    def beside(self) -> tuple[AnyArray | None, FloatArray | None, AnyArray | None]:
        """Target, weights and tasks as a fit is given them: a table on disk brings its own."""
        return (None, None, None) if self.is_stored else (self.y, self.weight, self.tasks)


def make_dataset(
    raw: RawTable, roles: Roles, *, target_type: TargetType | None = None, indicators: bool = False
) -> Dataset:
    """Tell the columns of a file apart.

    Parameters
    ----------
    raw : RawTable
    roles : Roles
    target_type : optional
        Guessed by default.
    indicators : bool, default=False
        As in `make_features`.
    """
    target = target_name(raw, roles.target)
    plan = plan_features(TableSummary.of(raw), raw, roles, target)
    y, rows, notes = _target(raw, target)
    guessed, sentence = guess_target_type(y, target) if target_type is None else (target_type, "")
    time = _time(raw, roles.time, rows)
    order = np.arange(len(rows)) if time is None else np.argsort(time, kind="stable")
    rows, y = rows[order], y[order]
    features = make_features(plan, raw, indicators=indicators)
    return Dataset(
        features._replace(X=take_rows(features.X, rows, raw.n_rows)),
        labels_of(y, guessed),
        guessed,
        target,
        _weight(raw, roles.weight, rows),
        None if time is None else time[order],
        None if roles.group is None else column_values(raw, roles.group)[rows],
        rows,
        plan,
        raw,
        (*raw.notes, *plan.notes, *features.notes, *notes, *([sentence] if sentence else [])),
        None if roles.tasks is None else _tasks(raw, roles.tasks, rows),
    )


def plan_features(facts: TableSummary, raw: RawTable, roles: Roles, target: str) -> Plan:
    """Decide what becomes of the columns that have no use of their own; ``raw`` names them."""
    named = (target, roles.weight, roles.time, roles.group, roles.tasks)
    taken = [find_column(raw, name) for name in (*named, *roles.drop) if name is not None]
    keep = [find_column(raw, name) for name in roles.keep]
    _check_keep(roles, keep, taken)
    plan = plan_of(facts, [p for p in taken if p is not None], [p for p in keep if p is not None])
    if not len(plan.kept):
        raise InputError(
            "A selection needs at least one feature. Got none besides the target and what was left "
            f"out. {' '.join(plan.notes)} Name other columns in --drop, or check --delimiter."
        )
    return plan


def find_column(raw: RawTable, name: str) -> int | None:
    """The position of a column by name; None for an array beside the table."""
    if name in raw.extra:
        return None
    try:
        return raw.names.index(name)
    except ValueError:
        names = [*raw.extra, *raw.names]
        raise InputError(
            f"{name!r} must be a column of the file. Got {some_of(names)}.{similar_to(name, names)}"
        ) from None


def column_values(raw: RawTable, name: str) -> AnyArray:
    """A column as numbers, or as text (None for missing) where it is text."""
    position = find_column(raw, name)
    if position is None:
        side: AnyArray = raw.extra[name]
        return side.astype(np.float64) if side.dtype.kind in "fiub" else side.astype(object)
    if position in raw.texts:
        return np.array(raw.texts[position].to_list(), dtype=object)
    column = raw.matrix[:, [position]]
    dense = column.toarray() if raw.is_sparse else column
    numbers: AnyArray = np.asarray(dense, dtype=np.float64).ravel()
    return numbers


def task_names(values: AnyArray, name: str) -> AnyArray:
    """The task of each row: text, or whole numbers; every row must have one."""
    is_text = values.dtype.kind == "O"
    missing = np.array([value is None for value in values]) if is_text else ~np.isfinite(values)
    if missing.any():
        raise InputError(
            f"Every row must have a task. Got {int(missing.sum())} of {len(values)} rows without "
            f"one in {name!r}. Fill these cells, or leave the rows out."
        )
    if not is_text and (values != np.floor(values)).any():
        raise InputError(
            f"Tasks must be text or whole numbers. Got numbers with a fraction in {name!r}. Name "
            "another --task-column."
        )
    names: AnyArray = np.empty(len(values), object)
    names[:] = values.tolist() if is_text else [int(value) for value in values]
    return names


def take_rows(X: Any, rows: IntArray, n_rows: int) -> Any:
    """Some rows of a matrix or data frame; the thing itself where they are all, in order."""
    if len(rows) == n_rows and (rows == np.arange(n_rows)).all():
        return X
    return X[rows]


def target_name(raw: RawTable, given: str | None) -> str:
    """The target that was named, or that a file brings."""
    if given is not None:
        return given
    if LABEL in raw.extra:
        return LABEL
    raise InputError(
        f"A target must be named. Got columns {some_of([*raw.extra, *raw.names])}. Use --target "
        "NAME."
    )


def _check_keep(roles: Roles, keep: Sequence[int | None], taken: Sequence[int | None]) -> None:
    wrong = [name for name, p in zip(roles.keep, keep, strict=True) if p is None or p in taken]
    if wrong:
        raise InputError(
            f"What is kept must be a feature. Got {some_of(wrong)}, which the file has another use "
            "for. Leave it out of --keep, or out of --drop."
        )


def _target(raw: RawTable, name: str) -> tuple[AnyArray, IntArray, list[str]]:
    values = column_values(raw, name)
    position = find_column(raw, name)
    is_text = values.dtype.kind == "O" and position is not None
    return known_target(values, raw.matrix[:, position] if is_text else None, name)


def known_target(
    values: AnyArray, numbers: FloatArray | None, name: str
) -> tuple[AnyArray, IntArray, list[str]]:
    """The target where there is one, the rows that have it, and what to say of the others.

    ``numbers`` are those among values that are text.
    """
    if values.dtype.kind == "O":
        missing = np.array([value is None for value in values])
        if numbers is not None and np.isnan(numbers[~missing]).mean() < 0.05:
            strays = sorted({str(v) for v in values[~missing & np.isnan(numbers)]})
            raise InputError(
                f"The target must hold numbers or classes. Got numbers and {some_of(strays)} in "
                f"{name!r}. Mend these cells, or empty them."
            )
    else:
        missing = ~np.isfinite(values)
    rows = np.flatnonzero(~missing)
    if not len(rows):
        raise InputError(f"The target must have values. Got none in {name!r}. Name another column.")
    n_missing = len(values) - len(rows)
    note = f"{n_missing} of {len(values)} rows have no target and are left out."
    return values[rows], rows, [note] if n_missing else []


def _tasks(raw: RawTable, name: str, rows: IntArray) -> AnyArray:
    return task_names(column_values(raw, name)[rows], name)


def _weight(raw: RawTable, name: str | None, rows: IntArray) -> FloatArray | None:
    if name is None:
        return None
    return read_weight(column_values(raw, name)[rows], name)


def read_weight(values: AnyArray, name: str) -> FloatArray:
    """Weights as numbers >= 0, or an error."""
    if values.dtype.kind != "f" or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(
            f"Weights must be numbers >= 0, without gaps. Got others in {name!r}. Mend them, or "
            "name another column."
        )
    return values


def _time(raw: RawTable, name: str | None, rows: IntArray) -> FloatArray | None:
    if name is None:
        return None
    values = column_values(raw, name)
    position = find_column(raw, name)
    if values.dtype.kind == "O" and position is not None:
        forms = date_formats(raw.texts[position].drop_nulls().unique())
        values = as_days(raw.texts[position], forms[0]) if forms else values
    values = values[rows]
    if values.dtype.kind != "f" or np.isnan(values).any():
        raise InputError(
            f"Times must be dates or numbers, without gaps. Got others in {name!r}. Write dates as "
            "2024-12-31."
        )
    return values

"""`Dataset`: features, target, weights, groups and tasks from the columns of a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from secateur.data import target as data_target
from secateur.data.categories import missing_in
from secateur.data.target import TargetType
from secateur.exceptions import InputError, similar_to, some_of
from secateur.storage.reading.columns import (
    NumberForm,
    TableSummary,
    TextSummary,
    as_days,
    date_formats,
    summarize,
)
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import RawTable, library
from secateur.storage.reading.plan import MAX_OTHER, Features, Plan, make_features, make_plan
from secateur.storage.reading.read_file import read_file, whole_labels
from secateur.storage.reading.typed_files import LABEL, QUERY
from secateur.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Roles:
    """The names of the columns that the user named, by what they are for."""

    target: str | None = None
    weight: str | None = None
    time: str | None = None
    group: str | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    tasks: str | None = None
    query: str | None = None

    @property
    def named(self) -> list[str]:
        """The columns with values for rows."""
        names = (self.target, self.weight, self.time, self.group, self.tasks, self.query)
        return [name for name in names if name is not None]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowValues:
    """What is known of the rows that are used, besides the features."""

    rows: IntArray
    y: AnyArray
    target: str
    target_type: TargetType
    weight: FloatArray | None = None
    time: FloatArray | None = None
    group: AnyArray | None = None
    tasks: AnyArray | None = None
    query: AnyArray | None = None
    query_column: str | None = None  # its name

    def take(self, rows: Any) -> Self:
        """The values of some of the rows."""
        arrays = {key: each for key, each in vars(self).items() if isinstance(each, np.ndarray)}
        return replace(self, **{key: each[rows] for key, each in arrays.items()})


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset(RowValues):
    """What a selection needs of a file."""

    features: Features
    plan: Plan
    raw: RawTable
    notes: tuple[str, ...]

    @property
    def is_encoded(self) -> bool:
        """Whether each value of a category has a feature of its own."""
        return self.features.names != self.plan.names

    @property
    def is_stored(self) -> bool:
        """Whether the features are in a table on disk."""
        from secateur.storage.stored_table import StoredTable  # takes seconds to load

        return isinstance(self.features.X, StoredTable)

    @property
    def fit_arguments(self) -> tuple[AnyArray | None, FloatArray | None, AnyArray | None]:
        """Target, weights and tasks as a fit needs them: a table on disk holds its own."""
        return (None, None, None) if self.is_stored else (self.y, self.weight, self.tasks)


def make_dataset(
    raw: RawTable, roles: Roles, *, target_type: TargetType | None = None, indicators: bool = False
) -> Dataset:
    """A data set from a table in memory."""
    summary, _ = summarize(raw.names, lambda _: iter([raw]))
    plan = plan_features(summary, raw, roles)
    values, notes = row_values(raw, roles, target_type)
    features = make_features(plan, raw, indicators=indicators)
    return Dataset(
        features=features._replace(X=take_rows(features.X, values.rows, raw.n_rows)),
        plan=plan,
        raw=raw,
        notes=(*raw.notes, *plan.notes, *features.notes, *notes),
        **vars(values),
    )


class TestRows(NamedTuple):
    """Features and target of rows for testing only, and the name of their file."""

    file: str
    X: Any
    y: AnyArray
    tasks: AnyArray | None = None
    query: AnyArray | None = None


def read_test(
    file: Path, dataset: Dataset, options: ReadOptions, tasks: str | None = None
) -> TestRows:
    """The rows of another file with a target, with the columns and categories of a data set."""
    raw, first = read_file(file, options), dataset.raw
    is_like = raw.is_sparse and first.is_sparse and raw.names[0] == first.names[0]
    if is_like and raw.names != first.names:  # the last columns may happen to be empty
        matrix = raw.matrix.copy()
        matrix.resize((raw.n_rows, len(first.names)))
        raw = replace(raw, matrix=matrix, names=first.names)
    roles = Roles(dataset.target, tasks=tasks, query=dataset.query_column)
    values, _ = row_values(raw, roles, dataset.target_type)
    if (values.y.dtype.kind == "O") != (dataset.y.dtype.kind == "O"):
        raise InputError(
            f"{file} must have the target of the first file. Got values of another kind in "
            f"{dataset.target!r}. Write both alike."
        )
    if values.tasks is not None and dataset.tasks is not None:
        unknown = sorted(set(values.tasks.tolist()) - set(dataset.tasks.tolist()), key=str)
        if unknown:
            raise InputError(
                f"{file} must have tasks of the first file. Got {some_of(unknown)}. Leave these "
                "rows out: no model was fitted for them."
            )
    features = make_features(dataset.plan, raw, indicators=dataset.is_encoded)
    X = take_rows(features.X, values.rows, raw.n_rows)
    return TestRows(file.name, X, values.y, values.tasks, values.query)


def plan_features(summary: TableSummary, raw: RawTable, roles: Roles) -> Plan:
    """Plan the columns that have no role; ``raw`` has their names."""
    used = [*roles.named, target_name(raw, roles.target), *roles.drop]
    taken = {find_column(raw, name) for name in used}
    keep = {name: find_column(raw, name) for name in roles.keep}
    wrong = [name for name, place in keep.items() if place is None or place in taken]
    if wrong:
        raise InputError(
            f"Columns of --keep must be features. Got {some_of(wrong)}, which has another role or "
            "is dropped. Leave it out of --keep, or out of --drop."
        )
    kept = {place for place in keep.values() if place is not None}
    plan = make_plan(summary, {place for place in taken if place is not None}, kept)
    if not len(plan.kept):
        raise InputError(
            "A selection needs at least one feature. Got none besides the target and what was left "
            f"out. {' '.join(plan.notes)} Name other columns in --drop, or check --delimiter."
        )
    return plan


def find_column(raw: RawTable, name: str) -> int | None:
    """The position of a column by name; None for an array outside the table."""
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
        values: AnyArray = raw.extra[name]
        return values.astype(np.float64 if values.dtype.kind in "fiub" else object)
    text = raw.texts.get(position)
    if text is None:
        column = raw.matrix[:, [position]]
        return np.asarray(column.toarray() if raw.is_sparse else column).ravel()
    labels = text.drop_nulls().unique(maintain_order=True)  # one object for equal texts
    codes = text.cast(library("polars").Enum(labels)).to_physical().fill_null(len(labels))
    objects: AnyArray = np.array([*labels.to_list(), None], dtype=object)
    return np.asarray(objects[codes.to_numpy()])


def take_rows(X: Any, rows: IntArray, n_rows: int) -> Any:
    """Some rows of a matrix or data frame; itself where they are all, in order."""
    return X if len(rows) == n_rows and (rows == np.arange(n_rows)).all() else X[rows]


def target_name(raw: RawTable, given: str | None) -> str:
    """The name of the target: as the user said, or the labels of a LIBSVM file."""
    if given is not None:
        return given
    if LABEL in raw.extra:
        return LABEL
    raise InputError(
        f"A target must be named. Got columns {some_of([*raw.extra, *raw.names])}. Use --target."
    )


def row_values(
    raw: RawTable, roles: Roles, target_type: TargetType | None = None
) -> tuple[RowValues, list[str]]:
    """Target, weights, times, groups and tasks of the rows with a target, and notes."""
    target = target_name(raw, roles.target)
    y, rows, notes = _target(raw, target)
    query = _query_column(raw, roles.query, target_type)
    if query is not None and target_type is None:
        target_type = "ranking"
        notes.append(f"Target type: ranking, since rows belong to queries, {query!r}.")
    if target_type is None:
        target_type, note = guess_target_type(y, target)
        notes.append(note)
    if target_type == "classification" and y.dtype.kind == "f":
        y = whole_labels(y)
    values = RowValues(
        rows=rows,
        y=y,
        target=target,
        target_type=target_type,
        weight=None if roles.weight is None else _weight(raw, roles.weight, rows),
        time=None if roles.time is None else _time(raw, roles.time, rows),
        group=None if roles.group is None else column_values(raw, roles.group)[rows],
        tasks=None if roles.tasks is None else _tasks(raw, roles.tasks, rows),
        query=None if query is None else column_values(raw, query)[rows],
        query_column=query,
    )
    order = None if values.time is None else np.argsort(values.time, kind="stable")
    return (values if order is None else values.take(order)), notes


def _query_column(raw: RawTable, given: str | None, target_type: str | None) -> str | None:
    """The column of queries: as the user said, or ``qid`` of a LIBSVM file; None for others."""
    if target_type not in {None, "ranking"} and given is not None:
        raise InputError(
            f"A column of queries is for ranking. Got --query-column {given} and --target-type "
            f"{target_type}. Leave one of them out."
        )
    if given is None and target_type in {None, "ranking"} and QUERY in raw.extra:
        return QUERY
    if given is None and target_type == "ranking":
        raise InputError(
            "Ranking needs the query of each row. Got --target-type ranking without a column of "
            "queries. Name it: --query-column."
        )
    return given


def _target(raw: RawTable, name: str) -> tuple[AnyArray, IntArray, list[str]]:
    """The target where there is one, the rows that have it, and a note on the others."""
    values, position, notes = column_values(raw, name), find_column(raw, name), list[str]()
    is_text = values.dtype.kind == "O"
    if position is not None and is_text and (form := _target_form(raw, position)):
        values = form.parse(raw.texts[position])
        notes.append(f"The target {name!r} holds numbers {form}.")
    rows = np.flatnonzero(~_is_missing(values))
    if not len(rows):
        raise InputError(f"The target must have values. Got none in {name!r}. Name another column.")
    n_missing = len(values) - len(rows)
    if n_missing:
        notes.append(f"{n_missing} of {len(values)} rows have no target and are left out.")
    return values[rows], rows, notes


def _target_form(raw: RawTable, position: int) -> NumberForm | None:
    """The form of the numbers of a target of text, where all of its cells are; None for classes."""
    text = TextSummary(raw.decimal)
    text.add(raw.texts[position], raw.matrix[:, position])
    name, found = raw.names[position], text.numbers()
    if text.date_formats and text.n_filled:
        raise InputError(
            f"The target must hold numbers or classes. Got dates, as {text.values()[0]!r}, in "
            f"{name!r}. Write what is to be predicted as a number, for instance days until then."
        )
    n_words = text.n_filled - found.n_numbers
    if n_words and n_words < MAX_OTHER * text.n_filled:
        raise InputError(
            f"The target must hold numbers or classes. Got numbers and {some_of(found.others)} in "
            f"{name!r}. Correct these cells, or empty them."
        )
    return None if n_words or found.n_values <= data_target.MAX_GUESSED_CLASSES else found.form


def guess_target_type(target: AnyArray, name: str) -> tuple[TargetType, str]:
    """Guess the type of a target without missing values, and say why.

    >>> guess_target_type(np.array([0.5, 1.25, 3.0]), "y")
    ('regression', "Target type: regression, since 'y' holds numbers (--target-type overrules).")
    """
    values, is_text = np.unique(target), target.dtype.kind == "O"
    if len(values) < 2:
        raise InputError(
            f"The target must have at least two values. Got {some_of(values)} in every row of "
            f"{name!r}. Name another target, or look at how its rows were chosen."
        )
    if is_text and len(values) > max(data_target.MAX_GUESSED_CLASSES, len(target) // 2):
        raise InputError(
            f"The target must be classes or numbers. Got {len(values)} different texts in the "
            f"{len(target)} rows of {name!r}. Name another column, or convert it to numbers."
        )
    if is_text or data_target.guess_target_type(target) == "classification":
        classes = values if is_text else [int(value) for value in values]
        why = f"has {len(values)} classes: {some_of(classes)}"
        found: TargetType = "classification"
    else:
        is_whole = bool((values == np.floor(values)).all())
        why = f"holds {'whole numbers, too many for classes' if is_whole else 'numbers'}"
        found = "regression"
    return found, f"Target type: {found}, since {name!r} {why} (--target-type overrules)."


def _is_missing(values: AnyArray) -> AnyArray:
    return missing_in(values) if values.dtype.kind == "O" else ~np.isfinite(values)


def _weight(raw: RawTable, name: str, rows: IntArray) -> FloatArray:
    values = column_values(raw, name)[rows]
    if values.dtype.kind != "f" or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(
            f"Weights must be numbers >= 0, without gaps. Got others in {name!r}. Correct them."
        )
    return values


def _tasks(raw: RawTable, name: str, rows: IntArray) -> AnyArray:
    """The task of each row: text or whole numbers, without gaps."""
    values = column_values(raw, name)[rows]
    is_text, n_missing = values.dtype.kind == "O", int(_is_missing(values).sum())
    if n_missing:
        raise InputError(
            f"Every row must have a task. Got {n_missing} of {len(values)} rows without one in "
            f"{name!r}. Fill these cells, or leave the rows out."
        )
    if not is_text and (values != np.floor(values)).any():
        raise InputError(
            f"Tasks must be text or whole numbers. Got fractions in {name!r}. Name another column."
        )
    return values if is_text else values.astype(np.int64).astype(object)


def _time(raw: RawTable, name: str, rows: IntArray) -> AnyArray:
    """A column as times: numbers, or dates as days."""
    place = find_column(raw, name)
    text = None if place is None else raw.texts.get(place)
    forms = [] if text is None else date_formats(text.drop_nulls().unique())
    values = (as_days(text, forms[0]) if forms else column_values(raw, name))[rows]
    if values.dtype.kind != "f" or np.isnan(values).any():
        raise InputError(
            f"Times must be numbers or dates as 2024-12-31, without gaps. Got others in {name!r}."
        )
    return values

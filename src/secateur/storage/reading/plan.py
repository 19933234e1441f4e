"""A plan applied to a file: features as a matrix, or as a data frame where some are categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from secateur.data.messages import some_of
from secateur.exceptions import InputError
from secateur.storage.reading.columns import (
    Conversion,
    TableSummary,
    as_category,
    choose_conversion,
)
from secateur.storage.reading.formats import RawTable, library, unique_names
from secateur.typing import IntArray

OTHER = "(other)"

MAX_FRAME_COLUMNS = 2_000
"""Wider tables get indicators for categories: data frames are slow with many columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which columns of a file are features, and how those of text are read.

    Parameters
    ----------
    kept : array of int
        The positions of the features in the file.
    names : tuple of str
        Their names.
    conversions : mapping of int to Conversion
        By position in the file, for columns of text that are kept.
    notes : tuple of str
        What was decided, in sentences.
    """

    kept: IntArray
    names: tuple[str, ...]
    conversions: Mapping[int, Conversion] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def categories(self) -> list[int]:
        """Positions, among the features, of those that are categories."""
        place = {int(position): new for new, position in enumerate(self.kept)}
        return [place[p] for p, told in self.conversions.items() if told.kind == "category"]


def plan_of(facts: TableSummary, without: Collection[int], keep: Collection[int] = ()) -> Plan:
    """Decide what becomes of each column.

    Parameters
    ----------
    facts : TableSummary
    without : collection of int
        Positions of columns that are no features: the target, weights, what the user drops.
    keep : collection of int
        Positions that stay in whatever they look like.
    """
    conversions, named, notes = _treat_texts(facts, without, keep)
    names = facts.names
    left_out = {*without, *named}
    counters = [p for p in facts.row_numbers if p not in left_out and p not in keep]
    if counters:
        told = some_of([names[p] for p in counters])
        notes.append(f"Left out, since they only number the rows: {told} (--keep takes them in).")
    empty = [p for p in facts.empty if p not in left_out and p not in conversions]
    if empty:
        notes.append(f"Left out, since they have no values: {some_of([names[p] for p in empty])}.")
    left_out.update(counters, empty)
    if facts.n_infinite:
        notes.append(f"Infinite values count as missing: {facts.n_infinite} cells.")
    is_kept = np.ones(len(names), np.bool_)
    is_kept[list(left_out)] = False
    kept = np.flatnonzero(is_kept)
    names_kept = tuple([names[position] for position in kept])
    return Plan(kept, names_kept, conversions, tuple(notes))


def _treat_texts(
    facts: TableSummary, without: Collection[int], keep: Collection[int]
) -> tuple[dict[int, Conversion], list[int], list[str]]:
    conversions: dict[int, Conversion] = {}
    named: list[int] = []
    notes: list[str] = []
    for position, told in sorted(facts.texts.items()):
        if position in without:
            continue
        conversion, note = choose_conversion(told, facts.names[position])
        if conversion is None and position in keep:
            conversion, note = as_category(told, facts.names[position])
        if conversion is None:
            named.append(position)
        else:
            conversions[position] = conversion
        notes += [note] if note else []
    if named:
        names = some_of([facts.names[position] for position in named])
        notes.append(
            f"Left out, since nearly every row has a text of its own: {names} (--keep takes them "
            "in)."
        )
    categories = [facts.names[p] for p, told in conversions.items() if told.kind == "category"]
    if categories:
        notes.append(f"Text is read as categories: {some_of(categories)}.")
    return conversions, named, notes


MOST_INDICATORS = 50
"""The most frequent values of a category that get a column of 0 and 1 of their own."""


class Features(NamedTuple):
    """The features of a file.

    ``sources`` tells for each the position in the plan of the column that it was made of.
    """

    X: Any
    names: tuple[str, ...]
    sources: IntArray
    notes: tuple[str, ...] = ()


def make_features(plan: Plan, raw: RawTable, *, indicators: bool = False) -> Features:
    """The features of a table, rows as they are.

    Parameters
    ----------
    plan : Plan
    raw : RawTable
        The file that the plan was made for, or another with the same columns.
    indicators : bool, default=False
        Make columns of 0 and 1 of categories, for methods that know numbers only. Otherwise a
        table with categories is a polars data frame.
    """
    positions = _positions(plan, raw)
    own = np.arange(len(plan.kept))
    if raw.is_sparse:
        same = np.array_equal(positions, np.arange(raw.matrix.shape[1]))
        return Features(raw.matrix if same else raw.matrix[:, positions], plan.names, own)
    matrix = _numbers(plan, raw, positions)
    if not plan.categories:
        return Features(matrix, plan.names, own)
    texts = {new: _text(raw, int(positions[new])) for new in plan.categories}
    if indicators:
        return _with_indicators(plan, matrix, texts)
    return Features(_frame(plan, matrix, texts), plan.names, own)


def _positions(plan: Plan, raw: RawTable) -> IntArray:
    """Where the features of the plan are in this table, by name."""
    if max(plan.kept, default=-1) < len(raw.names) and all(
        raw.names[position] == name for position, name in zip(plan.kept, plan.names, strict=True)
    ):
        return plan.kept
    place = {name: position for position, name in enumerate(raw.names)}
    missing = [name for name in plan.names if name not in place]
    if missing:
        raise InputError(
            f"The file must have the columns of the first. Got none named {some_of(missing)}. "
            "Write both files with the same columns."
        )
    return np.array([place[name] for name in plan.names], dtype=np.int64)


def _numbers(plan: Plan, raw: RawTable, positions: IntArray) -> Any:
    matrix = np.array(raw.matrix[:, positions], order="F")
    new = {int(old): place for place, old in enumerate(plan.kept)}
    for old, conversion in plan.conversions.items():
        place = new[old]
        if conversion.is_number:
            matrix[:, place] = conversion.numbers(raw, int(positions[place]))
    matrix[np.isinf(matrix)] = np.nan
    return matrix


def _text(raw: RawTable, position: int) -> Any:
    """A column as text, also where all of its values here happen to be numbers."""
    if position in raw.texts:
        return raw.texts[position]
    pl = library("polars")
    values = [None if np.isnan(value) else f"{value:g}" for value in raw.matrix[:, position]]
    return pl.Series(values, dtype=pl.String)


def _coded(text: Any, conversion: Conversion) -> Any:
    """Text as one of the values of fit time; others are missing, or count as one."""
    pl = library("polars")
    known = text.is_in(list(conversion.values))
    other = OTHER if conversion.has_other else None
    mended = pl.select(
        pl.when(known | text.is_null()).then(text).otherwise(pl.lit(other, pl.String))
    ).to_series()
    values = sorted(conversion.values)
    return mended.cast(pl.Enum([*values, OTHER] if conversion.has_other else values))


def _frame(plan: Plan, matrix: Any, texts: dict[int, Any]) -> Any:
    pl = library("polars")
    columns = []
    for place, name in enumerate(plan.names):
        if place in texts:
            coded = _coded(texts[place], plan.conversions[int(plan.kept[place])])
            columns.append(coded.alias(name))
        else:
            columns.append(pl.Series(name, matrix[:, place]))
    return pl.DataFrame(columns)


def _with_indicators(plan: Plan, matrix: Any, texts: dict[int, Any]) -> Features:
    """Numbers first, as they are; then a column of 0 and 1 for each frequent value."""
    numbers = [place for place in range(len(plan.names)) if place not in texts]
    blocks, names, sources = [matrix[:, numbers]], [plan.names[p] for p in numbers], list(numbers)
    for place, text in texts.items():
        conversion = plan.conversions[int(plan.kept[place])]
        for value in conversion.values[:MOST_INDICATORS]:
            blocks.append(_indicator(text, value))
            names.append(f"{plan.names[place]}={value}")
            sources.append(place)
    told = some_of([plan.names[place] for place in texts])
    note = f"This method knows numbers only: 0 and 1 for each value of {told}."
    mended, _ = unique_names(names)  # a column may have been called "colour=red" all along
    return Features(np.hstack(blocks), mended, np.array(sources, np.int64), (note,))


def _indicator(text: Any, value: str) -> Any:
    return (text == value).fill_null(value=False).to_numpy().astype(np.float64)[:, None]

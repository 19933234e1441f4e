"""`Plan`: which columns of a file are features, and how they become numbers or categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from secateur.exceptions import InputError, some_of
from secateur.storage.reading.columns import (
    Conversion,
    TableSummary,
    as_category,
    choose_conversion,
)
from secateur.storage.reading.formats import RawTable, library, unique_names
from secateur.typing import FloatArray, IntArray

OTHER = "(other)"

MAX_INDICATORS = 50  # the most frequent values of a category that get an indicator each


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which columns of a file are features, and what those of text become."""

    kept: IntArray  # the positions of the features in the file
    names: tuple[str, ...]
    conversions: Mapping[int, Conversion]  # by position in the file
    notes: tuple[str, ...] = ()  # what was decided

    @property
    def categories(self) -> dict[int, Conversion]:
        """The features that are categories, by position among the features."""
        converted = {new: self.conversions.get(int(old)) for new, old in enumerate(self.kept)}
        return {p: each for p, each in converted.items() if each and not each.is_number}


def make_plan(summary: TableSummary, without: Collection[int], keep: Collection[int] = ()) -> Plan:
    """Decide what becomes of each column; those of ``keep`` are features in any case."""
    conversions: dict[int, Conversion] = {}
    identifiers, notes = list[int](), list[str]()
    for position, text in sorted(summary.texts.items()):
        if position not in without:
            conversion, note = choose_conversion(text, summary.names[position])
            if conversion is None and position in keep:
                conversion, note = as_category(text, summary.names[position])
            if conversion is None and note:
                raise InputError(
                    f"Numbers must be written in one way, with one unit. {note} Write them alike, "
                    "leave the column out (--drop), or use it as text (--keep)."
                )
            if conversion is None:
                identifiers.append(position)
            else:
                conversions[position] = conversion
            notes += [note] if note else []
    categories = [summary.names[p] for p, each in conversions.items() if not each.is_number]
    if categories:
        notes.append(f"Text is read as categories: {some_of(categories)}.")
    left_out = {*without, *identifiers}
    numbering = [p for p in summary.row_numbers if p not in left_out and p not in keep]
    empty = [p for p in summary.empty if p not in left_out]
    reasons = {
        "nearly every row has a text of its own (--keep takes them in)": identifiers,
        "they only number the rows (--keep takes them in)": numbering,
        "they have no values": empty,
    }
    for reason, places in reasons.items():
        if places:
            names = some_of([summary.names[place] for place in places])
            notes.append(f"Left out: {names}, since {reason}.")
    if summary.n_infinite:
        notes.append(f"Infinite values count as missing: {summary.n_infinite} cells.")
    kept = np.setdiff1d(np.arange(len(summary.names)), [*left_out, *numbering, *empty])
    return Plan(kept, tuple([summary.names[p] for p in kept]), conversions, tuple(notes))


class Features(NamedTuple):
    """The features of a file."""

    X: Any
    names: tuple[str, ...]
    sources: IntArray  # the positions in the plan of the columns they were made of
    notes: tuple[str, ...] = ()


def make_features(plan: Plan, raw: RawTable, *, indicators: bool = False) -> Features:
    """The features of a table: a matrix, or a polars data frame if some are categories."""
    places = {name: position for position, name in enumerate(raw.names)}
    missing = [name for name in plan.names if name not in places]
    if missing:
        raise InputError(
            f"The file must have the columns of the first. Got none named {some_of(missing)}. "
            "Write both files with the same columns."
        )
    positions, sources = [places[name] for name in plan.names], np.arange(len(plan.kept))
    if raw.is_sparse:
        is_same = positions == list(range(raw.matrix.shape[1]))
        return Features(raw.matrix if is_same else raw.matrix[:, positions], plan.names, sources)
    matrix: FloatArray = np.array(raw.matrix[:, positions], order="F")
    for place, old in enumerate(plan.kept.tolist()):
        conversion = plan.conversions.get(old)
        if conversion is not None and conversion.is_number:
            matrix[:, place] = conversion.numbers(raw, positions[place])
    matrix[np.isinf(matrix)] = np.nan
    categories = plan.categories
    if not categories:
        return Features(matrix, plan.names, sources)
    texts = {place: _text(raw, positions[place]) for place in categories}
    if indicators:
        return _with_indicators(plan, matrix, texts)
    columns = {
        name: _coded(texts[place], categories[place]) if place in texts else matrix[:, place]
        for place, name in enumerate(plan.names)
    }
    return Features(library("polars").DataFrame(columns), plan.names, sources)


def _text(raw: RawTable, position: int) -> Any:
    """A column as text, also where all of its values here happen to be numbers."""
    if position in raw.texts:
        return raw.texts[position]
    pl = library("polars")
    values = [None if np.isnan(value) else f"{value:g}" for value in raw.matrix[:, position]]
    return pl.Series(values, dtype=pl.String)


def _coded(text: Any, conversion: Conversion) -> Any:
    """Text as the categories of a conversion; other values are missing, or count as one."""
    pl = library("polars")
    values = sorted(conversion.values)
    known = text.is_in(values) | text.is_null()
    other = pl.lit(OTHER if conversion.has_other else None, pl.String)
    column = pl.select(pl.when(known).then(text).otherwise(other)).to_series()
    return column.cast(pl.Enum([*values, OTHER] if conversion.has_other else values))


def _with_indicators(plan: Plan, matrix: FloatArray, texts: dict[int, Any]) -> Features:
    """Numbers first, as they are; then an indicator for each frequent value."""
    sources = [place for place in range(len(plan.names)) if place not in texts]
    blocks, names = [matrix[:, sources]], [plan.names[place] for place in sources]
    for place, text in texts.items():
        for value in plan.categories[place].values[:MAX_INDICATORS]:
            is_value = (text == value).fill_null(value=False).to_numpy()
            blocks.append(is_value.astype(np.float64)[:, None])
            names.append(f"{plan.names[place]}={value}")
            sources.append(place)
    note = (
        "This method takes numbers only: each value of "
        f"{some_of([plan.names[place] for place in texts])} becomes a column of 0 and 1."
    )
    unique, _ = unique_names(names)  # a column may be called "colour=red" already
    return Features(np.hstack(blocks), unique, np.array(sources, np.int64), (note,))


def without_indicators(plan: Plan, X: FloatArray, sources: IntArray) -> Any:
    """A table with indicators as a data frame with the columns of the plan."""
    pl, columns, categories = library("polars"), {}, plan.categories
    for place, name in enumerate(plan.names):
        cells = X[:, sources == place]
        if place not in categories:
            columns[name] = cells[:, 0]
            continue
        conversion = categories[place]
        values, n_all = conversion.values[:MAX_INDICATORS], len(conversion.values)
        codes = pl.Series(np.where(cells.any(axis=1), cells.argmax(axis=1), len(values)))
        if not conversion.has_other and n_all == len(values):
            codes = codes.set(codes == len(values), None)
        labels = [*values, OTHER]
        columns[name] = pl.Series(labels, dtype=pl.Enum(labels)).gather(codes)
    return pl.DataFrame(columns)

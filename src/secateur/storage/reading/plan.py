"""`Plan`: which columns of a file are features, and how they become numbers or categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from secateur.exceptions import InputError, some_of
from secateur.storage.reading.columns import NumberForm, TableSummary, TextSummary, as_days
from secateur.storage.reading.formats import RawTable, library, unique_names
from secateur.typing import FloatArray, IntArray

BOOLEANS = {"true": 1.0, "false": 0.0}  # in any case of letters
MAX_OTHER = 0.05  # a column of numbers may have this share of other values, which count as missing
FEW_WORDS = 5  # and so many different ones in any number, among more than FEW_VALUES numbers
MAX_UNIQUE = 0.5  # text with more distinct values than this share of its rows identifies rows
FEW_VALUES = 20  # text with no more distinct values than this is always categorical
MAX_CATEGORIES = 254  # the most frequent values; one more category is for all others
OTHER = "(other)"
MAX_INDICATORS = 50  # the most frequent values of a category that get an indicator each


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a column of text becomes: "number", "date", "boolean" or "category"."""

    kind: str
    form: str | NumberForm | None = None  # of dates or numbers; None for plain numbers
    values: tuple[str, ...] = ()  # categories by frequency
    has_other: bool = False  # whether there is one more for all other values

    @property
    def is_number(self) -> bool:
        """Whether the column becomes one of numbers."""
        return self.kind != "category"

    def numbers(self, raw: RawTable, place: int) -> FloatArray:
        """The column as numbers, where it becomes one of them."""
        text = raw.texts.get(place)
        if text is not None and isinstance(self.form, NumberForm):
            return self.form.parse(text)
        if text is not None and isinstance(self.form, str):
            return as_days(text, self.form)
        if text is not None and self.kind == "boolean":
            lower, dtype = text.str.to_lowercase(), library("polars").Float64
            text = lower.replace_strict(BOOLEANS, default=None, return_dtype=dtype)
            return np.array(text.to_numpy())
        return np.array(raw.matrix[:, place])


def choose_conversion(text: TextSummary, name: str) -> tuple[Conversion | None, str]:
    """What a column becomes, and a note; None if it identifies rows, or has several forms."""
    found = text.numbers()
    n_other, few = text.n_filled - found.n_numbers, MAX_OTHER * text.n_filled
    is_many = found.n_values > min(FEW_VALUES, MAX_UNIQUE * found.n_numbers)
    # Other cells, which count as missing, are few; or a few texts among many different numbers, or
    # less than half of the cells.
    if n_other <= few or (
        is_many
        and found.n_mixed <= few
        and not text.date_formats
        and (len(found.others) <= FEW_WORDS or 2 * found.n_numbers >= text.n_filled)
    ):
        note = f"Column {name!r} holds numbers{f' {found.form}' if found.form else ''}"
        if n_other:
            values = "value" if n_other == 1 else "values"
            note += f" and {n_other} other {values}, which count as missing: "
            note += some_of(found.others, 3)
        return Conversion("number", found.form), f"{note}."
    if text.date_formats:
        form = text.date_formats[0]
        words = form[:8].replace("%Y", "year").replace("%m", "month").replace("%d", "day")
        words += " and time" * ("%H" in form) + ", UTC" * form.endswith("Z")
        note = f"Column {name!r} holds dates ({words}): they become days since 1970."
        return Conversion("date", form), note
    is_few = text.n_values <= 2 * len(BOOLEANS)
    if is_few and {value.lower() for value in text.values()} <= BOOLEANS.keys():
        return Conversion("boolean"), f"Column {name!r} holds true and false: they become 1 and 0."
    if text.n_values > max(FEW_VALUES, MAX_UNIQUE * text.n_filled):
        if found.n_numbers + found.n_mixed > text.n_filled / 2:
            return None, f"Got {some_of(text.values())} in {name!r}."
        return None, ""
    return as_category(text, name)


def as_category(text: TextSummary, name: str) -> tuple[Conversion, str]:
    """A column of text as categories."""
    ranked = text.values()
    if len(ranked) <= MAX_CATEGORIES + 1:
        return Conversion("category", values=tuple(ranked)), ""
    many = f"at least {len(ranked)}" if text.unique_share is not None else f"{len(ranked)}"
    note = (
        f"Column {name!r} has {many} different texts: the {MAX_CATEGORIES} most frequent are "
        "categories, all others count as one."
    )
    return Conversion("category", values=tuple(ranked[:MAX_CATEGORIES]), has_other=True), note


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
    pl, texts = library("polars"), dict[int, Any]()
    for place in categories:
        position = positions[place]
        texts[place] = raw.texts.get(position)
        if texts[place] is None:  # all of its values here happen to be numbers
            cells = [None if np.isnan(cell) else f"{cell:g}" for cell in raw.matrix[:, position]]
            texts[place] = pl.Series(cells, dtype=pl.String)
    if indicators:
        return _with_indicators(plan, matrix, texts)
    columns = {name: matrix[:, place] for place, name in enumerate(plan.names)}
    for place, conversion in categories.items():
        text, values = texts[place], sorted(conversion.values)
        # other values are missing, or count as one
        other = pl.lit(OTHER if conversion.has_other else None, pl.String)
        known = pl.when(text.is_in(values) | text.is_null()).then(text).otherwise(other)
        dtype = pl.Enum([*values, OTHER] if conversion.has_other else values)
        columns[plan.names[place]] = pl.select(known).to_series().cast(dtype)
    return Features(pl.DataFrame(columns), plan.names, sources)


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

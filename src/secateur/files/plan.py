"""`Plan`: what becomes of each column of a file, decided once and applied to further files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secateur._data.wording import some_of
from secateur.files.dates import FORMATS, date_format
from secateur.files.raw import RawTable
from secateur.typing import FloatArray, IntArray

FEW_STRAYS = 0.05
"""A column with no larger share of words among its numbers is one of numbers."""

MANY_VALUES = 0.5
"""Text with more different values than this share of its rows names rows, not kinds."""

SOME_VALUES = 20
"""Text with no more different values than this is always a category."""

MOST_CATEGORIES = 254
"""The most frequent values that keep a category of their own; one more is for all others."""

OTHER = "(other)"
COUNTER_ROWS = 20
"""Fewer rows may count up by chance."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """What becomes of one column of text: numbers, dates or categories, most frequent first."""

    kind: str
    form: str = ""
    values: tuple[str, ...] = ()
    has_other: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which columns of a file are features, and how those of text are read.

    Parameters
    ----------
    kept : array of int
        The positions of the features in the file.
    names : tuple of str
        Their names.
    treatments : mapping of int to Treatment
        By position in the file, for columns of text that are kept.
    notes : tuple of str
        What was decided, in sentences.
    """

    kept: IntArray
    names: tuple[str, ...]
    treatments: Mapping[int, Treatment] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def categories(self) -> list[int]:
        """Positions, among the features, of those that are categories."""
        place = {int(position): new for new, position in enumerate(self.kept)}
        return [place[p] for p, told in self.treatments.items() if told.kind == "category"]


def make_plan(raw: RawTable, without: Collection[int], keep: Collection[int] = ()) -> Plan:
    """Decide what becomes of each column.

    Parameters
    ----------
    raw : RawTable
    without : collection of int
        Positions of columns that are no features: the target, weights, what the user drops.
    keep : collection of int
        Positions that stay in whatever they look like.
    """
    treatments, named, notes = _treat_texts(raw, without, keep)
    left_out = {*without, *named}
    counters = [p for p in _counters(raw) if p not in left_out and p not in keep]
    if counters:
        names = some_of([raw.names[p] for p in counters])
        notes.append(f"Left out, since they only number the rows: {names} (--keep takes them in).")
    empty = [p for p in _empty(raw) if p not in left_out and p not in treatments]
    if empty:
        notes.append(
            f"Left out, since they have no values: {some_of([raw.names[p] for p in empty])}."
        )
    left_out.update(counters, empty)
    n_infinite = 0 if raw.is_sparse else int(np.isinf(raw.matrix).sum())
    if n_infinite:
        notes.append(f"Infinite values count as missing: {n_infinite} cells.")
    is_kept = np.ones(len(raw.names), np.bool_)
    is_kept[list(left_out)] = False
    kept = np.flatnonzero(is_kept)
    names_kept = tuple([raw.names[position] for position in kept])
    return Plan(kept, names_kept, treatments, tuple(notes))


def _treat_texts(
    raw: RawTable, without: Collection[int], keep: Collection[int]
) -> tuple[dict[int, Treatment], list[int], list[str]]:
    treatments: dict[int, Treatment] = {}
    named: list[int] = []
    notes: list[str] = []
    for position, text in raw.texts.items():
        if position in without:
            continue
        treatment, note = _treat(raw.matrix[:, position], text, raw.names[position])
        if treatment is None and position in keep:
            treatment, note = _category(text, raw.names[position])
        if treatment is None:
            named.append(position)
        else:
            treatments[position] = treatment
        notes += [note] if note else []
    if named:
        names = some_of([raw.names[position] for position in named])
        notes.append(
            f"Left out, since nearly every row has a text of its own: {names} (--keep takes them "
            "in)."
        )
    categories = [raw.names[p] for p, told in treatments.items() if told.kind == "category"]
    if categories:
        notes.append(f"Text is read as categories: {some_of(categories)}.")
    return treatments, named, notes


def _treat(numbers: FloatArray, text: Any, name: str) -> tuple[Treatment | None, str]:
    filled = len(text) - text.null_count()
    strays = filled - int((~np.isnan(numbers)).sum())
    if strays <= FEW_STRAYS * filled:
        words = text.filter(np.isnan(numbers)).drop_nulls().unique().sort()
        note = (
            f"Column {name!r} holds numbers and {strays} other "
            f"{'value' if strays == 1 else 'values'}, which count as missing: "
            f"{some_of(words.to_list(), 3)}."
        )
        return Treatment("number"), note
    form = date_format(text)
    if form is not None:
        note = f"Column {name!r} holds dates ({FORMATS[form]}): they become days since 1970."
        return Treatment("date", form), note
    n_values = text.n_unique() - (text.null_count() > 0)
    if n_values > max(SOME_VALUES, MANY_VALUES * filled):
        return None, ""
    return _category(text, name)


def _category(text: Any, name: str) -> tuple[Treatment, str]:
    counts = text.drop_nulls().alias("value").value_counts(name="n")
    # equally frequent ones by name, so that the order of rows has no say
    ranked = counts.sort(["n", "value"], descending=[True, False])["value"].to_list()
    if len(ranked) <= MOST_CATEGORIES + 1:
        return Treatment("category", values=tuple(ranked)), ""
    note = (
        f"Column {name!r} has {len(ranked)} different texts: the {MOST_CATEGORIES} most frequent "
        "are categories, all others count as one."
    )
    return Treatment("category", values=tuple(ranked[:MOST_CATEGORIES]), has_other=True), note


def _counters(raw: RawTable) -> list[int]:
    """Columns that count the rows, one by one: an index that was saved with the table."""
    if raw.is_sparse or raw.n_rows < COUNTER_ROWS:
        return []
    few = raw.matrix[:COUNTER_ROWS]
    candidates = np.flatnonzero((np.diff(few, axis=0) == 1).all(axis=0))
    return [int(p) for p in candidates if (np.diff(raw.matrix[:, p]) == 1).all()]


def _empty(raw: RawTable) -> list[int]:
    if raw.is_sparse:
        return []
    candidates = np.flatnonzero(np.isnan(raw.matrix[:COUNTER_ROWS]).all(axis=0))
    return [int(p) for p in candidates if p not in raw.texts and np.isnan(raw.matrix[:, p]).all()]

"""What becomes of a column of text: numbers with a few words among them, dates, or categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.reading.dates import FORMATS, as_days
from secateur._data.reading.facts import TextFacts
from secateur._data.reading.opening import polars
from secateur._data.reading.raw import RawTable
from secateur._data.wording import some_of
from secateur.typing import FloatArray

FEW_STRAYS = 0.05
"""A column with no larger share of words among its numbers is one of numbers."""

MANY_VALUES = 0.5
"""Text with more different values than this share of its rows names rows, not kinds."""

SOME_VALUES = 20
"""Text with no more different values than this is always a category."""

TRUTH = frozenset({"true", "false"})
"""Words for 1 and 0, in any case of letters."""

MOST_CATEGORIES = 254
"""The most frequent values that keep a category of their own; one more is for all others."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """What becomes of one column of text: numbers, dates, truth, or categories by frequency."""

    kind: str
    form: str = ""
    values: tuple[str, ...] = ()
    has_other: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the column becomes one of numbers."""
        return self.kind != "category"

    def numbers(self, raw: RawTable, place: int) -> FloatArray:
        """The column as numbers, where it becomes one of them."""
        found: FloatArray = np.array(raw.matrix[:, place])
        if self.kind == "date" and place in raw.texts:
            found = as_days(raw.texts[place], self.form)
        if self.kind == "truth" and place in raw.texts:
            found = as_truth(raw.texts[place])
        return found


def as_truth(text: Any) -> FloatArray:
    """True and false as 1 and 0, NaN for missing.

    >>> import polars as pl
    >>> as_truth(pl.Series(["True", "false", None]))
    array([ 1.,  0., nan])
    """
    pl = polars()
    low = text.str.to_lowercase()
    numbers: FloatArray = (low == "true").cast(pl.Float64).to_numpy().astype(np.float64)
    return np.where(low.is_in(list(TRUTH)).fill_null(value=False).to_numpy(), numbers, np.nan)


def treat(facts: TextFacts, name: str) -> tuple[Treatment | None, str]:
    """What becomes of a column, and what to say of it; None if it names rows, not kinds."""
    strays = facts.n_filled - facts.n_numbers
    if strays <= FEW_STRAYS * facts.n_filled:
        note = (
            f"Column {name!r} holds numbers and {strays} other "
            f"{'value' if strays == 1 else 'values'}, which count as missing: "
            f"{some_of(facts.words(), 3)}."
        )
        return Treatment("number"), note
    if facts.forms:
        form = facts.forms[0]
        note = f"Column {name!r} holds dates ({FORMATS[form]}): they become days since 1970."
        return Treatment("date", form), note
    if facts.n_values <= 2 * len(TRUTH) and {v.lower() for v in facts.values()} <= TRUTH:
        return Treatment("truth"), f"Column {name!r} holds true and false: they become 1 and 0."
    if facts.n_values > max(SOME_VALUES, MANY_VALUES * facts.n_filled):
        return None, ""
    return category(facts, name)


def category(facts: TextFacts, name: str) -> tuple[Treatment, str]:
    """A column of text as categories."""
    ranked = facts.values()
    if len(ranked) <= MOST_CATEGORIES + 1:
        return Treatment("category", values=tuple(ranked)), ""
    many = f"at least {len(ranked)}" if facts.share_at_cut is not None else f"{len(ranked)}"
    note = (
        f"Column {name!r} has {many} different texts: the {MOST_CATEGORIES} most frequent "
        "are categories, all others count as one."
    )
    return Treatment("category", values=tuple(ranked[:MOST_CATEGORIES]), has_other=True), note

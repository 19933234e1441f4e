"""What is known of the columns of a file when all of its rows have been looked at, block by block.

A table in memory is one block: what is decided from the facts is the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.messages import some_of
from secateur.storage.reading.dialect import FORMATS, as_days, date_formats
from secateur.storage.reading.encoding import polars
from secateur.storage.reading.formats import RawTable
from secateur.typing import BoolArray, FloatArray

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


COUNTER_ROWS = 20
"""Fewer rows may count up by chance."""

MOST_VALUES = 200_000
"""Different texts of a column that are counted, where there is more than one block."""


class TextFacts:
    """What is known of one column of text."""

    def __init__(self) -> None:
        self.n_filled = 0
        self.n_numbers = 0
        self.forms: list[str] = list(FORMATS)
        self.share_at_cut: float | None = None
        self._counts: Any = None

    def add(self, text: Any, numbers: FloatArray) -> None:
        """Look at the column in a further block."""
        self.n_filled += len(text) - text.null_count()
        is_word = np.isnan(numbers)
        self.n_numbers += int((~is_word).sum())
        pl = polars()
        given = pl.DataFrame({"value": text, "word": is_word}).drop_nulls("value")
        new = given.group_by("value").agg(pl.len().alias("n"), pl.col("word").first())
        if self.forms and len(new):
            self.forms = date_formats(new["value"], self.forms)
        if self._counts is None:
            self._counts = new
            return
        both = pl.concat([self._counts, new]).group_by("value")
        self._counts = both.agg(pl.col("n").sum(), pl.col("word").first())
        if len(self._counts) > MOST_VALUES:
            if self.share_at_cut is None:
                self.share_at_cut = len(self._counts) / self.n_filled
            # numbers go first: of a column of numbers only the words are asked for
            ranked = self._ranked().sort("word", descending=True, maintain_order=True)
            self._counts = ranked.head(MOST_VALUES)

    def _ranked(self) -> Any:
        # equally frequent ones by name, so that the order of rows has no say
        return self._counts.sort(["n", "value"], descending=[True, False])

    @property
    def n_values(self) -> int:
        """How many different texts there are; reckoned where the rarest had to be forgotten."""
        if self.share_at_cut is not None:
            return int(self.share_at_cut * self.n_filled)
        return 0 if self._counts is None else len(self._counts)

    def values(self) -> list[str]:
        """The texts, most frequent first."""
        return list(self._ranked()["value"].to_list())

    def words(self) -> list[str]:
        """The texts that are no numbers, by name."""
        return list(self._counts.filter(self._counts["word"])["value"].sort().to_list())


class TableFacts:
    """What is known of all columns.

    Attributes
    ----------
    names : tuple of str
    n_rows, n_infinite : int
        Rows, and cells that are infinite.
    texts : dict of int to TextFacts
        Of columns that hold other things than numbers.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.n_rows = 0
        self.n_infinite = 0
        self.is_sparse = False
        self._texts: dict[int, TextFacts] = {}
        self._counts_up: BoolArray = np.ones(len(names), np.bool_)
        self._is_empty: BoolArray = np.ones(len(names), np.bool_)
        self._last: FloatArray | None = None

    @classmethod
    def of(cls, raw: RawTable) -> TableFacts:
        """Of a table in memory."""
        facts = cls(raw.names)
        facts.add(raw)
        return facts

    def add(self, raw: RawTable) -> None:
        """Look at a further block."""
        self.n_rows += raw.n_rows
        self.is_sparse = raw.is_sparse
        for position, text in raw.texts.items():
            self._texts.setdefault(position, TextFacts()).add(text, raw.matrix[:, position])
        if raw.is_sparse or raw.n_rows == 0:
            return
        self.n_infinite += int(np.isinf(raw.matrix).sum())
        # Few rows settle it for most columns; all of them are looked at for the rest.
        few = raw.matrix[:COUNTER_ROWS]
        self._is_empty &= np.isnan(few).all(axis=0)
        rest = raw.n_rows > COUNTER_ROWS
        for position in np.flatnonzero(self._is_empty & rest).tolist():
            self._is_empty[position] = bool(np.isnan(raw.matrix[:, position]).all())
        before = few[:0] if self._last is None else self._last
        with np.errstate(invalid="ignore"):  # of infinities
            self._counts_up &= (np.diff(few, axis=0, prepend=before[-1:]) == 1).all(axis=0)
        for position in np.flatnonzero(self._counts_up & rest).tolist():
            self._counts_up[position] = bool((np.diff(raw.matrix[:, position]) == 1).all())
        self._last = raw.matrix[-1:].copy()

    @property
    def texts(self) -> dict[int, TextFacts]:
        """Columns with words; one that was asked for as text may have none."""
        return {p: told for p, told in self._texts.items() if told.n_numbers < told.n_filled}

    @property
    def counters(self) -> list[int]:
        """Columns that count the rows, one by one: an index that was saved with the table."""
        if self.is_sparse or self.n_rows < COUNTER_ROWS:
            return []
        return [int(position) for position in np.flatnonzero(self._counts_up)]

    @property
    def empty(self) -> list[int]:
        """Columns of numbers without a value."""
        if self.is_sparse:
            return []
        texts = self.texts
        return [int(p) for p in np.flatnonzero(self._is_empty) if p not in texts]


def gather_facts(
    names: tuple[str, ...], read: Callable[[set[int]], Iterator[RawTable]]
) -> tuple[TableFacts, set[int]]:
    """Look at all blocks of a file; gives the columns to be asked for as text, too.

    Which columns have words is known at the end only, and text that was read as numbers is lost:
    where some show up on the way, there is a second walk.
    """
    asked = set(next(read(set())).others)
    while True:
        facts, late = TableFacts(names), set[int]()
        for raw in read(asked):
            facts.add(raw)
            late |= raw.others
        if not late:
            return facts, asked
        asked |= late

"""Columns of text as numbers, dates or categories, decided by all of their rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from secateur.exceptions import some_of
from secateur.storage.reading.formats import RawTable, library
from secateur.storage.reading.number_forms import NumberForm, choose_form
from secateur.typing import BoolArray, FloatArray

# Text for a missing value, in any case of letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
BOOLEANS = {"true": 1.0, "false": 0.0}  # in any case of letters
MAX_OTHER = 0.05  # a column of numbers may have this share of other values, which count as missing
FEW_WORDS = 5  # and so many different ones in any number, among more than FEW_VALUES numbers
MAX_UNIQUE = 0.5  # text with more distinct values than this share of its rows identifies rows
FEW_VALUES = 20  # text with no more distinct values than this is always categorical
# The most frequent values that get a category each; one more is for all others.
MAX_CATEGORIES = 254
# Distinct texts that are counted of a column, where there is more than one block.
MAX_COUNTED = 200_000
MIN_COUNTER_ROWS = 20  # with fewer rows a column may count up by chance
# The forms of dates that are recognised; where two fit, the first one counts.
DATE_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M"),
    *("%Y-%m-%dT%H:%M:%S%.fZ", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%Y %H:%M"),
    *("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
)
MICROSECONDS_PER_DAY = 86_400_000_000


# ---- values -----------------------------------------------------------------------------------


def numbers_and_texts(
    frame: Any, texts: Collection[int], decimal: str = "."
) -> tuple[FloatArray, dict[int, Any]]:
    """All columns (named by position) as numbers; ``texts``, and what is no number, as text."""
    pl = library("polars")
    found = {}
    text = frame.select(pl.col(pl.String))
    quick = text.select(_as_number(pl.all(), decimal))
    counts = zip(text.columns, quick.null_count().row(0), strict=True)
    unclear = [name for name, n_null in counts if n_null or int(name) in texts]
    if unclear:
        stripped = pl.col(unclear).str.strip_chars()
        is_filled = ~stripped.str.to_lowercase().is_in(list(MISSING))
        clean = text.select(pl.when(is_filled).then(stripped))
        numbers = clean.select(_as_number(pl.all(), decimal))
        quick = quick.with_columns(numbers.get_columns())
        n_missing, n_null = clean.null_count().row(0), numbers.null_count().row(0)
        found = {
            int(name): clean[name]
            for name, missing, null in zip(unclear, n_missing, n_null, strict=True)
            if null > missing or int(name) in texts
        }
    frame = frame.with_columns(quick.get_columns())
    matrix: FloatArray = frame.to_numpy(order="fortran")
    return matrix, found


def _as_number(cells: Any, decimal: str) -> Any:
    """Plain numbers; with decimal commas a point is none, since it may separate thousands."""
    if decimal == ",":
        signs = {".": "x", ",": "."}
        cells = cells.str.replace_many(list(signs), list(signs.values()))
    return cells.cast(library("polars").Float64, strict=False)


def date_formats(values: Any, among: Iterable[str] = DATE_FORMATS) -> list[str]:
    """The forms that all values (without nulls) have as dates, in the order of DATE_FORMATS.

    >>> import polars as pl
    >>> date_formats(pl.Series(["13/02/2003"]))
    ['%d/%m/%Y']
    """
    if not len(values) or not values[0][:1].isdigit():
        return []
    likely = [form for form in among if _dates(values[:1], form).null_count() == 0]
    return [form for form in likely if _dates(values, form).null_count() == 0]


def as_days(text: Any, form: str) -> FloatArray:
    """Dates as days since 1970, NaN where there is none or it is written in another form."""
    return (_dates(text, form).to_physical() / MICROSECONDS_PER_DAY).to_numpy()


def _dates(text: Any, form: str) -> Any:
    pl = library("polars")
    if "%H" in form:
        return text.str.to_datetime(form, strict=False, time_unit="us")
    return text.str.to_date(form, strict=False).cast(pl.Datetime("us"))


# ---- what is known of a column ----------------------------------------------------------------


class TextSummary:
    """Counts of the values of one column of text, block by block."""

    def __init__(self, decimal: str = ".") -> None:
        self.decimal = decimal  # of the file
        self.n_filled = 0
        self.n_numbers = 0
        self.date_formats: list[str] = list(DATE_FORMATS)
        self.unique_share: float | None = None  # where the rarest values were dropped
        self._counts: Any = None

    def add(self, text: Any, numbers: FloatArray) -> None:
        """Add a block: the cells as text, and as numbers where they are."""
        pl = library("polars")
        is_word = np.isnan(numbers)
        self.n_filled += len(text) - text.null_count()
        self.n_numbers += int((~is_word).sum())
        cells = pl.DataFrame({"value": text, "word": is_word}).drop_nulls("value")
        counts = cells.group_by("value").agg(pl.len().alias("n"), pl.col("word").first())
        if self.date_formats and len(counts):
            self.date_formats = date_formats(counts["value"], self.date_formats)
        if self._counts is None:
            self._counts = counts
            return
        both = pl.concat([self._counts, counts]).group_by("value")
        self._counts = both.agg(pl.col("n").sum(), pl.col("word").first())
        if len(self._counts) > MAX_COUNTED:
            if self.unique_share is None:
                self.unique_share = len(self._counts) / self.n_filled
            # numbers go first: of a column of numbers only the other values are asked for
            ranked = self._ranked().sort("word", descending=True, maintain_order=True)
            self._counts = ranked.head(MAX_COUNTED)

    def _ranked(self) -> Any:
        # ties by name, so that the order of rows does not matter
        return self._counts.sort(["n", "value"], descending=[True, False])

    @property
    def n_values(self) -> int:
        """The number of distinct texts; an estimate where the rarest were dropped."""
        if self.unique_share is not None:
            return int(self.unique_share * self.n_filled)
        return 0 if self._counts is None else len(self._counts)

    def values(self) -> list[str]:
        """The texts, most frequent first."""
        return list(self._ranked()["value"].to_list())

    def numbers(self) -> NumberSummary:
        """How many cells are numbers of one form, and what the others hold."""
        pl = library("polars")
        form, cells = choose_form(self._counts, self.decimal)
        words, others = cells.filter("word"), cells.filter(~pl.col("is_number"))
        # the rarest texts may have been dropped: what is known of the others holds for them too
        share = (self.n_filled - self.n_numbers) / max(1, words["n"].sum())
        read = words.filter("is_number")["n"].sum()
        mixed = others.filter("has_digits")["n"].sum()
        return NumberSummary(
            form,
            min(self.n_filled, self.n_numbers + round(share * read)),
            round(share * mixed),
            self.n_values - len(others),
            others["value"].sort().to_list(),
        )


class NumberSummary(NamedTuple):
    """The numbers of a column of text."""

    form: NumberForm | None  # None for plain numbers
    n_numbers: int  # cells of this form
    n_mixed: int  # cells that are numbers of another form
    n_values: int  # distinct numbers
    others: list[str]  # the texts of all other cells, by name


class TableSummary:
    """What is known of all columns of a table, block by block."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.n_rows = self.n_infinite = 0
        self.is_sparse = False
        self._texts: dict[int, TextSummary] = {}
        self._counts_up: BoolArray = np.ones(len(names), np.bool_)
        self._is_empty: BoolArray = np.ones(len(names), np.bool_)
        self._last: FloatArray | None = None

    def add(self, raw: RawTable) -> None:
        """Add a block."""
        self.n_rows += raw.n_rows
        self.is_sparse = raw.is_sparse
        for position, text in raw.texts.items():
            known = self._texts.setdefault(position, TextSummary(raw.decimal))
            known.add(text, raw.matrix[:, position])
        if raw.is_sparse or raw.n_rows == 0:
            return
        self.n_infinite += int(np.isinf(raw.matrix).sum())
        # A few rows decide it for most columns; all rows are checked for the rest.
        few = raw.matrix[:MIN_COUNTER_ROWS]
        self._is_empty &= np.isnan(few).all(axis=0)
        left = np.flatnonzero(self._is_empty)
        self._is_empty[left] = np.isnan(raw.matrix[:, left]).all(axis=0)
        before = few[:0] if self._last is None else self._last
        with np.errstate(invalid="ignore"):  # infinities
            self._counts_up &= (np.diff(few, axis=0, prepend=before) == 1).all(axis=0)
            left = np.flatnonzero(self._counts_up)
            self._counts_up[left] = (np.diff(raw.matrix[:, left], axis=0) == 1).all(axis=0)
        self._last = raw.matrix[-1:].copy()

    @property
    def texts(self) -> dict[int, TextSummary]:
        """The columns that are not all numbers, by position."""
        return {p: text for p, text in self._texts.items() if text.n_numbers < text.n_filled}

    @property
    def row_numbers(self) -> list[int]:
        """Columns that count the rows one by one: an index that was saved with the table."""
        if self.is_sparse or self.n_rows < MIN_COUNTER_ROWS:
            return []
        return list(np.flatnonzero(self._counts_up).tolist())

    @property
    def empty(self) -> list[int]:
        """Columns without a value."""
        texts, found = self.texts, [] if self.is_sparse else np.flatnonzero(self._is_empty).tolist()
        return [place for place in found if place not in texts]


def summarize(
    names: tuple[str, ...], read: Callable[[set[int]], Iterator[RawTable]]
) -> tuple[TableSummary, set[int]]:
    """Summarize all blocks of a file; the second result are the columns to be read as text.

    Which columns are not all numbers is known at the end only: where some are found on the way,
    all blocks are read again, with these columns as text from the first row on.
    """
    wanted = set(next(read(set())).texts)
    while True:
        summary, found = TableSummary(names), set[int]()
        for raw in read(wanted):
            summary.add(raw)
            found.update(raw.texts)
        if found <= wanted:
            return summary, wanted
        wanted |= found


# ---- what becomes of a column -----------------------------------------------------------------


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
    """What a column becomes, and a note.

    None if its values identify rows, or are numbers of several forms, which the note says.
    """
    found = text.numbers()
    if _are_numbers(text, found):
        return Conversion("number", found.form), _note_on_numbers(text, found, name)
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


def _are_numbers(text: TextSummary, found: NumberSummary) -> bool:
    """Whether a column is one of numbers, with other cells that count as missing.

    These are few, or a few texts among many different numbers, or less than half of the cells.
    """
    if text.n_filled - found.n_numbers <= MAX_OTHER * text.n_filled:
        return True
    if found.n_mixed > MAX_OTHER * text.n_filled or text.date_formats:
        return False
    is_many = found.n_values > min(FEW_VALUES, MAX_UNIQUE * found.n_numbers)
    return is_many and (len(found.others) <= FEW_WORDS or 2 * found.n_numbers >= text.n_filled)


def _note_on_numbers(text: TextSummary, found: NumberSummary, name: str) -> str:
    n_other = text.n_filled - found.n_numbers
    how = "" if found.form is None else f" {found.form}"
    if not n_other:
        return f"Column {name!r} holds numbers{how}."
    return (
        f"Column {name!r} holds numbers{how} and {n_other} other "
        f"{'value' if n_other == 1 else 'values'}, which count as missing: "
        f"{some_of(found.others, 3)}."
    )


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

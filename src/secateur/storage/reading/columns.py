"""Columns of text: numbers in any form and dates in them, and counts of what all rows hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from secateur.storage.reading.formats import RawTable, library
from secateur.typing import BoolArray, FloatArray

# Text for a missing value, in any case of letters.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
MAX_COUNTED = 200_000  # distinct texts of a column that are counted over several blocks
MIN_COUNTER_ROWS = 20  # with fewer rows a column may count up by chance
# The forms of dates that are recognised; where two fit, the first one counts.
DATE_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M"),
    *("%Y-%m-%dT%H:%M:%S%.fZ", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%Y %H:%M"),
    *("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
)
MICROSECONDS_PER_DAY = 86_400_000_000


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


# Sign or bracket, currency, digits with their separators, unit. Units begin with a letter or sign.
_CURRENCY = r"\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|US\$"
_SIGN = r"[-+\x{2212}]"
_SPACE = r"[ '\x{2019}\x{a0}\x{202f}]"  # between thousands
_WRITTEN = (
    rf"^(?P<bracket>\()?\s*(?P<sign>{_SIGN})?\s*(?P<currency>{_CURRENCY})?\s*(?P<inner>{_SIGN})?\s*"
    rf"(?P<digits>(?:(?:\d(?:[\d.,]|{_SPACE})*)?\d[.,]?|[.,]\d+)(?:[eE][-+]?\d+)?)"
    r"\s*(?P<unit>[\p{L}%°‰\p{Sc}][^\s\d().,;]*[\d²³]?)?\s*\)?$"
)
_SPACED = rf"^\d{{1,3}}(?:{_SPACE}\d{{3}})+(?:[.,]\d*)?$"  # 1 234 567,5
_PLAIN = r"^\d*[.,]?\d*(?:[eE][-+]?\d+)?$"
_THOUSANDS = {  # by the decimal sign: 1,234,567.5 (also 12,34,567) and 1.234.567,5
    ".": r"^\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d*)?$",
    ",": r"^\d{1,3}(?:\.\d{3})+(?:,\d*)?$",
}
_EITHER = r"^[1-9]\d{0,2}[.,]\d{3}$"  # 1,234 is 1234 or 1.234


class NumberForm(NamedTuple):
    """The decimal sign and the unit of the numbers of a column; "$" and "%" are units."""

    decimal: str
    unit: str = ""

    def __str__(self) -> str:
        """How they are written."""
        unit = f"with {self.unit!r}, which is left out, " if self.unit else ""
        return f"{unit}written as {'1,234.5' if self.decimal == '.' else '1.234,5'}"

    def parse(self, text: Any) -> FloatArray:
        """Text as numbers; NaN where it is none of this form."""
        pl = library("polars")
        frame = text.to_frame("value").select(*_parts())
        digits, group = pl.col("digits"), "," if self.decimal == "." else "."
        is_grouped = digits.str.contains(_THOUSANDS[self.decimal])
        is_plain = digits.str.contains(_PLAIN) & ~digits.str.contains(group, literal=True)
        number = digits.str.replace_all(group, "", literal=True)
        number = number.str.replace(self.decimal, ".", literal=True).cast(pl.Float64, strict=False)
        is_own = pl.col("unit") == self.unit
        if pl.Series([self.unit]).str.contains(rf"^(?:{_CURRENCY})$")[0]:
            is_own |= pl.col("unit") == ""
        value = pl.when(is_own & (is_grouped | is_plain)).then(number * pl.col("sign"))
        return frame.select(value.cast(pl.Float64)).to_series().fill_null(float("nan")).to_numpy()


def _parts() -> list[Any]:
    """Sign, digits without spaces between them, and unit; null for other text."""
    pl = library("polars")
    found = pl.col("value").str.extract_groups(_WRITTEN).struct
    digits, marks = found.field("digits"), ("sign", "inner")
    minus = [
        found.field(mark).is_in(["-", "\N{MINUS SIGN}"]).fill_null(value=False) for mark in marks
    ]
    is_negative = minus[0] | minus[1] | found.field("bracket").is_not_null()
    spaced = digits.str.contains(_SPACED)
    joined = pl.when(spaced).then(digits.str.replace_all(_SPACE, "")).otherwise(digits)
    is_number = joined.is_not_null() & ~joined.str.contains(_SPACE)
    currency, unit = (found.field(name).fill_null("") for name in ("currency", "unit"))
    return [
        pl.when(is_number).then(joined).alias("digits"),
        pl.when(is_number).then(currency + unit).alias("unit"),
        pl.when(is_negative).then(-1.0).otherwise(1.0).alias("sign"),
    ]


def decimal_sign(texts: list[str]) -> str:
    """The decimal sign of most numbers among texts, "." where none shows it."""
    pl = library("polars")
    cells = pl.DataFrame({"value": texts}, schema={"value": pl.String}).select(*_parts())
    return _most_frequent_sign(cells.with_columns(n=1)) or "."


def _most_frequent_sign(cells: Any) -> str | None:
    """The decimal sign of most numbers; None if there are only such as 1,234 and 1.234."""
    pl = library("polars")
    n_signs = pl.col("digits").str.count_matches(r"[.,]")
    sign = pl.when(n_signs == 1).then(pl.col("digits").str.extract(r"([.,])"))
    for decimal, form in _THOUSANDS.items():
        is_grouped = pl.col("digits").str.contains(form) & (n_signs > 1)
        sign = pl.when(is_grouped).then(pl.lit(decimal)).otherwise(sign)
    is_sure = sign.is_not_null() & ~pl.col("digits").str.contains(_EITHER)
    counted = cells.filter(is_sure).group_by(sign.alias("sign")).agg(pl.col("n").sum())
    ranked = counted.sort(["n", "sign"], descending=True)["sign"]
    return str(ranked[0]) if len(ranked) else None


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
            ranked = self._counts.sort(["word", "n", "value"], descending=[True, True, False])
            self._counts = ranked.head(MAX_COUNTED)

    @property
    def n_values(self) -> int:
        """The number of distinct texts; an estimate where the rarest were dropped."""
        if self.unique_share is not None:
            return int(self.unique_share * self.n_filled)
        return 0 if self._counts is None else len(self._counts)

    def values(self) -> list[str]:
        """The texts, most frequent first; ties by name, whatever the order of the rows."""
        ranked = self._counts.sort(["n", "value"], descending=[True, False])
        return list(ranked["value"].to_list())

    def numbers(self) -> NumberSummary:
        """How many cells are numbers of one form, and what the others hold."""
        pl = library("polars")
        cells = self._counts.with_columns(*_parts())
        has_digits = cells["digits"].is_not_null()  # numbers of any form
        form, is_number = None, ~cells["word"]
        if (has_digits & cells["word"]).any():
            units = cells.filter(has_digits).group_by("unit").agg(pl.col("n").sum())
            unit = units.sort(["n", "unit"], descending=[True, False])["unit"][0]
            sign = _most_frequent_sign(cells.filter(pl.col("unit") == unit))
            likely = NumberForm(sign or self.decimal, unit)
            is_own = ~pl.Series(likely.parse(cells["value"])).is_nan()
            if (is_own & cells["word"]).any():
                form, is_number = likely, is_own
        cells = cells.with_columns(is_number=is_number, has_digits=has_digits)
        words, others = cells.filter("word"), cells.filter(~is_number)
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

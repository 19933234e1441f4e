"""How the cells of a text file are written: delimiter, header, decimal sign, missing words."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.exceptions import InputError
from secateur.storage.reading.encoding import polars
from secateur.typing import FloatArray


def as_numbers(series: Any, decimal: str = ".") -> tuple[FloatArray, Any]:
    """A column of text as floats; and as text with nulls, if some cells are neither.

    Parameters
    ----------
    series : polars.Series of text
    decimal : {".", ","}

    Returns
    -------
    numbers : array of shape (n_rows,)
        NaN for missing cells and for those that are no numbers.
    text : polars.Series or None
        The stripped cells, missing ones as nulls, where not all of the others are numbers.

    Examples
    --------
    >>> import polars as pl
    >>> as_numbers(pl.Series(["1", " 2.5", "NA"]))
    (array([1. , 2.5, nan]), None)
    """
    pl = polars()
    quick = series.cast(pl.Float64, strict=False)
    if quick.null_count() == 0:
        return quick.to_numpy(), None
    text = as_text(series)
    written = text.str.replace(",", ".", literal=True) if decimal == "," else text
    numbers = written.cast(pl.Float64, strict=False)
    values = numbers.to_numpy().astype(np.float64)
    return values, None if numbers.null_count() == text.null_count() else text


def as_text(series: Any) -> Any:
    """A column of text without the blanks around its cells, missing ones as nulls.

    >>> import polars as pl
    >>> as_text(pl.Series([" red", "N/A"])).to_list()
    ['red', None]
    """
    pl = polars()
    text = series.str.strip_chars()
    is_missing = text.str.to_lowercase().is_in(list(MISSING))
    return pl.select(pl.when(is_missing).then(None).otherwise(text)).to_series()


def row_of_numbers(cells: list[str], decimal: str = ".") -> tuple[FloatArray, list[int]]:
    """One line as floats, and the places of cells that need a second look.

    >>> row_of_numbers(["1", "", "red"])
    (array([ 1., nan, nan]), [2])
    """
    try:
        return np.array(cells, dtype=np.float64), []
    except ValueError:
        pass
    numbers, others = np.empty(len(cells)), []
    for place, cell in enumerate(cells):
        try:
            numbers[place] = float(cell.replace(",", ".") if decimal == "," else cell)
        except ValueError:
            numbers[place] = np.nan
            if cell.strip().lower() not in MISSING:
                others.append(place)
    return numbers, others


FORMATS = {
    "%Y-%m-%d": "year-month-day",
    "%Y-%m-%d %H:%M:%S%.f": "year-month-day and time",
    "%Y-%m-%dT%H:%M:%S%.f": "year-month-day and time",
    "%Y-%m-%d %H:%M": "year-month-day and time",
    "%Y-%m-%dT%H:%M:%S%.fZ": "year-month-day and time, UTC",
    "%Y/%m/%d": "year/month/day",
    "%d.%m.%Y": "day.month.year",
    "%d.%m.%Y %H:%M": "day.month.year and time",
    "%m/%d/%Y": "month/day/year",
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y %H:%M": "month/day/year and time",
    "%d/%m/%Y %H:%M": "day/month/year and time",
}
MICROSECONDS_PER_DAY = 86_400_000_000


def date_format(text: Any) -> str | None:
    """The form that all values of a column of text have as dates; None if they are none.

    Where 01/02/2003 could be both, the month comes first unless some value forbids it.

    >>> import polars as pl
    >>> date_format(pl.Series(["13/02/2003", None]))
    '%d/%m/%Y'
    """
    return next(iter(date_formats(text.drop_nulls().unique(), FORMATS)), None)


def date_formats(values: Any, among: Iterable[str]) -> list[str]:
    """Those of some forms that all values have as dates, in the order of ``FORMATS``."""
    if not len(values) or not values[0][:1].isdigit():
        return []
    likely = [form for form in among if _parsed(values[:1], form).null_count() == 0]
    return [form for form in likely if _parsed(values, form).null_count() == 0]


def as_days(text: Any, form: str) -> FloatArray:
    """Dates as days since 1970, NaN where there is none or it is written in another form."""
    pl = polars()
    micros = _parsed(text, form).cast(pl.Int64).cast(pl.Float64).to_numpy()
    days: FloatArray = micros.astype(np.float64) / MICROSECONDS_PER_DAY
    return days


def _parsed(text: Any, form: str) -> Any:
    pl = polars()
    has_time = "%H" in form
    if has_time:
        return text.str.to_datetime(form, strict=False, time_unit="us")
    return text.str.to_date(form, strict=False).cast(pl.Datetime("us"))


DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}
_SAMPLE_LINES = 100
_SAMPLE_CHARACTERS = 1_000_000
_SAMPLE_CELLS = 10_000
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
"""What stands for no value, in any case of letters."""
_COMMA_NUMBER = re.compile(r"^\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*$")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to read the cells of a text file.

    Parameters
    ----------
    delimiter : str
    header : tuple of str or None
        The names in the first line; None if it holds values.
    n_columns : int
    decimal : {".", ","}
    notes : tuple of str
        What was guessed.
    """

    delimiter: str
    header: tuple[str, ...] | None
    n_columns: int
    decimal: str = "."
    notes: tuple[str, ...] = ()


def guess_dialect(
    text: str, name: str, *, delimiter: str | None = None, header: bool | None = None
) -> Dialect:
    r"""Look at the first lines and tell how the file is written.

    Parameters
    ----------
    text : str
    name : str
        The name of the file, for messages; .tsv and .tab say tabs.
    delimiter, header : optional
        What the user said.

    Examples
    --------
    >>> guess_dialect("a;b\n1,5;2\n", "x.csv")
    Dialect(delimiter=';', header=('a', 'b'), n_columns=2, decimal=',', notes=(...))
    """
    sample = sample_of(text)
    chosen = _guess_delimiter(sample) if delimiter is None else delimiter
    rows = parse(sample, chosen, name)
    if not rows:  # nothing at all, blank lines, or a pair of quotes
        raise InputError(f"{name} must hold a table. Got an empty file. Check the export.")
    first, rest = rows[0], rows[1:]
    has_header = _looks_like_header(first) if header is None else header
    names = tuple(first) if has_header else None
    if names is not None and rest and all(len(row) == len(names) + 1 for row in rest):
        names = ("", *names)  # row names without a name of their own, as R writes them
    values = rest if has_header else rows
    decimal = "," if chosen != "," and _has_decimal_commas(values) else "."
    notes = _told(chosen, names, decimal, delimiter is None, header is None)
    return Dialect(chosen, names, len(names or first), decimal, notes)


def parse(text: str, delimiter: str, name: str) -> list[list[str]]:
    """The cells of some lines, blank lines left out."""
    try:
        skip = delimiter == " "
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=skip
        )
        return [row for row in reader if row and (len(row) > 1 or row[0].strip())]
    except (csv.Error, TypeError) as error:
        raise InputError(
            f"{name} must be text with one row per line. Got something else ({error}). Check "
            "quotes that are not closed, or give --delimiter."
        ) from error


def sample_of(text: str) -> str:
    """The first lines, which a dialect is guessed from; all of a text that has no more."""
    end, n_lines = 0, 0
    while n_lines < _SAMPLE_LINES and end >= 0 and (end < _SAMPLE_CHARACTERS or n_lines < 2):
        end = text.find("\n", end) + 1 or -1
        n_lines += 1
    return text if end < 0 else text[:end]


def _guess_delimiter(sample: str) -> str:
    """The sign that parts the lines into equally many cells, and the more the better."""
    best, best_value = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        if delimiter not in sample:
            continue
        try:
            widths = Counter(map(len, parse(sample, delimiter, "")))
        except InputError:
            continue
        if not widths:
            continue  # blank lines only
        width, count = widths.most_common(1)[0]
        value = (count / widths.total(), width)
        if width > 1 and value > best_value:
            best, best_value = delimiter, value
    return best


def _looks_like_header(first: list[str]) -> bool:
    """Names are no numbers; and a cell may be empty, above row numbers."""
    filled = [cell.strip() for cell in first[:_SAMPLE_CELLS] if cell.strip()]
    return bool(filled) and not any(_is_number(cell) for cell in filled)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ".") if _COMMA_NUMBER.match(cell) else cell)
    except ValueError:
        return False
    return cell.strip().lower() not in MISSING  # float("nan") is a number to Python


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    cells = [cell for row in rows for cell in row]
    commas = sum(bool(_COMMA_NUMBER.match(cell)) for cell in cells)
    points = sum("." in cell and _is_number(cell) for cell in cells)
    return commas > points


def _told(
    delimiter: str,
    header: tuple[str, ...] | None,
    decimal: str,
    delimiter_guessed: bool,
    header_guessed: bool,
) -> tuple[str, ...]:
    notes = []
    if delimiter_guessed and delimiter != ",":
        notes.append(f"Cells are parted by {DELIMITERS[delimiter]}.")
    if header_guessed and header is None:
        notes.append(
            "The first line holds numbers, so the columns are called x0, x1, ... (--header "
            "overrules)."
        )
    if decimal == ",":
        notes.append("Numbers are written with decimal commas.")
    return tuple(notes)

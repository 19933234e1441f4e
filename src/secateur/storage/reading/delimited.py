"""CSV and TSV: a parser in columns for long tables, one by lines for wide ones."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from secateur.data.memory import require_memory
from secateur.data.names import made_up_names
from secateur.exceptions import InputError
from secateur.storage.reading.dialect import Dialect, as_numbers, guess_dialect, row_of_numbers
from secateur.storage.reading.encoding import arrow, decoded, polars
from secateur.storage.reading.formats import FileKind, RawTable, mended_names
from secateur.typing import FloatArray

WIDE = 2_000
"""Above so many columns lines are read one by one: data frames are slow in columns."""


class ReadOptions(NamedTuple):
    """How to read text, where the user said so; None is guessed."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None


def read_delimited(content: bytes, name: str, kind: FileKind, options: ReadOptions) -> RawTable:
    """Read a table of text.

    Parameters
    ----------
    content : bytes
        The file, decompressed.
    name : str
        Its name, for messages.
    kind : FileKind
    options : ReadOptions
    """
    text, dialect, notes = dialect_of(content, name, kind, options)
    names, mended = names_in(dialect)
    read = _read_by_lines if is_read_by_lines(dialect) else _read_by_columns
    matrix, texts = read(text, dialect, name)
    if not len(matrix):
        raise no_rows(name)
    check_quotes(text.count('"'), (cells[-1] for cells in texts.values()), name)
    told = (*notes, *dialect.notes, *mended)
    return RawTable(matrix, names, kind, texts, {}, told)


def is_read_by_lines(dialect: Dialect) -> bool:
    """Whether a table is too wide for columns, or parted by spaces: pyarrow counts each of them."""
    return dialect.n_columns > WIDE or dialect.delimiter == " "


def no_rows(name: str) -> InputError:
    """What to say of a header alone."""
    return InputError(
        f"{name} must have rows. Got a header and nothing below it. Check the export."
    )


def check_quotes(n_quotes: int, last_cells: Iterable[str | None], name: str) -> None:
    """A quote that is not closed swallows the rest of the file, which no parser minds."""
    if n_quotes % 2 and any("\n" in (cell or "") for cell in last_cells):
        raise InputError(
            f"{name} must close the quotes that it opens. Got a last cell that goes on for many "
            "lines. Look for a single quote in the line where it begins."
        )


def dialect_of(
    content: bytes, name: str, kind: FileKind, options: ReadOptions
) -> tuple[str, Dialect, list[str]]:
    """The text of a file, how it is written, and what was guessed of its encoding."""
    text, notes = decoded(content, name, options.encoding)
    return text, dialect_in(text, name, kind, options), notes


def dialect_in(text: str, name: str, kind: FileKind, options: ReadOptions) -> Dialect:
    """How a file is written, by its first lines."""
    delimiter = options.delimiter
    if delimiter is None and kind.format == "tsv":
        delimiter = "\t"
    return guess_dialect(text, name, delimiter=delimiter, header=options.header)


def names_in(dialect: Dialect) -> tuple[tuple[str, ...], list[str]]:
    """The names of the columns, and what was changed of them."""
    if dialect.header is None:
        return made_up_names(dialect.n_columns), []
    return mended_names(dialect.header)


# ---- columns ----------------------------------------------------------------------------------


def _read_by_columns(text: str, dialect: Dialect, name: str) -> tuple[FloatArray, dict[int, Any]]:
    table = text_columns(text, dialect, name)
    n_rows, n_columns = table.num_rows, dialect.n_columns
    require_memory(8 * n_rows * n_columns, f"The columns of {name}", "Use a part of the rows.")
    matrix = np.empty((n_rows, n_columns), order="F")
    texts: dict[int, Any] = {}
    pl = polars()
    for place in range(n_columns):
        series = pl.from_arrow(table.column(place))
        matrix[:, place], other = as_numbers(series, dialect.decimal)
        if other is not None:
            texts[place] = other
    return matrix, texts


def text_columns(text: str, dialect: Dialect, name: str, only: list[int] | None = None) -> Any:
    """The cells as a pyarrow table of text, of all columns or of some, under numbers as names."""
    pa = arrow()
    import pyarrow.csv as pa_csv

    content = text.encode("utf-8", errors="replace")
    skip = end_of_header(text, dialect)
    ragged: list[Any] = []
    told = parser_options(dialect, _block_size(content), ragged, has_quotes=b'"' in content)
    if only is not None:
        told["convert_options"].include_columns = [str(place) for place in only]
    try:
        return pa_csv.read_csv(
            pa.BufferReader(memoryview(content)[len(text[:skip].encode("utf-8", "replace")) :]),
            **told,
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            labels = map(str, range(dialect.n_columns))
            return pa.table({label: pa.array([], pa.string()) for label in labels})
        if ragged:
            raise _ragged(text, ragged[0].text, ragged[0].actual_columns, dialect, name) from error
        raise not_rows(name, error) from error


def parser_options(
    dialect: Dialect, block_size: int, ragged: list[Any], *, has_quotes: bool
) -> dict[str, Any]:
    """What pyarrow is told of a text: all cells as text, columns under numbers as names.

    A line with too few or too many cells goes to ``ragged``, and is an error.
    """
    pa = arrow()
    import pyarrow.csv as pa_csv

    labels = [str(place) for place in range(dialect.n_columns)]

    def remember(row: Any) -> str:
        ragged.append(row)
        return "error"

    return {
        "read_options": pa_csv.ReadOptions(column_names=labels, block_size=block_size),
        "parse_options": pa_csv.ParseOptions(
            delimiter=dialect.delimiter,
            newlines_in_values=has_quotes,
            invalid_row_handler=remember,
        ),
        "convert_options": pa_csv.ConvertOptions(
            column_types=dict.fromkeys(labels, pa.string()), strings_can_be_null=False
        ),
    }


def not_rows(name: str, error: Exception) -> InputError:
    """What to say of a text that no parser makes rows of."""
    return InputError(
        f"{name} must be text with one row per line. Got something else ({error}). Check quotes "
        "that are not closed, or give --delimiter."
    )


def end_of_header(text: str, dialect: Dialect) -> int:
    """Where the line of names ends, 0 without one; names may hold line breaks within quotes."""
    if dialect.header is None:
        return 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter)
    for row in reader:
        if row and (len(row) > 1 or row[0].strip()):
            break
    return _position(text, reader.line_num)


def _position(text: str, n_lines: int) -> int:
    place = 0
    for _ in range(n_lines):
        place = text.find("\n", place) + 1
        if place == 0:
            return len(text)
    return place


def _block_size(content: bytes) -> int:
    # a row must fit into two blocks; rows differ in length, a few blocks are as good as many
    return int(min(max(1 << 20, len(content) // 64), 1 << 30))


def _ragged(text: str, line: str, n_cells: int, dialect: Dialect, name: str) -> InputError:
    found = re.search(rf"^{re.escape(line)}\r?$", text, re.MULTILINE)  # no part of another line
    number = 0 if found is None else text.count("\n", 0, found.start()) + 1
    return ragged_line(name, number, n_cells, dialect)


def ragged_line(name: str, number: int, n_cells: int, dialect: Dialect) -> InputError:
    """What to say of a line with too few or too many cells."""
    where = f"line {number}" if number else "a line"
    return InputError(
        f"{name} must have {dialect.n_columns} cells in every line. Got {n_cells} in {where}. Mend "
        "that line: often a cell holds the delimiter and has no quotes around it."
    )


# ---- lines ------------------------------------------------------------------------------------


def _read_by_lines(text: str, dialect: Dialect, name: str) -> tuple[FloatArray, dict[int, Any]]:
    n_columns = dialect.n_columns
    n_lines = text.count("\n") + 1
    require_memory(8 * n_lines * n_columns, f"The columns of {name}", "Use a part of the rows.")
    matrix = np.empty((n_lines, n_columns))
    odd: set[int] = set()
    n_rows = 0
    for cells in rows_of(text, dialect, name):
        matrix[n_rows], others = row_of_numbers(cells, dialect.decimal)
        odd.update(others)
        n_rows += 1
    matrix = matrix[:n_rows]
    texts = _texts(text, dialect, name, sorted(odd))
    for place, series in list(texts.items()):
        matrix[:, place], other = as_numbers(series, dialect.decimal)
        if other is None:
            del texts[place]
        else:
            texts[place] = other
    return matrix, texts


def rows_of(text: str, dialect: Dialect, name: str) -> Iterator[list[str]]:
    """The cells of each line below the header."""
    return rows_in(io.StringIO(text, newline=""), dialect, name)


def rows_in(lines: Iterable[str], dialect: Dialect, name: str) -> Iterator[list[str]]:
    """The same of lines that come one by one."""
    skip = dialect.delimiter == " "
    reader = csv.reader(lines, delimiter=dialect.delimiter, skipinitialspace=skip)
    is_header = dialect.header is not None
    try:
        for cells in reader:
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if is_header:
                is_header = False
                continue
            if len(cells) != dialect.n_columns:
                raise ragged_line(name, reader.line_num, len(cells), dialect)
            yield cells
    except csv.Error as error:
        raise InputError(
            f"{name} must be text with one row per line. Got something else in line "
            f"{reader.line_num} ({error}). Check quotes that are not closed."
        ) from error


def _texts(text: str, dialect: Dialect, name: str, places: list[int]) -> dict[int, Any]:
    """The few columns that are not all numbers, as text, in a second walk over the lines."""
    if not places:
        return {}
    pl = polars()
    cells = [[row[place] for place in places] for row in rows_of(text, dialect, name)]
    columns = zip(*cells, strict=True)
    return {p: pl.Series(c, dtype=pl.String) for p, c in zip(places, columns, strict=True)}

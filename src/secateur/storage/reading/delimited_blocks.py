"""Text files of any length, read in blocks of rows, cell by cell as whole ones are."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from secateur.storage.reading.delimited import (
    ReadOptions,
    check_quotes,
    dialect_in,
    end_of_header,
    is_read_by_lines,
    names_in,
    no_rows,
    not_rows,
    parser_options,
    ragged_line,
    rows_in,
)
from secateur.storage.reading.dialect import Dialect, as_numbers, as_text, row_of_numbers, sample_of
from secateur.storage.reading.encoding import TextFile, arrow, polars
from secateur.storage.reading.formats import FileKind, RawTable

BLOCK_BYTES = 1 << 22
"""Text that pyarrow parses at once; a row must fit into it."""


@dataclass(frozen=True, slots=True, eq=False)
class DelimitedBlocks:
    """A text file whose rows are read block by block.

    Parameters
    ----------
    text : TextFile
    dialect : Dialect
    kind : FileKind
    names : tuple of str
    notes : tuple of str
    """

    text: TextFile
    dialect: Dialect
    kind: FileKind
    names: tuple[str, ...]
    notes: tuple[str, ...]
    header_end: int

    @classmethod
    def of(cls, file: Path, kind: FileKind, options: ReadOptions) -> DelimitedBlocks:
        """Find out how a file is written: its encoding by a walk, the rest by its first lines."""
        text = TextFile.of(file, options.encoding)
        head = ""
        for piece in text.texts():
            head += piece
            if len(sample_of(head)) < len(head):
                break  # more lines than a guess looks at
        dialect = dialect_in(head, file.name, kind, options)
        names, mended = names_in(dialect)
        notes = (*text.encoding.notes, *dialect.notes, *mended)
        return cls(text, dialect, kind, names, notes, end_of_header(head, dialect))

    def read(self, n_rows: int, texts: Collection[int] = ()) -> Iterator[RawTable]:
        """The rows in order, at most so many at a time; some columns as text, too."""
        is_empty = True
        read = self._by_lines if is_read_by_lines(self.dialect) else self._by_columns
        for raw in read(n_rows, texts):
            is_empty = False
            yield raw
        if is_empty:
            raise no_rows(self.text.file.name)

    # ---- columns ------------------------------------------------------------------------------

    def _by_columns(self, n_rows: int, texts: Collection[int]) -> Iterator[RawTable]:
        last: Any = None
        for batch in self._batches():
            for start in range(0, batch.num_rows, n_rows):
                yield self._raw(batch.slice(start, n_rows), texts)
            last = batch if batch.num_rows else last
        if last is not None:
            cells = (column[-1].as_py() for column in last.columns)
            check_quotes(self.text.encoding.n_quotes, cells, self.text.file.name)

    def _batches(self) -> Iterator[Any]:
        """Rows as pyarrow has them, all cells as text."""
        pa = arrow()
        import pyarrow.csv as pa_csv

        name, ragged = self.text.file.name, list[Any]()
        has_quotes = self.text.encoding.n_quotes > 0
        told = parser_options(self.dialect, BLOCK_BYTES, ragged, has_quotes=has_quotes)
        try:
            with self.text.utf8(self.header_end) as stream:
                yield from pa_csv.open_csv(pa.PythonFile(stream, "r"), **told)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            if ragged:
                number = self._line_of(ragged[0].text)
                raise ragged_line(name, number, ragged[0].actual_columns, self.dialect) from error
            raise not_rows(name, error) from error

    def _line_of(self, text: str) -> int:
        """The number of a line, found by its text; 0 if it is not there as a whole."""
        with self.text.utf8() as stream:
            lines = io.TextIOWrapper(stream, "utf-8", newline="\n")
            found = (number for number, line in enumerate(lines, 1) if line.rstrip("\r\n") == text)
            return next(found, 0)

    def _raw(self, batch: Any, texts: Collection[int]) -> RawTable:
        pl = polars()
        matrix = np.empty((batch.num_rows, self.dialect.n_columns), order="F")
        asked: dict[int, Any] = {}
        others = set()
        for place in range(self.dialect.n_columns):
            series = pl.from_arrow(batch.column(place))
            matrix[:, place], words = as_numbers(series, self.dialect.decimal)
            if place in texts:
                asked[place] = as_text(series) if words is None else words
            elif words is not None:
                others.add(place)
        return self._table(matrix, asked, others)

    # ---- lines --------------------------------------------------------------------------------

    def _by_lines(self, n_rows: int, texts: Collection[int]) -> Iterator[RawTable]:
        with self.text.utf8() as stream:
            lines = io.TextIOWrapper(stream, "utf-8", newline="")
            rows = rows_in(lines, self.dialect, self.text.file.name)
            while (raw := self._raw_of_lines(islice(rows, n_rows), sorted(texts))) is not None:
                yield raw

    def _raw_of_lines(self, rows: Iterator[list[str]], texts: list[int]) -> RawTable | None:
        pl = polars()
        numbers, kept, others = [], [], set[int]()
        for cells in rows:
            of_row, odd = row_of_numbers(cells, self.dialect.decimal)
            numbers.append(of_row)
            kept.append([cells[place] for place in texts])
            others.update(odd)
        if not numbers:
            return None
        matrix, asked = np.array(numbers), dict[int, Any]()
        for place, column in zip(texts, zip(*kept, strict=True), strict=True):
            series = pl.Series(column, dtype=pl.String)
            matrix[:, place], _ = as_numbers(series, self.dialect.decimal)
            asked[place] = as_text(series)
        return self._table(matrix, asked, others - set(texts))

    def _table(self, matrix: Any, asked: dict[int, Any], others: set[int]) -> RawTable:
        return RawTable(matrix, self.names, self.kind, asked, {}, self.notes, frozenset(others))

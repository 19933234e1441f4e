"""CSV and TSV files, parsed by polars as a whole or in blocks of rows."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from secateur.data.checks import made_up_names
from secateur.data.memory import require_memory
from secateur.exceptions import InputError
from secateur.storage.reading.columns import numbers_and_texts
from secateur.storage.reading.dialect import (
    Dialect,
    Encoding,
    ReadOptions,
    find_encoding,
    guess_dialect,
    parse_rows,
    sample_end,
)
from secateur.storage.reading.formats import (
    CHUNK,
    FileKind,
    RawTable,
    library,
    read_bytes,
    read_chunks,
    unique_names,
)

MAX_QUOTED = 16 * CHUNK  # bytes of a cell after which its quote counts as not closed
_QUOTED = re.compile(rb'"[^"]*"')


@dataclass(frozen=True, slots=True, eq=False)
class CsvFile:
    """A delimited text file: how it is written, and a reader of its rows.

    polars parses the rows. Where there are blank lines, short lines, quotes within cells, or
    several spaces as one delimiter, Python's csv module rewrites them first: it is slower, and
    knows the numbers of the lines.
    """

    file: Path
    kind: FileKind
    encoding: Encoding
    dialect: Dialect
    names: tuple[str, ...]
    notes: tuple[str, ...]
    header: bytes  # the lines above the values as UTF-8: comments and names
    content: bytes | None  # the whole text as UTF-8, if it was read at once
    text_columns: frozenset[int] = frozenset()  # those not all numbers in the first lines

    @classmethod
    def open(
        cls, file: Path, kind: FileKind, options: ReadOptions, *, in_memory: bool = False
    ) -> CsvFile:
        """Guess how a file is written; keep its text if ``in_memory``."""
        content = [read_bytes(file, is_text=True)] if in_memory else None
        encoding = find_encoding(content or read_chunks(file), file.name, options.encoding)
        head, end = b"", -1
        for chunk in encoding.utf8(content or read_chunks(file)):
            head += chunk
            end = sample_end(head)
            if end >= 0 and not in_memory:
                break
        sample = head if end < 0 else head[:end]
        text = sample.decode("utf-8")
        delimiter = options.delimiter or ("\t" if kind.format == "tsv" else None)
        dialect = guess_dialect(text, file.name, options._replace(delimiter=delimiter))
        names, renamed = made_up_names(dialect.n_columns), list[str]()
        if dialect.header is not None:
            names, renamed = unique_names(dialect.header, options.names)
        below = sample.split(b"\n", dialect.n_top)[dialect.n_top :]
        header = sample[: len(sample) - len(b"".join(below))]
        notes = (*encoding.notes, *dialect.notes, *renamed)
        kept = head if in_memory else None
        opened = cls(file, kind, encoding, dialect, names, notes, header, kept)
        try:
            frame = opened._parse((), sample[len(header) :], is_rewritten=False)
        except _errors():
            return opened
        texts = [place for place, n_null in enumerate(frame.null_count().row(0)) if n_null]
        return replace(opened, text_columns=frozenset(texts))

    def read(self, n_rows: int | None = None, texts: Collection[int] = ()) -> Iterator[RawTable]:
        """The rows in order, at most ``n_rows`` at a time; the columns ``texts`` also as text."""
        is_empty = True
        for matrix, found in self._parsed(partial(self._convert, texts)):
            step = n_rows or len(matrix)
            for start in range(0, len(matrix), max(1, step)):
                rows = slice(start, start + step)
                part = {place: series[rows] for place, series in found.items()}
                facts = (self.notes, self.dialect.decimal)
                yield RawTable(matrix[rows], self.names, self.kind, part, {}, *facts)
                is_empty = False
        if is_empty:
            raise InputError(
                f"{self.file.name} must have rows. Got nothing below the header. Check the export."
            )

    def cells(self) -> Iterator[Any]:
        """The rows as polars frames of text, each cell as it is written."""
        return self._parsed(partial(self._parse, range(self.dialect.n_columns)))

    def reduced(self, columns: Sequence[int]) -> bytes:
        """A file of some columns, written as this one is."""
        out = io.StringIO(newline="")
        end = "\r\n" if b"\r\n" in (self.content or b"")[:100_000] else "\n"
        separator = self.dialect.delimiter
        if self.dialect.header is not None:
            names = [self.dialect.header[place] for place in columns]
            csv.writer(out, delimiter=separator, lineterminator=end).writerow(names)
        for frame in self.cells():
            part = frame.select([str(place) for place in columns])
            how = {"separator": separator, "line_terminator": end}
            out.write(part.write_csv(include_header=False, **how))
        return out.getvalue().encode("utf-8")

    def _parsed(self, parse: Callable[..., Any]) -> Iterator[Any]:
        """The results of ``parse`` for all rows, some megabytes at a time."""
        for line, content in self._pieces():
            try:
                yield parse(content, is_rewritten=False)
            except _errors():
                if rewritten := self._rewritten(content, line):
                    yield parse(rewritten, is_rewritten=True)

    def _convert(
        self, texts: Collection[int], content: bytes, *, is_rewritten: bool
    ) -> tuple[Any, dict[int, Any]]:
        """A matrix of numbers, and the columns of text."""
        n_columns, head = self.dialect.n_columns, content[:CHUNK]
        n_rows = 1 + head.count(b"\n") * len(content) // max(1, len(head))
        what = f"The columns of {self.file.name}"
        require_memory(8 * n_columns * n_rows, what, "Use a part of the rows.")
        # Malformed quotes are an error in a column of text only, and polars reads points as
        # decimal signs besides commas.
        is_unclear = b'"' in content or (self.dialect.decimal == "," and b"." in content)
        known = set(range(n_columns)) if is_unclear else {*texts, *self.text_columns}
        frame = self._parse(known, content, is_rewritten=is_rewritten)
        counts = enumerate(frame.null_count().row(0))
        unclear = [place for place, n_null in counts if n_null and place not in known]
        if unclear:
            again = self._parse(unclear, content, is_rewritten=is_rewritten, columns=unclear)
            frame = frame.with_columns(again.get_columns())
        return numbers_and_texts(frame, texts, self.dialect.decimal)

    def _parse(
        self,
        texts: Collection[int],
        content: bytes,
        *,
        is_rewritten: bool,
        columns: list[int] | None = None,
    ) -> Any:
        """Whole lines as a frame whose columns are named by position: text, or numbers."""
        pl = library("polars")
        places, as_text = range(self.dialect.n_columns), set(texts)
        dtypes = [pl.String if place in as_text else pl.Float64 for place in places]
        has_quotes = b'"' in content
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of lines that are rewritten then
            frame = pl.read_csv(
                content,
                has_header=False,
                columns=columns,
                schema={f"column_{place + 1}": dtypes[place] for place in places},
                separator="," if is_rewritten else self.dialect.delimiter,
                quote_char='"' if has_quotes else None,
                ignore_errors=not has_quotes,
                decimal_comma=self.dialect.decimal == ",",
            )
        frame.columns = [str(place) for place in columns or places]
        if is_rewritten or columns is not None:
            return frame
        is_irregular = _count_quotes(content) % 2 > 0 or self.dialect.delimiter == " "
        if not is_irregular and frame[frame.columns[-1]].null_count():
            # short and blank lines, which polars fills with nulls
            cells = _QUOTED.sub(b"", content) if has_quotes else content
            n_delimiters = cells.count(self.dialect.delimiter.encode())
            is_irregular = frame.width == 1 or n_delimiters != len(frame) * (frame.width - 1)
        if is_irregular:
            raise ValueError("lines that polars does not read as the csv module does")
        return frame

    def _rewritten(self, content: bytes, line: int) -> bytes:
        """Lines as the csv module reads and writes them, with commas; ``line`` come before."""
        name, n_columns = self.file.name, self.dialect.n_columns
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        cells: list[str] = []
        text = content.decode("utf-8")
        for number, cells in parse_rows(text, self.dialect.delimiter, name, line):
            if len(cells) != n_columns:
                raise InputError(
                    f"{name} must have {n_columns} cells in every line. Got {len(cells)} in line "
                    f"{number}. Correct that line: often a cell holds the delimiter without quotes."
                )
            writer.writerow(cells)
        if content.count(b'"') % 2 and any("\n" in cell for cell in cells):
            raise InputError(
                f"{name} must close the quotes that it opens. Got a last cell of many lines. Look "
                "for a single quote in the line where it begins."
            )
        return out.getvalue().encode("utf-8")

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines below the header, and how many lines come before them."""
        line, start = self.header.count(b"\n"), len(self.header)
        if self.content is not None:
            tail = self.content[-100:]
            stop = len(self.content) - len(tail) + len(tail.rstrip(b"\r\n"))
            if stop > start:
                yield line, self.content[start:stop]
            return
        rest = b""
        for chunk in self.encoding.utf8(read_chunks(self.file)):
            rest += chunk
            if len(rest) < start:
                continue
            rest, start = rest[start:], 0
            if end := _end_of_rows(rest):
                yield line, rest[:end]
                line += rest.count(b"\n", 0, end)
                rest = rest[end:]
        if rest := rest[start:].rstrip(b"\r\n"):
            yield line, rest


def _errors() -> tuple[type[Exception], ...]:
    """What is raised of lines that must be rewritten for polars."""
    return (library("polars").exceptions.PolarsError, ValueError)


def _count_quotes(content: bytes) -> int:
    return content.count(b'"') if b'"' in content else 0  # bytes.count is slow, `in` is not


def _end_of_rows(content: bytes) -> int:
    """Where the last whole row ends: after a line break that is not within quotes."""
    n_quotes, end = _count_quotes(content), len(content)
    while (start := content.rfind(b"\n", 0, end)) >= 0:
        n_quotes -= content.count(b'"', start, end)
        if n_quotes % 2 == 0:
            return start + 1
        end = start
    return content.rfind(b"\n") + 1 if len(content) > MAX_QUOTED else 0

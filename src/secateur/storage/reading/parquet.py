"""Parquet and Feather files, read by pyarrow as a whole or in blocks of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from secateur.data.memory import require_memory
from secateur.exceptions import InputError, some_of
from secateur.storage.reading.columns import MICROSECONDS_PER_DAY, numbers_and_texts
from secateur.storage.reading.formats import FileKind, RawTable, library, read_bytes, unique_names

PAGE_BYTES = 1 << 18  # bytes that are read of a column of a Parquet file at a time


@dataclass(frozen=True, slots=True, eq=False)
class ArrowFile:
    """A Parquet or Feather file: its columns, and a reader of its rows."""

    file: Path
    kind: FileKind
    n_rows: int
    n_columns: int
    places: tuple[int, ...]  # the columns that can be read: not lists, bytes or structures
    names: tuple[str, ...]  # of these columns
    notes: tuple[str, ...]

    @classmethod
    def open(cls, file: Path, kind: FileKind, used: Collection[str] = ()) -> ArrowFile:
        """Read the types of the columns; ``used`` are those that the user named."""
        with arrow_errors(file, kind.format):
            if _is_read_whole(file, kind):
                table = _whole_table(file, kind)
                schema, n_rows = table.schema, table.num_rows
            else:
                stored = _dataset(file, kind)
                schema, n_rows = stored.schema, stored.count_rows()
        if n_rows == 0 or len(schema.names) == 0:
            shape = (n_rows, len(schema.names))
            raise InputError(
                f"{file.name} must have rows and columns. Got {shape}. Check the export."
            )
        labels, notes = unique_names(schema.names, used)
        dtypes = [_polars_dtype(column) for column in schema.empty_table().columns]
        places = tuple(place for place, dtype in enumerate(dtypes) if dtype is not None)
        names = tuple([labels[place] for place in places])
        dates = [labels[place] for place in places if dtypes[place].is_temporal()]
        others = [label for label, dtype in zip(labels, dtypes, strict=True) if dtype is None]
        if dates:
            notes.append(f"Dates become days since 1970: {some_of(dates)}.")
        if others:
            notes.append(f"Lists, bytes and structures are left out: {some_of(others)}.")
        return cls(file, kind, n_rows, len(labels), places, names, tuple(notes))

    def read(self, n_rows: int | None = None, texts: Collection[int] = ()) -> Iterator[RawTable]:
        """The rows in order, at most ``n_rows`` at a time; the columns ``texts`` also as text."""
        pl = library("polars")
        n_bytes = 8 * min(n_rows or self.n_rows, self.n_rows) * len(self.places)
        require_memory(n_bytes, f"The columns of {self.file.name}", "Use fewer.")
        for table in self.tables(n_rows):
            labels = [str(place) for place in range(len(self.places))]
            part = table.select(list(self.places)).rename_columns(labels)
            frame = pl.DataFrame([_text_or_numbers(series) for series in pl.from_arrow(part)])
            matrix, found = numbers_and_texts(frame, texts)
            yield RawTable(matrix, self.names, self.kind, found, {}, self.notes)

    def tables(self, n_rows: int | None = None) -> Iterator[Any]:
        """The rows as pyarrow tables, at most ``n_rows`` at a time."""
        pa = library("pyarrow")
        with arrow_errors(self.file, self.kind.format):
            if n_rows is None or _is_read_whole(self.file, self.kind):
                table, step = _whole_table(self.file, self.kind), n_rows or self.n_rows
                yield from (table.slice(start, step) for start in range(0, self.n_rows, step))
                return
            if self.kind.format == "parquet":
                batches = parquet_batches(self.file, n_rows)
            else:
                batches = dataset_batches(_dataset(self.file, self.kind), n_rows)
            yield from (pa.Table.from_batches([batch]) for batch in batches)

    def reduced(self, columns: Sequence[int]) -> bytes:
        """A file of some columns, with their types."""
        [table] = self.tables()
        part = table.select([self.places[place] for place in columns])
        stream = BytesIO()
        if self.kind.format == "parquet":
            library("pyarrow.parquet").write_table(part, stream)
        else:
            library("pyarrow.feather").write_feather(part, stream)
        return stream.getvalue()


@contextmanager
def arrow_errors(path: Path, kind: str) -> Iterator[None]:
    """Errors of pyarrow as InputErrors."""
    pa = library("pyarrow")
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).replace(f"{path.parent}/", "")[:300]
        raise InputError(
            f"{path.name} must be a whole {kind} file, with all rows of one form. Got one that "
            f"cannot be read ({reason}). Write it again."
        ) from error
    finally:
        # What pages were decoded into is kept for the next read, hundreds of megabytes of it.
        pa.default_memory_pool().release_unused()


def _is_read_whole(file: Path, kind: FileKind) -> bool:
    """Whether a file is compressed as a whole, or a Feather file of version 1."""
    with file.open("rb") as stream:
        return bool(kind.compression) or stream.read(4) == b"FEA1"


def _whole_table(file: Path, kind: FileKind) -> Any:
    stream = library("pyarrow").BufferReader(read_bytes(file))
    return library(f"pyarrow.{kind.format}").read_table(stream)


def _dataset(file: Path, kind: FileKind) -> Any:
    return library("pyarrow.dataset").dataset(file, format=kind.format)


def dataset_batches(dataset: Any, n_rows: int) -> Iterator[Any]:
    """The rows of a pyarrow dataset, in order, as record batches of at most so many rows."""
    # Little is read ahead: the reader, not the fit, would set the peak of memory.
    batches = dataset.to_batches(batch_size=n_rows, batch_readahead=1, fragment_readahead=1)
    return (batch for batch in batches if batch.num_rows)


def parquet_batches(file: Path, n_rows: int) -> Iterator[Any]:
    """The rows of a Parquet file as record batches; a dataset would read whole row groups."""
    parquet = library("pyarrow.parquet")
    # Nothing is read ahead, so that the reader does not determine the peak of memory.
    with parquet.ParquetFile(file, pre_buffer=False, buffer_size=PAGE_BYTES) as opened:
        yield from opened.iter_batches(batch_size=n_rows)


def _polars_dtype(column: Any) -> Any:
    """The type of a column in polars; None for lists, bytes and the like."""
    pl = library("polars")
    try:
        dtype = pl.from_arrow(column).dtype
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
    is_known = dtype.is_numeric() or dtype.is_temporal() or _is_text(dtype)
    return dtype if is_known or dtype in (pl.Boolean, pl.Null) else None


def _is_text(dtype: Any) -> bool:
    pl = library("polars")
    return dtype in (pl.Categorical, pl.Enum, pl.String)


def _text_or_numbers(series: Any) -> Any:
    """A column as text or as floats: dates as days since 1970, durations and times as days."""
    pl = library("polars")
    dtype = series.dtype
    if _is_text(dtype):
        return series.cast(pl.String)
    if dtype.is_temporal():
        whole = pl.Datetime("us") if dtype in (pl.Date, pl.Datetime) else pl.Duration("us")
        return series.cast(whole).cast(pl.Int64) / MICROSECONDS_PER_DAY
    return series.cast(pl.Float64, strict=False)

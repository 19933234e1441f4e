"""Parquet and Feather files of any length, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.memory import require_memory
from secateur.data.messages import some_of
from secateur.exceptions import InputError
from secateur.storage.reading.dialect import as_numbers, as_text
from secateur.storage.reading.encoding import arrow, polars, read_bytes
from secateur.storage.reading.formats import FileKind, RawTable, mended_names
from secateur.typing import FloatArray

SECONDS_PER_DAY = 86_400


def read_arrow(content: bytes, name: str, kind: FileKind) -> RawTable:
    """Read a Parquet or Feather file."""
    table = arrow_table(content, name, kind.format)
    if table.num_rows == 0 or table.num_columns == 0:
        raise no_cells(name, table.shape)
    columns = ArrowColumns.of(table.schema)
    n_bytes = 8 * table.num_rows * len(columns.names)
    require_memory(n_bytes, f"The columns of {name}", "Use fewer.")
    return columns.raw(table, kind)


def no_cells(name: str, shape: tuple[int, int]) -> InputError:
    """What to say of a file without rows or columns."""
    return InputError(f"{name} must have rows and columns. Got {shape}. Check the export.")


@dataclass(frozen=True, slots=True, eq=False)
class ArrowColumns:
    """Which columns of a typed table can be read, and under which names.

    Parameters
    ----------
    places : tuple of int
        Those that can be read: no lists, bytes, structures.
    names : tuple of str
    notes : tuple of str
    """

    places: tuple[int, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, schema: Any) -> ArrowColumns:
        """What the types of the columns tell."""
        labels, notes = mended_names(schema.names)
        empty = schema.empty_table()
        series = [_series(column) for column in empty.columns]
        places = [place for place, each in enumerate(series) if each is not None]
        times = [labels[p] for p in places if series[p].dtype.is_temporal()]
        unread = [label for place, label in enumerate(labels) if series[place] is None]
        notes += _told(times, unread)
        return cls(tuple(places), tuple([labels[p] for p in places]), tuple(notes))

    def raw(self, table: Any, kind: FileKind, texts: Collection[int] | None = None) -> RawTable:
        """Some rows; columns of text as such where they have words, or where they are asked for."""
        matrix = np.empty((table.num_rows, len(self.places)), order="F")
        asked: dict[int, Any] = {}
        others = set()
        for new, place in enumerate(self.places):
            series = _series(table.column(place))
            matrix[:, new], words = _numbers(series)
            if texts is not None and new in texts:
                asked[new] = as_text(_as_strings(series)) if words is None else words
            elif words is not None and texts is None:
                asked[new] = words
            elif words is not None:
                others.add(new)
        return RawTable(matrix, self.names, kind, asked, {}, self.notes, frozenset(others))


def arrow_table(content: bytes, name: str, format_: str) -> Any:
    """The table in a Parquet or Feather file, as it is stored."""
    pa = arrow()
    try:
        if format_ == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.read_table(pa.BufferReader(content))
        import pyarrow.feather

        return pyarrow.feather.read_table(BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{name} must be a whole {format_} file. Got one that cannot be read ({error}). Write "
            "it again."
        ) from error


def _series(column: Any) -> Any:
    """A column as polars has it; None for lists, bytes and the like."""
    pl = polars()
    try:
        series = pl.from_arrow(column)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
    dtype = series.dtype
    is_read = _is_text(dtype) or dtype.is_temporal() or dtype.is_numeric()
    return series if is_read or dtype in (pl.Boolean, pl.Null) else None


def _is_text(dtype: Any) -> bool:
    pl = polars()
    return dtype in (pl.Categorical, pl.Enum) or dtype == pl.String


def _as_strings(series: Any) -> Any:
    pl = polars()
    return series.cast(pl.String)


def _numbers(series: Any) -> tuple[FloatArray, Any]:
    """A column as numbers; and as text where not all of it are numbers."""
    pl = polars()
    if _is_text(series.dtype):
        return as_numbers(_as_strings(series))
    if series.dtype.is_temporal():
        return _days(series), None
    numbers: FloatArray = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    return numbers, None


def _days(series: Any) -> FloatArray:
    """Dates and times as days since 1970, durations and times of day as days."""
    pl = polars()
    if series.dtype in (pl.Date, pl.Datetime):
        micros = series.cast(pl.Datetime("us")).cast(pl.Int64)
        return _floats(micros) / (1e6 * SECONDS_PER_DAY)
    if series.dtype == pl.Duration:
        return _floats(series.dt.total_microseconds()) / (1e6 * SECONDS_PER_DAY)
    return _floats(series.cast(pl.Int64)) / (1e9 * SECONDS_PER_DAY)


def _floats(series: Any) -> FloatArray:
    pl = polars()
    floats: FloatArray = series.cast(pl.Float64).to_numpy().astype(np.float64)
    return floats


def _told(times: list[str], others: list[str]) -> list[str]:
    notes = []
    if times:
        notes.append(f"Dates become days since 1970: {some_of(times)}.")
    if others:
        notes.append(f"Lists, bytes and structures are left out: {some_of(others)}.")
    return notes


@dataclass(frozen=True, slots=True, eq=False)
class ArrowBlocks:
    """A typed file whose rows are read block by block.

    A file that is compressed as a whole, and a Feather file of the first version, cannot be read in
    pieces: they are taken into memory as they are stored.
    """

    file: Path
    kind: FileKind
    columns: ArrowColumns
    n_rows: int

    @classmethod
    def of(cls, file: Path, kind: FileKind) -> ArrowBlocks:
        """What the head of a file tells of its columns."""
        schema, n_rows = _schema(file, kind)
        if n_rows == 0 or len(schema.names) == 0:
            raise no_cells(file.name, (n_rows, len(schema.names)))
        return cls(file, kind, ArrowColumns.of(schema), n_rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that can be read."""
        return self.columns.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What becomes of dates and lists."""
        return self.columns.notes

    def read(self, n_rows: int, texts: Collection[int] = ()) -> Iterator[RawTable]:
        """The rows in order, at most so many at a time; some columns as text, too."""
        pa = arrow()
        try:
            for batch in _batches(self.file, self.kind, n_rows):
                for start in range(0, batch.num_rows, n_rows):
                    part = pa.Table.from_batches([batch.slice(start, n_rows)])
                    yield self.columns.raw(part, self.kind, texts)
        except (pa.ArrowException, OSError) as error:
            raise _broken(self.file, self.kind, error) from error
        finally:
            pa.default_memory_pool().release_unused()  # it is kept for the next time otherwise


def shape_of(file: Path, kind: FileKind) -> tuple[int, int]:
    """Rows and columns, by what a file tells of itself."""
    schema, n_rows = _schema(file, kind)
    return n_rows, len(schema.names)


def _schema(file: Path, kind: FileKind) -> tuple[Any, int]:
    """The types of the columns, and the number of rows."""
    pa = arrow()
    try:
        if kind.compression or _is_first_version(file):
            table = arrow_table(read_bytes(file)[0], file.name, kind.format)
            return table.schema, table.num_rows
        if kind.format == "parquet":
            import pyarrow.parquet

            with pyarrow.parquet.ParquetFile(file) as opened:
                return opened.schema_arrow, opened.metadata.num_rows
        import pyarrow.dataset as ds

        stored = ds.dataset(file, format="feather")
        return stored.schema, stored.count_rows()
    except (pa.ArrowException, OSError) as error:
        raise _broken(file, kind, error) from error


def _batches(file: Path, kind: FileKind, n_rows: int) -> Iterator[Any]:
    pa = arrow()
    if kind.compression or _is_first_version(file):
        table = arrow_table(read_bytes(file)[0], file.name, kind.format)
        yield from table.to_batches(max_chunksize=n_rows)
    elif kind.format == "parquet":
        import pyarrow.parquet

        # Nothing is read ahead: the reader, not the fit, would set the peak of memory.
        with pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 18) as opened:
            yield from opened.iter_batches(batch_size=n_rows)
    else:
        with pa.OSFile(str(file)) as stored:
            reader = pa.ipc.open_file(stored)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def _is_first_version(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"FEA1"


def _broken(file: Path, kind: FileKind, error: Exception) -> InputError:
    return InputError(
        f"{file.name} must be a whole {kind.format} file. Got one that cannot be read ({error}). "
        "Write it again."
    )

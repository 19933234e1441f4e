"""Parquet and Feather files of any length, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur._data.reading.arrow import ArrowColumns, arrow_table, no_cells
from secateur._data.reading.formats import FileKind
from secateur._data.reading.opening import arrow, read_bytes
from secateur._data.reading.raw import RawTable
from secateur.exceptions import InputError


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

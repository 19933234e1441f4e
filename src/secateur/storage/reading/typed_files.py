"""Files whose columns have a type: Parquet and Feather, read by pyarrow, LIBSVM and NPZ."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.checks import made_up_names
from secateur.data.memory import require_memory
from secateur.exceptions import InputError, some_of
from secateur.storage.reading.columns import MICROSECONDS_PER_DAY, numbers_and_texts
from secateur.storage.reading.formats import (
    MAX_LINE,
    FileKind,
    RawTable,
    library,
    open_file,
    read_bytes,
    unique_names,
)
from secateur.typing import AnyArray

PAGE_BYTES = 1 << 18  # bytes that are read of a column of a Parquet file at a time
LABEL = "label"  # the name of the labels of a LIBSVM file...
QUERY = "qid"  # ... and of its queries, where it has any
_SCAN_ROWS = 10_000
_SPARSE = {"data", "indices", "indptr", "shape"}
_NAMES = "feature_names"


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
            table, dataset = _opened(file, kind)
            schema = (dataset if table is None else table).schema
            n_rows = dataset.count_rows() if table is None else table.num_rows
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
        with arrow_errors(self.file, self.kind.format):
            table, dataset = _opened(self.file, self.kind, is_whole=n_rows is None)
            step = n_rows or self.n_rows
            if table is not None:
                yield from (table.slice(start, step) for start in range(0, self.n_rows, step))
            elif self.kind.format == "parquet":
                yield from parquet_tables(self.file, step)
            else:
                yield from dataset_tables(dataset, step)

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


def _opened(file: Path, kind: FileKind, *, is_whole: bool = False) -> tuple[Any, Any]:
    """A table, if ``is_whole`` or it cannot be read otherwise; or else a pyarrow dataset."""
    with file.open("rb") as stream:
        is_whole |= bool(kind.compression) or stream.read(4) == b"FEA1"  # Feather of version 1
    if not is_whole:
        return None, library("pyarrow.dataset").dataset(file, format=kind.format)
    stream = library("pyarrow").BufferReader(read_bytes(file))
    return library(f"pyarrow.{kind.format}").read_table(stream), None


def dataset_tables(dataset: Any, n_rows: int) -> Iterator[Any]:
    """The rows of a pyarrow dataset, in order, as tables of at most so many rows."""
    # Little is read ahead: the reader, not the fit, would set the peak of memory.
    batches = dataset.to_batches(batch_size=n_rows, batch_readahead=1, fragment_readahead=1)
    table = library("pyarrow").Table
    return (table.from_batches([batch]) for batch in batches if batch.num_rows)


def parquet_tables(file: Path, n_rows: int) -> Iterator[Any]:
    """The rows of a Parquet file as tables; a dataset would read whole row groups."""
    table, parquet = library("pyarrow").Table, library("pyarrow.parquet")
    # Nothing is read ahead, so that the reader does not determine the peak of memory.
    with parquet.ParquetFile(file, pre_buffer=False, buffer_size=PAGE_BYTES) as opened:
        yield from (table.from_batches([batch]) for batch in opened.iter_batches(n_rows))


def _polars_dtype(column: Any) -> Any:
    """The type of a column in polars; None for lists, bytes and the like."""
    pl = library("polars")
    try:
        dtype = pl.from_arrow(column).dtype
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
    others = (pl.Categorical, pl.Enum, pl.String, pl.Boolean, pl.Null)
    return dtype if dtype.is_numeric() or dtype.is_temporal() or dtype in others else None


def _text_or_numbers(series: Any) -> Any:
    """A column as text or as floats: dates as days since 1970, durations and times as days."""
    pl = library("polars")
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum, pl.String):
        return series.cast(pl.String)
    if dtype.is_temporal():
        whole = pl.Datetime("us") if dtype in (pl.Date, pl.Datetime) else pl.Duration("us")
        return series.cast(whole).cast(pl.Int64) / MICROSECONDS_PER_DAY
    return series.cast(pl.Float64, strict=False)


@dataclass(frozen=True, slots=True, eq=False)
class SvmlightFile:
    """A LIBSVM file and a reader of its rows; columns are ``x1``, ..., from ``x0`` with index 0."""

    file: Path
    kind: FileKind
    first: int  # the first index
    stop: int  # the index after the last
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    whole: RawTable | None = None  # the table, if it was read at once

    @classmethod
    def open(cls, file: Path, kind: FileKind, *, in_memory: bool = False) -> SvmlightFile:
        """Find the columns by reading all rows once; keep them if ``in_memory``."""
        has_zero, stop, n_rows, n_values = False, 0, 0, 0
        for rows in _parsed_rows(file, None if in_memory else _SCAN_ROWS):
            X = rows[0]
            has_zero |= bool(X[:, :1].nnz)
            stop = max(stop, X.shape[1])
            n_rows += X.shape[0]
            n_values += X.nnz
        if not n_rows:
            raise InputError(f"{file.name} must hold a table. Got an empty file. Check the export.")
        if not n_values:
            raise InputError(f"{file.name} must have features. Got labels only. Check the file.")
        first = 0 if has_zero or stop == 1 else 1
        names = tuple([f"x{place}" for place in range(first, stop)])
        opened = cls(file, kind, first, stop, names)
        return replace(opened, whole=opened._raw(*rows)) if in_memory else opened

    def read(
        self,
        n_rows: int | None = None,
        texts: Collection[int] = (),  # noqa: ARG002  # there is no text
    ) -> Iterator[RawTable]:
        """The rows in order, at most ``n_rows`` at a time."""
        if self.whole is not None:
            yield self.whole
            return
        for rows in _parsed_rows(self.file, n_rows, self.stop):
            yield self._raw(*rows)

    def _raw(self, X: Any, y: AnyArray, query: AnyArray) -> RawTable:
        extra = {LABEL: y, **({QUERY: query} if len(query) else {})}
        return RawTable(X[:, self.first :], self.names, self.kind, {}, extra)

    def reduced(self, columns: Sequence[int]) -> bytes:
        """A file with the same labels and column numbers, and the values of some columns."""
        from sklearn.datasets import dump_svmlight_file

        [raw] = self.read()
        matrix, stream = raw.matrix.copy(), BytesIO()
        matrix.data[~np.isin(matrix.indices, columns)] = 0.0
        matrix.eliminate_zeros()
        dump_svmlight_file(matrix, raw.extra[LABEL], stream, zero_based=self.first == 0)
        return stream.getvalue()


def _parsed_rows(
    file: Path, n_rows: int | None, n_columns: int | None = None
) -> Iterator[tuple[Any, AnyArray, AnyArray]]:
    """Sparse matrix, labels and query identifiers of some rows at a time."""
    from sklearn.datasets import load_svmlight_file

    blocks = [read_bytes(file, is_text=True)] if n_rows is None else _line_blocks(file, n_rows)
    for content in blocks:
        if not content.strip():
            continue
        try:
            yield load_svmlight_file(
                BytesIO(content), n_features=n_columns, zero_based=True, query_id=True
            )
        except (ValueError, OverflowError, TypeError) as error:
            raise InputError(
                f"{file.name} must be a LIBSVM file: a label and index:value pairs in each line. "
                f"Got something else ({error}). Check the file."
            ) from error


def _line_blocks(file: Path, n_lines: int) -> Iterator[bytes]:
    with open_file(file) as (lines, _):
        read_line = partial(lines.readline, MAX_LINE)
        while content := b"".join(islice(iter(read_line, b""), n_lines)):
            yield content


def read_npz(file: Path, kind: FileKind, used: Collection[str] = ()) -> RawTable:
    """Read an NPZ file: the table, its ``feature_names``, and arrays with one value per row.

    The table is ``X``, or the only matrix there is, or a sparse one as scipy writes it.
    """
    arrays, name = _load_arrays(file), file.name
    matrix, table = _sparse(arrays, name) if arrays.keys() >= _SPARSE else _dense(arrays, name)
    n_rows, n_columns = matrix.shape
    if n_rows == 0 or n_columns == 0:
        raise InputError(f"{name} must have rows and columns. Got {matrix.shape}. Check the file.")
    names, notes = made_up_names(n_columns), list[str]()
    if _NAMES in arrays and arrays[_NAMES].shape == (n_columns,):
        names, notes = unique_names([str(label) for label in arrays[_NAMES]], used)
    others = {key: array for key, array in arrays.items() if key not in {*table, _NAMES}}
    for key in used:
        if key in others and others[key].shape not in {(n_rows,), (n_rows, 1)}:
            raise InputError(
                f"{key!r} must have a value for each of the {n_rows} rows of {name}. Got an array "
                f"of shape {others[key].shape}. Save both with the same rows."
            )
    extra = {key: a.ravel() for key, a in others.items() if a.shape in {(n_rows,), (n_rows, 1)}}
    return RawTable(matrix, names, kind, {}, extra, tuple(notes))


def reduced_npz(file: Path, raw: RawTable, columns: Sequence[int]) -> bytes:
    """A file with some columns of the table, and all other arrays."""
    arrays, shape, kept = _load_arrays(file), (raw.n_rows, len(raw.names)), list(columns)
    for key, array in arrays.items():
        if array.shape == shape:
            arrays[key] = array[:, kept]
        elif array.shape == shape[1:] and key not in {*raw.extra, *_SPARSE}:
            arrays[key] = array[kept]  # one value per column
    if raw.is_sparse:
        part = raw.matrix[:, kept]
        arrays |= {"data": part.data.astype(arrays["data"].dtype), "indices": part.indices}
        arrays |= {"indptr": part.indptr, "shape": np.array(part.shape)}
        if "format" in arrays:
            arrays["format"] = np.array(b"csr")
    arrays[_NAMES] = np.array([raw.names[place] for place in kept])
    stream = BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]  # the stubs know one option
    return stream.getvalue()


def _load_arrays(file: Path) -> dict[str, AnyArray]:
    """All arrays of an NPZ file; objects are never unpickled."""
    content = BytesIO(read_bytes(file))
    try:
        with np.load(content, allow_pickle=False) as stored:
            n_bytes = sum(entry.file_size for entry in stored.zip.infolist())
            require_memory(n_bytes, f"The arrays of {file.name}", "Use a part of the rows.")
            arrays = {key: stored[key] for key in stored.files}
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{file.name} must be an NPZ file of plain arrays. Got something else ({error}). Save "
            "arrays of objects as arrays of text or numbers."
        ) from error
    others = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise InputError(
            f"{file.name} must be an NPZ file of plain arrays. Got an archive with "
            f"{some_of(others)}. Unpack it, and name the file that holds the table."
        )
    return arrays


def _sparse(arrays: Mapping[str, AnyArray], name: str) -> tuple[Any, set[str]]:
    from scipy.sparse import csc_matrix, csr_matrix

    is_csc = "format" in arrays and arrays["format"].item() in {b"csc", "csc"}
    make = csc_matrix if is_csc else csr_matrix
    try:
        parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
        shape = tuple(int(length) for length in arrays["shape"])
        matrix = make(parts, shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{name} must hold a sparse matrix in data, indices, indptr and shape. Got parts that "
            f"do not fit ({error}). Write it again with scipy.sparse.save_npz."
        ) from error
    return matrix.tocsr(), {*_SPARSE, "format"}


def _dense(arrays: Mapping[str, AnyArray], name: str) -> tuple[AnyArray, set[str]]:
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    key = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if key is None:
        raise InputError(
            f"{name} must hold one table, as the array X. Got {some_of(sorted(arrays))}. Call the "
            "table X, or write a sparse one with scipy.sparse.save_npz."
        )
    if arrays[key].dtype.kind not in "fiub":
        raise InputError(
            f"The table in {name} must hold numbers. Got dtype {arrays[key].dtype}. Write columns "
            "of text to CSV or Parquet."
        )
    return arrays[key].astype(np.float64), {key}

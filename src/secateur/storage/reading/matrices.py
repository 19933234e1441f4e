"""LIBSVM (svmlight) and NPZ files: matrices with labels and other arrays."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from secateur.storage.reading.formats import (
    MAX_LINE,
    FileKind,
    RawTable,
    open_file,
    read_bytes,
    unique_names,
)
from secateur.typing import AnyArray

LABEL = "label"  # the name of the labels of a LIBSVM file
_SCAN_ROWS = 10_000
_SPARSE = {"data", "indices", "indptr", "shape"}
_NAMES = "feature_names"


# ---- LIBSVM -----------------------------------------------------------------------------------


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
        extra = {LABEL: y, **({"qid": query} if len(query) else {})}
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


# ---- NPZ --------------------------------------------------------------------------------------


def read_npz(file: Path, kind: FileKind, used: Collection[str] = ()) -> RawTable:
    """Read an NPZ file.

    The table is ``X``, or the only matrix there is, or a sparse one as scipy writes it (``data``,
    ``indices``, ``indptr``, ``shape``). ``feature_names`` are the names of its columns; arrays
    with one value per row can be target, weights and so on: ``used`` are those the user named.
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

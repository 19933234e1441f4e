"""NPZ: arrays by name, among them a table, dense or sparse; never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from secateur.data.messages import some_of
from secateur.exceptions import InputError
from secateur.storage.reading.formats import FileKind, RawTable, mended_names
from secateur.typing import AnyArray

_SPARSE = {"data", "indices", "indptr", "shape"}
_NAMES = "feature_names"


def read_npz(content: bytes, name: str, kind: FileKind) -> RawTable:
    """Read an NPZ file.

    The table is ``X``, or the only matrix there is, or a sparse one as scipy and this project
    write it (``data``, ``indices``, ``indptr``, ``shape``). ``feature_names`` names its columns;
    arrays with one value per row can be target, weights and so on.
    """
    arrays = load_arrays(content, name)
    matrix, used = _sparse(arrays, name) if arrays.keys() >= _SPARSE else _dense(arrays, name)
    n_rows, n_columns = matrix.shape
    if n_rows == 0 or n_columns == 0:
        raise InputError(f"{name} must have rows and columns. Got {matrix.shape}. Check the file.")
    names, notes = _names(arrays, n_columns)
    sides = {
        key: array
        for key, array in arrays.items()
        if key not in used and array.ndim == 1 and len(array) == n_rows
    }
    return RawTable(matrix, names, kind, {}, sides, tuple(notes))


def load_arrays(content: bytes, name: str) -> dict[str, AnyArray]:
    """All arrays of an NPZ file."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{name} must be an NPZ file of plain arrays. Got something else ({error}). Save "
            "arrays of objects as arrays of text or numbers."
        ) from error
    others = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise InputError(
            f"{name} must be an NPZ file of plain arrays. Got an archive with {some_of(others)}. "
            "Unpack it, and name the file that holds the table."
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
    return matrix.tocsr(), {*_SPARSE, "format", _NAMES}


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
    return arrays[key].astype(np.float64), {key, _NAMES}


def _names(arrays: Mapping[str, AnyArray], n_columns: int) -> tuple[tuple[str, ...], list[str]]:
    given = arrays.get(_NAMES)
    if given is None or given.ndim != 1 or len(given) != n_columns:
        return tuple([f"x{place}" for place in range(n_columns)]), []
    return mended_names([str(name) for name in given])

"""LIBSVM files: a label and the non-zeros of a row in each line."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from secateur.exceptions import InputError
from secateur.files.formats import FileKind
from secateur.files.raw import RawTable

LABEL = "label"
"""What the labels of a LIBSVM file are called."""


def read_libsvm(content: bytes, name: str, kind: FileKind) -> RawTable:
    """Read a LIBSVM file as a sparse matrix; column 1 of the file is called ``x1``.

    A file whose indices begin with 0 is read so, and its first column is called ``x0``.
    """
    from sklearn.datasets import load_svmlight_file

    if not content.strip():
        raise InputError(f"{name} must hold a table. Got an empty file. Check the export.")
    try:
        X, y, query = load_svmlight_file(BytesIO(content), zero_based=True, query_id=True)
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(
            f"{name} must be a LIBSVM file: a label and index:value pairs in each line. Got "
            f"something else ({error}). Check the file."
        ) from error
    if X.nnz == 0:
        raise InputError(f"{name} must have features. Got labels only. Check the file.")
    is_zero_based = bool(X[:, :1].nnz) or X.shape[1] == 1
    first = 0 if is_zero_based else 1
    X = X if is_zero_based else X[:, 1:]
    names = tuple([f"x{place}" for place in range(first, first + X.shape[1])])
    sides: dict[str, Any] = {LABEL: y}
    if len(query):
        sides["qid"] = query
    return RawTable(X, names, kind, {}, sides, ())


def libsvm_bytes(X: Any, y: Any, first: int) -> bytes:
    """A sparse matrix as a LIBSVM file whose columns are numbered from ``first``."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import dump_svmlight_file

    stream = BytesIO()
    dump_svmlight_file(csr_matrix(X), np.asarray(y), stream, zero_based=first == 0)
    return stream.getvalue()

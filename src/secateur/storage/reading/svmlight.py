"""LIBSVM files: a label and the non-zeros of a row in each line."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from secateur.exceptions import InputError
from secateur.storage.reading.encoding import opened
from secateur.storage.reading.formats import FileKind, RawTable

LABEL = "label"
"""What the labels of a LIBSVM file are called."""


def read_libsvm(content: bytes, name: str, kind: FileKind) -> RawTable:
    """Read a LIBSVM file as a sparse matrix; column 1 of the file is called ``x1``.

    A file whose indices begin with 0 is read so, and its first column is called ``x0``.
    """
    if not content.strip():
        raise InputError(f"{name} must hold a table. Got an empty file. Check the export.")
    X, y, query = _parsed(content, name)
    if X.nnz == 0:
        raise _no_features(name)
    is_zero_based = bool(X[:, :1].nnz) or X.shape[1] == 1
    return _raw(X, y, query, kind, 0 if is_zero_based else 1)


@dataclass(frozen=True, slots=True, eq=False)
class LibsvmBlocks:
    """A LIBSVM file whose rows are read block by block; its columns are known from a first walk."""

    file: Path
    kind: FileKind
    first: int
    last: int

    @classmethod
    def of(cls, file: Path, kind: FileKind) -> LibsvmBlocks:
        """Walk over a file: indices rise along a line, so its ends will do."""
        first, last = 1, -1
        with opened(file) as (lines, _):
            for line in lines:
                cells = [cell for cell in line.partition(b"#")[0].split()[1:] if b":" in cell]
                pairs = [cell for cell in cells if not cell.startswith(b"qid:")]
                if pairs:
                    first = min(first, _index(pairs[0], file.name))
                    last = max(last, _index(pairs[-1], file.name))
        if last < 0:
            raise _no_features(file.name)
        return cls(file, kind, 0 if last == 0 else first, last)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns as the file numbers them."""
        return libsvm_names(self.first, self.last + 1 - self.first)

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing is guessed."""
        return ()

    def read(self, n_rows: int, texts: Collection[int] = ()) -> Iterator[RawTable]:  # noqa: ARG002
        """The rows in order, so many at a time."""
        with opened(self.file) as (lines, _):
            while part := list(islice(lines, n_rows)):
                content = b"".join(part)
                if content.strip():
                    X, y, query = _parsed(content, self.file.name, self.last + 1)
                    yield _raw(X, y, query, self.kind, self.first)


def libsvm_names(first: int, n_columns: int) -> tuple[str, ...]:
    """The columns of a LIBSVM file, numbered as it does.

    >>> libsvm_names(1, 2)
    ('x1', 'x2')
    """
    return tuple([f"x{place}" for place in range(first, first + n_columns)])


def _index(pair: bytes, name: str) -> int:
    try:
        return int(pair.partition(b":")[0])
    except ValueError as error:
        raise _not_libsvm(name, error) from error


def _parsed(content: bytes, name: str, width: int | None = None) -> tuple[Any, Any, Any]:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y, query = load_svmlight_file(
            BytesIO(content), n_features=width, zero_based=True, query_id=True
        )
    except (ValueError, OverflowError, TypeError) as error:
        raise _not_libsvm(name, error) from error
    return X, y, query


def _raw(X: Any, y: Any, query: Any, kind: FileKind, first: int) -> RawTable:
    sides: dict[str, Any] = {LABEL: y}
    if len(query):
        sides["qid"] = query
    part = X if first == 0 else X[:, first:]
    return RawTable(part, libsvm_names(first, part.shape[1]), kind, {}, sides, ())


def _not_libsvm(name: str, error: Exception) -> InputError:
    return InputError(
        f"{name} must be a LIBSVM file: a label and index:value pairs in each line. Got something "
        f"else ({error}). Check the file."
    )


def _no_features(name: str) -> InputError:
    return InputError(f"{name} must have features. Got labels only. Check the file.")


def libsvm_bytes(X: Any, y: Any, first: int) -> bytes:
    """A sparse matrix as a LIBSVM file whose columns are numbered from ``first``."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import dump_svmlight_file

    stream = BytesIO()
    dump_svmlight_file(csr_matrix(X), np.asarray(y), stream, zero_based=first == 0)
    return stream.getvalue()

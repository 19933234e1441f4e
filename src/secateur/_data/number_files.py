"""Numbers in a file as they came: block after block of rows, within a block column by column.

    dense     n_features x n_rows, as float32 where that loses nothing, else as float64
    sparse    compressed columns: indptr, then values, then indices

How rows are cut depends on the width of the table alone, so that sums over blocks, added in their
order, do not depend on how the rows came or how much memory there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secateur.typing import AnyArray, IntArray

BLOCK_CELLS = 1 << 20
"""Cells of a dense block, about: 8 MB once they are read."""

LEAST_ROWS = 64
"""The fewest rows of a block, however wide the table."""

MOST_ROWS = 1 << 17
"""The most rows of a dense block."""

SPARSE_ROWS = 1 << 13
"""The rows of a sparse one."""

FEW = 0.25
"""Up to such a share of the columns, they are read one by one."""


def rows_of_block(n_features: int, *, is_sparse: bool) -> int:
    """How many rows make a block.

    >>> rows_of_block(1000, is_sparse=False), rows_of_block(10**6, is_sparse=False)
    (1048, 64)
    """
    if is_sparse:
        return SPARSE_ROWS
    return max(LEAST_ROWS, min(MOST_ROWS, BLOCK_CELLS // n_features))


@dataclass(frozen=True, slots=True)
class NumberPiece:
    """Where the numbers of some rows are: a piece of a file.

    ``n_cells`` is the number of stored cells of a sparse block, None for a dense one; ``itemsize``
    that of a number.
    """

    file: Path
    offset: int
    first_row: int
    n_rows: int
    n_features: int
    itemsize: int
    n_cells: int | None = None

    @property
    def dtype(self) -> Any:
        """What a number is stored as."""
        return np.dtype(f"f{self.itemsize}")

    def dense(self) -> AnyArray:
        """All columns, shape (n_features, n_rows), as they are stored."""
        n_items = self.n_features * self.n_rows
        cells = np.fromfile(self.file, self.dtype, n_items, offset=self.offset)
        return cells.reshape(self.n_features, self.n_rows)

    def some(self, features: IntArray) -> AnyArray:
        """A few columns, shape (len(features), n_rows), as they are stored."""
        if len(features) > FEW * self.n_features:
            return self.dense()[features]
        out = np.empty((len(features), self.n_rows), self.dtype)
        with self.file.open("rb", buffering=0) as opened:
            for column, feature in zip(out, features.tolist(), strict=True):
                opened.seek(self.offset + feature * self.n_rows * self.itemsize)
                opened.readinto(column.data)
        return out

    def sparse(self) -> Any:
        """The block as a matrix in compressed columns."""
        import scipy.sparse as sp

        assert self.n_cells is not None  # noqa: S101  # stored cells
        n_ends, place = self.n_features + 1, self.offset
        indptr = np.fromfile(self.file, np.int64, n_ends, offset=place)
        place += 8 * n_ends
        values = np.fromfile(self.file, np.float64, self.n_cells, offset=place)
        place += 8 * self.n_cells
        indices = np.fromfile(self.file, np.int32, self.n_cells, offset=place)
        return sp.csc_array((values, indices, indptr), shape=(self.n_rows, self.n_features))


class NumberWriter:
    """Gathers rows, and writes a block when it is full."""

    def __init__(self, file: BinaryIO, n_features: int, *, is_sparse: bool) -> None:
        self._file = file
        self._is_sparse = is_sparse
        self._block_rows = rows_of_block(n_features, is_sparse=is_sparse)
        self._waiting: list[Any] = []
        self._n_waiting = 0
        self.n_rows = 0
        self.blocks: list[dict[str, int | None]] = []

    def add(self, rows: Any) -> None:
        """Take rows: an array of floats, or a matrix in compressed rows."""
        start, stop = 0, int(rows.shape[0])
        while start < stop:
            n = min(stop - start, self._block_rows - self._n_waiting)
            self._waiting.append(rows[start : start + n])
            self._n_waiting += n
            start += n
            if self._n_waiting == self._block_rows:
                self.flush()

    def flush(self) -> None:
        """Write what waits as a block."""
        if not self._n_waiting:
            return
        told: dict[str, int | None] = {
            "offset": self._file.tell(),
            "first_row": self.n_rows,
            "n_rows": self._n_waiting,
        }
        write = self._write_sparse if self._is_sparse else self._write_dense
        self.blocks.append({**told, **write()})
        self.n_rows += self._n_waiting
        self._waiting, self._n_waiting = [], 0

    def _write_dense(self) -> dict[str, int | None]:
        cells = np.concatenate(self._waiting).T
        with np.errstate(over="ignore"):
            narrow = cells.astype(np.float32)
        is_same = bool(((narrow == cells) | np.isnan(cells)).all())
        kept = np.ascontiguousarray(narrow if is_same else cells)
        self._file.write(kept.data)
        return {"itemsize": kept.itemsize, "n_cells": None}

    def _write_sparse(self) -> dict[str, int | None]:
        import scipy.sparse as sp

        matrix = sp.vstack(self._waiting, format="csc")
        matrix.sort_indices()
        self._file.write(matrix.indptr.astype(np.int64).data)
        self._file.write(matrix.data.astype(np.float64).data)
        self._file.write(matrix.indices.astype(np.int32).data)
        return {"itemsize": 8, "n_cells": int(matrix.nnz)}

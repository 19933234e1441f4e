"""Rows of numbers on disk as a table: what goes over all rows again and again reads them there.

    dense     n_features x n_rows, as float32 where that loses nothing, else as float64
    sparse    compressed columns: indptr, then values, then indices

How rows are cut depends on the width of the table alone, so that sums over blocks, added in their
order, do not depend on how the rows came or how much memory there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secateur.data.table import DenseTable, SparseTable, Table, TableSchema
from secateur.exceptions import InputTypeError
from secateur.storage.folder import read_header, read_schema
from secateur.typing import AnyArray, FloatArray, IntArray

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


KIND = "secateur numbers"
NUMBERS = "numbers.bin"


class StoredNumbers(Table):
    """The numbers of a table in a file, or some rows of it.

    Parameters
    ----------
    folder : Path
    keeper : object
        What the folder goes with: it is kept as long as the table is.
    executor : DaskExecutor, default=None
        Who computes on the rows; None is this process.
    rows : array of int, optional
        Which rows of the file, rising; all by default.

    Attributes
    ----------
    pieces : list of NumberPiece
        The blocks that hold some of the rows.
    kept : list of array or None
        Which rows of each block; None for all.
    lengths : tuple of int
        How many these are.
    """

    __slots__ = ("_is_sparse", "executor", "folder", "keeper", "kept", "lengths", "pieces",
                 "rows", "schema")  # fmt: skip

    def __init__(
        self, folder: Path, keeper: Any = None, executor: Any = None, rows: IntArray | None = None
    ) -> None:
        header = read_header(folder, KIND)
        self.folder = folder
        self.keeper = keeper
        self.executor = executor
        self.rows = rows
        self.schema: TableSchema = read_schema(header)
        self._is_sparse = bool(header["is_sparse"])
        told: dict[str, Any] = {"file": folder / NUMBERS, "n_features": self.schema.n_features}
        pieces = [NumberPiece(**told, **block) for block in header["blocks"]]
        kept = [_inside(piece, rows) for piece in pieces]
        found = [
            (piece, here)
            for piece, here in zip(pieces, kept, strict=True)
            if here is None or len(here)
        ]
        self.pieces: Sequence[NumberPiece] = [piece for piece, _ in found]
        self.kept: Sequence[IntArray | None] = [here for _, here in found]
        self.lengths = tuple(p.n_rows if here is None else len(here) for p, here in found)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.lengths)

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return self._is_sparse

    def take(self, rows: IntArray) -> StoredNumbers:
        """Some rows, in the order of the file; the numbers stay where they are."""
        chosen = np.sort(np.asarray(rows, np.int64))
        chosen = chosen if self.rows is None else self.rows[chosen]
        return StoredNumbers(self.folder, self.keeper, self.executor, chosen)

    def part(self, numbers: Sequence[int]) -> Table:
        """The rows of some blocks, read."""
        if self._is_sparse:
            import scipy.sparse as sp

            stacked = sp.vstack([self._sparse(number) for number in numbers], format="csc")
            stacked.sort_indices()
            return SparseTable(stacked, self.schema)
        cells = np.concatenate([self._dense(number) for number in numbers])
        return DenseTable(cells, self.schema, is_encoded=True)

    def _sparse(self, number: int) -> Any:
        matrix, here = self.pieces[number].sparse(), self.kept[number]
        return matrix if here is None else rows_of(matrix, here)

    def _dense(self, number: int) -> AnyArray:
        cells, here = self.pieces[number].dense().T, self.kept[number]
        return cells if here is None else cells[here]

    # ---- what rows on disk do not do ----------------------------------------------------------

    def block(self, start: int, stop: int) -> FloatArray:  # noqa: ARG002
        """Refused: the numbers are not here."""
        raise _not_here()

    def columns(self, indices: IntArray) -> FloatArray:  # noqa: ARG002
        """Refused: the numbers are not here."""
        raise _not_here()


def rows_of(matrix: Any, rows: IntArray) -> Any:
    """Some rows of compressed columns, their indices sorted."""
    taken = matrix[rows]
    taken.sort_indices()
    return taken


def _inside(piece: NumberPiece, rows: IntArray | None) -> IntArray | None:
    """Those of some rows that are in a block, numbered from its first; None for all of its rows."""
    if rows is None:
        return None
    start, stop = np.searchsorted(rows, [piece.first_row, piece.first_row + piece.n_rows])
    return None if stop - start == piece.n_rows else rows[start:stop] - piece.first_row


def _not_here() -> InputTypeError:
    return InputTypeError(
        "X must hold its numbers in memory for this. Got rows on disk. Read the columns that are "
        "needed from their file."
    )

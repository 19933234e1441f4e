"""Rows of numbers on disk as a table: what goes over all rows again and again reads them there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from secateur._data.number_files import NumberPiece
from secateur._data.store_files import read_header, read_schema
from secateur._data.table import DenseTable, SparseTable, Table, TableSchema
from secateur.exceptions import InputTypeError
from secateur.typing import AnyArray, FloatArray, IntArray

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

"""Blocks of numbers that stay in a file: read anew for every call, put on the scale on the way.

What a block takes of memory is gone when the next one is read; whether the system keeps the pages
of the file is its own business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from secateur._data.number_files import NumberPiece
from secateur._data.numbers import StoredNumbers, rows_of
from secateur._data.standardized import StandardColumns
from secateur._execution.local import LocalExecutor
from secateur._execution.number_blocks import GRAIN, Scale, bring_to_scale
from secateur._kernels.columns import DenseColumns, SparseColumns, scale_by
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray


@dataclass(slots=True, eq=False)
class Desk:
    """Where blocks that are read one after the other lie."""

    _room: FloatArray = field(default_factory=lambda: np.empty(0))

    def cleared(self, n_features: int, n_rows: int) -> FloatArray:
        """Room for a block, feature-major; what lay there is gone."""
        size = n_features * n_rows
        if self._room.size < size:
            self._room = np.empty(size)
        return self._room[:size].reshape(n_features, n_rows)


@dataclass(slots=True, eq=False)
class FiledBlock:
    """Some rows of a table in a file.

    ``kept`` are those rows of the piece that count, None for all; ``first_row`` is the number of
    the first of them among all that count.
    """

    piece: NumberPiece
    kept: IntArray | None
    first_row: int
    n_rows: int
    threads: Threads
    desk: Desk
    scale: Scale | None = None

    @property
    def rows(self) -> slice:
        """Where its rows are in a vector over all rows."""
        return slice(self.first_row, self.first_row + self.n_rows)

    @property
    def columns(self) -> StandardColumns:
        """Its columns, read now; they last until the next block is read."""
        columns = self._dense() if self.piece.n_cells is None else self._sparse()
        if self.scale is None:
            zero = np.zeros(self.piece.n_features)
            return StandardColumns(columns, self.n_rows, zero, zero, zero + 1.0)
        fill, shift, factor, _ = self.scale
        return StandardColumns(columns, self.n_rows, fill, shift, factor)

    def put_on_scale(self, scale: Scale) -> None:
        """Have the numbers filled, centred and scaled whenever they are read."""
        self.scale = scale

    def some(self, features: IntArray) -> FloatArray:
        """A few columns as they are, shape (n_features, n_rows)."""
        if self.piece.n_cells is not None:
            held = self.columns
            zero = np.zeros(held.n_features)
            return held.gather(features, np.arange(self.n_rows), zero, zero + 1.0)
        stored = self.piece.some(features)
        cells: FloatArray = np.array(
            stored if self.kept is None else stored[:, self.kept], np.float64, order="C"
        )
        if self.scale is not None:
            scale_by(cells, *(each[features] for each in self.scale), 0, len(features))
        return cells

    def _dense(self) -> DenseColumns:
        stored = self.piece.dense()
        cells = self.desk.cleared(self.piece.n_features, self.n_rows)

        def bring(start: int, stop: int) -> None:
            some = stored[start:stop]
            cells[start:stop] = some if self.kept is None else some[:, self.kept]
            if self.scale is not None:
                scale_by(cells, *self.scale, start, stop)

        self.threads.run(bring, self.piece.n_features, GRAIN)
        return DenseColumns(cells)

    def _sparse(self) -> SparseColumns:
        matrix = self.piece.sparse()
        if self.kept is not None:
            matrix = rows_of(matrix, self.kept)
        columns = SparseColumns(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
        )
        if self.scale is not None:
            bring_to_scale(columns, self.scale, self.threads)
        return columns


def filed_blocks(table: StoredNumbers, threads: Threads) -> LocalExecutor[FiledBlock]:
    """All blocks of a table in a file, one after the other."""
    desk, first, blocks = Desk(), 0, []
    for piece, kept, n_rows in zip(table.pieces, table.kept, table.lengths, strict=True):
        blocks.append(FiledBlock(piece, kept, first, n_rows, threads, desk))
        first += n_rows
    return LocalExecutor(blocks)

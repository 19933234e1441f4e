"""Blocks of numbers in memory or in a file: moments, then a common scale, then sums.

The caller adds the results in the order of the blocks, so sums do not depend on who holds which.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.columns import DenseColumns, SparseColumns, scale_by, transpose_block
from secateur._kernels.threads import Threads
from secateur.data.standardize import (
    GRAIN,
    Moments,
    Scale,
    StandardColumns,
    apply_scale,
    present_column_moments,
)
from secateur.execution.local import LocalExecutor
from secateur.storage.numbers import Piece, StoredNumbers
from secateur.typing import FloatArray, IntArray


class Numbers(NamedTuple):
    """Rows as they came: an array of floats, or a CSC matrix; and the number of the first."""

    first_row: int
    cells: Any


@dataclass(slots=True, eq=False)
class NumberBlock:
    """Some rows of a table, feature-major or as stored cells."""

    first_row: int
    columns: StandardColumns
    threads: Threads

    @property
    def rows(self) -> slice:
        """Where its rows are in a vector over all rows."""
        return slice(self.first_row, self.first_row + self.columns.n_rows)

    def set_scale(self, scale: Scale) -> None:
        """Fill, centre and scale the numbers in place."""
        columns = self.columns.columns
        apply_scale(columns, scale, self.threads)
        self.columns = StandardColumns(
            columns, self.columns.n_rows, scale.fill, scale.shift, scale.factor
        )

    def some(self, features: IntArray) -> FloatArray:
        """A few columns as they are, shape (n_features, n_rows)."""
        zero = np.zeros(self.columns.n_features)
        return self.columns.gather(features, np.arange(self.columns.n_rows), zero, zero + 1.0)


# ---- functions on blocks ----------------------------------------------------------------------


def read_numbers(numbers: Numbers, _: Any, threads: Threads) -> NumberBlock:
    """Rows as columns that are not on any scale yet."""
    cells = numbers.cells
    n_rows, n_features = cells.shape
    if hasattr(cells, "indptr"):
        columns: Any = SparseColumns(
            cells.indptr.astype(np.int64), cells.indices.astype(np.int32), cells.data.copy()
        )
    else:
        values = np.empty((n_features, n_rows))
        cells = np.ascontiguousarray(cells)
        threads.run(lambda a, b: transpose_block(cells, a, b, values), n_features, GRAIN)
        columns = DenseColumns(values)
    zero = np.zeros(n_features)
    held = StandardColumns(columns, n_rows, zero, zero, zero + 1.0)
    return NumberBlock(numbers.first_row, held, threads)


def raw_moments(block: AnyBlock, weight: FloatArray) -> Moments:
    """Moments of the numbers of a block before any scaling."""
    return present_column_moments(block.columns.columns, weight[block.rows], block.threads)


def set_scale(block: AnyBlock, scale: Scale) -> None:
    """Fill, centre and scale the numbers of a block."""
    block.set_scale(scale)


def column_dots(block: AnyBlock, vectors: FloatArray) -> FloatArray:
    """X'g of the rows of a block, for each vector."""
    return block.columns.dots(np.ascontiguousarray(vectors[:, block.rows]), block.threads)


def column_moments(block: AnyBlock, weight: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Weight of the rows of a block; means and standard deviations of its columns."""
    here, held = np.ascontiguousarray(weight[block.rows]), block.columns
    total = float(here.sum())
    if total == 0.0:
        nothing = np.zeros(held.n_features)
        return total, nothing, nothing
    return total, *held.moments(here / total, block.threads)


def some_columns(block: AnyBlock, features: IntArray) -> FloatArray:
    """A few columns as they are stored, shape (n_features, n_rows)."""
    return block.some(features)


@dataclass(slots=True, eq=False)
class ReadBuffer:
    """Memory for blocks that are read one after the other."""

    _room: FloatArray = field(default_factory=lambda: np.empty(0))

    def cleared(self, n_features: int, n_rows: int) -> FloatArray:
        """An array for a block, feature-major; it is reused."""
        size = n_features * n_rows
        if self._room.size < size:
            self._room = np.empty(size)
        return self._room[:size].reshape(n_features, n_rows)


@dataclass(slots=True, eq=False)
class FileBlock:
    """Some rows of a table in a file."""

    piece: Piece
    first_row: int  # the number of the first of them among all that count
    threads: Threads
    buffer: ReadBuffer
    scale: Scale | None = None

    @property
    def rows(self) -> slice:
        """Where its rows are in a vector over all rows."""
        return slice(self.first_row, self.first_row + self.piece.n_rows)

    @property
    def columns(self) -> StandardColumns:
        """Its columns, read now; they last until the next block is read."""
        block, _, n_rows = self.piece
        columns = self._sparse() if block.is_sparse else self._dense()
        if self.scale is None:
            zero = np.zeros(block.n_features)
            return StandardColumns(columns, n_rows, zero, zero, zero + 1.0)
        fill, shift, factor, _ = self.scale
        return StandardColumns(columns, n_rows, fill, shift, factor)

    def set_scale(self, scale: Scale) -> None:
        """Have the numbers filled, centred and scaled whenever they are read."""
        self.scale = scale

    def some(self, features: IntArray) -> FloatArray:
        """A few columns as they are, shape (n_features, n_rows)."""
        block, kept, n_rows = self.piece
        if block.is_sparse:
            held = self.columns
            zero = np.zeros(held.n_features)
            return held.gather(features, np.arange(n_rows), zero, zero + 1.0)
        stored = block.some(features)
        cells: FloatArray = np.array(
            stored if kept is None else stored[:, kept], np.float64, order="C"
        )
        if self.scale is not None:
            scale_by(cells, *(each[features] for each in self.scale), 0, len(features))
        return cells

    def _dense(self) -> DenseColumns:
        block, kept, n_rows = self.piece
        stored = block.dense()
        cells = self.buffer.cleared(block.n_features, n_rows)

        def bring(start: int, stop: int) -> None:
            some = stored[start:stop]
            cells[start:stop] = some if kept is None else some[:, kept]
            if self.scale is not None:
                scale_by(cells, *self.scale, start, stop)

        self.threads.run(bring, block.n_features, GRAIN)
        return DenseColumns(cells)

    def _sparse(self) -> SparseColumns:
        matrix = self.piece.sparse()
        columns = SparseColumns(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
        )
        if self.scale is not None:
            apply_scale(columns, self.scale, self.threads)
        return columns


AnyBlock = NumberBlock | FileBlock


def file_number_blocks(table: StoredNumbers, threads: Threads) -> LocalExecutor[FileBlock]:
    """All blocks of a table in a file, one after the other."""
    buffer, first, blocks = ReadBuffer(), 0, []
    for piece in table.pieces():
        blocks.append(FileBlock(piece, first, threads, buffer))
        first += piece.n_rows
    return LocalExecutor(blocks)

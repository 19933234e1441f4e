"""Columns whose rows are in blocks: sums are made where these are, a few columns come here.

X'g is the sum over blocks of X_b' g_b, added in the order of the blocks, so that it does not depend
on who holds which. A column is fetched when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import methodcaller
from typing import Any

import numpy as np

from secateur._kernels import columns as kernels
from secateur._kernels.columns import FLAT, DenseColumns, SparseColumns
from secateur._kernels.threads import Threads
from secateur.data.standardize import (
    GRAIN,
    Moments,
    Scale,
    StandardColumns,
    apply_scale,
    column_moments,
    scale_of,
    sparse_columns,
)
from secateur.execution.blocks import Executor, HeapAllocator, LocalExecutor
from secateur.storage.stored_table import Piece, StoredNumbers
from secateur.typing import FloatArray, IntArray

CHUNK_CELLS = 1 << 20  # cells of columns in use that are read at a time, from a file ...
MIN_CHUNK = 256  # ... and their rows, at least


def _as_stored(columns: DenseColumns | SparseColumns, n_rows: int, n_features: int) -> Any:
    zero = np.zeros(n_features)
    return StandardColumns(columns, n_rows, zero, zero, zero + 1.0)


@dataclass(slots=True, eq=False)
class NumberBlock:
    """Some rows of a table, feature-major or as stored cells."""

    rows: slice  # in a vector over all rows
    columns: StandardColumns
    threads: Threads

    def set_scale(self, scale: Scale) -> None:
        """Fill, centre and scale the numbers in place."""
        apply_scale(self.columns.columns, scale, self.threads)


def read_numbers(numbers: tuple[int, Any], _: Any, threads: Threads) -> NumberBlock:
    """Columns on no scale, given the number of the first row, and an array or a CSC matrix."""
    first, cells = numbers
    n_rows, n_features = cells.shape
    if hasattr(cells, "indptr"):
        columns: Any = sparse_columns(cells, copy=True)
    else:
        columns = DenseColumns(np.empty((n_features, n_rows)))
        cells = np.ascontiguousarray(cells)
        threads.run(lambda a, b: kernels.transpose_block(cells, a, b, *columns), n_features, GRAIN)
    rows = slice(first, first + n_rows)
    return NumberBlock(rows, _as_stored(columns, n_rows, n_features), threads)


def raw_moments(block: AnyBlock, weight: FloatArray) -> Moments:
    """Moments of the numbers of a block before any scaling."""
    return column_moments(block.columns.columns, weight[block.rows], block.threads)


def column_dots(block: AnyBlock, vectors: FloatArray) -> FloatArray:
    """X'g of the rows of a block, for each vector."""
    return block.columns.dots(np.ascontiguousarray(vectors[:, block.rows]), block.threads)


def scaled_moments(block: AnyBlock, weight: FloatArray) -> Moments:
    """Moments of the stored columns of a block."""
    here, held = np.ascontiguousarray(weight[block.rows]), block.columns
    total = float(here.sum())
    if total == 0.0:
        return Moments(total, *np.zeros((3, held.n_features)))
    mean, spread = held.moments(here / total, block.threads)
    return Moments(total, mean, total * spread * spread, np.abs(mean) + spread)


@dataclass(slots=True, eq=False)
class FileBlock:
    """Some rows of a table in a file; they are scaled whenever they are read."""

    piece: Piece
    rows: slice  # in a vector over all rows that count
    threads: Threads
    buffer: FloatArray  # for one block, which others use too
    scale: Scale | None = None

    @property
    def columns(self) -> StandardColumns:
        """Its columns, read now; they last until the next block is read."""
        block, kept, n_rows = self.piece
        columns: DenseColumns | SparseColumns
        if block.is_sparse:
            columns = sparse_columns(self.piece.sparse())
            if self.scale is not None:
                apply_scale(columns, self.scale, self.threads)
            return _as_stored(columns, n_rows, block.n_features)
        stored, size = block.dense(), block.n_features * n_rows
        cells = self.buffer[:size].reshape(block.n_features, n_rows)

        def bring(start: int, stop: int) -> None:
            some = stored[start:stop]
            cells[start:stop] = some if kept is None else some[:, kept]
            if self.scale is not None:
                kernels.scale_by(cells, *self.scale, start, stop)

        self.threads.run(bring, block.n_features, GRAIN)
        return _as_stored(DenseColumns(cells), n_rows, block.n_features)

    def set_scale(self, scale: Scale) -> None:
        """Have the numbers filled, centred and scaled whenever they are read."""
        self.scale = scale


AnyBlock = NumberBlock | FileBlock


def some_columns(block: AnyBlock, features: IntArray) -> FloatArray:
    """A few columns as they are, shape (n_features, n_rows)."""
    if isinstance(block, FileBlock) and not block.piece.block.is_sparse:
        stored, kept = block.piece.block.some(features), block.piece.kept
        part = stored if kept is None else stored[:, kept]
        cells: FloatArray = np.array(part, np.float64, order="C")
        if block.scale is not None:
            kernels.scale_by(cells, *(each[features] for each in block.scale), 0, len(features))
        return cells
    held = block.columns
    zero = np.zeros(held.n_features)
    return held.gather(features, np.arange(held.n_rows), zero, zero + 1.0)


def file_number_blocks(table: StoredNumbers, threads: Threads) -> LocalExecutor:
    """All blocks of a table in a file, one after the other."""
    pieces, first, blocks = table.pieces(), 0, []
    longest = 0 if table.is_sparse else max((piece.n_rows for piece in pieces), default=0)
    buffer: FloatArray = np.empty(longest * table.n_features)
    for piece in pieces:
        rows = slice(first, first + piece.n_rows)
        blocks.append(FileBlock(piece, rows, threads, buffer))
        first += piece.n_rows
    return LocalExecutor(blocks)


class DistributedColumns:
    """What `StandardColumns` are, for rows in blocks."""

    is_sparse = False  # what comes here is dense

    def __init__(
        self,
        executor: Executor,
        weight: FloatArray,
        *,
        centre: bool = True,
        scale: bool = True,
        space: Callable[[], HeapAllocator] = HeapAllocator,
    ) -> None:
        self._executor = executor
        self.n_rows = len(weight)
        found = reduce(Moments.joined, executor.walk(raw_moments, weight / weight.sum()))
        self._scale = scale_of(found, centre=centre, scale=scale)
        self.shift, self.factor = self._scale.shift, self._scale.factor
        executor.apply(methodcaller("set_scale", self._scale))
        self._checkpoint()
        self.is_frugal = space is not HeapAllocator
        self._new_space = space
        self._space = space()
        self._places: dict[int, int] = {}
        self._cells: FloatArray = np.empty((0, self.n_rows))

    def _checkpoint(self) -> None:
        """A block that was lost is made again by putting it on the scale; nothing else stays."""
        self._executor.checkpoint(methodcaller("set_scale", self._scale))

    def _walk(self, function: Any, *small: Any) -> Iterator[Any]:
        yield from self._executor.walk(function, *small)
        self._checkpoint()

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self._scale.fill)

    @property
    def n_cells(self) -> int:
        """The number of cells, all of them."""
        return self.n_rows * self.n_features

    def n_stored(self, features: IntArray) -> int:
        """The number of cells of some columns."""
        return len(features) * self.n_rows

    def dots(self, vectors: FloatArray, threads: Threads) -> FloatArray:  # noqa: ARG002 - theirs
        """Sums over rows of each stored column times each vector, in one trip."""
        return reduce(np.add, self._walk(column_dots, vectors))

    def moments(
        self,
        weight: FloatArray,
        threads: Threads,  # noqa: ARG002 - those of the blocks
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        found: Moments = reduce(Moments.joined, self._walk(scaled_moments, weight))
        assert found.top is not None  # noqa: S101  # each block has it
        spread = np.sqrt(found.square)
        return found.mean, np.where(spread > FLAT * found.top, spread, 0.0)

    def gather(
        self, features: IntArray, rows: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """``(stored - mean) * inverse`` of a few columns, shape (n_features, n_rows)."""
        columns, places, mean, inverse = self.at_hand(features, mean, inverse)
        out = np.empty((len(features), len(rows)))
        kernels.gather_dense(columns.values, places, rows, mean, inverse, out)
        self._space.release()
        return out

    def combine(
        self, features: IntArray, step: FloatArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The sum of a few columns, standardised as in `gather`, each times its step."""
        out = np.zeros(self.n_rows)
        if self.is_frugal:
            for rows in row_chunks(self.n_rows, len(features)):
                some = np.arange(rows.start, rows.stop)
                out[rows] = step @ self.gather(features, some, mean, inverse)
            return out
        columns, places, mean, inverse = self.at_hand(features, mean, inverse)
        kernels.add_dense(columns.values, places, mean, inverse, step, out)
        return out

    def at_hand(
        self, features: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> tuple[DenseColumns, IntArray, FloatArray, FloatArray]:
        """Columns that were fetched, where some features are among them, their scale."""
        new = np.array(sorted({int(j) for j in features} - self._places.keys()), np.int64)
        if len(new):
            self._fetch(new)
        places = np.array([self._places[int(j)] for j in features], np.int64)
        known = np.array(list(self._places), np.int64)
        return DenseColumns(self._cells), places, mean[known], inverse[known]

    def _fetch(self, new: IntArray) -> None:
        """Have columns sent that are not here yet."""
        n_held, n_now = len(self._places), len(self._places) + len(new)
        if n_now > len(self._cells):  # room for these, and for more to come
            space = self._new_space()
            n_wanted = min(max(n_now, 2 * len(self._cells)), self.n_features)
            room = space.zeros((n_wanted, self.n_rows), np.float64)
            for place in range(n_held):
                room[place] = self._cells[place]
                space.release()
                self._space.release()
            self._cells, self._space = room, space
        first, n_waiting = 0, 0
        for part in self._walk(some_columns, new):
            self._cells[n_held:n_now, first : first + part.shape[1]] = part
            first += part.shape[1]
            n_waiting += part.size
            if n_waiting > CHUNK_CELLS:
                self._space.release()
                n_waiting = 0
        self._space.release()
        self._places.update({int(j): n_held + k for k, j in enumerate(new)})


def row_chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows a few at a time, so that so many columns of them take little memory."""
    size = max(MIN_CHUNK, CHUNK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))

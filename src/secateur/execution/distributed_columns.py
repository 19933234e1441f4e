"""Columns whose rows are in blocks elsewhere: sums are made there, a few columns come here.

X'g is the sum over blocks of X_b' g_b, added in the order of the blocks. A column is fetched when
it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from secateur._kernels.columns import FLAT, DenseColumns, add_dense, gather_dense
from secateur._kernels.threads import Threads
from secateur.data.standardize import Moments, Scale, scale_of
from secateur.execution.blocks import Allocator, HeapAllocator
from secateur.execution.number_blocks import (
    column_dots,
    column_moments,
    raw_moments,
    set_scale,
    some_columns,
)
from secateur.typing import Executor, FloatArray, IntArray

# Cells of the columns in use that are gone over at a time, where they are not in memory...
CHUNK_CELLS = 1 << 20
# ... and the fewest rows of them.
LEAST_CHUNK = 256


class DistributedColumns:
    """What `StandardColumns` are, for rows in blocks."""

    is_sparse = False  # what comes here is dense

    def __init__(
        self,
        executor: Executor,
        weight: FloatArray,
        *,
        is_sparse: bool,
        centre: bool = True,
        scale: bool = True,
        space: Callable[[], Allocator] = HeapAllocator,
    ) -> None:
        self._executor = executor
        self.n_rows = len(weight)
        found: Moments = reduce(Moments.joined, executor.walk(raw_moments, weight / weight.sum()))
        self._scale: Scale = scale_of(found, is_sparse=is_sparse, centre=centre, scale=scale)
        executor.apply(set_scale, self._scale)
        self._checkpoint()
        self.is_frugal = space is not HeapAllocator
        self._new_space = space
        self._space = space()
        self._places: dict[int, int] = {}
        self._cells: FloatArray = np.empty((0, self.n_rows))

    def _checkpoint(self) -> None:
        """A block that was lost is made again by putting it on the scale; nothing else stays."""
        self._executor.checkpoint(set_scale, self._scale)

    def _walk(self, function: Any, *small: Any) -> Iterator[Any]:
        yield from self._executor.walk(function, *small)
        self._checkpoint()

    # ---- what is known here -------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self._scale.fill)

    @property
    def n_cells(self) -> int:
        """The number of cells, all of them."""
        return self.n_rows * self.n_features

    @property
    def shift(self) -> FloatArray:
        """What was taken off each column."""
        return self._scale.shift

    @property
    def factor(self) -> FloatArray:
        """What each column was divided by."""
        return self._scale.factor

    def n_stored(self, features: IntArray) -> int:
        """The number of cells of some columns."""
        return len(features) * self.n_rows

    def are_alike(self, a: int, b: int) -> bool | None:  # noqa: ARG002 - one must look
        """Unknown without looking."""
        return None

    # ---- sums over all rows -------------------------------------------------------------------

    def dots(self, vectors: FloatArray, threads: Threads) -> FloatArray:  # noqa: ARG002 - theirs
        """Sums over rows of each stored column times each vector, in one trip."""
        total = np.zeros((len(vectors), self.n_features))
        for part in self._walk(column_dots, vectors):
            total += part
        return total

    def moments(
        self,
        weight: FloatArray,
        threads: Threads,  # noqa: ARG002 - those of the blocks
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        mean, square, top = (np.zeros(self.n_features) for _ in range(3))
        known = 0.0
        for share, part_mean, spread in self._walk(column_moments, weight):
            if share == 0.0:
                continue  # no row of this block counts
            known += share
            apart = part_mean - mean
            mean += apart * (share / known)
            # of the rows so far about their mean, joined as in `Moments`
            square += share * (spread * spread + apart * apart * (1.0 - share / known))
            np.maximum(top, np.abs(part_mean) + spread, out=top)
        spread = np.sqrt(square)
        return mean, np.where(spread > FLAT * top, spread, 0.0)

    # ---- a few columns, here ------------------------------------------------------------------

    def gather(
        self, features: IntArray, rows: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """``(stored - mean) * inverse`` of a few columns, shape (n_features, n_rows)."""
        columns, places, mean, inverse = self.at_hand(features, mean, inverse)
        out = np.empty((len(features), len(rows)))
        gather_dense(columns.values, places, rows, mean, inverse, out)
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
        add_dense(columns.values, places, mean, inverse, step, out)
        return out

    def at_hand(
        self, features: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> tuple[DenseColumns, IntArray, FloatArray, FloatArray]:
        """Columns that were fetched, where some features are among them, their scale."""
        self._fetch(features)
        places = np.array([self._places[int(j)] for j in features], np.int64)
        known = np.array(list(self._places), np.int64)
        return DenseColumns(self._cells), places, mean[known], inverse[known]

    def _fetch(self, features: IntArray) -> None:
        """Have columns sent that are not here yet."""
        new = np.array(sorted({int(j) for j in features} - self._places.keys()), np.int64)
        if len(new) == 0:
            return
        n_held, n_now = len(self._places), len(self._places) + len(new)
        self._make_room(n_now)
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

    def _make_room(self, n_columns: int) -> None:
        """Room for so many columns, and for more to come."""
        if n_columns <= len(self._cells):
            return
        space = self._new_space()
        n_wanted = min(max(n_columns, 2 * len(self._cells)), self.n_features)
        room = space.zeros((n_wanted, self.n_rows), np.float64)
        for place in range(len(self._places)):
            room[place] = self._cells[place]
            space.release()
            self._space.release()
        self._cells, self._space = room, space


def row_chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows a few at a time, so that so many columns of them take little memory."""
    size = max(LEAST_CHUNK, CHUNK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))

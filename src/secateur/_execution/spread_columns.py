"""Columns whose rows are in blocks elsewhere: sums are made there, a few columns come here.

Grafting asks for X'g of all columns again and again, and looks closely at the few that are in use.
So the wide table stays with the executor, and a column is fetched the first time that somebody
looks at it. Target, weights and predictions stay with whoever asks.

    X'g = sum over blocks of X_b' g_b         added in the order of the blocks, by one process
"""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._execution.number_blocks import (
    RawMoments,
    Scale,
    column_dots,
    column_moments,
    put_on_scale,
    raw_moments,
    scale_of,
    some_columns,
)
from secateur._kernels.columns import FLAT, DenseColumns, add_dense, gather_dense
from secateur._kernels.threads import Threads
from secateur.typing import Executor, FloatArray, IntArray


class SpreadColumns:
    """What `StandardColumns` are, for rows in blocks.

    Parameters
    ----------
    executor : Executor
        Over blocks of numbers, which are put on one scale.
    weight : array of shape (n_rows,)
    is_sparse : bool
        Whether the blocks hold stored cells.
    centre, scale : bool
        As in `standardize_table`.
    """

    is_sparse = False  # what comes here is dense

    def __init__(
        self,
        executor: Executor,
        weight: FloatArray,
        *,
        is_sparse: bool,
        centre: bool = True,
        scale: bool = True,
    ) -> None:
        self._executor = executor
        self.n_rows = len(weight)
        first, *others = executor.each(raw_moments, weight / weight.sum())
        found: RawMoments = first
        for other in others:
            found = found.joined(other)
        self._scale: Scale = scale_of(found, is_sparse=is_sparse, centre=centre, scale=scale)
        executor.tell(put_on_scale, self._scale)
        self._settle()
        self._places: dict[int, int] = {}
        self._cells: FloatArray = np.empty((0, self.n_rows))

    def _settle(self) -> None:
        """A block that was lost is made again by putting it on the scale; nothing else stays."""
        self._executor.settle(put_on_scale, self._scale)

    def _each(self, function: Any, *small: Any) -> list[Any]:
        found: list[Any] = self._executor.each(function, *small)
        self._settle()
        return found

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
        for part in self._each(column_dots, vectors):
            total += part
        return total

    def moments(
        self,
        weight: FloatArray,
        threads: Threads,  # noqa: ARG002 - those of the blocks
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        parts = self._each(column_moments, weight)
        mean, square, top = (np.zeros(self.n_features) for _ in range(3))
        for share, part_mean, _ in parts:
            mean += share * part_mean
        for share, part_mean, spread in parts:
            apart = part_mean - mean
            square += share * (spread * spread + apart * apart)
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
        return out

    def combine(
        self, features: IntArray, step: FloatArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The sum of a few columns, standardised as in `gather`, each times its step."""
        columns, places, mean, inverse = self.at_hand(features, mean, inverse)
        out = np.zeros(self.n_rows)
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
        if n_now > len(self._cells):
            room = np.empty((max(n_now, 2 * len(self._cells)), self.n_rows))
            room[:n_held] = self._cells[:n_held]
            self._cells = room
        first = 0
        for part in self._each(some_columns, new):
            self._cells[n_held:n_now, first : first + part.shape[1]] = part
            first += part.shape[1]
        self._places.update({int(j): n_held + k for k, j in enumerate(new)})

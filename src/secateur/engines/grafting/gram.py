"""The free columns side by side, and their Gram matrix under the curvature of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from secateur.engines.grafting.columns import View
from secateur.execution.distributed_columns import row_chunks
from secateur.execution.local import added
from secateur.typing import FloatArray, IntArray

MOST_COLUMNS = 3000
"""Above so many free columns a Gram matrix costs more than it saves."""

MOST_CELLS = 1 << 24
"""Cells that are gathered in any case (128 MB); of a dense table as many as it has itself."""

SWEEP_WORTH = 100
"""Stored cells times this cost about as much, over all sweeps, as cells of a Gram matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """The free weights of all outputs, one after the other.

    ``output[a]`` and ``feature[a]`` say which weight stands at place a.
    """

    output: IntArray
    feature: IntArray

    @classmethod
    def of(cls, by_output: list[IntArray]) -> Free:
        """From the free features of each output."""
        output = np.repeat(np.arange(len(by_output)), [len(features) for features in by_output])
        return cls(output, np.concatenate(by_output))

    def only(self, k: int) -> Free:
        """Those of one output."""
        here = self.output == k
        return Free(self.output[here], self.feature[here])


class FreeColumns:
    """Standardised columns of the training rows, gathered once and kept while they are free.

    ``cells[a]`` is the column of ``features[a]``. Where the curvature of rows never changes
    (squared loss), products of columns are kept as well, for all columns that were ever free.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self.features: IntArray = np.empty(0, np.int64)
        self.cells: FloatArray = np.empty((0, len(view.rows)))
        self._places: list[IntArray] = [self.features] * view.loss.n_outputs
        self._known: dict[int, int] = {}
        self._products: FloatArray = np.empty((0, 0))
        self._sums: FloatArray = np.empty(0)

    def fits(self, free: Free) -> bool:
        """Whether so many columns may be gathered, and so many weights stand in one matrix."""
        table, n_rows = self._view.columns, len(self._view.rows)
        features = free.feature if len(self._places) == 1 else np.unique(free.feature)
        if table.is_sparse and len(self._places) == 1:
            n_stored = table.n_stored(features)
            if n_stored * SWEEP_WORTH < len(features) * len(features) * n_rows:
                return False  # sweeps over so few cells cost less than one matrix
        most = MOST_CELLS if table.is_sparse else max(MOST_CELLS, table.n_cells)
        return len(free.feature) <= MOST_COLUMNS and len(features) * n_rows <= most

    def hold(self, free: Free) -> None:
        """Gather what is not there yet, and let go of what is no longer free."""
        features = free.feature if len(self._places) == 1 else _first_of(free.feature)
        self._gather(features)
        where = {int(j): a for a, j in enumerate(features)}
        self._places = [
            np.array([where[int(j)] for j in free.feature[free.output == k]], np.int64)
            for k in range(len(self._places))
        ]

    def held(self) -> Iterator[tuple[slice, FloatArray]]:
        """The columns held, a part of the training rows at a time: which rows, and their cells."""
        yield slice(None), self.cells

    def part(self, cells: FloatArray, k: int) -> FloatArray:
        """The columns of one output's free weights."""
        return cells if len(self._places) == 1 else cells[self._places[k]]

    def by_training_row(self, by_row: FloatArray) -> FloatArray:
        """A value per row, for the training rows."""
        return by_row if self._view.is_whole else by_row[..., self._view.rows]

    def gradient(self, by_row: FloatArray) -> FloatArray:
        """Gradients by all free weights, from gradients by row."""
        here = self.by_training_row(by_row)
        total: FloatArray = added(
            np.concatenate([self.part(cells, k) @ row[rows] for k, row in enumerate(here)])
            for rows, cells in self.held()
        )
        return total

    def combine(self, step: FloatArray) -> FloatArray:
        """What a change of the free weights does to raw predictions of all rows."""
        ends = np.cumsum([len(place) for place in self._places])[:-1]
        parts = np.split(step, ends)
        if self._view.is_whole:
            raw = np.empty((len(parts), len(self._view.rows)))
            for rows, cells in self.held():
                raw[:, rows] = [part @ self.part(cells, k) for k, part in enumerate(parts)]
            return raw
        return np.array(
            [
                self._view.combine(self.features[self._places[k]], part)
                for k, part in enumerate(parts)
            ]
        )

    def products(
        self, raw: FloatArray, curvature: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Second derivatives: by pairs of weights, by outputs and weights, by pairs of outputs."""
        curvature = self.by_training_row(curvature)
        if len(curvature) == 1:
            products, sums = self.curved(curvature[0])
            return products, sums[None], np.array([[curvature[0].sum()]])
        shares = self.by_training_row(self._view.loss.response(raw).T)
        weighted = shares * self.by_training_row(self._view.shares)
        total: tuple[FloatArray, FloatArray, FloatArray] = added(
            self._coupled(cells, shares[:, rows], weighted[:, rows], curvature[:, rows])
            for rows, cells in self.held()
        )
        return total

    def _coupled(
        self, held: FloatArray, shares: FloatArray, weighted: FloatArray, curvature: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same for a softmax, where outputs lean on each other: p_k ([k = l] - p_l)."""
        n_outputs = len(shares)
        ends = np.concatenate([[0], np.cumsum([len(place) for place in self._places])])
        products = np.empty((ends[-1], ends[-1]))
        sums = np.empty((n_outputs, ends[-1]))
        totals = np.empty((n_outputs, n_outputs))
        cells = [self.part(held, k) for k in range(n_outputs)]
        for k in range(n_outputs):
            here = slice(ends[k], ends[k + 1])
            for other in range(n_outputs):
                d = curvature[k] if other == k else -weighted[k] * shares[other]
                totals[k, other] = d.sum()
                sums[other, here] = cells[k] @ d
                if other <= k:
                    there = slice(ends[other], ends[other + 1])
                    products[here, there] = (cells[k] * d) @ cells[other].T
                    products[there, here] = products[here, there].T
        return products, sums, totals

    def _gather(self, features: IntArray) -> None:
        if np.array_equal(features, self.features):
            return
        place = {int(j): a for a, j in enumerate(self.features)}
        cells = np.empty((len(features), len(self._view.rows)))
        here = np.array([place.get(int(j), -1) for j in features], np.int64)
        old, new = np.flatnonzero(here >= 0), np.flatnonzero(here < 0)
        cells[old] = self.cells[here[old]]
        cells[new] = self._view.gather(features[new])
        self.features, self.cells = features, cells

    def curved(self, curvature: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``X' D X`` and ``X' d`` of the columns held; d by training row."""
        if self._view.loss.constant_hessian:
            return self._constant(curvature)
        return _curved(self.held(), curvature)

    def _constant(self, curvature: FloatArray) -> tuple[FloatArray, FloatArray]:
        wanted = self.features
        fresh = np.array([j for j in wanted if int(j) not in self._known], np.int64)
        if len(fresh):
            if len(self._known) + len(fresh) > 2 * MOST_COLUMNS:
                self._forget()
                fresh = wanted
            self._learn(fresh, curvature)
        index = np.array([self._known[int(j)] for j in wanted], np.int64)
        return self._products[np.ix_(index, index)], self._sums[index]

    def _learn(self, fresh: IntArray, curvature: FloatArray) -> None:
        """Products of new columns with all that were ever free."""
        n_old, n_all = len(self._known), len(self._known) + len(fresh)
        known = np.array([*self._known, *fresh.tolist()], np.int64)
        products = np.empty((n_all, n_all))
        products[:n_old, :n_old] = self._products
        products[n_old:], sums = _curved(self.some(known), curvature, n_old)
        products[:n_old, n_old:] = products[n_old:, :n_old].T
        self._products = products
        self._sums = np.concatenate([self._sums, sums])
        self._known = {int(j): a for a, j in enumerate(known)}

    def some(self, features: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Some columns as `held` gives those that are held; such as are held need no gathering."""
        place = {int(j): a for a, j in enumerate(self.features)}
        cells = np.empty((len(features), len(self._view.rows)))
        held = np.array([place.get(int(j), -1) for j in features], np.int64)
        cells[held >= 0] = self.cells[held[held >= 0]]
        cells[held < 0] = self._view.gather(features[held < 0])
        yield slice(None), cells

    def _forget(self) -> None:
        self._known, self._products, self._sums = {}, np.empty((0, 0)), np.empty(0)


class FrugalColumns(FreeColumns):
    """The same where all rows of the free columns may be too many for memory.

    Nothing is kept but products: columns are gathered anew for each sum, a few rows at a time.
    """

    def fits(self, free: Free) -> bool:
        """Whether so many weights stand in one matrix."""
        return len(free.feature) <= MOST_COLUMNS

    def held(self) -> Iterator[tuple[slice, FloatArray]]:
        """The free columns, a few rows at a time."""
        return self.some(self.features)

    def some(self, features: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Some columns, a few rows at a time."""
        for rows in row_chunks(len(self._view.rows), len(features)):
            yield rows, self._view.gather_part(features, rows)

    def _gather(self, features: IntArray) -> None:
        self.features = features


def free_columns(view: View) -> FreeColumns:
    """The free columns of some rows: held in memory, or not."""
    return FrugalColumns(view) if view.columns.is_frugal else FreeColumns(view)


def _curved(
    parts: Iterator[tuple[slice, FloatArray]], curvature: FloatArray, first: int = 0
) -> tuple[FloatArray, FloatArray]:
    """``X' D X`` and ``X' d``, of the columns from `first` on with all of them."""

    def products() -> Iterator[tuple[FloatArray, FloatArray]]:
        for rows, cells in parts:
            weighted = cells[first:] * curvature[rows]
            yield weighted @ cells.T, weighted.sum(axis=1)

    total: tuple[FloatArray, FloatArray] = added(products())
    return total


def _first_of(features: IntArray) -> IntArray:
    """Each feature once, in the order of its first place."""
    _, first = np.unique(features, return_index=True)
    found: IntArray = features[np.sort(first)]
    return found

"""The free columns side by side, and their Gram matrix under the curvature of the rows."""

from __future__ import annotations

import numpy as np

from secateur._engines.grafting.view import View
from secateur.typing import FloatArray, IntArray

MOST_COLUMNS = 3000
"""Above so many free columns a Gram matrix costs more than it saves."""

MOST_CELLS = 1 << 24
"""Cells that are gathered in any case (128 MB); of a dense table as many as it has itself."""


class FreeColumns:
    """Standardised columns of the training rows, gathered once and kept while they are free.

    ``cells[a]`` is the column of ``features[a]``. Where the curvature of rows never changes
    (squared loss), products of columns are kept as well, for all columns that were ever free.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self.features: IntArray = np.empty(0, np.int64)
        self.cells: FloatArray = np.empty((0, len(view.rows)))
        self._known: dict[int, int] = {}
        self._products: FloatArray = np.empty((0, 0))
        self._sums: FloatArray = np.empty(0)

    def fits(self, n_columns: int) -> bool:
        """Whether so many columns may be gathered."""
        table = self._view.columns
        most = MOST_CELLS if table.is_sparse else max(MOST_CELLS, table.n_cells)
        return n_columns <= MOST_COLUMNS and n_columns * len(self._view.rows) <= most

    def hold(self, features: IntArray) -> None:
        """Gather what is not there yet, and let go of what is no longer free."""
        if np.array_equal(features, self.features):
            return
        place = {int(j): a for a, j in enumerate(self.features)}
        cells = np.empty((len(features), len(self._view.rows)))
        here = np.array([place.get(int(j), -1) for j in features], np.int64)
        old, new = np.flatnonzero(here >= 0), np.flatnonzero(here < 0)
        cells[old] = self.cells[here[old]]
        cells[new] = self._view.gather(features[new])
        self.features, self.cells = features, cells

    def curved(self, curvature: FloatArray, part: IntArray) -> tuple[FloatArray, FloatArray]:
        """``X' D X`` and ``X' d`` of some of the columns held; d by training row."""
        if self._view.loss.constant_hessian:
            return self._constant(curvature, part)
        cells = self.cells if len(part) == len(self.features) else self.cells[part]
        weighted = cells * curvature
        return weighted @ cells.T, weighted.sum(axis=1)

    def _constant(self, curvature: FloatArray, part: IntArray) -> tuple[FloatArray, FloatArray]:
        wanted = self.features[part]
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
        place = {int(j): a for a, j in enumerate(self.features)}
        cells = np.empty((n_all, len(self._view.rows)))
        held = np.array([place.get(int(j), -1) for j in known], np.int64)
        cells[held >= 0] = self.cells[held[held >= 0]]
        cells[held < 0] = self._view.gather(known[held < 0])
        weighted = cells[n_old:] * curvature
        products = np.empty((n_all, n_all))
        products[:n_old, :n_old] = self._products
        products[n_old:] = weighted @ cells.T
        products[:n_old, n_old:] = products[n_old:, :n_old].T
        self._products = products
        self._sums = np.concatenate([self._sums, weighted.sum(axis=1)])
        self._known = {int(j): a for a, j in enumerate(known)}

    def _forget(self) -> None:
        self._known, self._products, self._sums = {}, np.empty((0, 0)), np.empty(0)

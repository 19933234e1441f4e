"""The columns of the free weights and their Gram matrix, weighted by the curvature of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from secateur.engines.grafting.columns import View
from secateur.execution.blocks import added
from secateur.execution.distributed_columns import row_chunks
from secateur.typing import FloatArray, IntArray

MAX_COLUMNS = 3000  # above so many free columns a Gram matrix costs more than it saves
# Cells that are always gathered (128 MB); of a dense table as many as it has itself.
MAX_CELLS = 1 << 24
# All sweeps over a stored cell cost about as much as this many cells of a Gram matrix.
CELLS_PER_SWEEP = 100


class Free(NamedTuple):
    """The free weights of all outputs: ``output[a]`` and ``feature[a]`` of weight a."""

    output: IntArray
    feature: IntArray


class FreeColumns:
    """Standardised columns of the training rows, in memory while their weights are free.

    Those of a frugal table are gathered for each sum, a few rows at a time. If the curvature is
    constant, products of all columns that were ever free are kept as well.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._features: IntArray = np.empty(0, np.int64)
        self._cells: FloatArray = np.empty((0, len(view.rows)))
        self._places: list[IntArray] = [self._features] * view.loss.n_outputs
        self._known: dict[int, int] = {}
        self._products: FloatArray = np.empty((0, 0))
        self._sums: FloatArray = np.empty(0)

    def fits(self, free: Free) -> bool:
        """Whether the columns fit in memory, and the weights in one matrix."""
        table, n_rows = self._view.columns, len(self._view.rows)
        if table.is_frugal:
            return len(free.feature) <= MAX_COLUMNS
        features = free.feature if len(self._places) == 1 else np.unique(free.feature)
        if table.is_sparse and len(self._places) == 1:
            n_stored = table.n_stored(features)
            if n_stored * CELLS_PER_SWEEP < len(features) * len(features) * n_rows:
                return False  # sweeps over so few cells are faster than one matrix
        limit = MAX_CELLS if table.is_sparse else max(MAX_CELLS, table.n_cells)
        return len(free.feature) <= MAX_COLUMNS and len(features) * n_rows <= limit

    def hold(self, free: Free) -> None:
        """Gather the missing columns, and drop those that are no longer free."""
        features = np.array(list(dict.fromkeys(free.feature.tolist())), np.int64)
        if not self._view.columns.is_frugal and not np.array_equal(features, self._features):
            _, self._cells = next(self._parts(features))
        self._features = features
        where = {int(j): a for a, j in enumerate(features)}
        self._places = [
            np.array([where[int(j)] for j in free.feature[free.output == k]], np.int64)
            for k in range(len(self._places))
        ]

    def _parts(self, features: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Some columns, for a part of the training rows at a time: the rows, and their cells."""
        view, place = self._view, {int(j): a for a, j in enumerate(self._features)}
        if view.columns.is_frugal:
            for rows in row_chunks(len(view.rows), len(features)):
                yield rows, view.gather(features, rows)
        elif features is self._features:
            yield slice(None), self._cells
        else:  # those in memory are not gathered again
            cells = np.empty((len(features), len(view.rows)))
            held = np.array([place.get(int(j), -1) for j in features], np.int64)
            cells[held >= 0] = self._cells[held[held >= 0]]
            cells[held < 0] = view.gather(features[held < 0])
            yield slice(None), cells

    def _of_output(self, cells: FloatArray, k: int) -> FloatArray:
        return cells if len(self._places) == 1 else cells[self._places[k]]

    def _by_training_row(self, by_row: FloatArray) -> FloatArray:
        return by_row if self._view.is_whole else by_row[..., self._view.rows]

    def gradient(self, by_row: FloatArray) -> FloatArray:
        """Gradients by all free weights, from gradients by row."""
        here = self._by_training_row(by_row)
        return added(
            np.concatenate([self._of_output(cells, k) @ row[rows] for k, row in enumerate(here)])
            for rows, cells in self._parts(self._features)
        )

    def combine(self, step: FloatArray) -> FloatArray:
        """Change of the raw predictions of all rows by a change of the free weights."""
        ends = np.cumsum([len(place) for place in self._places])[:-1]
        parts = np.split(step, ends)
        if self._view.is_whole:
            raw = np.empty((len(parts), len(self._view.rows)))
            for rows, cells in self._parts(self._features):
                raw[:, rows] = [part @ self._of_output(cells, k) for k, part in enumerate(parts)]
            return raw
        by_output = zip(self._places, parts, strict=True)
        return np.array([self._view.combine(self._features[at], part) for at, part in by_output])

    def products(
        self, raw: FloatArray, curvature: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Second derivatives: by pairs of weights, by outputs and weights, by pairs of outputs."""
        curvature = self._by_training_row(curvature)
        if len(curvature) == 1:
            if self._view.loss.constant_hessian:
                products, sums = self._constant(curvature[0])
            else:
                products, sums = _curved(self._parts(self._features), curvature[0])
            return products, sums[None], np.array([[curvature[0].sum()]])
        shares = self._by_training_row(self._view.loss.response(raw).T)
        weighted = shares * self._by_training_row(self._view.shares)
        return added(
            self._coupled(cells, shares[:, rows], weighted[:, rows], curvature[:, rows])
            for rows, cells in self._parts(self._features)
        )

    def _coupled(
        self, held: FloatArray, shares: FloatArray, weighted: FloatArray, curvature: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`products` for a softmax, whose outputs depend on each other: p_k ([k = l] - p_l)."""
        n_outputs = len(shares)
        ends = np.concatenate([[0], np.cumsum([len(place) for place in self._places])])
        products = np.empty((ends[-1], ends[-1]))
        sums = np.empty((n_outputs, ends[-1]))
        totals = np.empty((n_outputs, n_outputs))
        cells = [self._of_output(held, k) for k in range(n_outputs)]
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

    def _constant(self, curvature: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``X' D X`` and ``X' d`` of the columns; products with new columns are added once."""
        wanted = self._features
        fresh = [j for j in wanted.tolist() if j not in self._known]
        if fresh:
            if len(self._known) + len(fresh) > 2 * MAX_COLUMNS:
                self._known, self._products, self._sums = {}, np.empty((0, 0)), np.empty(0)
                fresh = wanted.tolist()
            known, n_old = np.array([*self._known, *fresh], np.int64), len(self._known)
            products = np.empty((len(known), len(known)))
            products[:n_old, :n_old] = self._products
            products[n_old:], sums = _curved(self._parts(known), curvature, n_old)
            products[:n_old, n_old:] = products[n_old:, :n_old].T
            self._products, self._sums = products, np.concatenate([self._sums, sums])
            self._known = {j: a for a, j in enumerate(known.tolist())}
        index = np.array([self._known[j] for j in wanted.tolist()], np.int64)
        return self._products[np.ix_(index, index)], self._sums[index]


def _curved(
    parts: Iterator[tuple[slice, FloatArray]], curvature: FloatArray, first: int = 0
) -> tuple[FloatArray, FloatArray]:
    """``X' D X`` and ``X' d`` of the columns from ``first`` on with all of them."""
    weighted = ((cells[first:] * curvature[rows], cells) for rows, cells in parts)
    return added((each @ cells.T, each.sum(axis=1)) for each, cells in weighted)

"""Exact lazy search: a tree on the features in use, then one question for all the others.

Most trees buy nothing. Such a tree is grown on the used features alone, which are few. One pass
over the rows then gives every other feature's histograms in the cells of the finished tree; every
node is a union of cells, so that pass tells whether any feature would have been bought in any
node. If so, the tree is thrown away and grown again with all features; if not, it is the full
search's tree, bit for bit.

A full search makes about two passes over the cells of the table, level by level; this makes one.
"""

from __future__ import annotations

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted.rows import begin_cells, cell_histograms
from secateur._engines.boosted.search import Decision, ExactSearch
from secateur._kernels.confirming import any_better
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.typing import BoolArray, Executor, IntArray

FEATURES_AT_ONCE = 64
"""Features whose cell histograms are held together: little memory, few calls."""

MOST_CELLS = 16
"""With more cells the histograms leave the nearest cache, and one pass costs more than two."""

LEAST_LEFT_OUT = 16
"""With fewer features left out there is nothing to save."""


class Confirmation:
    """Decides when growing on used features is worth a try, and whether the tree holds."""

    def __init__(
        self, executor: Executor, columns: BinnedColumns, search: ExactSearch, threads: Threads
    ) -> None:
        self._executor = executor
        self._columns = columns
        self._search = search
        self._threads = threads
        self._quiet: dict[int, bool] = {}

    def is_worth_it(self, k: int, max_depth: int) -> bool:
        """Whether the last tree of this output bought nothing, and enough would be left out."""
        if not isinstance(self._columns.codes, DenseCodes):
            return False  # a full search is one pass per level already, over the stored cells alone
        used = self._search.ledger.used
        n_left_out = int(np.count_nonzero(self._left_out()))
        return (
            self._quiet.get(k, False)
            and 2 ** (max_depth - 1) <= MOST_CELLS
            and n_left_out >= max(LEAST_LEFT_OUT, int(np.count_nonzero(used)) // 2)
        )

    def note(self, k: int, bought: bool) -> None:
        """Remember whether a tree of output k bought anything."""
        self._quiet[k] = not bought

    def holds(self) -> bool:
        """Whether no feature that was left out beats what any node of the last tree chose."""
        features = np.flatnonzero(self._left_out())
        decisions = self._search.decisions
        if len(features) == 0:
            return True
        shape = _shape(decisions)
        cells = [decisions[q].node.number for q in np.flatnonzero(shape[0] >= 0)]
        self._executor.each(begin_cells, cells)
        for first in range(0, len(features), FEATURES_AT_ONCE):
            some = features[first : first + FEATURES_AT_ONCE]
            self._search.histograms.count(len(some), decisions[0].node.weight)
            histograms = self._executor.sum(cell_histograms, len(cells), some)
            if self._any_better(histograms, some, shape, decisions):
                return False
        return True

    def _left_out(self) -> BoolArray:
        search = self._search
        left_out: BoolArray = search.ledger.allowed & search.is_divisible & ~search.ledger.used
        return left_out

    def _any_better(
        self,
        histograms: IntArray,
        features: IntArray,
        shape: tuple[IntArray, IntArray, IntArray],
        decisions: list[Decision],
    ) -> bool:
        search, columns = self._search, self._columns
        scale = search.scale
        best = np.array([decision.priced_gain for decision in decisions])
        prices = scale.penalty * search.ledger.prices[features]
        found: list[bool] = []

        def part(start: int, stop: int) -> None:
            found.append(
                any_better(
                    histograms,
                    features,
                    columns.n_bins,
                    columns.is_categorical,
                    shape,
                    best,
                    prices,
                    (scale.unit, scale.floor),
                    search.histograms.unit,
                    search.histograms.least,
                    start,
                    stop,
                )
            )

        self._threads.run(part, len(features), 8)
        return any(found)


def _shape(decisions: list[Decision]) -> tuple[IntArray, IntArray, IntArray]:
    """Of each searched node: its cell or -1, the place of the first node below it, its total.

    A node is a cell if no node below it was searched: it is a leaf, or its children are too deep.
    """
    place = {decision.node.number: q for q, decision in enumerate(decisions)}
    below = np.array([place.get(decision.node.left, -1) for decision in decisions])
    is_cell = below < 0
    cell = np.where(is_cell, np.cumsum(is_cell) - 1, -1)
    totals = np.array([decision.node.total for decision in decisions], dtype=np.int64)
    return cell, below, totals

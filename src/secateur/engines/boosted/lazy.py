"""Lazy search: grow a draft of the tree on few features, then check all others in one pass.

One pass over the rows gives the histograms of every other feature in the cells (leaves) of the
draft. Every node is a union of cells, so that shows whether any would have chosen another feature.
If none, the draft is the tree of the full search, bit for bit; else it is grown again with those. A
full search adds up about twice the cells of the table, level by level; this adds them up once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from secateur._kernels.confirming import bound_gains, dense_cells, find_better
from secateur._kernels.histogram import spread_cells
from secateur._kernels.records import MAX_BINS, N_CODES, DenseCodes
from secateur._kernels.splitting import LOW
from secateur.engines.boosted.nodes import Decision, ExactSearch
from secateur.execution.blocks import RowBlock
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

# Features whose cell histograms a thread holds together: they fit in its cache.
FEATURES_AT_ONCE = 24
# With more cells the histograms leave the nearest cache, and one pass costs more than two.
MAX_CELLS = 16
MIN_LEFT_OUT = 16  # with fewer features left out there is nothing to save
N_PROMISING = 8  # unused features in a first draft: the next first use is mostly one of these
MAX_DRAFTS = 3  # drafts of one tree before all features are searched; only one after a failure
# A full search of fewer passes over the table, as of a tree that is a leaf, is faster itself.
MIN_PASSES = 1.4
MAX_NEW = 2  # after a full search with more first uses than this, the next tree will have some too
MAX_WAIT = 64  # trees searched in full after many failures in a row
# Size of the histograms that are requested together where rows are in other processes.
MESSAGE_BYTES = 1 << 24
SLACK = 1e-9  # allowance for rounding in a bound, as a share
# Of each searched node: its cell or -1 (if its children were searched), left child, total.
Shape = tuple[IntArray, IntArray, IntArray]


def begin_cells(block: RowBlock, cells: list[int]) -> None:
    """Note the cell of each (dense) row of the tree; add up the bundles in the cells."""
    if len(block.cell_start) != block.columns.n_rows:
        block.cell_start = block.space.zeros(block.columns.n_rows, np.uint32)
    for c, node in enumerate(cells):
        block.cell_start[block.order[slice(*block.bounds[node])]] = c * N_CODES
    bundles = block.columns.bundles
    if bundles is None:
        return
    codes, columns, rows = bundles.codes, np.arange(len(bundles.codes)), _tree_rows(block)
    all_codes = np.full(len(columns), MAX_BINS)
    out = block.bundle_cells = np.empty((len(columns), N_CODES * len(cells)), np.int64)

    def part(start: int, stop: int) -> None:
        some = columns[start:stop]
        dense_cells(codes, *rows, some, all_codes, some, out)

    block.threads.run(part, len(columns), 2)


def cell_histograms(
    block: RowBlock, n_cells: int, features: IntArray, worker: int = -1
) -> IntArray:
    """Packed histograms in the cells, ``[f, c * 256 + code]``; -1 is by all threads together."""
    shape = (len(features), N_CODES * n_cells)
    out: IntArray = block.buffers.cells(worker, shape[0] * shape[1]).reshape(shape)
    columns, bundles, rows = block.columns, block.columns.bundles, _tree_rows(block)

    def part(start: int, stop: int) -> None:
        some, places = features[start:stop], np.arange(start, stop)
        if bundles is not None:
            is_in = bundles.column[some] >= 0
            own = (bundles.column, bundles.own)
            spread_cells(block.bundle_cells, *own, some[is_in], places[is_in], out)
            some, places = some[~is_in], places[~is_in]
        dense_cells(columns.codes.codes, *rows, some, columns.n_bins, places, out)

    if worker >= 0:
        part(0, len(features))
    else:
        block.threads.run(part, len(features), 2)
    return out


def cell_bounds(histograms: IntArray, given: tuple[Any, ...], shape: tuple[int, int]) -> FloatArray:
    """Bounds of the gains in all nodes, by ``bound_gains`` from the histograms of some rows."""
    bounds = np.empty(shape)
    bound_gains(histograms, *given, bounds)
    return bounds


def _tree_rows(block: RowBlock) -> tuple[AnyArray, AnyArray, AnyArray, bool]:
    """The rows of the tree, their cells and packed values, and whether they are all in order."""
    in_order = len(block.tree_rows) == block.columns.n_rows
    return block.tree_rows, block.cell_start, block.packed_by_row, in_order


class LazySearch:
    """Decides when to draft a tree and on which features, and checks the draft."""

    def __init__(self, search: ExactSearch) -> None:
        self._search, self._executor = search, search.histograms.executor
        self._columns = search.histograms.columns
        self._promise: FloatArray = np.full(self._columns.n_features, -1.0)
        self._n_failed, self._wait, self.n_drafts = 0, 0, MAX_DRAFTS
        self._passes, self._n_new = 0.0, 0

    def is_worth_it(self, max_depth: int) -> bool:
        """Whether enough features are left out, and drafts have not failed recently."""
        if not isinstance(self._columns.codes, DenseCodes):
            return False  # a full search reads only the stored cells already
        self._wait = max(0, self._wait - 1)
        n_in = int(np.count_nonzero(self._search.feature_use.used)) + N_PROMISING
        n_out = int(np.count_nonzero(self._unused())) - N_PROMISING
        return (
            self._wait == 0
            and self._n_new <= MAX_NEW
            and self._passes > MIN_PASSES
            and 2 ** (max_depth - 1) <= MAX_CELLS
            and n_out >= max(MIN_LEFT_OUT, n_in // 2)
        )

    def first_draft(self) -> BoolArray:
        """The features of a first draft: those in use and the most promising others."""
        others = np.flatnonzero(self._unused())
        best = others[np.argsort(-self._promise[others], kind="stable")[:N_PROMISING]]
        draft = self._search.feature_use.used.copy()
        draft[best] = True
        draft[self._columns.n_coded :] = True  # the extra column has no cell histograms
        return draft

    def note_draft(self, *, holds: bool) -> None:
        """Wait longer for the next draft, the more of them failed in a row."""
        self._n_failed = 0 if holds else self._n_failed + 1
        self._wait = 0 if holds else min(4**self._n_failed, MAX_WAIT)
        self.n_drafts = MAX_DRAFTS if holds else 1

    def note_full(self, n_cells: float) -> None:
        """Remember the work of a full search, and the best gain of each feature."""
        n_candidates = max(1, int(np.count_nonzero(self._search.is_divisible)))
        self._passes = n_cells / (self._columns.n_rows * n_candidates)
        decisions = self._search.decisions
        self._n_new = sum(decision.is_first_use for decision in decisions)
        if decisions:
            np.max([decision.node.gain for decision in decisions], axis=0, out=self._promise)

    def _unused(self) -> BoolArray:
        """Features that could be added now."""
        use = self._search.feature_use
        return use.allowed & self._search.is_divisible & ~use.used

    def better_than(self, draft: BoolArray) -> IntArray:
        """Features outside the draft that a node would have chosen at the costs of that moment."""
        decisions = self._search.decisions
        place = {decision.node.number: q for q, decision in enumerate(decisions)}
        below = np.array([place.get(decision.node.left, -1) for decision in decisions])
        is_cell = below < 0
        totals = np.array([decision.node.total for decision in decisions], dtype=np.int64)
        shape = np.where(is_cell, np.cumsum(is_cell) - 1, -1), below, totals
        cells = [decisions[q].node.number for q in np.flatnonzero(is_cell)]
        self._executor.apply(begin_cells, cells)
        masks = {id(decision.allowed): decision.allowed for decision in decisions}
        allowed = np.logical_or.reduce(list(masks.values()))
        features = np.flatnonzero(allowed & self._search.is_divisible & ~draft)
        # The most promising features come first: a draft that fails, fails soon.
        features = features[np.argsort(-self._promise[features], kind="stable")]
        check = self._check_at_once if self._executor.one_pass else self._check_in_threads
        found, n_checked = check(features, len(cells), shape)
        self._search.histograms.count(n_checked, decisions[0].node.weight)
        return np.array(found, dtype=np.int64)

    def _check_in_threads(
        self, features: IntArray, n_cells: int, shape: Shape
    ) -> tuple[list[int], int]:
        """A few features at a time, as many as fit in the cache of a thread."""
        found: list[int] = []
        checked: list[int] = []

        def some(worker: int, number: int) -> None:
            if not found:
                part = features[number * FEATURES_AT_ONCE : (number + 1) * FEATURES_AT_ONCE]
                checked.append(len(part))
                histograms = self._executor.sum(cell_histograms, n_cells, part, worker)
                found.extend(part[self._find_better(histograms, part, shape)])

        self._search.histograms.threads.share(some, -(-len(features) // FEATURES_AT_ONCE))
        return found, sum(checked)

    def _check_at_once(
        self, features: IntArray, n_cells: int, shape: Shape
    ) -> tuple[list[int], int]:
        """Many features at a time, since each call is expensive: bounds first, then histograms."""
        at_once = max(FEATURES_AT_ONCE, MESSAGE_BYTES // (8 * N_CODES * n_cells))
        for start in range(0, len(features), at_once):
            part = features[start : start + at_once]
            part = part[self.still_open(part, n_cells, shape)]
            if len(part) == 0:
                continue
            histograms = self._executor.sum(cell_histograms, n_cells, part)
            better = self._find_better(histograms, part, shape)
            if better.any():
                return part[better].tolist(), start + len(part)
        return [], len(features)

    def still_open(self, features: IntArray, n_cells: int, shape: Shape) -> BoolArray:
        """The features that some node might have chosen according to the bounds."""
        scale, columns, decisions = self._search.scale, self._columns, self._search.decisions
        kinds = columns.n_bins[features], columns.is_categorical[features]
        sizes = len(features) + 1, len(decisions)
        finish = partial(cell_bounds, given=(*kinds, shape[:2], scale.steps), shape=sizes)
        bounds = self._executor.sum(cell_histograms, n_cells, features, finish=finish)
        g, w = (shape[2] >> 32) * scale.steps[0], (shape[2] & LOW) * scale.steps[1]
        # The differences between the processes, with an allowance for rounding.
        between = bounds[-1] - g * g / w + SLACK * bounds[-1]
        most = (bounds[:-1] + between) * (1.0 + SLACK)
        net = most / scale.unit - _penalties(decisions, features, scale.penalty).T
        best = np.array([decision.gain for decision in decisions])
        return ((net >= best - SLACK) & (most > scale.floor)).any(axis=1)

    def _find_better(self, histograms: IntArray, features: IntArray, shape: Shape) -> BoolArray:
        """The features that some node would have chosen, from their histograms in the cells."""
        search, columns, decisions = self._search, self._columns, self._search.decisions
        better, scale = np.zeros(len(features), np.bool_), search.scale
        best = np.array([each.gain for each in decisions])
        first_use = np.array([each.feature if each.is_first_use else -1 for each in decisions])
        chosen = best, first_use, _penalties(decisions, features, scale.penalty)
        kinds = columns.n_bins, columns.is_categorical
        units = (scale.unit, scale.floor), scale.steps, search.histograms.min_weight
        find_better(histograms, features, *kinds, shape, chosen, *units, better)
        return better


def _penalties(decisions: list[Decision], features: IntArray, penalty: float) -> FloatArray:
    """Penalty times cost of the features in each node, infinite where not allowed."""
    penalties = np.empty((len(decisions), len(features)))
    for q, decision in enumerate(decisions):
        if q > 0 and decision.costs is decisions[q - 1].costs:
            penalties[q] = penalties[q - 1]  # no first use in between
            continue
        now = penalty * decision.costs[features]
        penalties[q] = np.where(decision.allowed[features], now, np.inf)
    return penalties

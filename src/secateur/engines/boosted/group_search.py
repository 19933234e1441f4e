"""Search by group tests: used features exactly, newcomers only where a group of them won.

The codes are those that `pool_groups` gives for all rows at once, bit for bit: ranges have no
order, and weights are whole numbers before they are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.group_tests import (
    CODES,
    COUNTS,
    N_FINE,
    RANGES,
    TEST_BINS,
    code_steps,
    pooled_gains,
    pooled_histograms,
    visit_dense,
    visit_sparse,
)
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.engines.boosted.feature_use import FeatureUse
from secateur.engines.boosted.groups import (
    GroupPlan,
    Groups,
    GroupTesting,
    bin_steps,
    make_plan,
    whole_weights,
)
from secateur.engines.boosted.nodes import Node, NodeHistograms, Siblings
from secateur.engines.boosted.search import ExactSearch, TreeScale
from secateur.execution.blocks import RowBlock
from secateur.execution.local import CodeBlock, RowStore
from secateur.typing import AnyArray, BoolArray, CodeArray, Executor, FloatArray, IntArray

COUNT_BYTES = 1 << 25
"""Counts of steps that are made together."""


class _Walk(NamedTuple):
    """What a block needs to know to visit the sums: see ``_kernels.pooling``."""

    members: IntArray
    cut: IntArray
    first: IntArray
    per_bin: AnyArray
    n_levels: int
    n_tops: int

    @classmethod
    def of(cls, plan: GroupPlan, columns: BinnedColumns) -> _Walk:
        design = plan.design
        n_levels = design.leaf - design.entry + 1
        first = np.array([plan.first(design.leaf - u) for u in range(n_levels)])
        n_tops = design.n_parts * design.n_orders * 2**design.entry
        return cls(plan.members, plan.cut, first, bin_steps(columns), n_levels, n_tops)

    @property
    def below(self) -> int:
        """The lowest groups of one of the first level."""
        return int(2 ** (self.n_levels - 1))

    def groups(self, top: int) -> IntArray:
        """The groups in and below a group of the first level, in the order of their counts."""
        levels = [
            self.first[u] + ((top * self.below) >> u) + np.arange(self.below >> u)
            for u in range(self.n_levels)
        ]
        return np.concatenate(levels)


def pool_blocks(
    row_store: RowStore, columns: BinnedColumns, weight: FloatArray, told: GroupTesting
) -> Groups:
    """Draw groups and have the sums of their features made where the rows are."""
    plan = make_plan(columns, told)
    if not plan.design.has_tests:
        return Groups(plan, np.empty((0, 0), np.uint8))
    walk = _Walk.of(plan, columns)
    executor = row_store.code_executor()
    n_groups = plan.design.n_groups
    ranges = executor.each(sum_ranges, walk, n_groups)
    low = np.min([part[0] for part in ranges], axis=0)
    high = np.max([part[1] for part in ranges], axis=0)
    whole = whole_weights(weight)
    code: CodeArray = np.empty((n_groups, N_FINE), np.uint8)
    total = float(whole.sum())
    for tops in _chunks(walk):
        counts = executor.sum(sum_counts, walk, tops, low, high, whole)
        for top, its_counts in zip(tops, counts, strict=True):
            for group, filled in zip(walk.groups(top), its_counts, strict=True):
                code_steps(filled, total, code[group])
    executor.each(code_rows, walk, low, high, code)  # fits that come later want it done
    return Groups(plan, np.empty((0, 0), np.uint8))


def _chunks(walk: _Walk) -> Iterator[range]:
    at_once = max(1, COUNT_BYTES // (8 * N_FINE * (2 * walk.below - 1)))
    for start in range(0, walk.n_tops, at_once):
        yield range(start, min(start + at_once, walk.n_tops))


# ---- what is asked of a block -----------------------------------------------------------------


def sum_ranges(block: CodeBlock, walk: _Walk, n_groups: int) -> tuple[AnyArray, AnyArray]:
    """The least and the largest value of every sum."""
    low = np.full(n_groups, np.iinfo(np.int32).max, np.int32)
    high = np.full(n_groups, np.iinfo(np.int32).min, np.int32)
    _visit(block, walk, RANGES, range(walk.n_tops), low=low, high=high)
    return low, high


def sum_counts(
    block: CodeBlock, walk: _Walk, tops: range, low: AnyArray, high: AnyArray, weight: FloatArray
) -> FloatArray:
    """The weight of each step of the sums in and below some groups of the first level."""
    filled = np.zeros((len(tops), 2 * walk.below - 1, N_FINE))
    own = weight[block.first_row : block.first_row + block.columns.n_rows]
    _visit(block, walk, COUNTS, tops, low=low, high=high, weight=own, filled=filled)
    return filled


def code_rows(
    block: CodeBlock, walk: _Walk, low: AnyArray, high: AnyArray, code: CodeArray
) -> None:
    """Write the codes of all sums, and keep them beside the block."""
    block.group_sums = block.space.zeros((len(low), block.columns.n_rows), np.uint8)
    tops = range(walk.n_tops)
    _visit(block, walk, CODES, tops, low=low, high=high, code=code, codes_out=block.group_sums)


def _visit(
    block: CodeBlock,
    walk: _Walk,
    what: int,
    tops: range,
    *,
    low: AnyArray,
    high: AnyArray,
    weight: FloatArray | None = None,
    filled: FloatArray | None = None,
    code: CodeArray | None = None,
    codes_out: CodeArray | None = None,
) -> None:
    columns = block.columns
    w = np.empty(columns.n_rows) if weight is None else weight
    table = np.empty((0, N_FINE), np.uint8) if code is None else code
    out = np.empty((0, 0), np.uint8) if codes_out is None else codes_out
    nothing = np.empty((0, N_FINE))

    def some(start: int, stop: int) -> None:
        for number in range(start, stop):
            first = tops[number] * walk.below
            counts = nothing if filled is None else filled[number]
            where = (walk.members, walk.cut, walk.first, w, first, first + walk.below)
            more: tuple[Any, ...] = (walk.n_levels, low, high, counts, table, out)
            held = columns.codes
            if isinstance(held, DenseCodes):
                visit_dense(what, held.codes, columns.has_missing, walk.per_bin, *where, *more)
            else:
                stored = (held.indptr, held.indices, held.codes, held.zero_code)
                visit_sparse(what, *stored, walk.per_bin, *where, *more)

    block.threads.run(some, len(tops))


CELLS_PER_THREAD = 50_000
"""Histograms of fewer cells than this are not worth a second thread."""

TESTS_PER_THREAD = 256
"""Searching fewer histograms than this is not worth a second thread."""


def group_histogram(block: RowBlock, node: int, groups: IntArray) -> IntArray:
    """Packed sums by code of the listed groups over the rows of a node."""
    start, stop = block.bounds[node]
    rows = block.order[start:stop]
    packed = block.packed_of(node)
    in_order = len(rows) == block.columns.n_rows
    out: IntArray = np.empty((len(groups), TEST_BINS), np.int64)
    grain = max(4, CELLS_PER_THREAD // max(1, len(rows)) // 4 * 4)
    block.threads.run(
        lambda first, last: pooled_histograms(
            block.group_sums, rows, packed, in_order, groups, first, last, out
        ),
        len(groups),
        grain,
    )
    return out


class GroupTests:
    """Finds the groups of the lowest level that win their subsets in a node (Algorithm 2).

    The groups of the first level are tested in every node, so their histograms are made as those
    of features are: the smaller child is built, the other is its parent less it.
    """

    def __init__(self, executor: Executor, plan: GroupPlan, threads: Threads) -> None:
        self._executor = executor
        self._plan = plan
        self._threads = threads
        self._turn = -1
        self._kept: dict[int, tuple[Node, IntArray]] = {}
        self._gains: dict[int, FloatArray] = {}
        self.n_tested = 0

    def begin_tree(self) -> None:
        """Forget the last tree; the next set of partitions has its turn."""
        self._turn = (self._turn + 1) % self._plan.design.n_turns
        self._kept = {}
        self._gains = {}

    def winners(
        self, siblings: Siblings, node: Node, unit: tuple[float, float], least: np.int64
    ) -> IntArray:
        """The features of the groups that won, the same number of each subset; sorted."""
        design, plan = self._plan.design, self._plan
        if node.number not in self._gains:
            self._test_first(siblings, unit, least)
        gains = self._gains.pop(node.number)
        self.n_tested = gains.size
        best = self._turn * gains.size + self._best(gains)
        for level in range(design.entry, design.leaf):
            best = self._better_halves(node, 2 * best, plan.first(level + 1), unit, least)
        return plan.features(best)

    def _best(self, gains: FloatArray) -> IntArray:
        """The groups that go on: the best of all, or of each subset."""
        design = self._plan.design
        n_kept = design.n_kept if not design.is_open else design.n_kept * design.n_subsets
        rows = gains.reshape(1 if design.is_open else design.n_subsets, -1)
        order = np.argsort(-rows, axis=1, kind="stable")[:, :n_kept]
        best: IntArray = (np.arange(len(rows))[:, None] * rows.shape[1] + order).ravel()
        return best

    def _better_halves(
        self, node: Node, left: IntArray, first: int, unit: tuple[float, float], least: np.int64
    ) -> IntArray:
        """Of each pair of halves the one whose sum gains more, the left one of equals."""
        halves = np.stack([left, left + 1], axis=1)
        built = self._executor.sum(group_histogram, node.number, first + halves.ravel())
        gains = self._search(built, node, unit, least).reshape(halves.shape)
        self.n_tested += gains.size
        better: IntArray = left + (gains[:, 1] > gains[:, 0])
        return better

    def _test_first(self, siblings: Siblings, unit: tuple[float, float], least: np.int64) -> None:
        """Test the groups of the first level in all nodes of a siblings."""
        for node, built in zip(siblings.nodes, self._histograms(siblings), strict=True):
            self._kept[node.number] = (node, built)
            self._gains[node.number] = self._search(built, node, unit, least)

    def _histograms(self, siblings: Siblings) -> list[IntArray]:
        parent = self._parent_of(siblings)
        if parent is None:
            return [self._build(node) for node in siblings.nodes]
        smaller = self._build(siblings.smaller)
        larger = self._kept.pop(parent)[1]
        np.subtract(larger, smaller, out=larger)  # nobody needs the parent after this
        return [smaller if node is siblings.smaller else larger for node in siblings.nodes]

    def _parent_of(self, siblings: Siblings) -> int | None:
        """The number of the node that was split into this siblings, if its histogram is there."""
        left = siblings.nodes[0].number
        for number, (node, _) in self._kept.items():
            if node.left == left:
                return number
        return None

    def _build(self, node: Node) -> IntArray:
        n_first = self._plan.design.n_subsets * 2**self._plan.design.entry
        groups = self._turn * n_first + np.arange(n_first)
        built: IntArray = self._executor.sum(group_histogram, node.number, groups)
        return built

    def _search(
        self, built: IntArray, node: Node, unit: tuple[float, float], least: np.int64
    ) -> FloatArray:
        gains = np.empty(len(built))
        self._threads.run(
            lambda start, stop: pooled_gains(built, node.total, unit, least, start, stop, gains),
            len(built),
            TESTS_PER_THREAD,
        )
        return gains


class GroupSearch(ExactSearch):
    """Algorithm 2 of GT-GBM as a search.

    Features in use, and those that no sum can have, are evaluated in every node. Of the others a
    node sees those whose groups won their subsets there; the best of them pays its price.
    """

    def __init__(
        self,
        histograms: NodeHistograms,
        feature_use: FeatureUse,
        divisible: IntArray,
        tests: GroupTests,
        alone: BoolArray,
    ) -> None:
        self._tests = tests
        self._alone = alone
        self._for_sale: BoolArray | None = None
        super().__init__(histograms, feature_use, divisible)

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """A new tree, with its own unit of gain."""
        super().begin_tree(scale, only)
        self._tests.begin_tree()

    def skip_tree(self) -> None:
        """A tree was grown by somebody else; the next set of partitions has its turn."""
        self._tests.begin_tree()

    def _candidate_mask(self) -> BoolArray:
        """The features that every node evaluates: those in use, and those that no sum has."""
        self._for_sale = None
        mask: BoolArray = super()._candidate_mask() & (self.feature_use.used | self._alone)
        return mask

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:
        """Those, and the newcomers whose groups won in this node."""
        known = super()._choices(siblings, node)
        newcomers = self._newcomers(siblings, node)
        if len(newcomers) == 0:
            return known
        self.histograms.evaluate_in(node, newcomers)
        return np.union1d(known, newcomers)

    def _newcomers(self, siblings: Siblings, node: Node) -> IntArray:
        if self._for_sale is None:
            feature_use = self.feature_use
            self._for_sale = (
                feature_use.allowed & self.is_divisible & ~feature_use.used & ~self._alone
            )
        # A node that cannot be split, or a budget that is spent, needs no tests.
        if node.weight < 2 * self.histograms.least or not self._for_sale.any():
            return np.empty(0, np.int64)
        histograms = self.histograms
        found = self._tests.winners(siblings, node, histograms.unit, histograms.least)
        histograms.count(self._tests.n_tested, node.weight)
        return found[self._for_sale[found]]

"""Group tests in the nodes of a tree: which features deserve an exact look there."""

from __future__ import annotations

import numpy as np

from secateur._engines.boosted.families import Family, Node
from secateur._engines.boosted.groups import GroupPlan
from secateur._execution.blocks import RowBlock
from secateur._kernels.grouping import TEST_BINS, pooled_gains, pooled_histograms
from secateur._kernels.threads import Threads
from secateur.typing import Executor, FloatArray, IntArray

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
            block.pooled, rows, packed, in_order, groups, first, last, out
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
        self, family: Family, node: Node, unit: tuple[float, float], least: np.int64
    ) -> IntArray:
        """The features of the groups that won, the same number of each subset; sorted."""
        design, plan = self._plan.design, self._plan
        if node.number not in self._gains:
            self._test_first(family, unit, least)
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

    def _test_first(self, family: Family, unit: tuple[float, float], least: np.int64) -> None:
        """Test the groups of the first level in all nodes of a family."""
        for node, built in zip(family.nodes, self._histograms(family), strict=True):
            self._kept[node.number] = (node, built)
            self._gains[node.number] = self._search(built, node, unit, least)

    def _histograms(self, family: Family) -> list[IntArray]:
        parent = self._parent_of(family)
        if parent is None:
            return [self._build(node) for node in family.nodes]
        smaller = self._build(family.smaller)
        larger = self._kept.pop(parent)[1]
        np.subtract(larger, smaller, out=larger)  # nobody needs the parent after this
        return [smaller if node is family.smaller else larger for node in family.nodes]

    def _parent_of(self, family: Family) -> int | None:
        """The number of the node that was split into this family, if its histogram is there."""
        left = family.nodes[0].number
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

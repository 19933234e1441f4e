"""Search by group tests: used features exactly, new ones only where their group has won."""

from __future__ import annotations

import numpy as np

from secateur._kernels.group_tests import TEST_BINS, group_gains, group_histograms
from secateur._kernels.threads import Threads
from secateur.engines.boosted.block_histograms import features_per_thread, node_rows
from secateur.engines.boosted.groups import GroupPlan
from secateur.engines.boosted.nodes import ExactSearch, Node, NodeHistograms, Siblings, TreeScale
from secateur.engines.limits import FeatureUse
from secateur.execution.blocks import Executor, RowBlock
from secateur.typing import BoolArray, FloatArray, IntArray

TESTS_PER_THREAD = 256  # searching fewer histograms than this is not worth a second thread


def histogram_of_groups(block: RowBlock, node: int, groups: IntArray) -> IntArray:
    """Packed sums by code of the listed groups over the rows of a node."""
    rows = node_rows(block, node)
    out: IntArray = np.empty((len(groups), TEST_BINS), np.int64)
    block.threads.run(
        lambda first, last: group_histograms(block.group_sums, *rows, groups, first, last, out),
        len(groups),
        features_per_thread(len(rows[0])),
    )
    return out


class GroupSearch(ExactSearch):
    """Algorithm 2 of GT-GBM: used and ungrouped features exactly, others if their groups win."""

    def __init__(
        self,
        histograms: NodeHistograms,
        feature_use: FeatureUse,
        divisible: IntArray,
        executor: Executor,
        plan: GroupPlan,
        threads: Threads,
    ) -> None:
        self._executor, self._plan, self._threads = executor, plan, threads
        self._new: BoolArray | None = None
        self._turn = -1
        self._kept: dict[int, tuple[Node, IntArray]] = {}
        self._gains: dict[int, FloatArray] = {}
        super().__init__(histograms, feature_use, divisible)

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """Begin a tree with its own units of gain."""
        super().begin_tree(scale, only)
        self.skip_tree()

    def skip_tree(self) -> None:
        """Forget the last tree; use the next set of partitions."""
        self._turn = (self._turn + 1) % self._plan.design.n_turns
        self._kept, self._gains = {}, {}

    def _candidate_mask(self) -> BoolArray:
        """The features that every node evaluates: those in use, and those in no group."""
        self._new = None
        return super()._candidate_mask() & (self.feature_use.used | self._plan.alone)

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:
        """Those, and the new features whose groups won in this node."""
        known = super()._choices(siblings, node)
        if self._new is None:
            use = self.feature_use
            self._new = use.allowed & self.is_divisible & ~use.used & ~self._plan.alone
        # No tests in a node that cannot be split, or where no feature may be added.
        if node.weight < 2 * self.histograms.min_weight or not self._new.any():
            return known
        found = self._winners(siblings, node)
        found = found[self._new[found]]
        if len(found) == 0:
            return known
        self.histograms.evaluate_in(node, found)
        return np.union1d(known, found)

    def _winners(self, siblings: Siblings, node: Node) -> IntArray:
        """The features of the winning groups, sorted; the same number of groups per subset."""
        design, plan = self._plan.design, self._plan
        if node.number not in self._gains:
            for each, built in zip(siblings.nodes, self._first_level(siblings), strict=True):
                self._kept[each.number] = (each, built)
                self._gains[each.number] = self._gains_of(built, each)
        gains = self._gains.pop(node.number)
        n_tested = gains.size
        best = self._turn * gains.size + self._best(gains)
        for level in range(design.entry, design.leaf):
            # of each pair of halves the one whose sum gains more, the left one of equals
            halves = np.stack([2 * best, 2 * best + 1], axis=1)
            groups = plan.first(level + 1) + halves.ravel()
            built = self._executor.sum(histogram_of_groups, node.number, groups)
            gains = self._gains_of(built, node).reshape(halves.shape)
            n_tested += gains.size
            best = 2 * best + (gains[:, 1] > gains[:, 0])
        self.histograms.count(n_tested, node.weight)
        return plan.features(best)

    def _best(self, gains: FloatArray) -> IntArray:
        """The groups that go on: the best of all, or of each subset."""
        design = self._plan.design
        n_rows = 1 if design.n_turns > 1 else design.n_subsets
        rows, n_kept = gains.reshape(n_rows, -1), design.n_kept * design.n_subsets // n_rows
        order = np.argsort(-rows, axis=1, kind="stable")[:, :n_kept]
        return (np.arange(len(rows))[:, None] * rows.shape[1] + order).ravel()

    def _first_level(self, siblings: Siblings) -> list[IntArray]:
        """Histograms of the groups of the first level in some siblings."""
        left = siblings.nodes[0].number
        parent = next((q for q, (node, _) in self._kept.items() if node.left == left), None)
        if parent is None:
            return [self._build(node) for node in siblings.nodes]
        lighter, _ = siblings.by_weight()
        smaller = self._build(lighter)
        larger = self._kept.pop(parent)[1]
        np.subtract(larger, smaller, out=larger)  # the parent is not needed after this
        return [smaller if node is lighter else larger for node in siblings.nodes]

    def _build(self, node: Node) -> IntArray:
        n_first = self._plan.design.n_subsets * 2**self._plan.design.entry
        groups = self._turn * n_first + np.arange(n_first)
        return self._executor.sum(histogram_of_groups, node.number, groups)

    def _gains_of(self, built: IntArray, node: Node) -> FloatArray:
        gains = np.empty(len(built))
        limits = (node.total, self.histograms.steps, self.histograms.min_weight)
        self._threads.run(
            lambda start, stop: group_gains(built, *limits, start, stop, gains),
            len(built),
            TESTS_PER_THREAD,
        )
        return gains

"""Search by group tests: used features exactly, new ones only where their group has won."""

from __future__ import annotations

import numpy as np

from secateur._kernels.group_tests import TEST_BINS, group_gains, group_histograms
from secateur._kernels.threads import Threads
from secateur.engines.boosted.block_histograms import features_per_thread, node_rows
from secateur.engines.boosted.feature_use import FeatureUse
from secateur.engines.boosted.groups import GroupPlan
from secateur.engines.boosted.nodes import Node, NodeHistograms, Siblings
from secateur.engines.boosted.params import TreeScale
from secateur.engines.boosted.search import ExactSearch
from secateur.execution.blocks import RowBlock
from secateur.typing import BoolArray, Executor, FloatArray, IntArray

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


class GroupTests:
    """Finds the groups of the lowest level that win their subsets in a node (Algorithm 2).

    Groups of the first level are tested in every node: of two children the smaller is built, the
    other is the parent minus the smaller.
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
        """Forget the last tree; use the next set of partitions."""
        self._turn = (self._turn + 1) % self._plan.design.n_turns
        self._kept = {}
        self._gains = {}

    def winners(
        self, siblings: Siblings, node: Node, steps: tuple[float, float], min_weight: np.int64
    ) -> IntArray:
        """The features of the winning groups, sorted; the same number of groups per subset."""
        design, plan = self._plan.design, self._plan
        if node.number not in self._gains:
            for each, built in zip(siblings.nodes, self._histograms(siblings), strict=True):
                self._kept[each.number] = (each, built)
                self._gains[each.number] = self._search(built, each, steps, min_weight)
        gains = self._gains.pop(node.number)
        self.n_tested = gains.size
        best = self._turn * gains.size + self._best(gains)
        for level in range(design.entry, design.leaf):
            best = self._better_halves(node, 2 * best, plan.first(level + 1), steps, min_weight)
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
        self,
        node: Node,
        left: IntArray,
        first: int,
        steps: tuple[float, float],
        min_weight: np.int64,
    ) -> IntArray:
        """Of each pair of halves the one whose sum gains more, the left one of equals."""
        halves = np.stack([left, left + 1], axis=1)
        built = self._executor.sum(histogram_of_groups, node.number, first + halves.ravel())
        gains = self._search(built, node, steps, min_weight).reshape(halves.shape)
        self.n_tested += gains.size
        better: IntArray = left + (gains[:, 1] > gains[:, 0])
        return better

    def _histograms(self, siblings: Siblings) -> list[IntArray]:
        """Histograms of the groups of the first level in some siblings."""
        parent = self._parent_of(siblings)
        if parent is None:
            return [self._build(node) for node in siblings.nodes]
        smaller = self._build(siblings.smaller)
        larger = self._kept.pop(parent)[1]
        np.subtract(larger, smaller, out=larger)  # the parent is not needed after this
        return [smaller if node is siblings.smaller else larger for node in siblings.nodes]

    def _parent_of(self, siblings: Siblings) -> int | None:
        """The number of the parent, if its histogram is kept."""
        left = siblings.nodes[0].number
        for number, (node, _) in self._kept.items():
            if node.left == left:
                return number
        return None

    def _build(self, node: Node) -> IntArray:
        n_first = self._plan.design.n_subsets * 2**self._plan.design.entry
        groups = self._turn * n_first + np.arange(n_first)
        built: IntArray = self._executor.sum(histogram_of_groups, node.number, groups)
        return built

    def _search(
        self, built: IntArray, node: Node, steps: tuple[float, float], min_weight: np.int64
    ) -> FloatArray:
        gains = np.empty(len(built))
        limits = (node.total, steps, min_weight)
        self._threads.run(
            lambda start, stop: group_gains(built, *limits, start, stop, gains),
            len(built),
            TESTS_PER_THREAD,
        )
        return gains


class GroupSearch(ExactSearch):
    """Algorithm 2 of GT-GBM: used and ungrouped features exactly, others if their groups win."""

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
        self._new: BoolArray | None = None
        super().__init__(histograms, feature_use, divisible)

    def begin_tree(self, scale: TreeScale, only: BoolArray | None = None) -> None:
        """Begin a tree with its own units of gain."""
        super().begin_tree(scale, only)
        self._tests.begin_tree()

    def skip_tree(self) -> None:
        """A tree was taken over from an earlier fit; use the next set of partitions."""
        self._tests.begin_tree()

    def _candidate_mask(self) -> BoolArray:
        """The features that every node evaluates: those in use, and those in no group."""
        self._new = None
        mask: BoolArray = super()._candidate_mask() & (self.feature_use.used | self._alone)
        return mask

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:
        """Those, and the new features whose groups won in this node."""
        known = super()._choices(siblings, node)
        found = self._new_features(siblings, node)
        if len(found) == 0:
            return known
        self.histograms.evaluate_in(node, found)
        return np.union1d(known, found)

    def _new_features(self, siblings: Siblings, node: Node) -> IntArray:
        if self._new is None:
            use = self.feature_use
            self._new = use.allowed & self.is_divisible & ~use.used & ~self._alone
        histograms = self.histograms
        # No tests in a node that cannot be split, or where no feature may be added.
        if node.weight < 2 * histograms.min_weight or not self._new.any():
            return np.empty(0, np.int64)
        found = self._tests.winners(siblings, node, histograms.steps, histograms.min_weight)
        histograms.count(self._tests.n_tested, node.weight)
        return found[self._new[found]]

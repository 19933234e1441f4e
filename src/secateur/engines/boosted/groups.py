"""Group tests: groups of features, the sums of these, and the search for new features by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur._kernels.group_tests import (
    CODES,
    CODES_AT_ONCE,
    COUNTS,
    N_FINE,
    RANGES,
    SPAN,
    TEST_BINS,
    code_steps,
    group_gains,
    group_histograms,
    visit_dense,
    visit_sparse,
)
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.target import whole_weights
from secateur.engines.boosted.block_histograms import features_per_thread, node_rows
from secateur.engines.boosted.group_design import GroupDesign, GroupTesting
from secateur.engines.boosted.nodes import ExactSearch, Node, NodeHistograms, Siblings, TreeScale
from secateur.engines.limits import FeatureUse
from secateur.execution.blocks import CodeBlock, RowBlock, RowStore
from secateur.typing import AnyArray, BoolArray, CodeArray, FloatArray, IntArray

COUNT_BYTES = 1 << 25  # size of the counts of steps that are made together
TESTS_PER_THREAD = 256  # searching fewer histograms than this is not worth a second thread


@dataclass(frozen=True, slots=True, eq=False)
class GroupPlan:
    """Which features are in which group, numbered through all subsets of a level.

    Group x of a level is made up of the groups 2 x and 2 x + 1 of the next.
    """

    design: GroupDesign
    members: IntArray  # of the lowest level, group y has ``members[cut[y] : cut[y + 1]]``
    cut: IntArray
    alone: BoolArray  # features that are in no sum: categories

    def first(self, level: int) -> int:
        """Where the groups of a level begin among all that have a sum."""
        design = self.design
        return design.n_parts * design.n_orders * ((1 << level) - (1 << design.entry))

    def features(self, groups: IntArray) -> IntArray:
        """The features of some groups of the lowest level, sorted."""
        found = [self.members[self.cut[y] : self.cut[y + 1]] for y in groups.tolist()]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


class Groups(NamedTuple):
    """A plan, and the sums of its groups as codes: ``codes[g, i]`` of group g and row i."""

    plan: GroupPlan
    codes: CodeArray


def make_plan(columns: BinnedColumns, testing: GroupTesting) -> GroupPlan:
    """Put all features that vary and are not categories into groups at random."""
    can_be_summed = np.zeros(columns.n_features, np.bool_)
    can_be_summed[columns.varying] = True
    can_be_summed &= ~columns.is_categorical
    features = np.flatnonzero(can_be_summed)
    design = GroupDesign.of(len(features), testing)
    rng = np.random.default_rng(testing.seed)
    orders = [rng.permutation(features) for _ in range(design.n_orders)]
    return GroupPlan(design, np.concatenate(orders), _cuts(design), ~can_be_summed)


def _cuts(design: GroupDesign) -> IntArray:
    """Where the groups of the lowest level begin: parts of equal size, halved repeatedly."""
    d, s = design.n_features, design.n_parts
    bounds = np.arange(s + 1) * d // s
    for _ in range(design.leaf):
        halved = np.empty(2 * len(bounds) - 1, np.int64)
        halved[::2] = bounds
        halved[1::2] = (bounds[:-1] + bounds[1:] + 1) // 2
        bounds = halved
    starts = np.arange(design.n_orders)[:, None] * d + bounds[:-1]
    return np.append(starts.ravel(), design.n_orders * d)


class _Walk(NamedTuple):
    """The order in which the sums are visited: a top group with all groups below it."""

    members: IntArray
    cut: IntArray
    first: IntArray
    per_bin: AnyArray
    n_levels: int
    n_tops: int

    @property
    def below(self) -> int:
        """The number of lowest groups in one of the first level."""
        return int(2 ** (self.n_levels - 1))

    def groups(self, top: int) -> IntArray:
        """The groups in and below a group of the first level, in the order of their counts."""
        levels = [
            self.first[u] + ((top * self.below) >> u) + np.arange(self.below >> u)
            for u in range(self.n_levels)
        ]
        return np.concatenate(levels)


def sum_groups(
    columns: BinnedColumns,
    weight: FloatArray,
    testing: GroupTesting,
    threads: Threads,
    row_store: RowStore | None = None,
) -> Groups | None:
    """Draw groups, add up the bins of their features, scaled to 0 .. 1, and bin the sums."""
    plan = make_plan(columns, testing)
    design = plan.design
    if not design.has_tests:
        return None  # all features are searched
    n_levels = design.leaf - design.entry + 1
    first = np.array([plan.first(design.leaf - u) for u in range(n_levels)])
    n_tops = design.n_parts * design.n_orders * 2**design.entry
    # every column goes from 0 to about SPAN
    n_steps = np.maximum(columns.n_bins - 1, 1)
    per_bin = np.where(columns.n_bins > 1, np.rint(SPAN / n_steps), 0).astype(np.int32)
    walk = _Walk(plan.members, plan.cut, first, per_bin, n_levels, n_tops)
    n_groups, whole = design.n_groups, whole_weights(weight)
    if row_store is None:
        codes: CodeArray = np.empty((n_groups, columns.n_rows), np.uint8)
        arrays = _Arrays(whole, codes_out=codes)
        _visit(columns, threads, walk, CODES_AT_ONCE, range(walk.n_tops), arrays)
        return Groups(plan, codes)
    # ranges of the sums, the weights of their steps, then the codes, in the blocks, which keep them
    executor = row_store.code_executor()
    lows, highs = zip(*executor.each(sum_ranges, walk, n_groups), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    total, whole = float(whole.sum()), row_store.of_blocks(whole)
    code: CodeArray = np.empty((n_groups, N_FINE), np.uint8)
    at_once = max(1, COUNT_BYTES // (8 * N_FINE * (2 * walk.below - 1)))
    for start in range(0, walk.n_tops, at_once):
        tops = range(start, min(start + at_once, walk.n_tops))
        counts = executor.sum(sum_counts, walk, tops, low, high, whole)
        for top, its_counts in zip(tops, counts, strict=True):
            for group, filled in zip(walk.groups(top), its_counts, strict=True):
                code_steps(filled, total, code[group])
    executor.each(code_rows, walk, low, high, code)  # wait: later fits need the codes
    return Groups(plan, np.empty((0, 0), np.uint8))


# ---- on a block of rows -----------------------------------------------------------------------


def sum_ranges(block: CodeBlock, walk: _Walk, n_groups: int) -> tuple[AnyArray, AnyArray]:
    """The smallest and the largest value of every sum."""
    low = np.full(n_groups, np.iinfo(np.int32).max, np.int32)
    high = np.full(n_groups, np.iinfo(np.int32).min, np.int32)
    arrays = _Arrays(np.empty(block.columns.n_rows), low, high)
    _visit(block.columns, block.threads, walk, RANGES, range(walk.n_tops), arrays)
    return low, high


def sum_counts(
    block: CodeBlock, walk: _Walk, tops: range, low: AnyArray, high: AnyArray, weight: FloatArray
) -> FloatArray:
    """The weight of each step of the sums in and below some groups of the first level."""
    filled = np.zeros((len(tops), 2 * walk.below - 1, N_FINE))
    own = weight[block.first_row : block.first_row + block.columns.n_rows]
    _visit(block.columns, block.threads, walk, COUNTS, tops, _Arrays(own, low, high, filled))
    return filled


def code_rows(
    block: CodeBlock, walk: _Walk, low: AnyArray, high: AnyArray, code: CodeArray
) -> None:
    """Write the codes of all sums, and keep them with the block."""
    block.group_sums = block.space.zeros((len(low), block.columns.n_rows), np.uint8)
    weight = np.empty(block.columns.n_rows)
    arrays = _Arrays(weight, low, high, code=code, codes_out=block.group_sums)
    _visit(block.columns, block.threads, walk, CODES, range(walk.n_tops), arrays)


class _Arrays(NamedTuple):
    """Arrays of ``visit_dense``; those that are not needed are empty."""

    weight: FloatArray
    low: AnyArray = np.empty(0, np.int32)
    high: AnyArray = np.empty(0, np.int32)
    filled: FloatArray = np.empty((0, N_FINE))
    code: CodeArray = np.empty((0, N_FINE), np.uint8)
    codes_out: CodeArray = np.empty((0, 0), np.uint8)


def _visit(
    columns: BinnedColumns, threads: Threads, walk: _Walk, what: int, tops: range, arrays: _Arrays
) -> None:
    """Visit the sums of some groups of the first level and all below them, by threads."""
    total = float(arrays.weight.sum()) if what == CODES_AT_ONCE else 0.0
    held = columns.codes

    def part(start: int, stop: int) -> None:
        for number in range(start, stop):
            here = arrays._replace(filled=arrays.filled[number]) if what == COUNTS else arrays
            given = (walk, total, tops[number] * walk.below, here)
            if isinstance(held, DenseCodes):
                visit_dense(what, held.codes, columns.has_missing, *given)
            else:
                visit_sparse(what, held, *given)

    threads.run(part, len(tops))


# ---- search -----------------------------------------------------------------------------------


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
    """Algorithm 2 of GT-GBM: free and ungrouped features exactly, others if their groups win."""

    def __init__(
        self,
        histograms: NodeHistograms,
        feature_use: FeatureUse,
        divisible: IntArray,
        plan: GroupPlan,
    ) -> None:
        self._plan = plan
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
        """The features that every node evaluates: those that are free, and those in no group."""
        self._new = None
        return super()._candidate_mask() & (self.feature_use.free | self._plan.alone)

    def _choices(self, siblings: Siblings, node: Node) -> IntArray:
        """Those, and the new features whose groups won in this node."""
        known = super()._choices(siblings, node)
        if self._new is None:
            use = self.feature_use
            self._new = use.allowed & self.is_divisible & ~use.free & ~self._plan.alone
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
        # those that go on: the best of all, or of each subset
        n_rows = 1 if design.n_turns > 1 else design.n_subsets
        rows, n_kept = gains.reshape(n_rows, -1), design.n_kept * design.n_subsets // n_rows
        order = np.argsort(-rows, axis=1, kind="stable")[:, :n_kept]
        best = (np.arange(n_rows)[:, None] * rows.shape[1] + order).ravel()
        best += self._turn * gains.size
        for level in range(design.entry, design.leaf):
            # of each pair of halves the one whose sum gains more, the left one of equals
            halves = np.stack([2 * best, 2 * best + 1], axis=1)
            groups = plan.first(level + 1) + halves.ravel()
            built = self.histograms.executor.sum(histogram_of_groups, node.number, groups)
            gains = self._gains_of(built, node).reshape(halves.shape)
            n_tested += gains.size
            best = 2 * best + (gains[:, 1] > gains[:, 0])
        self.histograms.count(n_tested, node.weight)
        return plan.features(best)

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
        return self.histograms.executor.sum(histogram_of_groups, node.number, groups)

    def _gains_of(self, built: IntArray, node: Node) -> FloatArray:
        gains = np.empty(len(built))
        limits = (node.total, self.histograms.steps, self.histograms.min_weight)
        self.histograms.threads.run(
            lambda start, stop: group_gains(built, *limits, start, stop, gains),
            len(built),
            TESTS_PER_THREAD,
        )
        return gains

"""Groups of features for group tests: their features, and the sums of these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.group_tests import (
    CODES,
    CODES_AT_ONCE,
    COUNTS,
    N_FINE,
    RANGES,
    SPAN,
    code_steps,
    visit_dense,
    visit_sparse,
)
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.target import whole_weights
from secateur.engines.boosted.group_design import GroupDesign, GroupTesting
from secateur.execution.blocks import CodeBlock, RowStore
from secateur.typing import AnyArray, BoolArray, CodeArray, FloatArray, IntArray

COUNT_BYTES = 1 << 25  # size of the counts of steps that are made together


@dataclass(frozen=True, slots=True, eq=False)
class GroupPlan:
    """Which features are in which group.

    The groups of one level are numbered through all subsets; group x of a level is made up of the
    groups 2 x and 2 x + 1 of the next. Of the lowest level, group y has the features
    ``members[cut[y] : cut[y + 1]]``. ``alone`` are features that are in no sum: categories.
    """

    design: GroupDesign
    members: IntArray
    cut: IntArray
    alone: BoolArray

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

    def with_extra_column(self) -> Groups:
        """The same groups with one more feature, the last, that is in none of them."""
        return self._replace(plan=replace(self.plan, alone=np.append(self.plan.alone, True)))


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

    @classmethod
    def of(cls, plan: GroupPlan, columns: BinnedColumns) -> _Walk:
        design = plan.design
        n_levels = design.leaf - design.entry + 1
        first = np.array([plan.first(design.leaf - u) for u in range(n_levels)])
        n_tops = design.n_parts * design.n_orders * 2**design.entry
        # every column goes from 0 to about SPAN
        n_steps = np.maximum(columns.n_bins - 1, 1)
        per_bin = np.where(columns.n_bins > 1, np.rint(SPAN / n_steps), 0).astype(np.int32)
        return cls(plan.members, plan.cut, first, per_bin, n_levels, n_tops)

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
    columns: BinnedColumns, weight: FloatArray, testing: GroupTesting, threads: Threads
) -> Groups | None:
    """Draw groups, add up the bins of their features, scaled to 0 .. 1, and bin the sums.

    None where the design has no tests: all features are searched.
    """
    plan = make_plan(columns, testing)
    if not plan.design.has_tests:
        return None
    codes: CodeArray = np.empty((plan.design.n_groups, columns.n_rows), np.uint8)
    walk = _Walk.of(plan, columns)
    arrays = _Arrays(whole_weights(weight), codes_out=codes)
    _visit(columns, threads, walk, CODES_AT_ONCE, range(walk.n_tops), arrays)
    return Groups(plan, codes)


def sum_groups_in_blocks(
    row_store: RowStore, columns: BinnedColumns, weight: FloatArray, testing: GroupTesting
) -> Groups | None:
    """As ``sum_groups``, with the sums made and kept in the blocks of rows."""
    plan = make_plan(columns, testing)
    if not plan.design.has_tests:
        return None
    walk, n_groups = _Walk.of(plan, columns), plan.design.n_groups
    executor = row_store.code_executor()
    lows, highs = zip(*executor.each(sum_ranges, walk, n_groups), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    whole = whole_weights(weight)
    total = float(whole.sum())
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
    filled: FloatArray = np.empty((0, 0, N_FINE))
    code: CodeArray = np.empty((0, N_FINE), np.uint8)
    codes_out: CodeArray = np.empty((0, 0), np.uint8)


def _visit(
    columns: BinnedColumns, threads: Threads, walk: _Walk, what: int, tops: range, arrays: _Arrays
) -> None:
    """Visit the sums of some groups of the first level and all below them, by threads."""
    w, low, high, filled, code, out = arrays
    total = float(w.sum()) if what == CODES_AT_ONCE else 0.0
    held = columns.codes

    def part(start: int, stop: int) -> None:
        for number in range(start, stop):
            first = tops[number] * walk.below
            counts = filled[number] if what == COUNTS else filled[:0].reshape(0, N_FINE)
            where = (walk.members, walk.cut, walk.first, w, total, first, first + walk.below)
            more: tuple[Any, ...] = (walk.n_levels, low, high, counts, code, out)
            if isinstance(held, DenseCodes):
                visit_dense(what, held.codes, columns.has_missing, walk.per_bin, *where, *more)
            else:
                stored = (held.indptr, held.indices, held.codes, held.zero_code)
                visit_sparse(what, *stored, walk.per_bin, *where, *more)

    threads.run(part, len(tops))

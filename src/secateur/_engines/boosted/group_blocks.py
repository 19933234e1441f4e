"""Sums of groups as codes where the rows are in blocks: three passes, each one reduction.

The codes are those that `pool_groups` gives for all rows at once, bit for bit: ranges have no
order, and weights are whole numbers before they are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._engines.boosted.group_design import GroupTesting
from secateur._engines.boosted.groups import GroupPlan, Groups, bin_steps, make_plan, whole_weights
from secateur._execution.places import HeldBlock, Place
from secateur._kernels.grouping import N_FINE
from secateur._kernels.pooling import CODES, COUNTS, RANGES, code_steps, visit_dense, visit_sparse
from secateur._kernels.records import DenseCodes
from secateur.typing import AnyArray, CodeArray, FloatArray, IntArray

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
    place: Place, columns: BinnedColumns, weight: FloatArray, told: GroupTesting
) -> Groups:
    """Draw groups and have the sums of their features made where the rows are."""
    plan = make_plan(columns, told)
    if not plan.design.has_tests:
        return Groups(plan, np.empty((0, 0), np.uint8))
    walk = _Walk.of(plan, columns)
    executor = place.over_codes()
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


def sum_ranges(block: HeldBlock, walk: _Walk, n_groups: int) -> tuple[AnyArray, AnyArray]:
    """The least and the largest value of every sum."""
    low = np.full(n_groups, np.iinfo(np.int32).max, np.int32)
    high = np.full(n_groups, np.iinfo(np.int32).min, np.int32)
    _visit(block, walk, RANGES, range(walk.n_tops), low=low, high=high)
    return low, high


def sum_counts(
    block: HeldBlock, walk: _Walk, tops: range, low: AnyArray, high: AnyArray, weight: FloatArray
) -> FloatArray:
    """The weight of each step of the sums in and below some groups of the first level."""
    filled = np.zeros((len(tops), 2 * walk.below - 1, N_FINE))
    own = weight[block.first_row : block.first_row + block.columns.n_rows]
    _visit(block, walk, COUNTS, tops, low=low, high=high, weight=own, filled=filled)
    return filled


def code_rows(
    block: HeldBlock, walk: _Walk, low: AnyArray, high: AnyArray, code: CodeArray
) -> None:
    """Write the codes of all sums, and keep them beside the block."""
    block.pooled = block.space.zeros((len(low), block.columns.n_rows), np.uint8)
    tops = range(walk.n_tops)
    _visit(block, walk, CODES, tops, low=low, high=high, code=code, codes_out=block.pooled)


def _visit(
    block: HeldBlock,
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

"""Groups of features and their sums: drawn, added up and binned once, before training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from secateur._data.binned import BinnedColumns
from secateur._data.weights import are_counts
from secateur._engines.boosted.group_design import GroupDesign, GroupTesting
from secateur._kernels.grouping import SPAN, pool_dense, pool_sparse
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.typing import BoolArray, CodeArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class GroupPlan:
    """Which features are in which group.

    The groups of one level are numbered through all subsets; group x of a level is made up of the
    groups 2 x and 2 x + 1 of the next. Of the lowest level, group y has the features
    ``members[cut[y] : cut[y + 1]]``. ``alone`` are features that no sum can have: categories.
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

    def with_one_alone(self) -> Groups:
        """The same groups where there is one more feature, the last, that is in none."""
        return self._replace(plan=replace(self.plan, alone=np.append(self.plan.alone, True)))


def make_plan(columns: BinnedColumns, told: GroupTesting) -> GroupPlan:
    """Deal the features out at random: all that vary and have an order."""
    can_be_summed = np.zeros(columns.n_features, np.bool_)
    can_be_summed[columns.varying] = True
    can_be_summed &= ~columns.is_categorical
    features = np.flatnonzero(can_be_summed)
    design = GroupDesign.of(len(features), told)
    rng = np.random.default_rng(told.seed)
    orders = [rng.permutation(features) for _ in range(design.n_orders)]
    return GroupPlan(design, np.concatenate(orders), _cuts(design), ~can_be_summed)


def _cuts(design: GroupDesign) -> IntArray:
    """Where the groups of the lowest level begin: parts of equal size, halved again and again."""
    d, s = design.n_features, design.n_parts
    bounds = np.arange(s + 1) * d // s
    for _ in range(design.leaf):
        halved = np.empty(2 * len(bounds) - 1, np.int64)
        halved[::2] = bounds
        halved[1::2] = (bounds[:-1] + bounds[1:] + 1) // 2
        bounds = halved
    starts = np.arange(design.n_orders)[:, None] * d + bounds[:-1]
    return np.append(starts.ravel(), design.n_orders * d)


def pool_groups(
    columns: BinnedColumns, weight: FloatArray, told: GroupTesting, threads: Threads
) -> Groups:
    """Draw groups, add up their features and bin the sums.

    A feature enters with its bins, put on a scale from 0 to 1: the min-max scaling of the paper,
    of ranks instead of values, so that no outlier drowns a column.
    """
    plan = make_plan(columns, told)
    design = plan.design
    if not design.has_tests:
        return Groups(plan, np.empty((0, columns.n_rows), np.uint8))
    codes: CodeArray = np.empty((design.n_groups, columns.n_rows), np.uint8)
    n_levels = design.leaf - design.entry + 1
    first = np.array([plan.first(design.leaf - u) for u in range(n_levels)])
    per_bin = bin_steps(columns)
    weight = whole_weights(weight)
    total = float(weight.sum())
    below = 2 ** (n_levels - 1)

    def some(start: int, stop: int) -> None:
        where = (plan.members, plan.cut, first, weight, total, start * below, stop * below)
        held = columns.codes
        if isinstance(held, DenseCodes):
            pool_dense(held.codes, columns.has_missing, per_bin, *where, n_levels, codes)
        else:
            stored = (held.indptr, held.indices, held.codes, held.zero_code)
            pool_sparse(*stored, per_bin, *where, n_levels, codes)

    threads.run(some, design.n_parts * design.n_orders * 2**design.entry)
    return Groups(plan, codes)


def whole_weights(weight: FloatArray) -> FloatArray:
    """Weights as whole numbers whose sums are exact, so that they have no order.

    >>> whole_weights(np.array([1.0, 3.0])), whole_weights(np.array([0.5, 0.25])) * 2.0**-48
    (array([1., 3.]), array([0.5 , 0.25]))
    """
    if are_counts(weight):
        return weight
    room = 49 - math.frexp(float(weight.max()))[1] - (len(weight) - 1).bit_length()
    whole: FloatArray = np.rint(np.ldexp(weight, room))
    return whole


def bin_steps(columns: BinnedColumns) -> npt.NDArray[np.int32]:
    """What a bin adds to a sum, so that every column goes from 0 to about 4096."""
    steps = np.maximum(columns.n_bins - 1, 1)
    return np.where(columns.n_bins > 1, np.rint(SPAN / steps), 0).astype(np.int32)

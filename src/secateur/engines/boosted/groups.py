"""Groups of features and their sums: drawn, added up and binned once, before training.

Algorithm 2 of GT-GBM (Han, Rao, Sorokina and Subbian, AISTATS 2020) draws about e s log(s / delta)
random subsets of d / s features and halves each down to one feature. Here subsets come as whole
partitions of the features into s parts; halving ends at groups of ``leaf_size``, whose features
are searched exactly; and it may begin at groups of ``group_size`` instead of half a subset. The
sum of m features that has one good feature among them shows 1 / m of what that feature explains,
while noise stays as it is: groups that are large for the rows tell nothing, so the first that are
tested are as large as the rows allow, all of them, and the best go on, whatever their subsets: two
for each feature that is expected, or more where they are cheap beside the tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from secateur._kernels.group_tests import MOST_MEMBERS, SPAN, pool_dense, pool_sparse
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.data.weights import are_counts
from secateur.typing import BoolArray, CodeArray, FloatArray, IntArray

ROWS_PER_MEMBER = 500
"""Rows for each member of a tested group, where the group size is ours to choose: a feature that
explains 3 % of the squared error then stands out."""

N_TURNS = 3
"""Sets of partitions that trees take turns with: what is unlucky in its group has other company in
the next tree, whose gradients are nearly the same."""

LARGEST_SHARE = 0.25
"""Group testing pays where a node looks at fewer columns than this share of the features: an exact
search goes over the table about once a tree, tests and newcomers are looked at in every node."""


@dataclass(frozen=True, slots=True)
class GroupTesting:
    """What a search by group tests is told.

    ``expected_features`` is s and ``delta`` the share of searches that may miss one of them, as in
    Theorem 4.1; ``group_size`` None is the paper's: halves of subsets are the first tested.
    """

    expected_features: int
    delta: float = 0.1
    leaf_size: int = 32
    group_size: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class GroupDesign:
    """How some features are grouped.

    Each of ``n_partitions`` partitions has ``n_parts`` subsets; level l of a subset has 2^l groups.
    The groups of the level ``entry`` are all tested, those of ``leaf`` are searched exactly. So
    many partitions serve one tree; there are ``n_turns`` times as many, and trees take turns.
    """

    n_features: int
    n_parts: int
    n_partitions: int
    entry: int
    leaf: int
    n_turns: int = 1

    @classmethod
    def of(cls, n_features: int, told: GroupTesting) -> GroupDesign:
        """The design for so many features.

        >>> GroupDesign.of(20_000, GroupTesting(expected_features=10, group_size=40))
        GroupDesign(n_features=20000, n_parts=10, n_partitions=2, entry=6, leaf=6, n_turns=3)
        """
        n_parts = max(1, min(told.expected_features, n_features))
        size = max(1, -(-n_features // n_parts))
        leaf = _halvings(size, told.leaf_size)
        if leaf == 0:  # every feature is in a group that is searched exactly
            return cls(n_features, n_parts, 1, 0, 0)
        entry = max(1, _halvings(size, min(told.group_size or size, MOST_MEMBERS)))
        n_turns = 1 if told.group_size is None else N_TURNS
        n_partitions = _partitions(n_features, told, entry)
        return cls(n_features, n_parts, n_partitions, entry, max(entry, leaf), n_turns)

    @property
    def has_tests(self) -> bool:
        """Whether anything is tested at all."""
        return self.leaf > 0

    @property
    def n_subsets(self) -> int:
        """The subsets that serve one tree."""
        return self.n_parts * self.n_partitions

    @property
    def n_orders(self) -> int:
        """How often all features are dealt out."""
        return self.n_partitions * self.n_turns

    @property
    def n_groups(self) -> int:
        """The groups that have a sum: those of all levels from ``entry`` to ``leaf``."""
        per_subset = (2 << self.leaf) - (1 << self.entry) if self.has_tests else 0
        return self.n_parts * self.n_orders * per_subset

    @property
    def n_members(self) -> int:
        """The features of the largest group of the lowest level."""
        return max(1, math.ceil(self.n_features / (self.n_parts << self.leaf)))

    @property
    def is_open(self) -> bool:
        """Whether groups compete across subsets; those of the paper do not."""
        return self.n_turns > 1

    @property
    def n_kept(self) -> int:
        """The groups that go on from the first tests, per subset.

        The paper's is one of each. Otherwise two, or so many that the exact search of their
        features costs a quarter of what the tests did.
        """
        return max(2, (1 << self.entry) // (4 * self.n_members)) if self.is_open else 1

    @property
    def n_columns(self) -> int:
        """The columns, sums or features, that the search for a newcomer looks at in a node."""
        if not self.has_tests:
            return self.n_features
        each = 2 * (self.leaf - self.entry) + self.n_members
        return self.n_subsets * ((1 << self.entry) + self.n_kept * each)

    @property
    def pays(self) -> bool:
        """Eq. 3 of the paper in our own terms: whether clearly fewer columns are looked at."""
        return self.has_tests and self.n_columns <= LARGEST_SHARE * self.n_features

    def n_bytes(self, n_rows: int) -> int:
        """The memory of the sums: a byte for each group and row."""
        return self.n_groups * n_rows


def _halvings(size: int, most: int) -> int:
    """How often a group must be halved until no part has more than ``most`` features."""
    return max(0, math.ceil(math.log2(size / most)))


def _partitions(n_features: int, told: GroupTesting, entry: int) -> int:
    """How many partitions make sure, but for ``delta``, that every good feature is once alone.

    A group has the share x of all features; a good feature has none of the s - 1 others in its
    group with the probability (1 - x)^(s - 1), anew in each partition (Theorem 4.1, where x is
    1 / s and e s log(s / delta) subsets suffice).
    """
    s = told.expected_features
    if told.group_size is None:
        return 1 if s == 1 else math.ceil(math.e * math.log(s / told.delta))
    share = 1.0 / (min(s, n_features) * 2**entry)
    together = 1.0 - (1.0 - share) ** (s - 1)
    if together <= 0.0:
        return 1
    return max(1, math.ceil(math.log(told.delta / s) / math.log(together)))


def largest_group(n_rows: float) -> int:
    """The size of the first groups that so many rows can tell apart from noise.

    >>> largest_group(20_000)
    40
    """
    return max(2, int(n_rows // ROWS_PER_MEMBER))


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

    def with_extra_column(self) -> Groups:
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

"""The design of group tests: how many groups of which size, and how many columns a node reads.

Algorithm 2 of GT-GBM (Han, Rao, Sorokina and Subbian, AISTATS 2020) halves random subsets of
features down to one. Here subsets are partitions of the features into s parts; halving ends at
groups of ``leaf_size``, which are searched exactly, and may begin at groups of ``group_size``: a
sum of m features shows 1 / m of what a good one explains. The best of these go on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement, starmap

from secateur._kernels.group_tests import MAX_MEMBERS

# Rows per member of a tested group: a feature that explains 3 % of the squared error stands out.
ROWS_PER_MEMBER = 500
N_TURNS = 3  # sets of partitions that trees take turns with, so that no group is unlucky for long
# Tests are faster where a node reads fewer columns than this share of the features: an exact search
# reads the table about once a tree, tests read their columns in every node.
MAX_SHARE = 0.25
LEAF_SIZE = 32  # where halving ends if only the size of groups is given


@dataclass(frozen=True, slots=True)
class GroupTesting:
    """Parameters of group tests: s and delta of Theorem 4.1."""

    expected_features: int
    delta: float = 0.1
    leaf_size: int | None = None  # None with ``largest``: sizes are compared
    group_size: int | None = None  # None without ``largest``: the paper's
    seed: int = 0
    largest: int | None = None  # group sizes up to it are compared
    row_cells: float = math.inf  # of a sparse table: those that a row stores

    @property
    def is_papers(self) -> bool:
        """Whether tests begin with halves of subsets."""
        return self.group_size is None and self.largest is None


@dataclass(frozen=True, slots=True)
class GroupDesign:
    """How some features are grouped; level l of a subset has 2^l groups."""

    n_features: int
    n_parts: int  # subsets of each partition
    n_partitions: int
    entry: int  # the level whose groups are all tested
    leaf: int  # the level whose groups are searched exactly
    n_turns: int = 1  # sets of partitions for trees in turn; of several, groups of all compete
    row_cells: float = math.inf  # stored cells of a row of a sparse table; sums have one in each

    @classmethod
    def of(cls, n_features: int, testing: GroupTesting) -> GroupDesign:
        """The design for ``n_features`` features; if none is given or faster, one without tests."""
        best = cls.best(n_features, testing)
        if testing.largest is None or best.is_faster:
            return best
        return cls(n_features, best.n_parts, 1, 0, 0, 1, testing.row_cells)

    @classmethod
    def best(cls, n_features: int, testing: GroupTesting) -> GroupDesign:
        """The design that is given, or the one with the fewest columns of those allowed."""
        n_parts = max(1, min(testing.expected_features, n_features))
        size = max(1, -(-n_features // n_parts))
        n_turns = 1 if testing.is_papers else N_TURNS

        def design(entry: int, leaf: int) -> GroupDesign:
            n_partitions = _partitions(n_features, testing, entry)
            levels = (entry, max(entry, leaf))
            return cls(n_features, n_parts, n_partitions, *levels, n_turns, testing.row_cells)

        largest = min(testing.largest or testing.group_size or size, MAX_MEMBERS)
        entry, last = max(1, _halvings(size, largest)), _halvings(size, 1)
        leaf = _halvings(size, testing.leaf_size or LEAF_SIZE)
        if testing.largest is None:
            allowed = [design(entry, leaf)] if leaf else []
        elif testing.leaf_size:
            allowed = [design(level, leaf) for level in range(entry, last + 1)]
        else:
            levels = combinations_with_replacement(range(entry, last + 1), 2)
            # sums that take no more memory than the binned table
            allowed = [each for each in starmap(design, levels) if each.n_groups <= n_features]
        without_tests = cls(n_features, n_parts, 1, 0, 0, 1, testing.row_cells)
        return min(allowed, key=lambda each: (each.n_columns, each.n_groups), default=without_tests)

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
        """How often all features are shuffled."""
        return self.n_partitions * self.n_turns

    @property
    def n_groups(self) -> int:
        """The groups that have a sum, a byte for each row: those from ``entry`` to ``leaf``."""
        per_subset = (2 << self.leaf) - (1 << self.entry) if self.has_tests else 0
        return self.n_parts * self.n_orders * per_subset

    @property
    def n_members(self) -> int:
        """The features of the largest group of the lowest level."""
        return max(1, math.ceil(self.n_features / (self.n_parts << self.leaf)))

    @property
    def n_kept(self) -> int:
        """Groups that go on from the first tests, per subset: one, or what a quarter more costs."""
        return max(2, (1 << self.entry) // (4 * self._per_kept)) if self.n_turns > 1 else 1

    @property
    def _per_kept(self) -> int:
        """The columns that are read for a group that goes on."""
        return 2 * (self.leaf - self.entry) + self.n_members

    @property
    def n_columns(self) -> int:
        """The columns, sums or features, that the search for new features reads in a node."""
        if not self.has_tests:
            return self.n_features
        return self.n_subsets * ((1 << self.entry) + self.n_kept * self._per_kept)

    def __str__(self) -> str:
        if not self.has_tests:
            stored = f" A row stores about {self.row_cells:,.0f} of them." if self.is_sparse else ""
            return f"A node looks at all {self.n_features:,} features that are not in use.{stored}"
        return (
            f"A node looks at about {self.n_columns:,} columns to find new ones of "
            f"{self.n_features:,} features: sums of groups, and features of the best groups."
        )

    @property
    def is_faster(self) -> bool:
        """Eq. 3 of the paper: whether clearly fewer cells are read than by an exact search."""
        n_read = min(self.n_features, self.row_cells)
        return self.has_tests and self.n_columns <= MAX_SHARE * n_read

    @property
    def is_sparse(self) -> bool:
        """Whether an exact search of a row reads fewer cells than there are features."""
        return self.row_cells < self.n_features


def _halvings(size: int, max_size: int) -> int:
    """How often a group must be halved until no part has more than ``max_size`` features."""
    return max(0, math.ceil(math.log2(size / max_size)))


def _partitions(n_features: int, testing: GroupTesting, entry: int) -> int:
    """How many partitions separate every good feature from the others with probability 1 - delta.

    In each, a group of the share x of all features has no other: (1 - x)^(s - 1) (Theorem 4.1).
    """
    s = testing.expected_features
    if testing.is_papers:
        return 1 if s == 1 else math.ceil(math.e * math.log(s / testing.delta))
    share = 1.0 / (min(s, n_features) * 2**entry)
    together = 1.0 - (1.0 - share) ** (s - 1)
    if together <= 0.0:
        return 1
    return max(1, math.ceil(math.log(testing.delta / s) / math.log(together)))


def largest_group(n_rows: float) -> int:
    """The largest group size at which ``n_rows`` rows show a good feature above the noise."""
    return max(2, int(n_rows // ROWS_PER_MEMBER))


def rows_of_theorem(n_features: int, expected_features: int, delta: float) -> float:
    """How many rows of a node are enough to find its best split, up to a constant (Theorem 4.2).

    (d / s)^2 log(log(d / s) log(1 / delta) / delta). The constant depends on the unknown functions
    of the features, so the bound says how the rows needed grow, not how many they are; it also asks
    for independent features, additive monotone effects and bounded noise. Figure 1 of the paper
    finds them to grow about linearly with d. Designs use ``ROWS_PER_MEMBER`` instead.

    >>> round(rows_of_theorem(1_000, 10, 0.1) / rows_of_theorem(500, 10, 0.1), 2)
    4.14
    """
    share = n_features / expected_features
    inner = math.log(share) * math.log(1.0 / delta) / delta if share > 1.0 else 0.0
    return share**2 * math.log(inner) if inner > 1.0 else share**2

"""Naive group testing: Algorithm 2 of GT-GBM on top of the naive boosted trees.

Notation: i row, j feature, G a group (a list of features).
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from reference.boosted import MISSING, Tree


@dataclass
class Subsets:
    """Subsets of features, and how they are searched.

    turns[t] is the list of subsets of the trees t, t + n_turns, ...; a subset is a list of features
    in the order in which it is halved. entry: halvings before the first test; leaf: halvings before
    features are looked at one by one; n_kept: groups that go on from the first test, per subset.
    is_open: groups of all subsets compete with each other (the paper's do not).
    """

    turns: list
    entry: int
    leaf: int
    n_kept: int
    is_open: bool
    n_trees: int = 0
    sums: dict = field(default_factory=dict)

    def subsets(self):
        return self.turns[(self.n_trees - 1) % len(self.turns)]


def halves(group):
    """The left half has the odd one."""
    middle = (len(group) + 1) // 2
    return [group[:middle], group[middle:]]


def cut_up(group, times):
    """The parts of a group after so many halvings."""
    parts = [group]
    for _ in range(times):
        parts = [half for part in parts for half in halves(part)]
    return parts


def pseudo_feature(table, group):
    """The sum of the features of a group, each from 0 to about 4096, as codes of 64 bins."""
    total = np.zeros(len(table.target))
    for j in group:
        n_bins = int(table.n_bins[j])
        step = np.rint(4096 / (n_bins - 1)) if n_bins > 1 else 0.0
        codes = table.codes[:, j]
        total += np.where(codes == MISSING, 2048, codes * step)
    return codes_of(total, table.w)


def codes_of(total, w):
    """4096 steps of equal width, joined to 64 bins of about equal weight; sums are exact."""
    low, high = total.min(), total.max()
    fine = ((total - low) * (4096 / (high - low + 1.0))).astype(int)
    inside = {}
    for step, weight in zip(fine.tolist(), w.tolist(), strict=True):
        inside[step] = inside.get(step, 0) + Fraction(weight)
    whole, below, code = sum(inside.values()), Fraction(0), {}
    for step in sorted(inside):
        code[step] = min(63, int((below + inside[step] / 2) * 64 / whole))
        below += inside[step]
    return np.array([code[step] for step in fine.tolist()])


class GroupTestedTree(Tree):
    """A tree that finds new features by group tests; used ones are all looked at."""

    testing: Subsets

    def grow(self, feature_use):
        self.testing.n_trees += self.has_signal
        return super().grow(feature_use)

    def test(self, rows, group):
        """GT(G, rows): what the best split on the group's sum gains, -1 if there is none."""
        sums, key = self.testing.sums, tuple(group)
        if key not in sums:
            sums[key] = pseudo_feature(self.table, group)
        codes = sums[key][rows]
        best = -1.0
        for b in np.unique(codes):
            left = codes <= b
            (GL, WL), (GR, WR) = self.sums(rows[left]), self.sums(rows[~left])
            if min(WL, WR) >= self.least:
                best = max(best, self.score(GL, WL, GR, WR))
        return self.dsse(best, rows) if best >= 0 else -1.0

    def candidates(self, rows):
        """Lines 3 to 10 of Algorithm 2: the features of the groups that won."""
        found = set()
        contests = [cut_up(subset, self.testing.entry) for subset in self.testing.subsets()]
        n_kept = self.testing.n_kept
        if self.testing.is_open:
            n_kept *= len(contests)
            contests = [[group for first in contests for group in first]]
        for first in contests:
            gains = [self.test(rows, group) for group in first]
            order = sorted(range(len(first)), key=lambda g: -gains[g])
            for g in order[:n_kept]:
                group = first[g]
                for _ in range(self.testing.leaf - self.testing.entry):
                    left, right = halves(group)
                    group = right if self.test(rows, right) > self.test(rows, left) else left
                found |= set(group)
        return found

    def choose(self, rows, feature_use):
        """As the exact search, among free features, categories and candidates.

        Free are those in use, and those that cost something before others were used.
        """
        if self.sums(rows)[1] < 2 * self.least:
            return None
        had_cost = feature_use.prices(np.zeros(len(feature_use.used), bool)) > 0
        free = [j for j in np.flatnonzero(had_cost) if feature_use.price(j) == 0]
        seen = self.candidates(rows) | set(free)
        seen |= set(np.flatnonzero(feature_use.used | self.table.is_categorical))
        return super().choose(rows, _Among(feature_use, seen))


class _Among:
    """A feature_use with some features only."""

    def __init__(self, feature_use, features):
        self.feature_use, self.features = feature_use, features

    def may_use(self, j):
        return j in self.features and self.feature_use.may_use(j)

    def price(self, j):
        return self.feature_use.price(j)

    @property
    def used(self):
        return self.feature_use.used

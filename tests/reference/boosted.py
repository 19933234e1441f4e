"""Naive boosted trees with prices on features: slow, plain, and the definition of the fast ones.

Notation: i row, j feature, b bin, k class; G and W are integer sums of the rounded w*g and w over
the rows of a node. Everything that decides a split is computed from G and W, in float64, in
exactly the order written here.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from reference.losses import fixed_point_exponent, fixed_point_sum, weighted_quantile

MISSING = 255


class Node(NamedTuple):
    """A leaf has feature -1 and a value; a split has everything else."""

    feature: int = -1
    bin: int = -1  # rows with code <= bin go left; -1 for categorical splits and leaves
    missing_left: bool = False
    left_set: frozenset = frozenset()  # categorical splits: the bins that go left
    left: int = -1
    right: int = -1
    value: float = 0.0
    gain: float = 0.0  # less the price
    dsse: float = 0.0


class Split(NamedTuple):
    """The best way to cut a node by one feature."""

    score: float
    bin: int
    missing_left: bool
    left_set: frozenset


@dataclass
class FeatureUse:
    """The used features, what the others cost now, and what is still allowed."""

    used: np.ndarray
    prices: object
    max_features: float
    cost_budget: float
    spent: float = 0.0
    first_uses: list = field(default_factory=list)

    def price(self, j):
        return 0.0 if self.used[j] else float(self.prices(self.used.copy())[j])

    def may_use(self, j):
        if self.used[j]:
            return True
        fits_number = self.used.sum() + 1 <= self.max_features
        return bool(fits_number and self.spent + self.price(j) <= self.cost_budget + 1e-12)

    def take(self, j):
        if not self.used[j]:
            self.spent += self.price(j)
            self.used[j] = True
            self.first_uses.append(j)

    def parted(self, j, split):
        """The feature_uses of the two sides of a split: the same for all nodes."""
        return self, self


@dataclass
class Table:
    """What does not change during the fit: the binned rows and their weights."""

    codes: np.ndarray
    n_bins: np.ndarray
    is_categorical: np.ndarray
    target: np.ndarray
    w: np.ndarray

    def __post_init__(self):
        n_rows, largest, total = len(self.w), float(self.w.max()), fixed_point_sum(self.w)
        is_whole = bool(np.all(self.w == np.floor(self.w)))
        # All W together must stay below 2**32, also after rounding up.
        room = (2**32 - 1 - 2 * n_rows) / total
        is_exact = is_whole and largest <= 65535 and room >= 1
        sw = 1.0 if is_exact else min(65535.0 / largest, room)
        self.qw = np.maximum(np.rint(self.w * sw).astype(int), 1)
        self.sw, self.inv_sw = sw, 1.0 / sw
        # Whole weights count rows; others are relative, as if scaled to a mean of one.
        self.mean = 1.0 if is_whole else total / n_rows

    def least_weight(self, min_samples_leaf):
        """The smallest W of a side; the 1e-9 forgives the rounding of the mean."""
        return max(1, math.ceil(min_samples_leaf * (1 - 1e-9) * self.mean * self.sw))


@dataclass
class Params:
    criterion: str
    penalty: float
    max_depth: int
    min_samples_leaf: float
    l2: float
    leaf: str


@dataclass
class Tree:
    """One tree while it grows: its targets, rounded, and the scores of sets of rows."""

    table: Table
    params: Params
    g: np.ndarray
    h: np.ndarray
    residual: np.ndarray
    leaf_quantile: float | None
    max_step: float = math.inf

    def __post_init__(self):
        w, g = self.table.w, self.g
        self.wg, self.wh = w * g, w * self.h
        largest = float(np.abs(self.wg).max())
        self.has_signal = largest > 0.0
        if self.has_signal:
            # All |G| together must stay below 2**31; below 65,536 rows they always do.
            room = (2**31 - 1 - len(g)) * largest / fixed_point_sum(np.abs(self.wg))
            sg = min(32767, math.floor(room)) / largest
            self.qg = np.rint(self.wg * sg).astype(int)
            self.inv_sg = 1.0 / sg
        self.least = self.table.least_weight(self.params.min_samples_leaf)
        A, B, C = fixed_point_sum(self.wg * g), fixed_point_sum(self.wg), fixed_point_sum(w)
        self.sse_root = A - B * B / C
        # At or below it the targets are one constant but for rounding: a single leaf.
        self.has_signal = self.has_signal and self.sse_root > 1e-9 * A
        self.floor = max(1e-9 * self.sse_root, 1e-13 * A)
        # The penalty of GBFS and l2 are about one row.
        self.unit = self.sse_root if self.params.criterion == "agbm" else 2.0 * self.table.mean

    def sums(self, rows):
        """G and W of some rows, as Python integers."""
        return int(self.qg[rows].sum()), int(self.table.qw[rows].sum())

    def score(self, GL, WL, GR, WR):
        """What parts two sides: dSSE = g_L^2/w_L + g_R^2/w_R - g^2/w is this, over W, in units."""
        d = float(GL) * float(WR) - float(GR) * float(WL)
        return d * d / (float(WL) * float(WR))

    def dsse(self, score, rows):
        per_score = self.inv_sg * self.inv_sg / self.table.inv_sw
        return score / float(self.sums(rows)[1]) * per_score

    # ---------------------------------------------------------------- splits of one feature

    def scan(self, rows, j):
        """Yield (bin, missing_left, left_set, mask of rows going left), in scanning order."""
        codes = self.table.codes[rows, j]
        has_missing = bool((codes == MISSING).any())
        n_bins = int(self.table.n_bins[j])
        if self.table.is_categorical[j]:
            order = self.order_of_categories(rows, j)
            cuts = [(-1, frozenset(order[:m])) for m in range(1, len(order) + 1)]
        else:
            cuts = [(b, frozenset(range(b + 1))) for b in range(n_bins)]
        for number, (b, left_set) in enumerate(cuts, start=1):
            goes_left = np.isin(codes, list(left_set))
            is_last = number == len(cuts)
            if not is_last or has_missing:  # the last cut: all values left, missing right
                yield b, False, left_set, goes_left
            if not is_last and has_missing:
                yield b, True, left_set, goes_left | (codes == MISSING)

    def order_of_categories(self, rows, j):
        codes = self.table.codes[rows, j]
        means = []
        for b in range(int(self.table.n_bins[j])):
            G, W = self.sums(rows[codes == b])
            if W > 0:
                means.append(((G * self.inv_sg) / (W * self.table.inv_sw), b))
        return [b for _, b in sorted(means)]

    def best_split(self, rows, j):
        """Split with the largest score; the first in scanning order if there are ties."""
        best = None
        for b, missing_left, left_set, goes_left in self.scan(rows, j):
            GL, WL = self.sums(rows[goes_left])
            GR, WR = self.sums(rows[~goes_left])
            if min(WL, WR) < self.least:
                continue
            score = self.score(GL, WL, GR, WR)
            if best is None or score > best.score:
                remembered = left_set if self.table.is_categorical[j] else frozenset()
                best = Split(score, b, missing_left, remembered)
        if best is not None and not self.table.is_categorical[j]:
            best = best._replace(bin=self.middle_of_gap(rows, j, best.bin))
        return best

    def middle_of_gap(self, rows, j, b):
        """Of the thresholds that part these rows alike, the middle one."""
        last = b
        while last + 1 < self.table.n_bins[j] and (self.table.codes[rows, j] != last + 1).all():
            last += 1
        return (b + last) // 2

    # ---------------------------------------------------------------- the choice in a node

    def choose(self, rows, feature_use):
        """Feature, split, gain and dsse of a node, or None for a leaf."""
        best, best_key = None, None
        for j in range(self.table.codes.shape[1]):
            split = self.best_split(rows, j) if feature_use.may_use(j) else None
            if split is None:
                continue
            dsse = self.dsse(split.score, rows)
            gain = dsse / self.unit - self.params.penalty * feature_use.price(j)
            if not (dsse > self.floor and gain > 0.0):
                continue
            key = (gain, bool(feature_use.used[j]), -j)  # ties: the used feature, then the first
            if best is None or key > best_key:
                best, best_key = (j, split, gain, dsse), key
        return best

    def goes_left(self, rows, j, split):
        codes = self.table.codes[rows, j]
        if self.table.is_categorical[j]:
            left = np.isin(codes, list(split.left_set))
        else:
            left = codes <= split.bin
        return np.where(codes == MISSING, split.missing_left, left)

    def leaf_value(self, rows):
        if self.leaf_quantile is not None:
            return weighted_quantile(self.residual[rows], self.table.w[rows], self.leaf_quantile)
        B = fixed_point_sum(self.wg[rows], fixed_point_exponent(self.wg))
        if self.params.leaf == "mean":
            w = self.table.w
            return B / fixed_point_sum(w[rows], fixed_point_exponent(w))
        H = fixed_point_sum(self.wh[rows], fixed_point_exponent(self.wh))
        H += self.params.l2 * self.table.mean
        return min(max(B / H, -self.max_step), self.max_step) if H > 1e-300 else 0.0

    # ---------------------------------------------------------------- breadth-first builder

    def grow(self, feature_use):
        """Nodes in breadth-first order, and the step of each row."""
        step = np.zeros(len(self.g))
        nodes, waiting = [None], [(0, 0, np.arange(len(self.g)), feature_use)]
        while waiting:
            index, depth, rows, feature_use = waiting.pop(0)
            may_split = self.has_signal and depth < self.params.max_depth
            choice = self.choose(rows, feature_use) if may_split else None
            if choice is None:
                nodes[index] = Node(value=self.leaf_value(rows))
                step[rows] = nodes[index].value
                continue
            j, split, gain, dsse = choice
            feature_use.take(j)
            left, right = len(nodes), len(nodes) + 1
            nodes[index] = Node(
                j, split.bin, split.missing_left, split.left_set, left, right, 0.0, gain, dsse
            )
            goes_left = self.goes_left(rows, j, split)
            nodes += [None, None]
            on_left, on_right = feature_use.parted(j, split)
            waiting.append((left, depth + 1, rows[goes_left], on_left))
            waiting.append((right, depth + 1, rows[~goes_left], on_right))
        return nodes, step


class Boosted(NamedTuple):
    rounds: list  # rounds[t][k] is the list of Nodes of round t and class k
    first_uses: list  # features in the order of their first use
    raw: np.ndarray  # raw predictions after the last round, shape (n_outputs, n_rows)
    spent: float  # sum of the prices paid


def boost(
    codes,
    n_bins,
    is_categorical,
    target,
    weight,
    loss,
    *,
    criterion="agbm",
    penalty=0.0,
    learning_rate=0.1,
    n_rounds=10,
    max_depth=4,
    min_samples_leaf=1,
    l2=0.0,
    leaf="newton",
    prices=None,
    used=None,
    max_features=None,
    cost_budget=None,
    make_tree=Tree,
    feature_use=None,
):
    """Fit boosted trees; see Boosted for what comes back.

    codes is (n_rows, n_features) with MISSING for missing values; prices takes the mask of the
    used features and gives a price per feature (default: 1); used is the mask of features that
    are free from the beginning. The spent sum starts at zero, without the price of these.
    feature_use replaces all that concerns prices.
    """
    codes, target = np.asarray(codes, dtype=int), np.asarray(target, dtype=float)
    n_features = codes.shape[1]
    table = Table(codes, n_bins, is_categorical, target, np.asarray(weight, dtype=float))
    params = Params(criterion, penalty, max_depth, min_samples_leaf, l2, leaf)
    feature_use = feature_use or FeatureUse(
        used=np.zeros(n_features, bool) if used is None else np.array(used, dtype=bool),
        prices=prices if prices is not None else lambda used: np.where(used, 0.0, 1.0),
        max_features=np.inf if max_features is None else max_features,
        cost_budget=np.inf if cost_budget is None else cost_budget,
    )
    raw = np.repeat(loss.baseline(target, table.w)[:, None], len(target), axis=1)
    rounds = []
    for _ in range(n_rounds):
        g, h = np.empty_like(raw), np.empty_like(raw)
        loss.gradients(target, raw, g, h)
        trees, new_raw = [], raw.copy()
        for k in range(loss.n_outputs):
            leaves = loss.leaf_quantile, loss.max_step
            tree = make_tree(table, params, g[k], h[k], target - raw[k], *leaves)
            nodes, step = tree.grow(feature_use)
            new_raw[k] = raw[k] + learning_rate * step
            trees.append(nodes)
        raw = new_raw
        rounds.append(trees)
    return Boosted(rounds, feature_use.first_uses, raw, feature_use.spent)

"""Backward elimination: which features are dropped from a boosted fit, by short fits or by gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from secateur.data.binning import BinnedColumns, described, take_columns
from secateur.data.table import Fold
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import LOSSES, boost_small
from secateur.losses import Loss
from secateur.typing import BoolArray, FloatArray, IntArray

# Short fits decide which feature is dropped. On 15,000 x 300, 15 informative and 30 redundant: six
# candidates are as good as all, three clearly worse; twice the rounds gain little, and swaps with
# features that were dropped before gain nothing on other rows.
SHORT_RATE, SHORT_ROUNDS = 0.3, 30
MAX_ROWS = 12_000  # of short fits; half of them find worse subsets
MIN_ROWS = 800  # training rows below which a quarter of them decides nothing
# How features are dropped by short fits: how many together, as a share of those left, and of how
# many more that are tried one by one, none by the gains of one short fit. The first that is fast
# enough; else by the gains of the fits.
WAYS_TO_DROP = ((0.0, 5), (0.05, 5), (0.1, 5), (0.2, 5), (0.3, 5), (0.1, 0))
GAIN_ROUNDS = 15  # of short fits that only rank features: more do not change the order
LITTLE_WORK = 2e8  # cells: a tenth of a second, which is always spent
SMALL = 1e-12  # instead of a cost of 0, by which gains are divided
MAX_WORK = 4.0  # the work of elimination, as a multiple of that of the fits it begins from
# The same with a tree for each class. On 1,440 x 1,024 with 20 classes, 75 features down to 20: one
# by one a held-out loss of .096 in 68 s, a tenth at a time by gain .095 in 4 s.
MAX_WORK_OF_CLASSES = 0.5


def can_eliminate(data: Any, params: BoostingParams, folds: Sequence[Fold]) -> bool:
    """Whether features can be dropped: one task, exact searches, costs apart from each other."""
    is_plain = isinstance(data, BoostedData) and data.groups is None and data.cost_model.is_plain
    return is_plain and params.cost_budget is None and bool(folds)


def replaces_penalties(data: Any, params: BoostingParams, folds: Sequence[Fold]) -> bool:
    """Whether the sizes below that of a low penalty are better found by dropping features.

    Short fits have to say which, or NDCG by query; else high penalties find better subsets than the
    features with the largest gains at a low one.
    """
    if not can_eliminate(data, params, folds):
        return False
    return can_try(data, folds) or (data.loss.by_query and _has_many(folds))


def can_try(data: BoostedData, folds: Sequence[Fold]) -> bool:
    """Whether short fits can say which feature to drop; else the gains of the fits do.

    For a loss by query the gains decide: NDCG of few queries is too noisy.
    """
    keep = data.cost_model.keep
    has_one_cost = len(np.unique(data.cost_model.costs(keep)[~keep])) == 1
    return data.category is None and data.loss.name in LOSSES and has_one_cost and _has_many(folds)


def _has_many(folds: Sequence[Fold]) -> bool:
    return min(len(fold.train) for fold in folds) >= MIN_ROWS


class Dropping:
    """Supports of falling sizes for each part of the rows, from those that were found there.

    ``n_rounds`` are those of the fits before: short fits take at most a multiple of their time.
    """

    def __init__(
        self,
        data: BoostedData,
        params: BoostingParams,
        folds: Sequence[Fold],
        supports: Sequence[IntArray],
        n_rounds: int,
    ) -> None:
        self._keep = data.cost_model.keep
        self._cost = np.maximum(data.cost_model.costs(self._keep), SMALL)
        self._parts: list[Elimination] = []
        if not can_try(data, folds):
            return
        pairs = zip(folds, supports, strict=True)
        parts = [Elimination(data, params, fold.train, its) for fold, its in pairs]
        n_trained = n_rounds * sum(len(fold.train) for fold in folds)
        most = MAX_WORK if data.loss.n_outputs == 1 else MAX_WORK_OF_CLASSES
        most *= tree_cells(n_trained * data.cells_per_row(), params, data.loss)
        for way in WAYS_TO_DROP:
            if sum(part.work(1, *way) for part in parts) <= max(LITTLE_WORK, most):
                self._parts, self._way = parts, way
                break

    def down_to(self, size: int, found: Sequence[tuple[IntArray, FloatArray]]) -> list[IntArray]:
        """The features that are left; ``found`` are those of the last fits, with their gains."""
        if self._parts:
            return [part.down_to(size, *self._way) for part in self._parts]
        cost, keep = self._cost, self._keep
        return [with_most_gain(its, gain / cost[its], keep, size) for its, gain in found]


def with_most_gain(support: IntArray, gains: FloatArray, keep: BoolArray, size: int) -> IntArray:
    """So many of the features: those that are kept anyway, then those with the largest gains."""
    order = np.lexsort((-gains, ~keep[support]))
    return np.sort(support[order[: max(size, int(keep[support].sum()))]])


def tree_cells(n_cells: float, params: BoostingParams, loss: Loss) -> float:
    """The cells that trees add up, about, for so many of their root nodes: by depth and output.

    It does not depend on how rows are held or searched, so neither does what is made of it.
    """
    return n_cells * (1.0 + 0.4 * (params.max_depth - 1)) * loss.n_outputs


def rounds_of(n_more: int) -> int:
    """The rounds of the short fits of a way to drop features."""
    return SHORT_ROUNDS if n_more else GAIN_ROUNDS


class Elimination:
    """Drops features one after the other, by short fits on some of the training rows.

    Of those with the least gain, the one goes without which a fit on three quarters of the rows
    predicts the last quarter best. ``features`` are those that are left.
    """

    def __init__(
        self, data: BoostedData, params: BoostingParams, train: IntArray, support: IntArray
    ) -> None:
        self._loss, self._threads = data.loss, data.threads
        self._params = replace(params, penalty=0.0, learning_rate=SHORT_RATE, max_features=None)
        rng = np.random.default_rng(params.seed)
        by_target = np.lexsort((rng.random(len(train)), data.target[train]))
        rows = train[by_target[:: -(-len(train) // MAX_ROWS)]]
        is_held = np.arange(len(rows)) % 4 == 3
        self._fold = Fold(np.flatnonzero(~is_held), np.flatnonzero(is_held))
        self._target, self._weight = data.target[rows], data.weight[rows]
        self._data, self._rows = data, rows
        self._support, self._is_kept = support, data.cost_model.keep[support]
        self._left, self._gains = np.arange(len(support)), np.empty(0)

    @cached_property
    def _columns(self) -> BinnedColumns:
        return described(
            self._data.columns, self._support, self._data.codes(self._rows, self._support)
        )

    def work(self, size: int, share: float, n_more: int) -> float:
        """The cells to be added up until so many features are left, about."""
        k, cells = len(self._support), 0.0
        while k > size:
            n_drop = min(max(1, int(share * k)), k - size)
            cells += (n_drop + n_more if n_more else 1) * k
            k -= n_drop
        cells *= len(self._fold.train) * rounds_of(n_more)
        return tree_cells(cells, self._params, self._loss)

    def down_to(self, size: int, share: float, n_more: int) -> IntArray:
        """Drop features until so many are left, a share of them at once; returns the others.

        Those that are dropped are the best of ``n_more`` candidates more.
        """
        self._params = replace(self._params, n_rounds=rounds_of(n_more))
        if not len(self._gains):
            self._gains = self._fit(self._left)[1]
        while len(self._left) > size and not self._is_kept[self._left].all():
            n_drop = max(1, int(share * len(self._left)))
            self._drop(min(n_drop, len(self._left) - size), n_more)
        return self._support[self._left]

    def _drop(self, n_drop: int, n_more: int) -> None:
        """Drop the features whose absence costs least, of those with the least gain."""
        by_gain = np.argsort(self._gains, kind="stable")
        by_gain = by_gain[~self._is_kept[self._left[by_gain]]]
        candidates = by_gain[: n_drop + n_more]
        if len(candidates) <= n_drop:
            self._left = np.delete(self._left, candidates)
            self._gains = self._fit(self._left)[1]
            return
        found: list[tuple[float, FloatArray]] = [(np.inf, np.empty(0))] * len(candidates)

        def leave_out(_: int, number: int) -> None:
            found[number] = self._fit(np.delete(self._left, candidates[number]))

        self._threads.share(leave_out, len(candidates))
        order = np.argsort([loss for loss, _ in found], kind="stable")[:n_drop]
        gains = np.insert(found[order[0]][1], candidates[order[0]], 0.0)
        self._gains = np.delete(gains, candidates[order])
        self._left = np.delete(self._left, candidates[order])

    def _fit(self, places: IntArray) -> tuple[float, FloatArray]:
        """The mean loss of the held rows, and the gain of each feature."""
        given = (self._target, self._weight, self._loss, self._params, self._fold)
        raw, gains, _ = boost_small(take_columns(self._columns, places), *given)
        held = self._fold.test
        losses = self._loss.scores(self._target[held], raw[:, held])
        return float(np.average(losses, weights=self._weight[held])), gains

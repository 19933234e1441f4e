"""Few rows and many columns: features in the order of their gain in trees of many resamples.

Trees separate few rows with a handful of columns, so lower penalties add none. Here many small fits
to random rows, each with a random part of the columns, say which features help; the steps of a path
are the first features of that order. In each fold only its training rows make the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from secateur._kernels.records import MISSING
from secateur.data.binning import BinnedColumns, described, take_columns
from secateur.data.table import Fold
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.search import BoostedEngine
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.boosted.whole_fit import boost_small
from secateur.engines.limits import Limits
from secateur.engines.path_search import PathSearch, search_penalties
from secateur.path.cutting import ROW_LIMIT
from secateur.path.path import SelectionPath
from secateur.path.step import Step
from secateur.typing import CodeArray, FloatArray, IntArray

# What follows was chosen on lung_small, nci9, chowdary, Yale, pixraw10P and two synthetic tables:
# see docs/design/boosted_trees.md.
MAX_CANDIDATES = 500  # the columns that are closest to the target one by one
N_FITS = 60  # resamples
N_COLUMNS = 100  # of each resample
FIT_RATE, FIT_ROUNDS = 1.0, 3  # of the fit to a resample
MIN_LEAF = 5  # rows of a leaf
LIMIT_FACTOR = 1.4  # of the features that rows support
SIZE_RATIO = 1.5  # of a step to the one before
MIN_COST = 1e-12  # of features that cost nothing
FLAT = 1e-12  # a smaller share of the mean square is rounding
SMALL = 1e-300  # instead of a division by zero
NO_GAIN = 1e30  # a penalty that no split is worth


def with_larger_leaves(params: BoostingParams, min_samples_leaf: object) -> BoostingParams:
    """The parameters of such a search: "auto" leaves of single rows would fit their noise."""
    is_auto = min_samples_leaf == "auto"
    return replace(params, min_samples_leaf=float(MIN_LEAF)) if is_auto else params


def standardised(codes: CodeArray, share: FloatArray) -> FloatArray:
    """Bin codes by column and row, with mean 0 and sum of squares 1; missing ones are the mean.

    ``share`` are the weights of the rows, with the sum one.
    """
    values, is_known = codes.astype(np.float64), codes != MISSING
    mean = (values * is_known) @ share / np.maximum(is_known @ share, SMALL)
    return _unit(np.where(is_known, values, mean[:, None]), share)


def _unit(values: FloatArray, share: FloatArray) -> FloatArray:
    """Rows with mean 0 and sum of squares 1, weighted; constant ones are 0."""
    centred = values - (values @ share)[:, None]
    square = (centred * centred) @ share
    scale = np.where(square > FLAT * ((values * values) @ share), square, np.inf)
    found: FloatArray = centred * np.sqrt(share / scale[:, None])
    return found


def closeness(codes: CodeArray, gradient: FloatArray, weight: FloatArray) -> FloatArray:
    """How close each column is to the target: its largest sum of squared correlations.

    The bin codes, and the squares of their distances from the mean, are correlated with the
    gradients of all outputs. ``codes`` are by column and row.
    """
    share = weight / weight.sum()
    target, values = _unit(gradient, share), standardised(codes, share)
    squares = _unit(np.square(values / np.sqrt(share)), share)
    found: FloatArray = np.maximum(
        np.square(values @ target.T).sum(axis=1), np.square(squares @ target.T).sum(axis=1)
    )
    return found


def draw_rows(data: BoostedData, train: IntArray, rng: np.random.Generator) -> IntArray:
    """Two thirds of the training rows, of all parts of the target, and a row of each class."""
    target = data.target[train]
    order = np.lexsort((rng.random(len(train)), target))
    is_drawn = np.arange(len(train)) % 3 != rng.integers(3)
    if data.loss.name == "log_loss":
        is_drawn |= np.diff(target[order], prepend=-1.0) > 0.0
    return np.sort(train[order[is_drawn]])


class FeatureOrder:
    """Features by their mean share of the gain in fits to resamples of the training rows."""

    def __init__(self, data: BoostedData, params: BoostingParams, train: IntArray) -> None:
        self._data, self._train = data, np.sort(train)
        self._params = replace(
            params, penalty=0.0, learning_rate=FIT_RATE, n_rounds=FIT_ROUNDS, max_features=None
        )
        self._params = replace(self._params, cost_budget=None)

    @cached_property
    def _candidates(self) -> IntArray:
        data, train = self._data, self._train
        every = np.arange(data.columns.n_features)
        if len(every) <= MAX_CANDIDATES:
            return every
        target, weight = data.target[train], data.weight[train]
        raw = np.repeat(data.loss.baseline(target, weight)[:, None], len(train), axis=1)
        gradient, hessian = np.empty_like(raw), np.empty_like(raw)
        data.loss.gradients(target, raw, gradient, hessian)
        found = closeness(data.codes(train, every), gradient, weight)
        closest = np.argsort(-found, kind="stable")[:MAX_CANDIDATES]
        return np.union1d(closest, np.flatnonzero(data.cost_model.keep))

    @cached_property
    def _columns(self) -> BinnedColumns:
        every = np.arange(len(self._data.target))
        codes = self._data.codes(every, self._candidates)
        return described(self._data.columns, self._candidates, codes)

    def _gains(self, number: int) -> tuple[IntArray, FloatArray]:
        """Some candidates, and their shares of the gain of a fit to one resample."""
        data, rng = self._data, np.random.default_rng([self._params.seed, number])
        rows = draw_rows(data, self._train, rng)
        n_columns = min(N_COLUMNS, len(self._candidates))
        some = np.sort(rng.permutation(len(self._candidates))[:n_columns])
        given = (data.target, data.weight, data.loss, self._params, Fold(rows, rows[:0]))
        gains = boost_small(take_columns(self._columns, some), *given)[1]
        return some, gains / max(float(gains.sum()), SMALL)

    def shares(self) -> FloatArray:
        """The share of each candidate; they sum to one."""
        found: list[tuple[IntArray, FloatArray]] = [(np.empty(0, np.int64), np.empty(0))] * N_FITS
        _ = self._columns  # made once, not by each thread

        def fit(_: int, number: int) -> None:
            found[number] = self._gains(number)

        self._data.threads.share(fit, N_FITS)
        total = np.zeros(len(self._candidates))
        for some, gains in found:
            total[some] += gains
        return total / max(float(total.sum()), SMALL)

    def entries(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Features in their order, what each was worth then, and their shares of the gain.

        A feature is worth its share, divided by its cost, times 1 - r, r its largest
        absolute correlation with a feature before it. Those that are kept come first.
        """
        data, train = self._data, self._train
        shares, model = self.shares(), data.cost_model
        is_kept = model.keep[self._candidates]
        cost = np.maximum(model.costs(model.keep)[self._candidates], MIN_COST)
        weight = data.weight[train] / data.weight[train].sum()
        codes = data.codes(train, self._candidates)
        values = standardised(codes, weight)
        worth, order = np.where(is_kept, np.inf, shares / cost), []
        nearest, at_entry = np.zeros(len(worth)), np.empty(len(worth))
        for _ in range(int((worth > 0.0).sum())):
            new = int(np.argmax(worth * (1.0 - nearest)))
            at_entry[new] = worth[new] * (1.0 - nearest[new])
            if not at_entry[new] > 0.0:
                break
            order.append(new)
            worth[new] = 0.0
            nearest = np.maximum(nearest, np.minimum(np.abs(values @ values[new]), 1.0))
            nearest[is_kept] = 0.0
        place = np.array(order, np.int64)
        return self._candidates[place], at_entry[place], shares[place]


class OrderedEngine(BoostedEngine):
    """Steps of the first features of an order, which each fold makes from its training rows.

    The penalty of a step is what its features are worth at least. How many they are is found with
    all rows; which they are, each fold finds out itself.
    """

    _data: BoostedData

    @cached_property
    def _orders(self) -> list[tuple[IntArray, FloatArray, FloatArray]]:
        """For each part of the rows, the entries of features within the limits."""
        data, params = self._data, self._params
        limits = Limits(data.cost_model, params.max_features, params.cost_budget)
        found = []
        for fold in self._parts:
            order, worth, share = FeatureOrder(data, params, fold.train).entries()
            kept = order[data.cost_model.keep[order]]
            allowed = np.isin(order, limits.filled(kept, order[len(kept) :]))
            found.append((order[allowed], worth[allowed], share[allowed]))
        return found

    @property
    def _n_kept(self) -> int:
        return int(self._data.cost_model.keep.sum())

    @cached_property
    def _entry(self) -> FloatArray:
        """The penalties at which features enter, by their places behind those that are kept."""
        return self._orders[-1][1][self._n_kept :]

    @property
    def row_limit(self) -> int:
        """The most features that the rows support: with the root of rows times classes."""
        n_outputs = self._data.loss.n_outputs
        n_rows, n_classes = len(self._data.target), max(2, n_outputs)
        return math.ceil(LIMIT_FACTOR * math.sqrt(n_rows * n_classes))

    def penalties(self, n_features: int | None = None) -> list[float]:
        """Falling penalties: one without features, then those of growing numbers of features.

        The largest is ``n_features``, or twice as many as the rows support.
        """
        entry, limit = self._entry, n_features or self.row_limit
        ends = [limit] if n_features else [limit, 2 * limit]
        sizes = [1]
        for end in (min(end, len(entry)) for end in ends):
            while sizes[-1] < end:
                sizes.append(min(end, max(sizes[-1] + 1, int(SIZE_RATIO * sizes[-1]))))
        none = 2.0 * entry[:1].max(initial=0.5)
        return [float(none), *np.unique(entry[np.array(sizes[: len(entry)]) - 1])[::-1].tolist()]

    def fit(self, penalty: float, max_features: int | None = None) -> Step:
        """The step of the features that are worth at least the penalty."""
        size = self._n_kept + int((self._entry >= penalty).sum())
        size = size if max_features is None else min(size, max_features)
        only = [order[: max(1, size)] for order, _, _ in self._orders]
        step = self.fit_only(only, penalty=0.0 if size else NO_GAIN)
        order, _, share = self._orders[-1]
        order, share = order[:size], share[:size]
        return replace(
            step,
            penalty=penalty,
            support=np.sort(order),
            order=order,
            weight=share[np.argsort(order)],
            cost=self._data.cost_model.total(order),
            details={**step.details, ROW_LIMIT: self.row_limit},
        )

    def search(
        self,
        n_features: int | None,
        done: Iterable[Step],
        progress: Any,
        finish: Callable[[SelectionPath], SelectionPath],
    ) -> PathSearch:
        """Steps of growing numbers of features, up to those wanted or those that rows support."""
        penalties = self.penalties(self._params.max_features or n_features)
        progress.expect(len(penalties), len(self._parts) * self._params.n_rounds)
        known = {step.penalty: step for step in done}
        search = search_penalties(self, penalties, done=known, on_step=progress.part)
        return replace(search, finish=finish)

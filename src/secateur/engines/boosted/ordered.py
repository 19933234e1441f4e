"""Few rows and many columns: the first features of an order by closeness to the target.

Trees separate few rows with a handful of columns, so lower penalties add none, and their gains are
too uncertain to order columns. The steps of a path are boosted trees on the first features of an
order by correlations, less those that are like one before. In each fold only its training rows make
the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from secateur.engines.boosted.closeness import closeness, p_value, standardised
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.search import BoostedEngine
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.fold_losses import with_difference_errors
from secateur.engines.limits import Limits
from secateur.engines.path_search import PathSearch, search_penalties
from secateur.path.comparing import LEVEL, P_VALUE, ROW_LIMIT, is_chance
from secateur.path.cutting import Best
from secateur.path.path import SelectionPath
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray

# What follows was chosen on the sets that docs/design/boosted_trees.md names.
MAX_CANDIDATES = 500  # the columns that are closest to the target one by one
POWER = 0.5  # of 1 - r
MIN_LEAF = 5  # rows of a leaf
LIMIT_FACTOR = 3.0  # of the features that rows support
SIZE_RATIO = 1.5  # of a step to the one before
MIN_COST = 1e-12  # of features that cost nothing
NO_GAIN = 1e30  # a penalty that no split is worth


def with_larger_leaves(params: BoostingParams, min_samples_leaf: object) -> BoostingParams:
    """The parameters of such a search: "auto" leaves of single rows would fit their noise."""
    is_auto = min_samples_leaf == "auto"
    return replace(params, min_samples_leaf=float(MIN_LEAF)) if is_auto else params


def first_gradient(data: BoostedData, train: IntArray) -> FloatArray:
    """The gradients of a constant, by output and row."""
    target, weight = data.target[train], data.weight[train]
    raw = np.repeat(data.loss.baseline(target, weight)[:, None], len(train), axis=1)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    data.loss.gradients(target, raw, gradient, hessian)
    return gradient


class Order(NamedTuple):
    """Features in an order; each was worth so much when it came, and is so close to the target."""

    features: IntArray
    worth: FloatArray
    closeness: FloatArray

    def take(self, places: BoolArray | slice) -> Order:
        """Some of the features."""
        return Order(self.features[places], self.worth[places], self.closeness[places])


def order_features(data: BoostedData, train: IntArray) -> Order:
    """Features by their closeness to the target, less those that are like one before.

    A feature is worth its closeness, divided by its cost, times (1 - r)^power, r its largest
    absolute correlation with a feature before it. Those that are kept come first.
    """
    model, every = data.cost_model, np.arange(data.columns.n_features)
    codes, weight = data.codes(train, every), data.weight[train]
    found = closeness(codes, first_gradient(data, train), weight)
    closest = np.argsort(-found, kind="stable")[:MAX_CANDIDATES]
    candidates = np.union1d(closest, np.flatnonzero(model.keep))
    found, is_kept = found[candidates], model.keep[candidates]
    cost = np.maximum(model.costs(model.keep)[candidates], MIN_COST)
    values = standardised(codes[candidates], weight / weight.sum())
    worth, order = np.where(is_kept, np.inf, found / cost), []
    nearest, at_entry = np.zeros(len(worth)), np.empty(len(worth))
    for _ in range(int((worth > 0.0).sum())):
        now = worth * (1.0 - nearest) ** POWER
        new = int(np.argmax(now))
        at_entry[new] = now[new]
        if not now[new] > 0.0:
            break
        order.append(new)
        worth[new] = 0.0
        nearest = np.maximum(nearest, np.minimum(np.abs(values @ values[new]), 1.0))
        nearest[is_kept] = 0.0
    place = np.array(order, np.int64)
    return Order(candidates[place], at_entry[place], found[place])


class OrderedEngine(BoostedEngine):
    """Steps of the first features of an order, which each fold makes from its training rows.

    The penalty of a step is what its features are worth at least. How many they are is found with
    all rows; which they are, each fold finds out itself.
    """

    _data: BoostedData

    @cached_property
    def _orders(self) -> list[Order]:
        """For each part of the rows, the features within the limits."""
        data, params = self._data, self._params
        limits = Limits(data.cost_model, params.max_features, params.cost_budget)
        found = []
        for fold in self._parts:
            order = order_features(data, np.sort(fold.train))
            kept = order.features[data.cost_model.keep[order.features]]
            filled = limits.filled(kept, order.features[len(kept) :])
            found.append(order.take(np.isin(order.features, filled)))
        return found

    @property
    def _n_kept(self) -> int:
        return int(self._data.cost_model.keep.sum())

    @cached_property
    def _entry(self) -> FloatArray:
        """The penalties at which features enter, by their places behind those that are kept."""
        return self._orders[-1].worth[self._n_kept :]

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
        only = [order.features[: max(1, size)] for order in self._orders]
        step = self.fit_only(only, penalty=0.0 if size else NO_GAIN)
        order, _, near = self._orders[-1].take(slice(size))
        return replace(
            step,
            penalty=penalty,
            support=np.sort(order),
            order=order,
            weight=near[np.argsort(order)],
            cost=self._data.cost_model.total(order),
            details={**step.details, ROW_LIMIT: self.row_limit},
        )

    def search(
        self,
        n_features: int | None,
        done: Iterable[Step],
        progress: Any,
        finish: Callable[[SelectionPath], SelectionPath],
        *,
        has_test: bool,
    ) -> PathSearch:
        """Steps of growing numbers of features, up to those wanted or those that rows support.

        With ``has_test``, for independent rows, columns are tested by permutations of the target
        where the gain on held-out rows may be chance.
        """
        penalties = self.penalties(self._params.max_features or n_features)
        progress.expect(len(penalties), len(self._parts) * self._params.n_rounds)
        known = {step.penalty: step for step in done}
        search = search_penalties(self, penalties, done=known, on_step=progress.part)
        if not has_test:
            return replace(search, finish=finish)
        return replace(search, finish=lambda path: finish(with_test(path, self._p_value)))

    def _p_value(self) -> float:
        data, train = self._data, np.arange(len(self._data.target))
        codes = data.codes(train, np.arange(data.columns.n_features))
        return p_value(codes, first_gradient(data, train), data.weight, self._params.seed)


def with_test(path: SelectionPath, p_value: Callable[[], float]) -> SelectionPath:
    """The path with a p-value, where its best step may be chance.

    Where it is small, the step without features is left out if it scores best.
    """
    if not path.has_scores or path.n_features.min() > 0 or not is_chance(path[Best().choose(path)]):
        return path
    found = p_value()
    steps = [replace(step, details={**step.details, P_VALUE: found}) for step in path]
    tested = replace(path, steps=tuple(steps))
    others = tuple(step for step in steps if step.n_features)
    if found > LEVEL or not others or path[Best().choose(path)].n_features:
        return tested
    return with_difference_errors(replace(path, steps=others))

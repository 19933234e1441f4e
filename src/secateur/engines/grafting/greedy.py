"""Paths of grafts: one more weight at each step, in all folds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur._kernels.coordinate_descent import HAIR
from secateur.data.table import Fold
from secateur.engines.grafting.columns import GraftingData, GraftingParams, View
from secateur.engines.grafting.growing_network import GrowingNetwork
from secateur.engines.grafting.linear import LinearGrafting
from secateur.engines.limits import Limits
from secateur.engines.path_search import pool
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray

# The automatic L1 penalty for grafts one by one, as a share of the largest.
GREEDY_SHARE = {"linear": 0.02, "mlp": 0.005}


class GrowingLinear(LinearGrafting):
    """A linear model that grows by single weights; slot k is output k."""

    slope_at_zero = 1.0

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        super().__init__(data, params, fold)
        alpha = self.alpha
        self._free: list[IntArray] = [np.empty(0, np.int64) for _ in self.state.raw]
        if not (alpha > 0.0).all():  # features without a cost are free from the start
            self.solve(np.inf)
            used = np.flatnonzero((alpha == 0.0) & self.state.weight.any(axis=0))
            self._free = [used.copy() for _ in self._free]

    @property
    def raw(self) -> FloatArray:
        """Raw predictions of all rows."""
        return self.state.raw

    def gradients(self) -> FloatArray:
        """Gradient of the loss by weight."""
        return self.gradient()[1]

    def is_open(self, limits: Limits) -> BoolArray:
        """Weights that may be freed now, within the limits."""
        open_ = np.ones_like(self.state.weight, np.bool_)
        for k, features in enumerate(self._free):
            open_[k, features] = False
        open_[:, ~limits.open(self.support())] = False
        return open_

    def graft(self, slot: int, feature: int) -> float:
        """Free a weight and fit all free weights, or the newest; gives the new weight's size."""
        self._free[slot] = np.append(self._free[slot], feature)
        self.enter(np.array([feature]))
        free = self._free
        if self.params.adjust == "newest":
            free = [np.empty(0, np.int64) for _ in self._free]
            free[slot] = np.array([feature])
        self.fit(free, self.penalty(self.params.l1), 0.3 * self.params.tol * self.scale)
        return float(abs(self.state.weight[slot, feature]))

    def save(self) -> Any:
        """A copy of the state for `restore`."""
        return self.state.copy(), list(self._free), self.entry.copy()

    def restore(self, state: Any) -> None:
        """Restore a saved state."""
        saved, free, entry = state
        self.state, self._free, self.entry = saved.copy(), list(free), entry.copy()

    def certificate(self) -> dict[str, float]:
        """Violation and duality gap without an L0 penalty."""
        penalty = self.penalty(self.params.l1)
        found, _ = self.certify(*self.gradient(), penalty, self.params.max_iter)
        return {"violation": found.violation, "gap": found.gap}


class GraftRun:
    """Grafts on the training rows of one fold."""

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        self.fold = fold
        self._data, self._params = data, params
        self._alpha = data.alpha(np.empty(0, np.int64))
        self._limits = Limits(data.cost_model, params.max_features, params.cost_budget)
        # a model that grows: weights are numbered by slot (where they go) and feature
        self.growing: GrowingLinear | GrowingNetwork = (
            GrowingNetwork(View(data, fold.train, params), params, self._alpha)
            if params.model == "mlp"
            else GrowingLinear(data, params, fold)
        )
        self._grafts = self._graft()
        self._criterion = np.nan
        self._n_grafts = 0
        self._newest = np.nan

    def advance(self) -> bool:
        """One more graft (the first time none); False if the criterion would rise."""
        return next(self._grafts, False)

    def _graft(self) -> Iterator[bool]:
        """Free the weight with the lowest bound and fit; undo what raises the criterion.

        ``params.retries`` further candidates are then tried (Section 3.2.3).
        """
        growing, params = self.growing, self._params
        self._criterion = self._value()
        min_decrease = params.tol * abs(self._criterion)
        yield True
        while self._n_grafts < params.max_iter:
            candidates = self._candidates()
            before, is_better = growing.save(), False
            for slot, feature in candidates[: params.retries + 1]:
                size = growing.graft(int(slot), int(feature))
                value = self._value()
                is_better = value < self._criterion - min_decrease
                if is_better:
                    break
                growing.restore(before)
            if not is_better:
                return
            self._criterion, self._newest = value, size or self._newest
            self._n_grafts += 1
            yield True

    def _value(self) -> float:
        """The criterion of Eq. 7."""
        value, l0 = self.growing.value(self._params.l1), self._params.l0
        return value + l0 * self._data.cost_model.total(self.growing.support()) if l0 else value

    def _candidates(self) -> IntArray:
        """Weights by increasing bound, as (slot, feature).

        The bound of Eq. 9 is ``l0 cost - |w'| (|dL/dw| - l1 alpha - l2 alpha |w'|)``, with w' the
        newest weight; used features cost nothing.
        """
        params, alpha, cost_model = self._params, self._alpha, self._data.cost_model
        size = np.abs(self.growing.gradients())
        open_ = self.growing.is_open(self._limits)
        open_ &= size > params.l1 * alpha * (1.0 + HAIR) + np.finfo(np.float64).tiny
        excess = np.where(open_, size - params.l1 * alpha, 0.0)
        if np.isnan(self._newest):
            self._newest = self._typical_step(float(excess.max(initial=0.0)))
        used = np.zeros(len(alpha), np.bool_)
        used[self.growing.support()] = True
        cost = cost_model.costs(used) if params.l0 > 0.0 else np.zeros(len(alpha))
        bound = params.l0 * cost - self._newest * (excess - params.l2 * alpha * self._newest)
        flat = np.flatnonzero(open_)
        flat = flat[np.argsort(bound.ravel()[flat], kind="stable")]
        return np.column_stack(np.unravel_index(flat, open_.shape))

    def _typical_step(self, excess: float) -> float:
        """The size of a Newton step along a standardised column."""
        _, curvature = self.growing.view.row_gradients(self.growing.raw)
        total = max(float(curvature.sum(axis=1).max()), 1e-300)
        return excess / (total * self.growing.slope_at_zero**2)

    def step(self) -> Step:
        """The state as a step of a path."""
        growing, n_grafts = self.growing, self._n_grafts
        found = {"grafts": n_grafts, "rounds": max(1, n_grafts), **growing.certificate()}
        return self._data.step(growing, self._params.l1, self._criterion, **found)


def trace_grafts(
    data: GraftingData,
    params: GraftingParams,
    folds: Sequence[Fold],
    on_round: Callable[[], None] = lambda: None,
) -> Iterator[Step]:
    """One step per graft; folds graft as many weights as the fit on all rows, or until they end."""
    whole = GraftRun(data, params, data.everything)
    runs = [GraftRun(data, params, fold) for fold in folds]
    while whole.advance():
        for run in runs:
            run.advance()
            on_round()
        on_round()
        losses = [data.fold_losses(run.fold, run.growing.raw) for run in runs]
        score = pool(losses, origin="held_out", metric=data.loss.metric) if runs else None
        yield replace(whole.step(), score=score)

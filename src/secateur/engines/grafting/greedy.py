"""Paths of grafts: one more weight at each step, in all folds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.coordinate_descent import HAIR
from secateur.data.costs import CostModel
from secateur.data.problem import Fold
from secateur.engines.fold_losses import pool
from secateur.engines.grafting.columns import GraftingData, GraftingParams, View
from secateur.engines.grafting.growing_network import GrowingNetwork
from secateur.engines.grafting.linear import LinearGrafting
from secateur.engines.grafting.models import LinearModel
from secateur.path.step import Step
from secateur.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Graft:
    """State after a graft: the criterion with its L0 term, and the number of grafts."""

    criterion: float
    n_grafts: int


def graft_one_by_one(
    growing: Growing, params: GraftingParams, cost_model: CostModel, alpha: FloatArray
) -> Iterator[Graft]:
    """Free the weight with the lowest bound, fit, and stop when the criterion rises.

    The bound of Eq. 9 is ``l0 cost - |w'| (|dL/dw| - l1 alpha - l2 alpha |w'|)``, with w' the
    newest weight; used features cost nothing. If the criterion rises, the graft is undone, and
    ``params.retries`` further candidates are tried (Section 3.2.3).
    """
    criterion = _criterion(growing, params, cost_model)
    min_decrease = params.tol * abs(criterion)
    yield Graft(criterion, 0)
    newest = np.nan
    for n_grafts in range(1, params.max_rounds + 1):
        candidates, newest = _candidates(growing, params, cost_model, alpha, newest)
        before, is_better = growing.save(), False
        for slot, feature in candidates[: params.retries + 1]:
            size = growing.graft(int(slot), int(feature))
            value = _criterion(growing, params, cost_model)
            is_better = value < criterion - min_decrease
            if is_better:
                break
            growing.restore(before)
        if not is_better:
            return
        criterion, newest = value, size or newest
        growing.n_grafts = n_grafts
        yield Graft(criterion, n_grafts)


def _criterion(growing: Growing, params: GraftingParams, cost_model: CostModel) -> float:
    value = growing.value()
    return value + params.l0 * cost_model.total(growing.support()) if params.l0 > 0.0 else value


def _candidates(
    growing: Growing,
    params: GraftingParams,
    cost_model: CostModel,
    alpha: FloatArray,
    newest: float,
) -> tuple[IntArray, float]:
    """Weights by increasing bound, as (slot, feature); and the weight that the bound assumes."""
    size = np.abs(growing.gradients())
    open_ = growing.is_open(params.max_features, cost_model.keep)
    open_ &= size > params.l1 * alpha * (1.0 + HAIR) + np.finfo(np.float64).tiny
    excess = np.where(open_, size - params.l1 * alpha, 0.0)
    if np.isnan(newest):
        newest = growing.typical_step(float(excess.max(initial=0.0)))
    used = np.zeros(len(alpha), np.bool_)
    used[growing.support()] = True
    cost = cost_model.costs(used) if params.l0 > 0.0 else np.zeros(len(alpha))
    bound = params.l0 * cost - newest * (excess - params.l2 * alpha * newest)
    flat = np.flatnonzero(open_)
    flat = flat[np.argsort(bound.ravel()[flat], kind="stable")]
    return np.column_stack(np.unravel_index(flat, open_.shape)), newest


class GrowingLinear:
    """A linear model that grows by single weights; slot k is output k."""

    def __init__(self, view: View, params: GraftingParams, alpha: FloatArray) -> None:
        self._core = LinearGrafting(view, params, alpha)
        self._params = params
        self._free: list[IntArray] = [np.empty(0, np.int64) for _ in self._core.state.raw]
        self.n_grafts = 0
        self._goal = 0.3 * params.tol * self._core.scale
        if not (alpha > 0.0).all():
            self._free_without_cost(alpha)

    def _free_without_cost(self, alpha: FloatArray) -> None:
        """Features without a cost are free from the start."""
        self._core.solve(np.inf)
        used = np.flatnonzero((alpha == 0.0) & self._core.state.weight.any(axis=0))
        self._free = [used.copy() for _ in self._free]

    @property
    def raw(self) -> FloatArray:
        """Raw predictions of all rows."""
        return self._core.state.raw

    def largest_l1(self) -> float:
        """The smallest L1 penalty that keeps all weights at zero."""
        return self._core.largest_l1()

    def gradients(self) -> FloatArray:
        """Gradient of the loss by weight."""
        return self._core.gradient()[1]

    def is_open(self, max_features: int | None, kept: BoolArray) -> BoolArray:
        """Weights that may be freed now; new features only below ``max_features``."""
        open_ = np.ones_like(self._core.state.weight, np.bool_)
        for k, features in enumerate(self._free):
            open_[k, features] = False
        used = kept.copy()
        used[self.support()] = True
        if max_features is not None and used.sum() >= max_features:
            open_[:, ~used] = False
        return open_

    def typical_step(self, excess: float) -> float:
        """The size of a Newton step along a standardised column."""
        _, curvature = self._core.view.row_gradients(self.raw)
        return excess / max(float(curvature.sum(axis=1).max()), 1e-300)

    def graft(self, slot: int, feature: int) -> float:
        """Free a weight and fit all free weights, or the newest; gives the new weight's size."""
        self._free[slot] = np.append(self._free[slot], feature)
        self._core.enter(np.array([feature]))
        free = self._free
        if self._params.adjust == "newest":
            free = [np.empty(0, np.int64) for _ in self._free]
            free[slot] = np.array([feature])
        self._core.fit(free, self._core.penalty(self._params.l1), self._goal)
        return float(abs(self._core.state.weight[slot, feature]))

    def value(self) -> float:
        """The criterion without its L0 term."""
        return self._core.value(self._params.l1)

    def support(self) -> IntArray:
        """The features in use, in order of entry."""
        return self._core.support()

    def save(self) -> Any:
        """A copy of the state for `restore`."""
        return self._core.state.copy(), list(self._free), self._core.entry.copy()

    def restore(self, state: Any) -> None:
        """Restore a saved state."""
        saved, free, entry = state
        self._core.state, self._free = saved.copy(), list(free)
        self._core.entry = entry.copy()

    def model(self) -> LinearModel:
        """The state as a model."""
        return self._core.model()

    def importances(self) -> FloatArray:
        """The sum of absolute weights over outputs, of standardised columns."""
        total: FloatArray = np.abs(self._core.state.weight).sum(axis=0)
        return total

    def certificate(self) -> dict[str, float]:
        """Violation and duality gap without an L0 penalty."""
        found = self._core.certify(self._params.l1)
        return {"violation": found.violation, "gap": found.gap}


# A model that grows: weights are numbered by slot (where they go) and feature.
Growing = GrowingLinear | GrowingNetwork
# The automatic L1 penalty for grafts one by one, as a share of the largest.
GREEDY_SHARE = {"linear": 0.02, "mlp": 0.005}


class GraftRun:
    """Grafts on the training rows of one fold."""

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        self.fold = fold
        self._data, self._params = data, params
        view = data.view(fold.train, params)
        alpha = data.alpha(np.empty(0, np.int64))
        self.growing: Growing = (
            GrowingNetwork(view, params, alpha, data.unit)
            if params.model == "mlp"
            else GrowingLinear(view, params, alpha)
        )
        self._grafts = graft_one_by_one(self.growing, params, data.cost_model, alpha)
        self.latest: Graft | None = None

    def advance(self) -> bool:
        """One more graft; False if the criterion would rise."""
        graft = next(self._grafts, None)
        self.latest = graft or self.latest
        return graft is not None

    def step(self) -> Step:
        """The state as a step of a path."""
        order = self._data.with_kept(self.growing.support())
        graft = self.latest or Graft(np.nan, 0)
        return Step.of(
            order,
            self.growing.importances(),
            penalty=self._params.l1,
            objective=graft.criterion,
            model=self.growing.model(),
            details={
                "grafts": graft.n_grafts,
                "rounds": max(1, graft.n_grafts),
                **self.growing.certificate(),
            },
        )


def largest_l1(data: GraftingData, params: GraftingParams) -> float:
    """The smallest L1 penalty that keeps all weights at zero."""
    run = GraftRun(data, params, data.everything)
    return run.growing.largest_l1()


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
        score = pool(losses, origin="held_out", metric=data.loss.name) if runs else None
        yield replace(whole.step(), score=score)

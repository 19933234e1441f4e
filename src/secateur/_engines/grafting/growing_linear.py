"""A linear model that grows one weight at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._engines.grafting.linear import LinearGrafting
from secateur._engines.grafting.model import LinearModel
from secateur._engines.grafting.params import GraftingParams
from secateur._engines.grafting.view import View
from secateur.typing import BoolArray, FloatArray, IntArray


class GrowingLinear:
    """A slot is an output: slot k, feature j is the weight of feature j for output k."""

    def __init__(self, view: View, params: GraftingParams, alpha: FloatArray) -> None:
        self._core = LinearGrafting(view, params, alpha)
        self._params = params
        self._free: list[IntArray] = [np.empty(0, np.int64) for _ in self._core.state.raw]
        self.n_grafts = 0
        self._goal = 0.3 * params.tol * self._core.scale
        if not (alpha > 0.0).all():
            self._free_what_is_free(alpha)

    def _free_what_is_free(self, alpha: FloatArray) -> None:
        """Features without a price are in from the start."""
        self._core.solve(np.inf)
        used = np.flatnonzero((alpha == 0.0) & self._core.state.weight.any(axis=0))
        self._free = [used.copy() for _ in self._free]

    @property
    def raw(self) -> FloatArray:
        """Raw predictions of all rows."""
        return self._core.state.raw

    def largest_l1(self) -> float:
        """The smallest L1 price that keeps all weights out."""
        return self._core.largest_l1()

    def gradients(self) -> FloatArray:
        """Gradient of the loss by weight."""
        return self._core.gradient()[1]

    def is_open(self, max_features: int | None, kept: BoolArray) -> BoolArray:
        """Weights that are not free yet; of new features only if more are allowed."""
        open_ = np.ones_like(self._core.state.weight, np.bool_)
        for k, features in enumerate(self._free):
            open_[k, features] = False
        used = kept.copy()
        used[self.support()] = True
        if max_features is not None and used.sum() >= max_features:
            open_[:, ~used] = False
        return open_

    def typical_step(self, excess: float) -> float:
        """A Newton step along a standardised column."""
        _, curvature = self._core.view.row_gradients(self.raw)
        return excess / max(float(curvature.sum(axis=1).max()), 1e-300)

    def graft(self, slot: int, feature: int) -> float:
        """Free a weight and fit all that are free, or the newest alone."""
        self._free[slot] = np.append(self._free[slot], feature)
        self._core.enter(np.array([feature]))
        free = self._free
        if self._params.adjust == "newest":
            free = [np.empty(0, np.int64) for _ in self._free]
            free[slot] = np.array([feature])
        self._core.fit(free, self._core.penalty(self._params.l1), self._goal)
        return float(abs(self._core.state.weight[slot, feature]))

    def value(self) -> float:
        """The criterion without its L0 part."""
        return self._core.value(self._params.l1)

    def support(self) -> IntArray:
        """The features in use, in order of entry."""
        return self._core.support()

    def save(self) -> Any:
        """The state, to come back to."""
        return self._core.state.copy(), list(self._free), self._core.entry.copy()

    def restore(self, state: Any) -> None:
        """Go back to a state."""
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
        """How far the state is from an optimum without an L0 price."""
        found = self._core.certify(self._params.l1)
        return {"violation": found.violation, "gap": found.gap}

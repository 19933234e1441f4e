"""Fit the free weights again: Newton steps, each a quadratic with absolute values.

Weights of several outputs are fitted together, with the whole matrix of second derivatives:
outputs of a softmax lean on each other, and one after the other would take hundreds of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._kernels.columns import SparseColumns
from secateur._kernels.coordinate_descent import descend_dense, descend_gram, descend_sparse
from secateur.engines.grafting.columns import View
from secateur.engines.grafting.criterion import Penalty
from secateur.engines.grafting.gram import Free, free_columns
from secateur.typing import FloatArray

SWEEPS = 10_000
"""The most sweeps over the free weights for one quadratic."""

COLUMN_SWEEPS = 200
"""The same where every sweep reads the columns themselves."""

ARMIJO = 1e-4
"""The part of the promised fall that a step must give."""


@dataclass(slots=True, eq=False)
class LinearState:
    """Weights of all features, intercepts, and the raw predictions that they give.

    ``told`` are raw predictions whose loss is known, and that loss.
    """

    weight: FloatArray
    intercept: FloatArray
    raw: FloatArray
    told: tuple[FloatArray, float] | None = None

    def copy(self) -> LinearState:
        """A state of its own."""
        return LinearState(self.weight.copy(), self.intercept.copy(), self.raw.copy())

    def loss(self, view: View) -> float:
        """The mean loss; asked twice, it is not made again."""
        if self.told is None or self.told[0] is not self.raw:
            self.told = self.raw, view.mean_loss(self.raw)
        return self.told[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """A change of weights and intercepts, and what it does to raw predictions."""

    step: FloatArray
    intercept: FloatArray
    raw: FloatArray


class Refit:
    """Newton's method on the free weights."""

    def __init__(self, view: View, *, fit_intercept: bool) -> None:
        self._view = view
        self._fit_intercept = fit_intercept
        self.columns = free_columns(view)

    def fit(
        self, state: LinearState, free: Free, penalty: Penalty, goal: float, most_steps: int = 30
    ) -> None:
        """Fit until no violation among the free weights is above the goal."""
        fits = self.columns.fits(free)
        if fits:
            self.columns.hold(free)
        for _ in range(most_steps):
            if fits:
                is_done = not self._step_on_gram(state, free, penalty, goal)
            else:
                is_done = not self._step_on_columns(state, free, penalty, goal)
            if is_done or (fits and self._view.loss.constant_hessian):
                return

    def _step_on_gram(self, state: LinearState, free: Free, penalty: Penalty, goal: float) -> bool:
        """One Newton step on the Gram matrix; False where none is needed, or none helps."""
        by_row, curvature = self._view.row_gradients(state.raw)
        threshold, ridge = penalty.threshold[free.feature], penalty.ridge[free.feature]
        weight = state.weight[free.output, free.feature]
        q = self.columns.gradient(by_row) + ridge * weight
        total = by_row.sum(axis=1)
        worst = _worst(q, threshold, weight)
        if self._fit_intercept:
            worst = max(worst, float(np.abs(total).max()))
        if worst <= goal:
            return False
        products, sums, totals = self.columns.products(state.raw, curvature)
        backward: FloatArray = np.zeros_like(totals)
        if self._fit_intercept:
            # the best intercepts for given weights are known: put them in, and they are gone
            backward = np.asarray(np.linalg.pinv(totals, hermitian=True), np.float64)
            products = products - sums.T @ (backward @ sums)
            q -= sums.T @ (backward @ total)
        else:
            products = products.copy()
        products[np.diag_indices_from(products)] += ridge
        moved = weight.copy()
        descend_gram(products, q, threshold, moved, 0.5 * goal, SWEEPS)
        step = moved - weight
        shift = -backward @ (total + sums @ step)
        raw = self.columns.combine(step) + shift[:, None]
        return self._search(state, free, penalty, _Move(step, shift, raw), by_row)

    def _step_on_columns(
        self, state: LinearState, free: Free, penalty: Penalty, goal: float
    ) -> bool:
        """One Newton step for each output in turn, on the columns themselves."""
        is_moved = False
        for k in range(len(state.raw)):
            by_row, curvature = self._view.row_gradients(state.raw)
            part = free.only(k)
            move = self._descend(by_row[k], curvature[k], state, part, penalty, goal)
            if move is not None:
                is_moved |= self._search(state, part, penalty, move, by_row)
        return is_moved

    def _descend(
        self,
        by_row: FloatArray,
        curvature: FloatArray,
        state: LinearState,
        free: Free,
        penalty: Penalty,
        goal: float,
    ) -> _Move | None:
        """The minimum of the quadratic model of one output; None where nothing moves."""
        view, features = self._view, free.feature
        weight = state.weight[free.output, features]
        threshold, ridge = penalty.threshold[features], penalty.ridge[features]
        moved, r = weight.copy(), by_row.copy()
        columns, places, mean, inverse = view.columns.at_hand(features, view.mean, view.inverse)
        fixed = (places, mean, inverse, curvature, ridge, threshold)
        rest = (self._fit_intercept, 0.5 * goal, COLUMN_SWEEPS, r, moved)
        if isinstance(columns, SparseColumns):
            shift, worst = descend_sparse(*columns, *fixed, *rest)
        else:
            shift, worst = descend_dense(columns.values, *fixed, *rest)
        if worst <= goal:
            return None
        step = moved - weight
        k = int(free.output[0]) if len(free.output) else 0
        intercept, raw = np.zeros(len(state.raw)), np.zeros_like(state.raw)
        intercept[k] = shift
        raw[k] = view.combine(features, step) + shift
        return _Move(step, intercept, raw)

    def _search(
        self, state: LinearState, free: Free, penalty: Penalty, move: _Move, by_row: FloatArray
    ) -> bool:
        """Go along the move, half as far each time, until the criterion falls; False if never."""
        view, place = self._view, (free.output, free.feature)
        threshold, ridge = penalty.threshold[free.feature], 0.5 * penalty.ridge[free.feature]
        before = state.weight[place]
        paid = _paid(before, threshold, ridge)
        value = state.loss(view) + paid
        promised = (
            float((by_row * move.raw).sum()) + _paid(before + move.step, threshold, ridge) - paid
        )
        slack, length = 1e-14 * (abs(value) + 1.0), 1.0
        is_exact = view.loss.constant_hessian
        for _ in range(40):
            raw = state.raw + length * move.raw
            weight = before + length * move.step
            loss = view.mean_loss(raw)
            new = loss + _paid(weight, threshold, ridge)
            if is_exact or new <= value + ARMIJO * length * promised + slack:
                state.weight[place] = weight
                state.intercept += length * move.intercept
                state.raw = raw
                state.told = raw, loss
                return new < value or length == 1.0
            length *= 0.5
        return False


def _worst(q: FloatArray, threshold: FloatArray, weight: FloatArray) -> float:
    at_zero = np.maximum(np.abs(q) - threshold, 0.0)
    found = np.where(weight == 0.0, at_zero, np.abs(q + np.copysign(threshold, weight)))
    return float(found.max(initial=0.0))


def _paid(weight: FloatArray, threshold: FloatArray, ridge: FloatArray) -> float:
    """The penalty of free weights; one that is held at zero by an infinite price pays nothing."""
    used = weight != 0.0
    w = weight[used]
    return float(np.abs(w) @ threshold[used] + (w * w) @ ridge[used])

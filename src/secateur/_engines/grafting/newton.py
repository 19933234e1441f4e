"""Fit the free weights of one output again: Newton steps, each a quadratic with absolute values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._engines.grafting.criterion import Penalty
from secateur._engines.grafting.gram import FreeColumns
from secateur._engines.grafting.view import View
from secateur._kernels.columns import SparseColumns
from secateur._kernels.descent import descend_dense, descend_gram, descend_sparse
from secateur.typing import FloatArray, IntArray

SWEEPS = 10_000
"""The most sweeps over the free weights for one quadratic."""

COLUMN_SWEEPS = 200
"""The same where every sweep reads the columns themselves."""

ARMIJO = 1e-4
"""The part of the promised fall that a step must give."""


@dataclass(slots=True, eq=False)
class LinearState:
    """Weights of all features, intercepts, and the raw predictions that they give."""

    weight: FloatArray
    intercept: FloatArray
    raw: FloatArray

    def copy(self) -> LinearState:
        """A state of its own."""
        return LinearState(self.weight.copy(), self.intercept.copy(), self.raw.copy())


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """A change of some weights and one intercept, what it does to rows, and what it promises."""

    step: FloatArray
    intercept: float
    by_row: FloatArray


class Refit:
    """Newton's method on the free weights of one output at a time."""

    def __init__(self, view: View, *, fit_intercept: bool) -> None:
        self._view = view
        self._fit_intercept = fit_intercept
        self.columns = FreeColumns(view)

    def fit(
        self,
        state: LinearState,
        k: int,
        features: IntArray,
        penalty: Penalty,
        goal: float,
        most_steps: int = 30,
    ) -> None:
        """Fit some weights of output k until no violation among them is above the goal."""
        threshold, ridge = penalty.threshold[features], penalty.ridge[features]
        for _ in range(most_steps):
            by_row, curvature = (rows[k] for rows in self._view.row_gradients(state.raw))
            move = self._quadratic(
                by_row, curvature, features, state.weight[k, features], threshold, ridge, goal
            )
            if move is None or not self._search(state, k, features, penalty, move, by_row):
                return
            if self._view.loss.constant_hessian:
                return

    def _quadratic(
        self,
        by_row: FloatArray,
        curvature: FloatArray,
        features: IntArray,
        weight: FloatArray,
        threshold: FloatArray,
        ridge: FloatArray,
        goal: float,
    ) -> _Move | None:
        """The minimum of the quadratic model; None where the weights are good enough already."""
        if self.columns.fits(len(features)):
            return self._on_gram(by_row, curvature, features, weight, threshold, ridge, goal)
        return self._on_columns(by_row, curvature, features, weight, threshold, ridge, goal)

    def _on_gram(
        self,
        by_row: FloatArray,
        curvature: FloatArray,
        features: IntArray,
        weight: FloatArray,
        threshold: FloatArray,
        ridge: FloatArray,
        goal: float,
    ) -> _Move | None:
        free, rows = self.columns, self._view.rows
        part = _places(free, features)
        whole = self._view.is_whole
        g, d = (by_row, curvature) if whole else (by_row[rows], curvature[rows])
        cells = free.cells if len(part) == len(free.features) else free.cells[part]
        q = cells @ g + ridge * weight
        total = float(g.sum()) if self._fit_intercept else 0.0
        if max(_worst(q, threshold, weight), abs(total)) <= goal:
            return None
        products, sums = free.curved(d, part)
        total_d = float(d.sum())
        if self._fit_intercept and total_d > 0.0:
            # the best intercept for given weights is known: put it in, and it is gone
            products = products - np.outer(sums, sums / total_d)
            q -= sums * (total / total_d)
        elif products is free.cells or self._view.loss.constant_hessian:
            products = products.copy()
        products[np.diag_indices_from(products)] += ridge
        moved = weight.copy()
        descend_gram(products, q, threshold, moved, 0.5 * goal, SWEEPS)
        step = moved - weight
        shift = 0.0
        if self._fit_intercept and total_d > 0.0:
            shift = -(total + float(sums @ step)) / total_d
        by_row_change = step @ cells if whole else self._view.combine(features, step)
        return _Move(step, shift, by_row_change + shift)

    def _on_columns(
        self,
        by_row: FloatArray,
        curvature: FloatArray,
        features: IntArray,
        weight: FloatArray,
        threshold: FloatArray,
        ridge: FloatArray,
        goal: float,
    ) -> _Move | None:
        view, moved, r = self._view, weight.copy(), by_row.copy()
        fixed = (features, view.mean, view.inverse, curvature, ridge, threshold)
        rest = (self._fit_intercept, 0.5 * goal, COLUMN_SWEEPS, r, moved)
        columns = view.columns.columns
        if isinstance(columns, SparseColumns):
            shift = descend_sparse(*columns, *fixed, *rest)
        else:
            shift = descend_dense(columns.values, *fixed, *rest)
        step = moved - weight
        if not step.any() and abs(shift) == 0.0:
            return None
        return _Move(step, float(shift), view.combine(features, step) + shift)

    def _search(
        self,
        state: LinearState,
        k: int,
        features: IntArray,
        penalty: Penalty,
        move: _Move,
        by_row: FloatArray,
    ) -> bool:
        """Go along the move, half as far each time, until the criterion falls; False if never."""
        view, before = self._view, state.weight[k, features]
        alone = Penalty(penalty.l1, penalty.l2, penalty.alpha[features])
        value = view.mean_loss(state.raw) + alone.value(before[None])
        after = alone.value((before + move.step)[None])
        promised = float(by_row @ move.by_row) + after - alone.value(before[None])
        raw = state.raw.copy()
        length = 1.0
        for _ in range(40):
            raw[k] = state.raw[k] + length * move.by_row
            weight = before + length * move.step
            new = view.mean_loss(raw) + alone.value(weight[None])
            slack = 1e-14 * (abs(value) + 1.0)
            if view.loss.constant_hessian or new <= value + ARMIJO * length * promised + slack:
                state.weight[k, features] = weight
                state.intercept[k] += length * move.intercept
                state.raw = raw
                return new < value or length == 1.0
            length *= 0.5
        return False


def _places(free: FreeColumns, features: IntArray) -> IntArray:
    """Where features stand among the columns held, which may be more."""
    if len(features) == len(free.features):
        return np.arange(len(features))
    place = {int(j): a for a, j in enumerate(free.features)}
    return np.array([place[int(j)] for j in features], np.int64)


def _worst(q: FloatArray, threshold: FloatArray, weight: FloatArray) -> float:
    at_zero = np.maximum(np.abs(q) - threshold, 0.0)
    found = np.where(weight == 0.0, at_zero, np.abs(q + np.copysign(threshold, weight)))
    return float(found.max(initial=0.0))

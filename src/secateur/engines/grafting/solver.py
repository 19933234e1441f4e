"""The criterion of Eq. 7, its optimality conditions, and Newton steps on the free weights.

Weights of several outputs are fitted together, with the full matrix of second derivatives: one
output after the other would take hundreds of rounds. Of many, each has a step of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur._kernels.columns import SparseColumns
from secateur._kernels.coordinate_descent import descend_dense, descend_gram, descend_sparse
from secateur.engines.grafting.columns import Free, FreeColumns, View
from secateur.typing import FloatArray, IntArray

MAX_COUPLED = 20  # with more outputs their second derivatives are too many
MAX_NEWTON_STEPS = 30  # for one set of free weights
MAX_SWEEPS = 10_000  # sweeps over the free weights for one quadratic
MAX_COLUMN_SWEEPS = 200  # the same if every sweep reads the columns
ARMIJO = 1e-4  # share of the predicted decrease that a step must reach
# A change of weights, of intercepts, and of the raw predictions.
Move = tuple[FloatArray, FloatArray, FloatArray]


class Penalty:
    """``l1 sum alpha |w| + l2 sum beta w^2``; ``alphas`` are (alpha, beta), for each feature."""

    __slots__ = ("alpha", "l1", "ridge", "threshold")

    def __init__(self, l1: float, l2: float, alphas: tuple[FloatArray, FloatArray]) -> None:
        self.l1, (self.alpha, beta) = l1, alphas
        alpha = self.alpha
        self.threshold: FloatArray = np.where(alpha > 0.0, alpha, 0.0)
        # with an infinite l1 only features without a cost can enter
        np.multiply(self.threshold, l1, out=self.threshold, where=alpha > 0.0)
        self.ridge: FloatArray = 2.0 * l2 * beta

    def value(self, weight: FloatArray) -> float:
        """The penalty of weights of shape (n_outputs, n_features)."""
        used = np.flatnonzero(weight.any(axis=0))
        w, alpha = weight[:, used], self.alpha[used]
        absolute = float((np.abs(w) @ alpha).sum())
        squared = 0.5 * float((w * w @ self.ridge[used]).sum())
        return squared + (self.l1 * absolute if absolute else 0.0)


def violations(
    gradient: FloatArray, weight: FloatArray, threshold: FloatArray, ridge: FloatArray
) -> FloatArray:
    """Distance of each subgradient of the criterion from zero, by weight; the last axis is j."""
    out = np.abs(gradient)
    out -= threshold
    np.maximum(out, 0.0, out=out)
    used = np.nonzero(weight)
    w, feature = weight[used], used[-1]
    smooth = gradient[used] + ridge[feature] * w
    out[used] = np.abs(smooth + np.copysign(threshold[feature], w))
    return out


@dataclass(slots=True, eq=False)
class LinearState:
    """Weights of all features, intercepts, their raw predictions, and the loss of these, cached."""

    weight: FloatArray
    intercept: FloatArray
    raw: FloatArray
    known_loss: tuple[FloatArray, float] | None = None

    def copy(self) -> LinearState:
        """An independent copy."""
        return LinearState(self.weight.copy(), self.intercept.copy(), self.raw.copy())

    def loss(self, view: View) -> float:
        """The mean loss, cached."""
        if self.known_loss is None or self.known_loss[0] is not self.raw:
            self.known_loss = self.raw, view.mean_loss(self.raw)
        return self.known_loss[1]


class Refit:
    """Newton's method on the free weights."""

    def __init__(self, view: View, *, fit_intercept: bool) -> None:
        self._view = view
        self._fit_intercept = fit_intercept
        self.columns = FreeColumns(view)

    def fit(
        self, state: LinearState, features: Sequence[IntArray], penalty: Penalty, goal: float
    ) -> None:
        """Fit until no violation among the free weights, by output, is above the goal."""
        output = np.repeat(np.arange(len(features)), [len(each) for each in features])
        free = Free(output, np.concatenate(features))
        has_many = len(state.raw) > MAX_COUPLED
        fits = not has_many and self.columns.fits(free)
        if fits:
            self.columns.hold(free)
        step = self._step_on_gram if fits else self._step_on_columns
        step = self._step_on_outputs if has_many else step
        for _ in range(MAX_NEWTON_STEPS):
            is_moved = step(state, free, penalty, goal)
            if not is_moved or (fits and self._view.loss.constant_hessian):
                return

    def _step_on_gram(self, state: LinearState, free: Free, penalty: Penalty, goal: float) -> bool:
        """One Newton step on the Gram matrix; False if none is needed, or none helps."""
        by_row, curvature = self._view.row_gradients(state.raw)
        threshold, ridge = penalty.threshold[free.feature], penalty.ridge[free.feature]
        weight = state.weight[free]
        gradient, total = self.columns.gradient(by_row), by_row.sum(axis=1)
        worst = float(violations(gradient, weight, threshold, ridge).max(initial=0.0))
        if self._fit_intercept:
            worst = max(worst, float(np.abs(total).max()))
        if worst <= goal:
            return False
        q = gradient + ridge * weight
        products, sums, totals = self.columns.products(state.raw, curvature)
        backward: FloatArray = np.zeros_like(totals)
        if self._fit_intercept:
            # the intercepts are eliminated: their optimum for given weights is known
            backward = np.asarray(np.linalg.pinv(totals, hermitian=True), np.float64)
            products = products - sums.T @ (backward @ sums)
            q -= sums.T @ (backward @ total)
        else:
            products = products.copy()
        products[np.diag_indices_from(products)] += ridge
        moved = weight.copy()
        descend_gram(products, q, threshold, moved, 0.5 * goal, MAX_SWEEPS)
        step = moved - weight
        shift = -backward @ (total + sums @ step)
        raw = self.columns.combine(step) + shift[:, None]
        return self._search(state, free, penalty, (step, shift, raw), by_row)

    def _step_on_columns(
        self, state: LinearState, free: Free, penalty: Penalty, goal: float
    ) -> bool:
        """One Newton step for each output in turn, on the columns; False if nothing changes."""
        view, is_moved = self._view, False
        for k in range(len(state.raw)):
            by_row, curvature = view.row_gradients(state.raw)
            here = free.output == k
            part = Free(free.output[here], free.feature[here])
            features = part.feature
            weight = state.weight[k, features]
            moved = weight.copy()
            shift, worst = self._descend(
                features, curvature[k], penalty, goal, by_row[k].copy(), moved
            )
            if worst <= goal:
                continue
            intercept, raw = np.zeros(len(state.raw)), np.zeros_like(state.raw)
            intercept[k] = shift
            raw[k] = view.combine(features, moved - weight) + shift
            move = (moved - weight, intercept, raw)
            is_moved |= self._search(state, part, penalty, move, by_row)
        return is_moved

    def _step_on_outputs(
        self, state: LinearState, free: Free, penalty: Penalty, goal: float
    ) -> bool:
        """One step of all outputs at once, in time linear in their number.

        The curvature of a softmax, diag(p) - p p', is bounded by diag(p), and nearly equal to it
        except where all outputs move alike, which changes no probability.
        """
        view = self._view
        by_row, _ = view.row_gradients(state.raw)
        bound = np.ascontiguousarray(view.loss.response(state.raw).T) * view.shares
        before = state.weight[free]
        moved, raw = before.copy(), np.empty_like(state.raw)
        shift, ends = np.zeros(len(raw)), np.searchsorted(free.output, np.arange(len(raw) + 1))
        worst = 0.0
        for k in range(len(raw)):
            here = slice(ends[k], ends[k + 1])
            shift[k], its_worst = self._descend(
                free.feature[here], bound[k], penalty, goal, by_row[k].copy(), moved[here]
            )
            raw[k] = view.combine(free.feature[here], moved[here] - before[here]) + shift[k]
            worst = max(worst, its_worst)
        if worst <= goal:
            return False
        return self._search(state, free, penalty, (moved - before, shift, raw), by_row)

    def _descend(
        self,
        features: IntArray,
        curvature: FloatArray,
        penalty: Penalty,
        goal: float,
        r: FloatArray,
        moved: FloatArray,
    ) -> tuple[float, float]:
        """Coordinate descent for one output, in place; shift of its intercept, worst violation."""
        view = self._view
        columns, *places = view.columns.at_hand(features, view.mean, view.inverse)
        descend = descend_sparse if isinstance(columns, SparseColumns) else descend_dense
        fixed = (curvature, penalty.ridge[features], penalty.threshold[features])
        rest = (self._fit_intercept, 0.5 * goal, MAX_COLUMN_SWEEPS, r, moved)
        shift, worst = descend(*columns, *places, *fixed, *rest)
        return shift, worst

    def _search(
        self, state: LinearState, free: Free, penalty: Penalty, move: Move, by_row: FloatArray
    ) -> bool:
        """Backtracking line search; False if the criterion does not fall."""
        view, (step, shift, change) = self._view, move
        threshold, ridge = penalty.threshold[free.feature], 0.5 * penalty.ridge[free.feature]
        before = state.weight[free]
        penalty_before = _penalty_of(before, threshold, ridge)
        value = state.loss(view) + penalty_before
        after = _penalty_of(before + step, threshold, ridge)
        predicted = float((by_row * change).sum()) + after - penalty_before
        slack, length = 1e-14 * (abs(value) + 1.0), 1.0
        is_exact = view.loss.constant_hessian
        for _ in range(40):
            raw = state.raw + length * change
            weight = before + length * step
            loss = view.mean_loss(raw)
            new = loss + _penalty_of(weight, threshold, ridge)
            if is_exact or new <= value + ARMIJO * length * predicted + slack:
                state.weight[free] = weight
                state.intercept += length * shift
                state.raw = raw
                state.known_loss = raw, loss
                return new < value or length == 1.0
            length *= 0.5
        return False


def _penalty_of(weight: FloatArray, threshold: FloatArray, ridge: FloatArray) -> float:
    """The penalty of free weights; zero weights with an infinite threshold contribute nothing."""
    used = weight != 0.0
    w = weight[used]
    return float(np.abs(w) @ threshold[used] + (w * w) @ ridge[used])

"""Grafts one by one: models that grow by a weight or a connection, and their paths in folds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from secateur._kernels.coordinate_descent import HAIR
from secateur._kernels.threads import OneBlasThread
from secateur.data.table import Fold, all_rows
from secateur.engines.fold_losses import pool
from secateur.engines.grafting.columns import GraftingData, GraftingParams, View
from secateur.engines.grafting.linear import LinearGrafting
from secateur.engines.grafting.models import SLOPE_AT_ZERO, NetworkModel, NetworkWeights
from secateur.engines.limits import Limits
from secateur.path.step import Step
from secateur.path.stopping import StopReason
from secateur.typing import BoolArray, FloatArray, IntArray

# The automatic L1 penalty for grafts one by one, as a share of the largest.
GREEDY_SHARE = {"linear": 0.02, "mlp": 0.005}
MAX_STEPS = 150  # steps of L-BFGS-B for one fit of a network
MAX_FLIPS = 5  # how often weights that became zero may try the other sign


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

    def drop_unused(self) -> None:
        """Hold the free weights of features that are not in use at zero again."""
        self._free = [each[self.state.weight[:, each].any(axis=0)] for each in self._free]

    def graft(self, slot: int, feature: int) -> float:
        """Free a weight and fit all free weights, or the newest; gives the new weight's size."""
        self.state, self.entry, self._free = self.state.copy(), self.entry.copy(), [*self._free]
        self._free[slot] = np.append(self._free[slot], feature)
        self.enter(np.array([feature]))
        free = self._free
        if self.params.adjust == "newest":
            free = [np.empty(0, np.int64) for _ in self._free]
            free[slot] = np.array([feature])
        self.fit(free, self.penalty(self.params.l1), 0.3 * self.params.tol * self.scale)
        return float(abs(self.state.weight[slot, feature]))

    def certificate(self) -> dict[str, float]:
        """Violation and duality gap without an L0 penalty."""
        penalty = self.penalty(self.params.l1)
        found, _ = self.certify(*self.gradient(), penalty, self.params.max_iter)
        return {"violation": found.violation, "gap": found.gap}


class GrowingNetwork:
    """Grows by connections: slot k < K is a new unit for output k, K + h an input of unit h."""

    slope_at_zero = SLOPE_AT_ZERO

    def __init__(
        self, view: View, params: GraftingParams, alphas: tuple[FloatArray, FloatArray]
    ) -> None:
        self.view, self._params, (self.alpha, self.alpha2) = view, params, alphas
        none, nothing = np.empty(0, np.int64), np.empty(0)
        self.network = NetworkWeights(none, none, nothing, none, nothing, view.start)
        self._cells: FloatArray = np.empty((0, view.columns.n_rows))
        self._entered: list[int] = []
        self._known: tuple[FloatArray, FloatArray] | None = None
        self._predict()
        self._top = float(np.abs(self.gradients()).max(initial=0.0))

    def largest_l1(self) -> float:
        """The smallest L1 penalty that keeps all connections out."""
        priced = self.alpha > 0.0
        size = np.abs(self.gradients()[:, priced]) / self.alpha[priced]
        return float(size.max(initial=0.0))

    def _predict(self) -> None:
        self._hidden = self.network.hidden_values(self._cells)
        self.raw: FloatArray = self.network.outputs(self._hidden)

    def gradients(self) -> FloatArray:
        """Gradient of the loss by every possible connection, cached."""
        if self._known is None or self._known[0] is not self.raw:
            by_row, _ = self.view.row_gradients(self.raw)
            by_unit = self.network.unit_gradients(self._hidden, by_row)
            by_row = np.concatenate([SLOPE_AT_ZERO * by_row, by_unit])
            dots = self.view.columns.dots(by_row, self.view.threads)
            self._known = self.raw, self.view.standardised(dots, by_row)
        return self._known[1]

    def is_open(self, limits: Limits | None = None) -> BoolArray:
        """Connections that may be made now, within the limits."""
        network, n_outputs = self.network, len(self.raw)
        n_features = self.view.columns.n_features
        open_ = np.ones((n_outputs + network.n_units, n_features), np.bool_)
        open_[n_outputs + network.unit, network.feature] = False
        limit = self._params.max_hidden
        if limit is not None and network.n_units >= limit:
            open_[:n_outputs] = False
        if limits is not None:
            open_[:, ~limits.open(self.support())] = False
        return open_

    def drop_unused(self) -> None:
        """Leave out the connections of features that are not in use; units stay."""
        self.network = self.network.only(np.isin(self.network.feature, self.support()))
        self._cells = self.view.gather(self.network.features, all_rows=True)
        self._places = self.network.places()

    def graft(self, slot: int, feature: int) -> float:
        """Make a connection and fit all weights, or the newest; gives the new weight's size."""
        n_outputs, network = len(self.raw), self.network
        sign = -np.sign(self.gradients()[slot, feature])
        if slot < n_outputs:
            unit, output = network.n_units, slot
        else:
            unit = slot - n_outputs
            output = int(network.unit_output[unit])
        self.network = network.connected(feature, unit, output)
        if feature not in self._entered:
            self._entered = [*self._entered, feature]
        self._cells = self.view.gather(self.network.features, all_rows=True)
        self._places = self.network.places()
        self._fit(sign)
        self._predict()
        return float(abs(self.network.weight[-1]))

    def _fit(self, newest_sign: float) -> None:
        """Minimise Eq. 7 over the free weights; those that end at zero may try the other sign."""
        from scipy.optimize import minimize

        # with fixed signs the absolute value is linear, so L-BFGS-B with bounds applies
        sign = np.sign(self.network.weight)
        sign[sign == 0.0] = 1.0
        sign[-1] = newest_sign or 1.0
        start, tol = self.network.flat(), self._params.tol
        options = {"maxcor": 30, "maxiter": MAX_STEPS, "maxfun": 2 * MAX_STEPS, "ftol": 0.1 * tol}
        options["gtol"] = tol * max(self._top, 1e-12)
        for _ in range(MAX_FLIPS):
            how = {"jac": True, "method": "L-BFGS-B", "bounds": self._bounds(start, sign)}
            start = minimize(self._value_and_gradient, start, sign, options=options, **how).x
            network = self.network.with_flat(start)
            at_zero = network.weight == 0.0
            if self._params.l1 == 0.0 or not at_zero.any() or self._params.adjust == "newest":
                break
            # weights at zero that would decrease the criterion with the other sign
            pull = self._loss_and_gradient(network)[1][-len(sign) :] * sign
            slack = tol * self._top
            flipped = at_zero & (pull > self._params.l1 * self.alpha[network.feature] + slack)
            if not flipped.any():
                break
            sign[flipped] *= -1.0
        self.network = network

    def _bounds(self, start: FloatArray, sign: FloatArray) -> list[tuple[float, float]]:
        """Connections keep their sign; in the variant of Section 3.4 old ones keep their value."""
        n_biases = len(start) - len(sign)
        low = np.concatenate([np.full(n_biases, -np.inf), np.where(sign > 0, 0.0, -np.inf)])
        high = np.concatenate([np.full(n_biases, np.inf), np.where(sign > 0, np.inf, 0.0)])
        if self._params.l1 == 0.0:
            low[:], high[:] = -np.inf, np.inf
        if self._params.adjust == "newest":
            low[n_biases:-1] = high[n_biases:-1] = start[n_biases:-1]
        if not self._params.fit_intercept:
            n_outputs = len(self.network.output_bias)
            low[:n_outputs] = high[:n_outputs] = 0.0
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def _value_and_gradient(self, vector: FloatArray, sign: FloatArray) -> tuple[float, FloatArray]:
        network = self.network.with_flat(vector)
        value, gradient = self._loss_and_gradient(network)
        first, weight = self._params.l1 * self.alpha[network.feature], network.weight
        second = self._params.l2 * self.alpha2[network.feature]
        value += float(first @ (sign * weight)) + float(second @ (weight * weight))
        slope = first * sign + 2.0 * second * weight
        gradient[len(gradient) - len(weight) :] += slope
        return value, gradient

    def _loss_and_gradient(self, network: NetworkWeights) -> tuple[float, FloatArray]:
        """The loss and its gradient by all weights, as `NetworkWeights.flat` orders them."""
        hidden = network.hidden_values(self._cells, self._places)
        raw = network.outputs(hidden)
        by_row, _ = self.view.row_gradients(raw)
        by_unit = network.unit_gradients(hidden, by_row)
        by_weight = (by_unit @ self._cells.T)[network.unit, self._places]
        parts = [by_row.sum(axis=1), by_unit.sum(axis=1), by_weight]
        return self.view.mean_loss(raw), np.concatenate(parts)

    def value(self, l1: float) -> float:
        """The criterion without its L0 term."""
        on, weight = self.network.feature, self.network.weight
        penalty = l1 * float(self.alpha[on] @ np.abs(weight))
        penalty += self._params.l2 * float(self.alpha2[on] @ (weight * weight))
        return self.view.mean_loss(self.raw) + penalty

    def support(self) -> IntArray:
        """The features with a connection that is not zero, in order of entry."""
        used = set(self.network.feature[self.network.weight != 0.0].tolist())
        return np.array([j for j in self._entered if j in used], np.int64)

    def importances(self) -> FloatArray:
        """The sum of absolute weights of each feature's connections, of standardised columns."""
        out = np.zeros(self.view.columns.n_features)
        np.add.at(out, self.network.feature, np.abs(self.network.weight))
        return out

    def model(self) -> NetworkModel:
        """The state in the user's units; connections of weight zero are left out."""
        kept = self.network.only(self.network.weight != 0.0)
        units = self.view.user_units(kept.features)
        return NetworkModel(self.view.loss, kept, *units, *self.view.unit)

    def certificate(self) -> dict[str, float]:
        """The largest violation at the connections that could still be made or changed."""
        size = np.abs(self.gradients()) - self._params.l1 * self.alpha
        size[:, self.view.inverse == 0.0] = 0.0
        worst = float(np.where(self.is_open(), size, 0.0).max(initial=0.0))
        return {"violation": max(worst, 0.0) / (self._top or 1.0)}


class GraftRun:
    """Grafts on the training rows of one fold."""

    def __init__(self, data: GraftingData, params: GraftingParams, fold: Fold) -> None:
        self.fold = fold
        self._data, self._params = data, params
        self._limits = Limits(data.cost_model, params.max_features, params.cost_budget)
        nothing = np.empty(0, np.int64)
        # weights are numbered by slot (where they go) and feature; a graft changes no shared array
        self.growing: GrowingLinear | GrowingNetwork = (
            GrowingNetwork(View(data, fold.train, params), params, data.alphas(nothing))
            if params.model == "mlp"
            else GrowingLinear(data, params, fold)
        )
        # one more graft each (the first time none), until the criterion would rise
        self.grafts = self._graft()
        self.is_cut_short = False  # at ``max_iter`` grafts, where one more would lower it
        self.criterion = np.nan
        self._n_grafts = 0
        self._newest = np.nan

    def _graft(self) -> Iterator[bool]:
        """Free the weight with the lowest bound and fit; undo what raises the criterion."""
        params = self._params
        self.criterion = self._value()
        min_decrease = params.tol * abs(self.criterion)
        yield True
        while True:
            before = self.growing
            for slot, feature in self._candidates()[: params.retries + 1]:
                self.growing = copy(before)
                size = self.growing.graft(int(slot), int(feature))
                value = self._value()
                if value < self.criterion - min_decrease:
                    break
            else:
                self.growing = before
                return
            if self._n_grafts == params.max_iter:
                self.growing, self.is_cut_short = before, True
                return
            self.criterion, self._newest = value, size or self._newest
            self._n_grafts += 1
            self._update()
            yield True

    def _update(self) -> None:
        """Costs of features that are not in use given those that are; others keep their alpha."""
        growing = self.growing
        if not self._limits.are_none:  # a weight at zero that grew again might exceed them
            growing.drop_unused()
        if not self._data.cost_model.is_plain:
            used = growing.support()
            before = growing.alpha, growing.alpha2
            after = tuple(each.copy() for each in self._data.alphas(used))
            for new, old in zip(after, before, strict=True):
                new[used] = old[used]
            growing.alpha, growing.alpha2 = after

    def _value(self) -> float:
        """The criterion of Eq. 7."""
        value, l0 = self.growing.value(self._params.l1), self._params.l0
        return value + l0 * self._data.cost_model.total(self.growing.support()) if l0 else value

    def _candidates(self) -> IntArray:
        """Weights by increasing bound, as (slot, feature).

        The bound of Eq. 9 is ``l0 cost - |w'| (|dL/dw| - l1 alpha - l2 beta |w'|)``, with w' the
        newest weight, alpha and beta those of L1 and L2; used features cost nothing.
        """
        params, alpha, cost_model = self._params, self.growing.alpha, self._data.cost_model
        size = np.abs(self.growing.gradients())
        open_ = self.growing.is_open(self._limits)
        open_ &= size > params.l1 * alpha * (1.0 + HAIR) + np.finfo(np.float64).tiny
        excess = np.where(open_, size - params.l1 * alpha, 0.0)
        if np.isnan(self._newest):  # the size of a Newton step along a standardised column
            _, curvature = self.growing.view.row_gradients(self.growing.raw)
            total = max(float(curvature.sum(axis=1).max()), 1e-300)
            largest = float(excess.max(initial=0.0))
            self._newest = largest / (total * self.growing.slope_at_zero**2)
        used = np.zeros(len(alpha), np.bool_)
        used[self.growing.support()] = True
        cost = cost_model.costs(used) if params.l0 > 0.0 else np.zeros(len(alpha))
        ridge = params.l2 * self.growing.alpha2 * self._newest
        bound = params.l0 * cost - self._newest * (excess - ridge)
        flat = np.flatnonzero(open_)
        flat = flat[np.argsort(bound.ravel()[flat], kind="stable")]
        return np.column_stack(np.unravel_index(flat, open_.shape))

    def step(self) -> Step:
        """The state as a step of a path."""
        growing, n_grafts = self.growing, self._n_grafts
        found = {"grafts": n_grafts, "rounds": max(1, n_grafts), **growing.certificate()}
        return self._data.step(growing, self._params.l1, self.criterion, **found)


def trace_grafts(
    data: GraftingData, params: GraftingParams, folds: Sequence[Fold], on_round: Callable[[], None]
) -> Generator[Step, None, StopReason]:
    """One step per graft; folds graft as many weights as the fit on all rows, or until they end."""
    whole = GraftRun(data, params, all_rows(len(data.target)))
    runs = [GraftRun(data, params, fold) for fold in folds]

    def graft() -> bool:
        with OneBlasThread():
            is_done = not next(whole.grafts, False)
            for run in () if is_done else runs:
                next(run.grafts, False)
                on_round()
        return not is_done

    while graft():
        on_round()
        losses = [data.fold_losses(run.fold, run.growing.raw) for run in runs]
        score = pool(losses, origin="held_out", metric=data.loss.metric) if runs else None
        yield replace(whole.step(), score=score)
    return StopReason.MAX_ITER if whole.is_cut_short else StopReason.FINISHED

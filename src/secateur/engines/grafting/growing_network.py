"""A network that grows: a new hidden unit, or a new input to a unit, one connection at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from secateur.engines.grafting.columns import GraftingParams, View
from secateur.engines.grafting.models import (
    SLOPE_AT_ZERO,
    NetworkModel,
    NetworkWeights,
    flat_gradient,
    hidden_values,
    outputs,
    unit_gradients,
)
from secateur.engines.limits import Limits
from secateur.typing import BoolArray, FloatArray, IntArray

MAX_STEPS = 150  # steps of L-BFGS-B for one fit
MAX_FLIPS = 5  # how often weights that became zero may try the other sign


class GrowingNetwork:
    """Grows by connections: slot k < K is a new unit for output k, K + h an input of unit h."""

    slope_at_zero = SLOPE_AT_ZERO

    def __init__(self, view: View, params: GraftingParams, alpha: FloatArray) -> None:
        self.view, self._params, self._alpha = view, params, alpha
        self.network = NetworkWeights.empty(view.start(fit_intercept=params.fit_intercept))
        self._cells: FloatArray = np.empty((0, view.columns.n_rows))
        self._entered: list[int] = []
        self._known: tuple[FloatArray, FloatArray] | None = None
        self._predict()
        self._top = float(np.abs(self.gradients()).max(initial=0.0))

    def largest_l1(self) -> float:
        """The smallest L1 penalty that keeps all connections out."""
        priced = self._alpha > 0.0
        size = np.abs(self.gradients()[:, priced]) / self._alpha[priced]
        return float(size.max(initial=0.0))

    def _predict(self) -> None:
        self._hidden = hidden_values(self.network, self._cells)
        self.raw: FloatArray = outputs(self.network, self._hidden)

    def gradients(self) -> FloatArray:
        """Gradient of the loss by every possible connection, cached."""
        if self._known is None or self._known[0] is not self.raw:
            by_row, _ = self.view.row_gradients(self.raw)
            by_unit = unit_gradients(self.network, self._hidden, by_row)
            by_row = np.concatenate([SLOPE_AT_ZERO * by_row, by_unit])
            self._known = self.raw, self.view.column_gradients(by_row)
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
            open_[:, ~limits.open(np.array(self._entered, np.int64))] = False
        return open_

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
            self._entered.append(feature)
        self._cells = self.view.gather(self.network.features, all_rows=True)
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
        start = self.network.flat()
        for _ in range(MAX_FLIPS):
            found = minimize(
                self._value_and_gradient,
                start,
                args=(sign,),
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds(start, sign),
                options={
                    "maxcor": 30,
                    "maxiter": MAX_STEPS,
                    "maxfun": 2 * MAX_STEPS,
                    "ftol": 0.1 * self._params.tol,
                    "gtol": self._params.tol * max(self._top, 1e-12),
                },
            )
            start = found.x
            flipped = self._flipped(start, sign)
            if not flipped.any():
                break
            sign[flipped] *= -1.0
        self.network = self.network.with_flat(start)

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
        alpha, weight = self._alpha[network.feature], network.weight
        value += self._params.l1 * float(alpha @ (sign * weight))
        value += self._params.l2 * float(alpha @ (weight * weight))
        slope = self._params.l1 * alpha * sign + 2.0 * self._params.l2 * alpha * weight
        gradient[len(gradient) - len(weight) :] += slope
        return value, gradient

    def _loss_and_gradient(self, network: NetworkWeights) -> tuple[float, FloatArray]:
        hidden = hidden_values(network, self._cells)
        raw = outputs(network, hidden)
        by_row, _ = self.view.row_gradients(raw)
        by_unit = unit_gradients(network, hidden, by_row)
        gradient = flat_gradient(network, self._cells, by_unit, by_row)
        return self.view.mean_loss(raw), gradient

    def _flipped(self, vector: FloatArray, sign: FloatArray) -> BoolArray:
        """Weights at zero that would decrease the criterion with the other sign."""
        network = self.network.with_flat(vector)
        at_zero = network.weight == 0.0
        if self._params.l1 == 0.0 or not at_zero.any() or self._params.adjust == "newest":
            return np.zeros(len(at_zero), np.bool_)
        _, gradient = self._loss_and_gradient(network)
        pull = gradient[len(gradient) - len(sign) :] * sign
        slack = self._params.tol * self._top
        return at_zero & (pull > self._params.l1 * self._alpha[network.feature] + slack)

    def value(self, l1: float) -> float:
        """The criterion without its L0 term."""
        alpha, weight = self._alpha[self.network.feature], self.network.weight
        penalty = l1 * float(alpha @ np.abs(weight))
        penalty += self._params.l2 * float(alpha @ (weight * weight))
        return self.view.mean_loss(self.raw) + penalty

    def support(self) -> IntArray:
        """The features with a connection that is not zero, in order of entry."""
        used = set(self.network.feature[self.network.weight != 0.0].tolist())
        return np.array([j for j in self._entered if j in used], np.int64)

    def save(self) -> Any:
        """A copy of the state for `restore`."""
        return self.network, self._cells, self._hidden, self.raw, list(self._entered)

    def restore(self, state: Any) -> None:
        """Restore a saved state."""
        self.network, self._cells, self._hidden, self.raw, entered = state
        self._entered = list(entered)

    def importances(self) -> FloatArray:
        """The sum of absolute weights of each feature's connections, of standardised columns."""
        out = np.zeros(self.view.columns.n_features)
        np.add.at(out, self.network.feature, np.abs(self.network.weight))
        return out

    def model(self) -> NetworkModel:
        """The state in the user's units; connections of weight zero are left out."""
        network = self.network
        live = network.weight != 0.0
        kept = replace(
            network,
            feature=network.feature[live],
            unit=network.unit[live],
            weight=network.weight[live],
        )
        units = self.view.user_units(kept.features)
        return NetworkModel(self.view.loss, kept, *units, *self.view.unit)

    def certificate(self) -> dict[str, float]:
        """The largest violation at the connections that could still be made or changed."""
        size = np.abs(self.gradients()) - self._params.l1 * self._alpha
        size[:, self.view.inverse == 0.0] = 0.0
        worst = float(np.where(self.is_open(), size, 0.0).max(initial=0.0))
        return {"violation": max(worst, 0.0) / (self._top or 1.0)}

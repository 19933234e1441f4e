"""Fitted models: linear, and networks with one hidden layer.

    f_k(x) = sum over units h of output k of g(sum_j w_hj x_j + b_h) + b_k,   g(a) = tanh(a / 2)

g is the paper's 2 / (1 + e^-a) - 1. The output weight of a unit is one. With several classes each
unit feeds one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.table import Table
from secateur.losses import Loss
from secateur.typing import BoolArray, FloatArray, IntArray

SLOPE_AT_ZERO = 0.5  # g'(0)


def read_filled(table: Table, features: IntArray, fill: FloatArray) -> FloatArray:
    """Columns of a table with missing values filled, shape (n_rows, n_features)."""
    cells = table.columns(features)
    return np.where(np.isnan(cells), fill, cells)


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """``raw = at_centre + sum_j coef_j (x_j - centre_j)``, one row of coefficients per output.

    Features are in order of entry, so that sums do not depend on the order of columns.
    """

    loss: Loss
    features: IntArray
    coef: FloatArray
    centre: FloatArray
    fill: FloatArray
    at_centre: FloatArray

    @property
    def intercept(self) -> FloatArray:
        """Raw predictions if all features are 0."""
        return self.at_centre - self.coef @ self.centre

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:  # noqa: ARG002
        """Raw predictions of shape (n_outputs, n_rows)."""
        out = np.repeat(self.at_centre[:, None], table.n_rows, axis=1)
        if len(self.features):
            cells = read_filled(table, self.features, self.fill)
            out += self.coef @ (cells - self.centre).T
        return out

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.loss.response(self.raw(table, threads))


@dataclass(frozen=True, slots=True, eq=False)
class NetworkWeights:
    """Connections of ``feature`` to hidden ``unit``, ``unit_output`` of each unit, and biases."""

    feature: IntArray
    unit: IntArray
    weight: FloatArray
    unit_output: IntArray
    hidden_bias: FloatArray
    output_bias: FloatArray

    @property
    def n_units(self) -> int:
        """The number of hidden units."""
        return len(self.hidden_bias)

    @property
    def features(self) -> IntArray:
        """The features with a connection, sorted."""
        return np.unique(self.feature)

    def places(self) -> IntArray:
        """The position of the feature of each connection among these."""
        return np.searchsorted(self.features, self.feature)

    def only(self, kept: BoolArray) -> NetworkWeights:
        """Some of the connections; all units stay."""
        names = ("feature", "unit", "weight")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def connected(self, feature: int, unit: int, output: int) -> NetworkWeights:
        """The network with one more connection of weight 0; ``unit`` may be new."""
        is_new = unit == self.n_units
        return NetworkWeights(
            np.append(self.feature, feature),
            np.append(self.unit, unit),
            np.append(self.weight, 0.0),
            np.append(self.unit_output, output) if is_new else self.unit_output,
            np.append(self.hidden_bias, 0.0) if is_new else self.hidden_bias,
            self.output_bias,
        )

    def flat(self) -> FloatArray:
        """All weights in one vector: output biases, hidden biases, connections."""
        return np.concatenate([self.output_bias, self.hidden_bias, self.weight])

    def with_flat(self, vector: FloatArray) -> NetworkWeights:
        """The same connections with other weights and biases."""
        ends = len(self.output_bias), len(self.output_bias) + self.n_units
        output_bias, hidden_bias = vector[: ends[0]].copy(), vector[ends[0] : ends[1]].copy()
        fixed = self.feature, self.unit, vector[ends[1] :].copy(), self.unit_output
        return NetworkWeights(*fixed, hidden_bias, output_bias)

    def hidden_values(self, cells: FloatArray, places: IntArray | None = None) -> FloatArray:
        """G of every unit, shape (n_units, n_rows); ``cells`` are the columns of its features."""
        matrix = np.zeros((self.n_units, len(cells)))
        matrix[self.unit, self.places() if places is None else places] = self.weight
        inner = matrix @ cells
        inner += self.hidden_bias[:, None]
        inner *= 0.5
        return np.tanh(inner, out=inner)

    def outputs(self, hidden: FloatArray) -> FloatArray:
        """Raw predictions of shape (n_outputs, n_rows)."""
        raw = np.repeat(self.output_bias[:, None], hidden.shape[1], axis=1)
        for k, values in zip(self.unit_output.tolist(), hidden, strict=True):
            raw[k] += values  # np.add.at takes ten times as long
        return raw

    def unit_gradients(self, hidden: FloatArray, by_row: FloatArray) -> FloatArray:
        """Gradient of the loss by the input of each unit, shape (n_units, n_rows)."""
        slope = 0.5 * (1.0 - hidden * hidden)  # g'(a), from g(a)
        slope *= by_row[self.unit_output]
        return slope


@dataclass(frozen=True, slots=True, eq=False)
class NetworkModel:
    """A network on columns ``(x - centre) * inverse``; its outputs are scaled by ``scale``."""

    loss: Loss
    network: NetworkWeights
    centre: FloatArray
    inverse: FloatArray
    fill: FloatArray
    offset: float
    scale: float

    @property
    def features(self) -> IntArray:
        """The features with a connection, sorted."""
        return self.network.features

    def raw(self, table: Table, threads: Threads | None = None) -> FloatArray:  # noqa: ARG002
        """Raw predictions of shape (n_outputs, n_rows)."""
        cells = np.empty((0, table.n_rows))
        if len(self.features):
            given = read_filled(table, self.features, self.fill)
            cells = ((given - self.centre) * self.inverse).T
        raw = self.network.outputs(self.network.hidden_values(cells))
        return raw * self.scale + self.offset

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.loss.response(self.raw(table, threads))

    def readable(self, names: Sequence[str], outputs: Sequence[str]) -> Network:
        """The network in the user's units, with names."""
        net = self.network
        place = np.searchsorted(self.features, net.feature)
        weight = net.weight * self.inverse[place]
        bias = net.hidden_bias.copy()
        np.subtract.at(bias, net.unit, weight * self.centre[place])
        feature = tuple(names[j] for j in net.feature)
        unit_output = tuple(outputs[k] for k in net.unit_output)
        connections = (feature, net.unit, weight, bias, unit_output, net.output_bias)
        return Network(*connections, self.offset, self.scale)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Network:
    """The connections of a network, in the units of the table; printed as a table.

    ``prediction = offset + scale * (output_bias + sum over units of g(hidden_bias + sum of
    weight * feature))``, ``g(a) = 2 / (1 + exp(-a)) - 1``.

    Attributes
    ----------
    feature : tuple of str
        The feature that each connection comes from.
    unit : array of int
        The hidden unit that it goes to.
    weight : array of float
    hidden_bias : array of float, one per unit
    unit_output : tuple of str
        The output that each unit feeds.
    output_bias : array of float, one per output
    offset, scale : float
        Of a numeric target; 0 and 1 for classes.
    """

    feature: tuple[str, ...]
    unit: IntArray
    weight: FloatArray
    hidden_bias: FloatArray
    unit_output: tuple[str, ...]
    output_bias: FloatArray
    offset: float
    scale: float

    def to_rows(self) -> list[dict[str, Any]]:
        """One plain dict for each connection."""
        order = np.lexsort((-np.abs(self.weight), self.unit))
        return [
            {
                "unit": int(self.unit[c]),
                "output": self.unit_output[self.unit[c]],
                "feature": self.feature[c],
                "weight": float(self.weight[c]),
                "bias": float(self.hidden_bias[self.unit[c]]),
            }
            for c in order
        ]

    def __len__(self) -> int:
        return len(self.feature)

    def __str__(self) -> str:
        rows = [row.values() for row in self.to_rows()]
        cells = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
        lines = [["unit", "output", "feature", "weight", "bias"], *cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def __repr__(self) -> str:
        n_units, n_features = len(self.hidden_bias), len(set(self.feature))
        return f"Network({len(self)} connections, {n_features} features, {n_units} hidden units)"

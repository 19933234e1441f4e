"""The multi-layer model of grafting (Section 3.3.2) as arrays: forward, and gradients by weight.

    f_k(x) = sum over units h of output k of g(sum_j w_hj x_j + b_h) + b_k,   g(a) = tanh(a / 2)

g is the paper's 2 / (1 + e^-a) - 1. Units have output weight one. With several classes each unit
belongs to one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur.typing import FloatArray, IntArray

SLOPE_AT_ZERO = 0.5
"""g'(0)."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkWeights:
    """Connections and biases of a network.

    Parameters
    ----------
    feature, unit : int arrays of shape (n_connections,)
        From which feature to which hidden unit.
    weight : array of shape (n_connections,)
    unit_output : int array of shape (n_units,)
        The output that each unit feeds.
    hidden_bias : array of shape (n_units,)
    output_bias : array of shape (n_outputs,)
    """

    feature: IntArray
    unit: IntArray
    weight: FloatArray
    unit_output: IntArray
    hidden_bias: FloatArray
    output_bias: FloatArray

    @classmethod
    def empty(cls, output_bias: FloatArray) -> NetworkWeights:
        """A network without units."""
        none, nothing = np.empty(0, np.int64), np.empty(0)
        return cls(none, none, nothing, none, nothing, output_bias)

    @property
    def n_units(self) -> int:
        """The number of hidden units."""
        return len(self.hidden_bias)

    @property
    def features(self) -> IntArray:
        """The features with a connection, sorted."""
        found: IntArray = np.unique(self.feature)
        return found

    def connected(self, feature: int, unit: int, output: int) -> NetworkWeights:
        """The network with one connection more, of weight 0; ``unit`` may be a new one."""
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
        """The same connections with other weights."""
        first, second = len(self.output_bias), len(self.output_bias) + self.n_units
        return NetworkWeights(
            self.feature,
            self.unit,
            vector[second:].copy(),
            self.unit_output,
            vector[first:second].copy(),
            vector[:first].copy(),
        )

    def matrix(self) -> FloatArray:
        """Connections as a matrix of shape (n_units, len(features))."""
        out = np.zeros((self.n_units, len(self.features)))
        out[self.unit, np.searchsorted(self.features, self.feature)] = self.weight
        return out


def hidden_values(network: NetworkWeights, cells: FloatArray) -> FloatArray:
    """G of every unit, shape (n_units, n_rows); ``cells`` are the columns of its features."""
    inner = network.matrix() @ cells
    inner += network.hidden_bias[:, None]
    inner *= 0.5
    return np.tanh(inner, out=inner)


def outputs(network: NetworkWeights, hidden: FloatArray) -> FloatArray:
    """Raw predictions of shape (n_outputs, n_rows)."""
    raw = np.repeat(network.output_bias[:, None], hidden.shape[1], axis=1)
    np.add.at(raw, network.unit_output, hidden)
    return raw


def unit_gradients(network: NetworkWeights, hidden: FloatArray, by_row: FloatArray) -> FloatArray:
    """Gradient of the loss by the input of each unit, shape (n_units, n_rows)."""
    slope = 0.5 * (1.0 - hidden * hidden)  # g'(a), from g(a)
    slope *= by_row[network.unit_output]
    return slope


def flat_gradient(
    network: NetworkWeights, cells: FloatArray, by_unit: FloatArray, by_row: FloatArray
) -> FloatArray:
    """Gradient of the loss by all weights, as `NetworkWeights.flat` orders them."""
    by_cell = by_unit @ cells.T
    place = np.searchsorted(network.features, network.feature)
    return np.concatenate([by_row.sum(axis=1), by_unit.sum(axis=1), by_cell[network.unit, place]])

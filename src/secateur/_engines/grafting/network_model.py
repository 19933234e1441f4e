"""A grafted network at one step of a path, in the user's units, and as a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.table import Table
from secateur._engines.grafting.model import read_filled
from secateur._engines.grafting.network import NetworkWeights, hidden_values, outputs
from secateur._engines.grafting.view import View
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray, Loss


@dataclass(frozen=True, slots=True, eq=False)
class NetworkModel:
    """A network on columns ``(x - centre) * inverse``; its output times ``scale``, plus ``offset``.

    Scale and offset are those of a numeric target, which is standardised for the fit: units
    answer between -1 and 1.
    """

    loss: Loss
    network: NetworkWeights
    centre: FloatArray
    inverse: FloatArray
    fill: FloatArray
    offset: float
    scale: float

    @classmethod
    def of(cls, network: NetworkWeights, view: View, unit: tuple[float, float]) -> NetworkModel:
        """The model of a network; connections of weight zero are left out."""
        live = network.weight != 0.0
        kept = NetworkWeights(
            network.feature[live],
            network.unit[live],
            network.weight[live],
            network.unit_output,
            network.hidden_bias,
            network.output_bias,
        )
        centre, inverse = view.user_scale(kept.features)
        fill = view.user_mean(kept.features)
        return cls(view.loss, kept, centre, inverse, fill, *unit)

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
        raw = outputs(self.network, hidden_values(self.network, cells))
        return raw * self.scale + self.offset

    def response(self, table: Table, threads: Threads | None = None) -> FloatArray:
        """Predictions on the target's scale: values, or a probability per class."""
        return self.loss.response(self.raw(table, threads))

    def readable(self, names: Sequence[str], outputs_: Sequence[str]) -> Network:
        """The network in the user's units, with names."""
        net = self.network
        place = np.searchsorted(self.features, net.feature)
        weight = net.weight * self.inverse[place]
        bias = net.hidden_bias.copy()
        np.subtract.at(bias, net.unit, weight * self.centre[place])
        return Network(
            feature=tuple(names[j] for j in net.feature),
            unit=net.unit,
            weight=weight,
            hidden_bias=bias,
            unit_output=tuple(outputs_[k] for k in net.unit_output),
            output_bias=net.output_bias,
            offset=self.offset,
            scale=self.scale,
        )


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
        lines = [("unit", "output", "feature", "weight", "bias")]
        lines += [
            (
                str(row["unit"]),
                row["output"],
                row["feature"],
                f"{row['weight']:.4g}",
                f"{row['bias']:.4g}",
            )
            for row in self.to_rows()
        ]
        widths = [max(len(line[c]) for line in lines) for c in range(5)]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def __repr__(self) -> str:
        n_units, n_features = len(self.hidden_bias), len(set(self.feature))
        return f"Network({len(self)} connections, {n_features} features, {n_units} hidden units)"

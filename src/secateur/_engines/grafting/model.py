"""A linear model at one step of a path, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._data.table import Table
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray, Loss


def read_filled(table: Table, features: IntArray, fill: FloatArray) -> FloatArray:
    """Columns of a table with missing values filled, shape (n_rows, n_features)."""
    cells = table.columns(features)
    missing = np.isnan(cells)
    if missing.any():
        cells = np.where(missing, fill, cells)
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """``raw = at_centre + sum_j coef_j (x_j - centre_j)``, one row of coefficients per output.

    Features stand in their order of entry, so that sums do not depend on the order of columns.
    Centring first keeps the digits of columns far from zero.
    """

    loss: Loss
    features: IntArray
    coef: FloatArray
    centre: FloatArray
    fill: FloatArray
    at_centre: FloatArray

    @property
    def intercept(self) -> FloatArray:
        """Raw predictions where all features are 0."""
        value: FloatArray = self.at_centre - self.coef @ self.centre
        return value

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

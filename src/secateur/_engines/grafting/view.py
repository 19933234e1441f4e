"""Some rows that train: their weights, and the columns standardised by those rows alone."""

from __future__ import annotations

import numpy as np

from secateur._engines.grafting.columns import TableColumns
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray, Loss


class View:
    """Training rows of a table that holds others as well.

    Rows that do not train have weight zero: they share the columns, and their predictions are
    made along with the others, but they have no say. A standardised value is
    ``(stored - mean) * inverse``; a column that is constant here has ``inverse`` 0.

    Parameters
    ----------
    columns : TableColumns
    target : array of shape (n_rows,)
    weight : array of shape (n_rows,)
    train : array of int
        The rows that train.
    loss : Loss
    threads : Threads
    centre, scale : bool
    """

    def __init__(
        self,
        columns: TableColumns,
        target: FloatArray,
        weight: FloatArray,
        train: IntArray,
        loss: Loss,
        threads: Threads,
        *,
        centre: bool = True,
        scale: bool = True,
    ) -> None:
        self.columns = columns
        self.target = target
        self.loss = loss
        self.threads = threads
        self.rows = np.sort(train)
        self.weight = np.zeros(len(weight))
        self.weight[self.rows] = weight[self.rows]
        self.shares = self.weight / self.weight.sum()
        self.is_whole = len(self.rows) == len(weight)
        self.means, spread = columns.moments(self.shares, threads)
        self.mean = self.means if centre else np.zeros(columns.n_features)
        with np.errstate(divide="ignore"):
            scaled = np.where(spread > 0.0, 1.0 / spread, 0.0)
        unscaled = np.where((spread > 0.0) | (not centre), 1.0, 0.0)
        self.inverse: FloatArray = scaled if scale else unscaled

    def baseline(self) -> FloatArray:
        """The best constant of the training rows."""
        return self.loss.baseline(self.target[self.rows], self.weight[self.rows])

    def mean_loss(self, raw: FloatArray) -> float:
        """The weighted mean loss of the training rows."""
        return float(self.shares @ self.loss.pointwise(self.target, raw))

    def row_gradients(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of the mean loss by raw prediction, shape (n_outputs, n_rows)."""
        gradient, hessian = np.empty_like(raw), np.empty_like(raw)
        self.loss.gradients(self.target, raw, gradient, hessian)
        gradient *= -self.shares
        hessian *= self.shares
        return gradient, hessian

    def column_gradients(self, by_row: FloatArray) -> FloatArray:
        """Gradients by weight of all standardised columns, shape (n_outputs, n_features)."""
        return self.standardised(self.columns.dots(by_row, self.threads), by_row)

    def standardised(self, dots: FloatArray, by_row: FloatArray) -> FloatArray:
        """The same from sums over the stored columns, in their place."""
        if self.mean.any():
            dots -= self.mean * np.array([[row.sum()] for row in by_row])
        dots *= self.inverse
        return dots

    def gather(self, features: IntArray, *, all_rows: bool = False) -> FloatArray:
        """Standardised columns of the training rows, shape (n_features, n_rows)."""
        rows = np.arange(self.columns.n_rows) if all_rows else self.rows
        return self.columns.gather(features, rows, self.mean, self.inverse)

    def gather_part(self, features: IntArray, part: slice) -> FloatArray:
        """The same of a part of the training rows."""
        return self.columns.gather(features, self.rows[part], self.mean, self.inverse)

    def combine(self, features: IntArray, step: FloatArray) -> FloatArray:
        """The sum of a few standardised columns, each times its step, for all rows."""
        return self.columns.combine(features, step, self.mean, self.inverse)

    def user_scale(self, features: IntArray) -> tuple[FloatArray, FloatArray]:
        """Centre and inverse scale of columns in the user's units."""
        shift, factor = self.columns.shift[features], self.columns.factor[features]
        return shift + factor * self.mean[features], self.inverse[features] / factor

    def user_mean(self, features: IntArray) -> FloatArray:
        """What a missing value counts as, in the user's units."""
        shift, factor = self.columns.shift[features], self.columns.factor[features]
        return shift + factor * self.means[features]

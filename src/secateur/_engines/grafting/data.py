"""Rows and columns of a grafting fit, and everything that does not change from fold to fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._data.prices import Prices
from secateur._data.weights import are_counts
from secateur._engines.grafting.columns import TableColumns
from secateur._engines.grafting.params import GraftingParams
from secateur._engines.grafting.view import View
from secateur._kernels.threads import Threads
from secateur.evaluation.cross_trace import Verdict
from secateur.evaluation.folds import Fold, all_rows
from secateur.typing import FloatArray, IntArray, Loss

OPEN_SHARE = 0.5
"""What an unused feature of an open bag, or by a rule now free, still pays of its L1 price."""


@dataclass(frozen=True, slots=True, eq=False)
class GraftingData:
    """What is fitted.

    ``unit`` is (offset, scale) of the target inside the fit: a network fits a standardised target.
    """

    columns: TableColumns
    target: FloatArray
    weight: FloatArray
    loss: Loss
    prices: Prices
    threads: Threads
    unit: tuple[float, float] = (0.0, 1.0)

    @property
    def everything(self) -> Fold:
        """All rows train, none judges."""
        return all_rows(len(self.target))

    def view(self, train: IntArray, params: GraftingParams) -> View:
        """The rows that train, as the fit sees them."""
        offset, scale = self.unit
        target = self.target if self.unit == (0.0, 1.0) else (self.target - offset) / scale
        return View(
            self.columns,
            target,
            self.weight,
            train,
            self.loss,
            self.threads,
            centre=params.fit_intercept,
            scale=params.standardize,
        )

    def verdict(self, fold: Fold, raw: FloatArray) -> Verdict:
        """What the rows that do not train say of raw predictions of all rows."""
        offset, scale = self.unit
        here = raw[:, fold.test] * scale + offset
        losses = self.loss.pointwise(self.target[fold.test], here)
        return Verdict(losses, self.weight[fold.test], counts=are_counts(self.weight))

    def alpha(self, used: IntArray) -> FloatArray:
        """The alphas of Eq. 7: prices of the features, given those in use.

        Used features keep the price they had at the start, or they would be free of any shrinkage.
        Others are discounted by bags, neighbours or a rule, but never below half.
        """
        start = self.prices.prices(self.prices.keep)
        if self.prices.is_plain or len(used) == 0:
            return start
        mask = np.zeros(len(start), np.bool_)
        mask[used] = True
        now = np.where(mask, start, self.prices.prices(mask))
        return np.maximum(now, OPEN_SHARE * start)

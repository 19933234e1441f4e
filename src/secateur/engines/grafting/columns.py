"""Rows and columns of a grafting fit, and everything that is the same in all folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.costs import CostModel
from secateur.data.standardize import StandardColumns
from secateur.data.table import Fold, all_rows
from secateur.data.target import are_counts
from secateur.engines.fold_losses import FoldLosses
from secateur.execution.distributed_columns import DistributedColumns
from secateur.losses import Loss
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray

# Columns in memory, or in blocks of rows; a stored value is ``(x - shift) / factor``.
TableColumns = StandardColumns | DistributedColumns
# The least share of its L1 penalty that an unused feature keeps if it has become cheaper.
MIN_ALPHA_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class GraftingParams:
    """The lambdas of Eq. 7, and how the model grows: see `GraftingSelector`."""

    model: Literal["linear", "mlp"] = "linear"
    l1: float = 0.0
    l2: float = 0.0
    l0: float = 0.0
    tol: float = 1e-6
    max_iter: int = 200
    max_features: int | None = None
    cost_budget: float | None = None
    max_hidden: int | None = None
    adjust: Literal["all", "newest"] = "all"
    retries: int = 0
    fit_intercept: bool = True
    standardize: bool = True

    @property
    def one_by_one(self) -> bool:
        """Whether weights are grafted one at a time, each a step of the path."""
        return self.model == "mlp" or self.l0 > 0.0 or self.adjust == "newest"


class View:
    """Training rows of a table, the others of weight 0; standardised, constant columns are 0."""

    def __init__(self, data: GraftingData, train: IntArray, params: GraftingParams) -> None:
        self.unit = offset, scale = data.unit
        columns, weight = data.columns, data.weight
        self.columns, self.loss, self.threads = columns, data.loss, data.threads
        self.target = (data.target - offset) / scale
        self.rows = np.sort(train)
        self.weight = np.zeros(len(weight))
        self.weight[self.rows] = weight[self.rows]
        self.shares = self.weight / self.weight.sum()
        self.is_whole = len(self.rows) == len(weight)
        self.means, deviation = columns.moments(self.shares, data.threads)
        centre = params.fit_intercept
        self.mean = self.means if centre else np.zeros(columns.n_features)
        with np.errstate(divide="ignore"):
            scaled = np.where(deviation > 0.0, 1.0 / deviation, 0.0)
        unscaled = np.where((deviation > 0.0) | (not centre), 1.0, 0.0)
        self.inverse: FloatArray = scaled if params.standardize else unscaled
        self.start = np.zeros(self.loss.n_outputs)  # the intercepts at the start
        if params.fit_intercept:
            self.start = self.loss.baseline(self.target[self.rows], self.weight[self.rows])

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

    def standardised(self, dots: FloatArray, by_row: FloatArray) -> FloatArray:
        """Gradients by weight of standardised columns, from sums over the stored ones, in place."""
        if self.mean.any():
            dots -= self.mean * np.array([[row.sum()] for row in by_row])
        dots *= self.inverse
        return dots

    def gather(
        self, features: IntArray, part: slice = slice(None), *, all_rows: bool = False
    ) -> FloatArray:
        """Standardised columns of (a part of) the training rows, shape (n_features, n_rows)."""
        rows = np.arange(self.columns.n_rows) if all_rows else self.rows[part]
        return self.columns.gather(features, rows, self.mean, self.inverse)

    def combine(self, features: IntArray, step: FloatArray) -> FloatArray:
        """The sum of a few standardised columns, each times its step, for all rows."""
        return self.columns.combine(features, step, self.mean, self.inverse)

    def user_units(self, features: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centre, inverse scale and mean (which fills missing values) in the user's units."""
        shift, factor = self.columns.shift[features], self.columns.factor[features]
        centre, mean = (shift + factor * each[features] for each in (self.mean, self.means))
        return centre, self.inverse[features] / factor, mean

    def are_equal(self, a: int, b: int) -> bool:
        """Whether two columns are equal, or one is the negative of the other."""
        if self.is_whole and isinstance(self.columns, StandardColumns):
            known = self.columns.are_alike(a, b)
            if known is not None:
                return known
        one, other = self.gather(np.array([a, b], np.int64))
        return bool(np.array_equal(one, other) or np.array_equal(one, -other))


def without_duplicates(
    view: View, gradient: FloatArray, alpha: FloatArray, old: IntArray, new: IntArray
) -> IntArray:
    """Leave out new features equal to others (or their negatives) of no higher alpha."""
    # with equal columns the optimum is not unique; they have exactly the same gradient
    everyone = np.concatenate([old, new])
    size = np.abs(gradient[everyone])
    order = np.argsort(size, kind="stable")
    equal = np.flatnonzero(np.diff(size[order]) == 0.0)
    if len(equal) == 0:
        return new
    suspects = np.unique(np.concatenate([order[equal], order[equal + 1]]))
    is_duplicate = np.zeros(len(everyone), np.bool_)
    for position in suspects[suspects >= len(old)]:
        others = suspects[(suspects < position) & (size[suspects] == size[position])]
        others = others[~is_duplicate[others]]
        others = others[alpha[everyone[others]] <= alpha[everyone[position]]]
        is_duplicate[position] = any(
            view.are_equal(everyone[position], everyone[other]) for other in others
        )
    return new[~is_duplicate[len(old) :]]


@dataclass(frozen=True, slots=True, eq=False)
class GraftingData:
    """The data of a fit; ``unit`` is (offset, scale) of the target, standardised for networks."""

    columns: TableColumns
    target: FloatArray
    weight: FloatArray
    loss: Loss
    cost_model: CostModel
    threads: Threads
    unit: tuple[float, float] = (0.0, 1.0)

    @property
    def everything(self) -> Fold:
        """A fold in which all rows train."""
        return all_rows(len(self.target))

    def fold_losses(self, fold: Fold, raw: FloatArray) -> FoldLosses:
        """Losses of the test rows, from raw predictions of all rows."""
        offset, scale = self.unit
        losses = self.loss.scores(self.target[fold.test], raw[:, fold.test] * scale + offset)
        return FoldLosses(losses, self.weight[fold.test], counts=are_counts(self.weight))

    def step(self, fitted: Any, penalty: float, objective: float, **details: Any) -> Step:
        """A fitted model as a step of a path."""
        return Step.of(
            self.with_kept(fitted.support()),
            fitted.importances(),
            penalty=penalty,
            objective=objective,
            model=fitted.model(),
            details=details,
        )

    def with_kept(self, support: IntArray) -> IntArray:
        """The support in order of entry, after the kept features that are not in it."""
        kept = np.flatnonzero(self.cost_model.keep)
        return np.concatenate([kept[~np.isin(kept, support)], support])

    def alpha(self, used: IntArray) -> FloatArray:
        """The alphas of Eq. 7: the costs given the features in use, but never below half.

        Used features keep the cost they had at the start, otherwise they would not be shrunk.
        """
        start = self.cost_model.costs(self.cost_model.keep)
        if self.cost_model.is_plain or len(used) == 0:
            return start
        mask = np.zeros(len(start), np.bool_)
        mask[used] = True
        now = np.where(mask, start, self.cost_model.costs(mask))
        return np.maximum(now, MIN_ALPHA_SHARE * start)

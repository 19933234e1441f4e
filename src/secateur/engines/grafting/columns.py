"""Rows and columns of a grafting fit, and everything that does not change from fold to fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from secateur._kernels.columns import DenseColumns, SparseColumns
from secateur._kernels.threads import Threads
from secateur.data.costs import Prices
from secateur.data.folds import Fold, all_rows
from secateur.data.weights import are_counts
from secateur.engines.fold_losses import FoldLosses
from secateur.typing import FloatArray, IntArray, Loss


@dataclass(frozen=True, slots=True)
class GraftingParams:
    """The lambdas of Eq. 7, how far to go, and how to grow.

    Parameters
    ----------
    model : {"linear", "mlp"}
    l1, l2, l0 : float
        Prices of ``sum alpha |w|``, ``sum alpha w^2`` and of the features in use.
    tol : float
        The largest violation of optimality, as a share of the largest gradient at the start, and
        the largest duality gap, as a share of the loss of a constant.
    max_rounds : int
        The most grafting rounds; without an L0 price a round of a linear model frees many weights.
    max_features, max_hidden : int or None
    adjust : {"all", "newest"}
        What is fitted after a graft: all free weights, or the newest and the biases (Section 3.4).
    retries : int
        How many further candidates are tried when the criterion rises (Section 3.2.3).
    fit_intercept, standardize : bool
    """

    model: Literal["linear", "mlp"] = "linear"
    l1: float = 0.0
    l2: float = 0.0
    l0: float = 0.0
    tol: float = 1e-6
    max_rounds: int = 200
    max_features: int | None = None
    max_hidden: int | None = None
    adjust: Literal["all", "newest"] = "all"
    retries: int = 0
    fit_intercept: bool = True
    standardize: bool = True

    @property
    def one_by_one(self) -> bool:
        """Whether weights are grafted one at a time, each a step of the path."""
        return self.model == "mlp" or self.l0 > 0.0 or self.adjust == "newest"


class TableColumns(Protocol):
    """Columns on one scale; a stored value is ``(x - shift) / factor``."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def n_features(self) -> int:
        """The number of columns."""
        ...

    @property
    def n_cells(self) -> int:
        """The number of stored cells."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored, in this process."""
        ...

    @property
    def is_frugal(self) -> bool:
        """Whether all rows of a few columns may be more than memory has room for."""
        ...

    @property
    def shift(self) -> FloatArray:
        """What is subtracted from each column."""
        ...

    @property
    def factor(self) -> FloatArray:
        """What each column is divided by."""
        ...

    def n_stored(self, features: IntArray) -> int:
        """The number of stored cells of some columns."""
        ...

    def are_alike(self, a: int, b: int) -> bool | None:
        """Whether two columns are copies or mirror images; None where one must look closer."""
        ...

    def dots(self, vectors: FloatArray, threads: Threads) -> FloatArray:
        """X'g: sums over rows of each stored column times each vector, (n_vectors, n_features)."""
        ...

    def moments(self, weight: FloatArray, threads: Threads) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        ...

    def gather(
        self, features: IntArray, rows: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """``(stored - mean) * inverse`` of a few columns, shape (n_features, n_rows)."""
        ...

    def combine(
        self, features: IntArray, step: FloatArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The sum of a few columns, standardised as in `gather`, each times its step."""
        ...

    def at_hand(
        self, features: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> tuple[DenseColumns | SparseColumns, IntArray, FloatArray, FloatArray]:
        """Columns in this process, among which some features are: where, and on what scale.

        Means and inverse scales come back place by place, as the columns stand.
        """
        ...


def without_twins(
    view: View, gradient: FloatArray, alpha: FloatArray, old: IntArray, new: IntArray
) -> IntArray:
    """Leave out new features that are copies (or mirror images) of others before them.

    With equal columns the optimum is not unique: any share of the weight will do. All of it goes
    to the first, so that copies do not enter. Copies have the same gradient, digit by digit;
    only columns with equal gradients are compared. A copy that is cheaper stays.
    """
    everyone = np.concatenate([old, new])
    size = np.abs(gradient[everyone])
    order = np.argsort(size, kind="stable")
    equal = np.flatnonzero(np.diff(size[order]) == 0.0)
    if len(equal) == 0:
        return new
    suspects = np.unique(np.concatenate([order[equal], order[equal + 1]]))
    is_twin = np.zeros(len(everyone), np.bool_)
    for position in suspects[suspects >= len(old)]:
        rivals = suspects[(suspects < position) & (size[suspects] == size[position])]
        rivals = rivals[~is_twin[rivals]]
        rivals = rivals[alpha[everyone[rivals]] <= alpha[everyone[position]]]
        is_twin[position] = any(_are_equal(view, everyone[position], everyone[r]) for r in rivals)
    return new[~is_twin[len(old) :]]


def _are_equal(view: View, a: int, b: int) -> bool:
    if view.is_whole:
        known = view.columns.are_alike(a, b)
        if known is not None:
            return known
    one, other = view.gather(np.array([a, b], np.int64))
    return bool(np.array_equal(one, other) or np.array_equal(one, -other))


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

    def fold_losses(self, fold: Fold, raw: FloatArray) -> FoldLosses:
        """What the rows that do not train say of raw predictions of all rows."""
        offset, scale = self.unit
        here = raw[:, fold.test] * scale + offset
        losses = self.loss.pointwise(self.target[fold.test], here)
        return FoldLosses(losses, self.weight[fold.test], counts=are_counts(self.weight))

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

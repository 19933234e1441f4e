"""Rows and columns of a grafting fit; those of the free weights, and their Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.costs import CostModel
from secateur.data.standardize import StandardColumns
from secateur.data.table import Fold
from secateur.data.target import are_counts
from secateur.engines.fold_losses import FoldLosses
from secateur.execution.blocks import added
from secateur.execution.distributed_columns import DistributedColumns, row_chunks
from secateur.losses import Loss
from secateur.path.step import Step
from secateur.typing import FloatArray, IntArray

# Columns in memory, or in blocks of rows; a stored value is ``(x - shift) / factor``.
TableColumns = StandardColumns | DistributedColumns
MIN_ALPHA_SHARE = 0.5  # of its L1 penalty that an unused feature keeps when its cost falls
MAX_COLUMNS = 3000  # above so many free columns a Gram matrix costs more than it saves
MAX_CELLS = 1 << 24  # always gathered (128 MB); of a dense table as many as it has
CELLS_PER_SWEEP = 100  # cells of a Gram matrix that take as long as all sweeps over one cell


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
        self._are_equal: dict[tuple[int, int], bool] = {}
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
        """Whether two columns are equal, or one is the negative of the other; every round asks."""
        if (a, b) not in self._are_equal:
            self._are_equal[a, b] = self._compare(a, b)
        return self._are_equal[a, b]

    def _compare(self, a: int, b: int) -> bool:
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
    is_suspect, is_duplicate = np.zeros((2, len(everyone)), np.bool_)
    is_suspect[order[equal]] = is_suspect[order[equal + 1]] = True
    others: dict[float, list[int]] = {}  # by the size of their gradient
    for position in np.flatnonzero(is_suspect).tolist():
        feature, same = everyone[position], others.setdefault(size[position], [])
        is_duplicate[position] = position >= len(old) and any(
            alpha[other] <= alpha[feature] and view.are_equal(feature, other) for other in same
        )
        if not is_duplicate[position]:
            same.append(feature)
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
    own_alphas: tuple[FloatArray | None, FloatArray | None] = (None, None)  # of L1 and of L2

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

    def alphas(self, used: IntArray) -> tuple[FloatArray, FloatArray]:
        """The alphas of Eq. 7 for L1 and for L2: their own, or the costs given those in use."""
        first, second = self.own_alphas
        by_cost = self._by_cost(used) if first is None or second is None else None
        return (by_cost if first is None else first), (by_cost if second is None else second)  # type: ignore[return-value]  # one of them is there

    def _by_cost(self, used: IntArray) -> FloatArray:
        """The costs given the features in use, but never below half.

        Used features keep the cost they had at the start, otherwise they would not be shrunk.
        """
        start = self.cost_model.costs(self.cost_model.keep)
        if self.cost_model.is_plain or len(used) == 0:
            return start
        mask = np.zeros(len(start), np.bool_)
        mask[used] = True
        now = np.where(mask, start, self.cost_model.costs(mask))
        return np.maximum(now, MIN_ALPHA_SHARE * start)


class Free(NamedTuple):
    """The free weights of all outputs: ``output[a]`` and ``feature[a]`` of weight a."""

    output: IntArray
    feature: IntArray


class FreeColumns:
    """Standardised columns of the training rows, in memory while their weights are free.

    Those of a frugal table are gathered for each sum, a few rows at a time. If the curvature is
    constant, products of all columns that were ever free are kept as well.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._features: IntArray = np.empty(0, np.int64)
        self._cells: FloatArray = np.empty((0, len(view.rows)))
        self._places: list[IntArray] = [self._features] * view.loss.n_outputs
        self._known: dict[int, int] = {}
        self._products: FloatArray = np.empty((0, 0))
        self._sums: FloatArray = np.empty(0)

    def fits(self, free: Free) -> bool:
        """Whether the columns fit in memory, and the weights in one matrix."""
        table, n_rows = self._view.columns, len(self._view.rows)
        if table.is_frugal:
            return len(free.feature) <= MAX_COLUMNS
        features = free.feature if len(self._places) == 1 else np.unique(free.feature)
        if table.is_sparse and len(self._places) == 1:
            n_stored = table.n_stored(features)
            if n_stored * CELLS_PER_SWEEP < len(features) * len(features) * n_rows:
                return False  # sweeps over so few cells are faster than one matrix
        limit = MAX_CELLS if table.is_sparse else max(MAX_CELLS, table.n_cells)
        return len(free.feature) <= MAX_COLUMNS and len(features) * n_rows <= limit

    def hold(self, free: Free) -> None:
        """Gather the missing columns, and drop those that are no longer free."""
        features = np.array(list(dict.fromkeys(free.feature.tolist())), np.int64)
        if not self._view.columns.is_frugal and not np.array_equal(features, self._features):
            _, self._cells = next(self._parts(features))
        self._features = features
        where = {int(j): a for a, j in enumerate(features)}
        self._places = [
            np.array([where[int(j)] for j in free.feature[free.output == k]], np.int64)
            for k in range(len(self._places))
        ]

    def _parts(self, features: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Some columns, for a part of the training rows at a time: the rows, and their cells."""
        view, place = self._view, {int(j): a for a, j in enumerate(self._features)}
        if view.columns.is_frugal:
            for rows in row_chunks(len(view.rows), len(features)):
                yield rows, view.gather(features, rows)
        elif features is self._features:
            yield slice(None), self._cells
        else:  # those in memory are not gathered again
            cells = np.empty((len(features), len(view.rows)))
            held = np.array([place.get(int(j), -1) for j in features], np.int64)
            cells[held >= 0] = self._cells[held[held >= 0]]
            cells[held < 0] = view.gather(features[held < 0])
            yield slice(None), cells

    def _of_output(self, cells: FloatArray, k: int) -> FloatArray:
        return cells if len(self._places) == 1 else cells[self._places[k]]

    def _by_training_row(self, by_row: FloatArray) -> FloatArray:
        return by_row if self._view.is_whole else by_row[..., self._view.rows]

    def gradient(self, by_row: FloatArray) -> FloatArray:
        """Gradients by all free weights, from gradients by row."""
        here = self._by_training_row(by_row)
        return added(
            np.concatenate([self._of_output(cells, k) @ row[rows] for k, row in enumerate(here)])
            for rows, cells in self._parts(self._features)
        )

    def combine(self, step: FloatArray) -> FloatArray:
        """Change of the raw predictions of all rows by a change of the free weights."""
        ends = np.cumsum([len(place) for place in self._places])[:-1]
        parts = np.split(step, ends)
        if self._view.is_whole:
            raw = np.empty((len(parts), len(self._view.rows)))
            for rows, cells in self._parts(self._features):
                raw[:, rows] = [part @ self._of_output(cells, k) for k, part in enumerate(parts)]
            return raw
        by_output = zip(self._places, parts, strict=True)
        return np.array([self._view.combine(self._features[at], part) for at, part in by_output])

    def products(
        self, raw: FloatArray, curvature: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Second derivatives: by pairs of weights, by outputs and weights, by pairs of outputs."""
        curvature = self._by_training_row(curvature)
        if len(curvature) == 1:
            if self._view.loss.constant_hessian:
                products, sums = self._constant(curvature[0])
            else:
                products, sums = _curved(self._parts(self._features), curvature[0])
            return products, sums[None], np.array([[curvature[0].sum()]])
        shares = self._by_training_row(self._view.loss.response(raw).T)
        weighted = shares * self._by_training_row(self._view.shares)
        return added(
            self._coupled(cells, shares[:, rows], weighted[:, rows], curvature[:, rows])
            for rows, cells in self._parts(self._features)
        )

    def _coupled(
        self, held: FloatArray, shares: FloatArray, weighted: FloatArray, curvature: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`products` for a softmax, whose outputs depend on each other: p_k ([k = l] - p_l)."""
        n_outputs = len(shares)
        ends = np.concatenate([[0], np.cumsum([len(place) for place in self._places])])
        products = np.empty((ends[-1], ends[-1]))
        sums = np.empty((n_outputs, ends[-1]))
        totals = np.empty((n_outputs, n_outputs))
        cells = [self._of_output(held, k) for k in range(n_outputs)]
        for k in range(n_outputs):
            here = slice(ends[k], ends[k + 1])
            for other in range(n_outputs):
                d = curvature[k] if other == k else -weighted[k] * shares[other]
                totals[k, other] = d.sum()
                sums[other, here] = cells[k] @ d
                if other <= k:
                    there = slice(ends[other], ends[other + 1])
                    products[here, there] = (cells[k] * d) @ cells[other].T
                    products[there, here] = products[here, there].T
        return products, sums, totals

    def _constant(self, curvature: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``X' D X`` and ``X' d`` of the columns; products with new columns are added once."""
        wanted = self._features
        fresh = [j for j in wanted.tolist() if j not in self._known]
        if fresh:
            if len(self._known) + len(fresh) > 2 * MAX_COLUMNS:
                self._known, self._products, self._sums = {}, np.empty((0, 0)), np.empty(0)
                fresh = wanted.tolist()
            known, n_old = np.array([*self._known, *fresh], np.int64), len(self._known)
            products = np.empty((len(known), len(known)))
            products[:n_old, :n_old] = self._products
            products[n_old:], sums = _curved(self._parts(known), curvature, n_old)
            products[:n_old, n_old:] = products[n_old:, :n_old].T
            self._products, self._sums = products, np.concatenate([self._sums, sums])
            self._known = {j: a for a, j in enumerate(known.tolist())}
        index = np.array([self._known[j] for j in wanted.tolist()], np.int64)
        return self._products[np.ix_(index, index)], self._sums[index]


def _curved(
    parts: Iterator[tuple[slice, FloatArray]], curvature: FloatArray, first: int = 0
) -> tuple[FloatArray, FloatArray]:
    """``X' D X`` and ``X' d`` of the columns from ``first`` on with all of them."""
    weighted = ((cells[first:] * curvature[rows], cells) for rows, cells in parts)
    return added((each @ cells.T, each.sum(axis=1)) for each, cells in weighted)

"""Rows that are ready to be searched: centred, scaled, their targets standardised, in batches.

The paper divides X by the root of it, once for all batches, so that one polynomial serves for all
data. It is estimated from the rows of the whole fit (a sample of at most 10,000), not from each
batch: a batch of fewer rows than columns has a much larger top eigenvalue than the whole, but the
sums over chains of different rows are unbiased for the spectrum of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from secateur._kernels import power_iteration as power
from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, DenseRows, centre
from secateur.data.problem import Problem
from secateur.data.weights import are_counts
from secateur.engines.feature_gradients.distributed import Rows, SpreadEstimator
from secateur.engines.feature_gradients.estimate import Batch, Estimator, estimator_of
from secateur.engines.feature_gradients.targets import (
    Curve,
    SearchParams,
    TargetType,
    contrasts,
    standardise,
)
from secateur.engines.feature_gradients.units import Units
from secateur.exceptions import InputError
from secateur.execution.dask import DaskExecutor
from secateur.typing import FloatArray, IntArray

SAMPLE = 10_000
"""Rows that are asked, as in the paper for its largest data sets."""

MOST = 30
"""The most power iterations."""

ENOUGH = 1e-3
"""Relative change of the eigenvalue below which iterating ends."""


def top_eigenvalue(columns: Centred, rows: IntArray, threads: Threads, seed: int = 0) -> float:
    """The largest eigenvalue of the covariance of some rows.

    Parameters
    ----------
    columns : Centred
    rows : array of int
        The rows that are asked; repeated rows count as often.
    threads : Threads
    seed : int, default=0
        For the vector to start from.
    """
    start = np.random.default_rng(seed).standard_normal(columns.n_columns)
    vector = start / np.linalg.norm(start)
    found = 0.0
    for _ in range(MOST):
        product = times_covariance(columns, rows, vector, threads)
        latest = float(np.linalg.norm(product))
        if not latest > 0.0:
            return 1.0
        vector = product / latest
        if abs(latest - found) <= ENOUGH * latest:
            return latest
        found = latest
    return found


def times_covariance(
    columns: Centred, rows: IntArray, vector: FloatArray, threads: Threads
) -> FloatArray:
    """The covariance of some rows times a vector."""
    projected = np.empty(len(rows))
    if isinstance(columns.rows, DenseRows):
        X, small = columns.rows.X, vector.astype(np.float32)
        threads.run(lambda a, b: power.rows_times(X, rows, small, a, b, projected), len(rows), 16)
    else:
        indptr, indices, data, mean = columns.rows
        centre = float(mean @ vector)
        threads.run(
            lambda a, b: power.sparse_rows_times(
                indptr, indices, data, rows, vector, centre, a, b, projected
            ),
            len(rows),
            16,
        )
    return against_rows(columns, rows, projected, threads) / len(rows)


def against_rows(
    columns: Centred, rows: IntArray, value: FloatArray, threads: Threads
) -> FloatArray:
    """The sum of centred rows, each times its value."""
    total = np.zeros(columns.n_columns)
    if isinstance(columns.rows, DenseRows):
        X = columns.rows.X
        threads.run(lambda a, b: power.times_rows(X, rows, value, a, b, total), len(total), 64)
    else:
        indptr, indices, data, mean = columns.rows
        power.times_sparse_rows(indptr, indices, data, rows, value, total)
        total -= value.sum() * mean
    return total


def single_shares(
    columns: Centred, rows: IntArray, y: FloatArray, weight: FloatArray, threads: Threads
) -> FloatArray:
    """The share R^2 of the targets that each column explains alone, the mean over targets."""
    shares = np.zeros(columns.n_columns)
    for target in y:
        covariance = against_rows(columns, rows, weight * target, threads) / weight.sum()
        shares += (covariance / columns.spread) ** 2
    return shares / len(y)


MOST_COPIES = 10
"""Whole weights are read as counts of rows as long as rows become at most so many times more."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """All that does not change from penalty to penalty.

    Parameters
    ----------
    columns : Centred
    units : Units
    rows : array of int
        The rows in an order that does not depend on the order in which they came, so that neither
        does the search; a row that counts twice comes twice.
    y : array of shape (n_targets, len(rows))
    weight : array of shape (len(rows),)
    curve : Curve
    estimator : Estimator
    shares : array of shape (n_columns,)
        R^2 of each column alone.
    """

    columns: Centred
    units: Units
    rows: IntArray
    y: FloatArray
    weight: FloatArray
    curve: Curve
    estimator: Estimator
    shares: FloatArray

    def batches(self, params: SearchParams, rng: np.random.Generator) -> Iterator[Batch]:
        """All rows once, shuffled, in even batches."""
        shuffled = rng.permutation(len(self.rows))
        for part in np.array_split(shuffled, params.n_batches(len(self.rows))):
            yield Batch(self.rows[part], self.y[:, part], self.weight[part])


def make_field(
    problem: Problem,
    target_type: TargetType,
    params: SearchParams,
    *,
    standardize: bool,
    threads: Threads,
    executor: DaskExecutor | None = None,
) -> Field:
    """Centre and scale the columns of a problem, and order its rows."""
    check_rows(problem.n_rows, params)
    price = problem.prices.prices(problem.prices.keep)
    columns = centre(problem.table, problem.weight, standardize=standardize, price=price)
    units = Units(problem.prices, columns.features, params.group_mode)
    questions = standardise(contrasts(problem.target, target_type), problem.weight)
    rows, weight = _counted(problem.weight)
    ordered = _settled(columns, problem.target.values, rows)
    rows, weight = rows[ordered], weight[ordered]
    check_rows(len(rows), params)
    sample = np.random.default_rng(params.seed).permutation(len(rows))[:SAMPLE]
    scale = top_eigenvalue(columns, rows[sample], threads, params.seed)
    curve = Curve("residual variance" if target_type == "regression" else "error rate")
    estimator = estimator_of(columns, params.order, scale, threads)
    if executor is not None:
        estimator = SpreadEstimator(estimator, Rows(columns, params.order, scale), executor)
    y = questions[:, rows]
    shares = single_shares(columns, rows, y, weight, threads)
    return Field(columns, units, rows, y, weight, curve, estimator, shares)


def check_rows(n_rows: int, params: SearchParams) -> None:
    """Refuse batches with no chain of the longest kind to spare."""
    smallest = params.order + 2
    if n_rows < smallest:
        some = "1 sample" if n_rows == 1 else f"{n_rows} rows"
        msg = (
            f"Feature Gradients of order {params.order} needs at least {smallest} rows. Got {some} "
            "to train on. Lower 'order', or give more rows."
        )
        raise InputError(msg)


def _counted(weight: FloatArray) -> tuple[IntArray, FloatArray]:
    """Whole weights as rows that come several times; others as they are, 1 on average."""
    if are_counts(weight):
        counts = weight.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        if counts.sum() <= MOST_COPIES * len(weight):
            rows = np.repeat(np.arange(len(weight)), counts)
            return rows, np.ones(len(rows))
    return np.arange(len(weight)), weight / weight.mean()


def _settled(columns: Centred, target: FloatArray, rows: IntArray) -> IntArray:
    """Places of rows sorted by what is in them: target, then sum of the row."""
    if isinstance(columns.rows, DenseRows):
        total = columns.rows.X.sum(axis=1, dtype=np.float64)
    else:
        cells = columns.rows
        row = np.repeat(np.arange(len(cells.indptr) - 1), np.diff(cells.indptr))
        total = np.bincount(row, cells.data, minlength=len(cells.indptr) - 1)
    return np.lexsort((total[rows], target[rows]))

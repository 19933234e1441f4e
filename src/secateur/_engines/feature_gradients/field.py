"""Rows that are ready to be searched: centred, scaled, their targets standardised, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from secateur._data.centred import Centred, DenseRows, centre
from secateur._data.problem import Problem
from secateur._data.weights import are_counts
from secateur._engines.feature_gradients.batches import Batch
from secateur._engines.feature_gradients.contrasts import Task, contrasts, standardise
from secateur._engines.feature_gradients.curves import Curve
from secateur._engines.feature_gradients.estimate import Estimator, estimator_of
from secateur._engines.feature_gradients.params import SearchParams
from secateur._engines.feature_gradients.spectrum import SAMPLE, single_shares, top_eigenvalue
from secateur._engines.feature_gradients.spread import Rows, SpreadEstimator
from secateur._engines.feature_gradients.units import Units
from secateur._execution.dask import DaskExecutor
from secateur._kernels.threads import Threads
from secateur.exceptions import InputError
from secateur.typing import FloatArray, IntArray

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
    task: Task,
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
    questions = standardise(contrasts(problem.target, task), problem.weight)
    rows, weight = _counted(problem.weight)
    ordered = _settled(columns, problem.target.values, rows)
    rows, weight = rows[ordered], weight[ordered]
    check_rows(len(rows), params)
    sample = np.random.default_rng(params.seed).permutation(len(rows))[:SAMPLE]
    scale = top_eigenvalue(columns, rows[sample], threads, params.seed)
    curve = Curve("residual variance" if task == "regression" else "error rate")
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

"""The top eigenvalue of the covariance, by a few power iterations on a sample of rows.

The paper divides X by the root of it, once for all batches, so that one polynomial serves for all
data. It is estimated from the rows of the whole fit (a sample of at most 10,000), not from each
batch: a batch of fewer rows than columns has a much larger top eigenvalue than the whole, but the
sums over chains of different rows are unbiased for the spectrum of the whole.
"""

from __future__ import annotations

import numpy as np

from secateur._data.centred import Centred, DenseRows
from secateur._kernels import power
from secateur._kernels.threads import Threads
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

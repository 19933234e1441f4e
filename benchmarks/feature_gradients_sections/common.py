"""Tables and estimators that the sections of this benchmark share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, DenseRows, SparseRows
from secateur.engines.feature_gradients.estimator import Batch, Objective, make_estimator

OBJECTIVE = Objective("residual variance")


def dense_columns(n_rows: int, n_features: int) -> Centred:
    X = np.random.default_rng(0).standard_normal((n_rows, n_features), dtype=np.float32)
    return _centred(DenseRows(X), n_features)


def sparse_columns(n_rows: int, n_features: int, n_cells: int) -> Centred:
    """The same number of cells in each row, in columns drawn at random."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, n_features, (n_rows, n_cells), dtype=np.int32)
    indices.sort(axis=1)
    data = rng.random(n_rows * n_cells, dtype=np.float32)
    mean = np.bincount(indices.ravel(), data, minlength=n_features) / n_rows
    indptr = np.arange(0, n_rows * n_cells + 1, n_cells)
    return _centred(SparseRows(indptr, indices.ravel(), data, mean), n_features)


def _centred(rows: Any, n_features: int) -> Centred:
    return Centred(rows, np.arange(n_features), np.ones(n_features))


class Epoch:
    """Value and gradient of all batches once: what the kernels do in an epoch."""

    def __init__(self, columns: Centred, n_rows: int, order: int, threads: Threads) -> None:
        rng = np.random.default_rng(1)
        self._estimator = make_estimator(columns, order, 3.0, threads)
        self._y = rng.standard_normal((1, n_rows))
        self._s = np.full(columns.n_columns, 0.5)
        parts = np.array_split(rng.permutation(n_rows), max(1, n_rows // 1000))
        self.batches = [Batch(p, self._y[:, p].copy(), np.ones(len(p))) for p in parts]
        self.slope = np.zeros(columns.n_columns)

    def run(self) -> list[float]:
        self._estimator.set_inclusion(self._s)
        z = [float(self._estimator.add_gradient(batch, OBJECTIVE)[0]) for batch in self.batches]
        self.slope = self._estimator.collect()
        return z


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start

"""MISSION: stochastic gradient descent whose weights are in a count sketch (Aghazadeh, 2018)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from secateur.model_selection.columns import Columns
from secateur.typing import AnyArray, FloatArray, IntArray

RATE = 0.5  # of the published program, for rows of length one
N_TABLES = 3  # as there
MAX_BUCKETS = 2**18  # of each table, as there
BATCH = 16  # rows of one step


class CountSketch:
    """Sums by key in a few tables of buckets; a sum is the median of its signed buckets."""

    def __init__(self, n_buckets: int, seed: int = 0, n_tables: int = N_TABLES) -> None:
        rng = np.random.default_rng(seed)
        # multiply-shift hashing: the high bits of an odd multiple of the key
        self._odd = rng.integers(0, 2**63, (2, n_tables, 1), np.uint64) * 2 + 1
        self._bits = max(1, int(np.ceil(np.log2(n_buckets))))
        self._tables = np.zeros((n_tables, 2**self._bits))

    def _places(self, keys: IntArray) -> tuple[AnyArray, FloatArray]:
        mixed = self._odd * (keys.astype(np.uint64) + np.uint64(1))
        place = (mixed[0] >> np.uint64(64 - self._bits)).astype(np.int64)
        return place, 1.0 - 2.0 * (mixed[1] >> np.uint64(63)).astype(np.float64)

    def add(self, keys: IntArray, values: FloatArray) -> None:
        """Add a value to the sum of each key."""
        place, sign = self._places(keys)
        for table, at, signed in zip(self._tables, place, sign * values, strict=True):
            np.add.at(table, at, signed)

    def query(self, keys: IntArray) -> FloatArray:
        """The sums of keys, as the sketch has them."""
        place, sign = self._places(keys)
        found: FloatArray = np.median(np.take_along_axis(self._tables, place, 1) * sign, axis=0)
        return found


def stream_weights(
    blocks: Iterable[tuple[Any, FloatArray]],
    n_kept: int,
    sketch: CountSketch,
    *,
    is_classes: bool = True,
    rate: float = RATE,
) -> dict[int, float]:
    """The features of the ``n_kept`` largest weights, after one step for each block of rows.

    A block is a sparse matrix and its target, 0 and 1 for classes. Predictions use the kept weights
    only; the gradient of all columns goes into the sketch, and columns of the block whose weight
    there is larger than the smallest kept one take its place (Algorithm 1).
    """
    keys, weights = np.zeros(0, np.int64), np.zeros(0)
    for X, y in blocks:
        seen = np.unique(X.indices)
        compact = sp.csr_matrix((X.data, np.searchsorted(seen, X.indices), X.indptr))
        compact.resize(X.shape[0], len(seen))
        place = np.minimum(np.searchsorted(keys, seen), max(len(keys) - 1, 0))
        w = np.where(keys[place] == seen, weights[place], 0.0) if len(keys) else 0.0 * seen
        response = compact @ w
        predicted = 1.0 / (1.0 + np.exp(-np.clip(response, -30, 30))) if is_classes else response
        sketch.add(seen, rate / len(y) * (compact.T @ (y - predicted)))
        fresh = np.union1d(keys, seen)
        # kept weights change only where the block has their columns
        values = np.zeros(len(fresh))
        values[np.searchsorted(fresh, keys)] = weights
        values[np.searchsorted(fresh, seen)] = sketch.query(seen)
        if len(fresh) > n_kept:
            top = np.sort(np.argpartition(-np.abs(values), n_kept - 1)[:n_kept])
            fresh, values = fresh[top], values[top]
        keys, weights = fresh, values
    return dict(zip(keys.tolist(), weights.tolist(), strict=True))


def row_blocks(X: Any, y: FloatArray, order: IntArray) -> Iterator[tuple[Any, FloatArray]]:
    """Blocks of rows in an order, as a stream would bring them."""
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        yield X[rows], y[rows]


def mission(columns: Columns) -> tuple[IntArray, None]:
    """The largest weights of one pass over the rows; of classes, summed over one against the rest.

    Rows are divided by the root of their mean squared length, for which the rate is meant.
    """
    X = sp.csr_matrix(columns.values)
    X = X / np.sqrt(max(X.power(2).sum() / X.shape[0], 1e-300))
    rng = np.random.default_rng(columns.seed)
    labels = np.unique(columns.y) if columns.is_classes else [None]
    total = np.zeros(X.shape[1])
    for label in labels[1:] if len(labels) == 2 else labels:
        y = np.asarray(columns.y)
        y = (y == label).astype(np.float64) if columns.is_classes else (y - y.mean()) / y.std()
        sketch = CountSketch(min(X.shape[1], MAX_BUCKETS), int(rng.integers(2**31)))
        stream = row_blocks(X, y, rng.permutation(len(y)))
        n_kept = min(columns.n_ranked, X.shape[1])
        found = stream_weights(stream, n_kept, sketch, is_classes=columns.is_classes)
        total[list(found)] += np.abs(list(found.values()))
    order = np.argsort(-total, kind="stable")
    return order[: np.count_nonzero(total)], None

"""Means and spreads that grow block by block, and blocks that are centred by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateur._data.centred import (
    COLUMNS_AT_ONCE,
    FLAT,
    Centred,
    DenseRows,
    SparseRows,
    centre_block,
    column_sums,
    filled_cells,
    sparse_rows,
)
from secateur._data.table import Table
from secateur.typing import FloatArray


class Moments(NamedTuple):
    """Means and sums of squared distances from them, with the weight they rest on."""

    weight: float
    mean: FloatArray
    square: FloatArray

    def joined(self, other: Moments) -> Moments:
        """Those of both sets of rows together (Chan, Golub and LeVeque)."""
        total = self.weight + other.weight
        apart = other.mean - self.mean
        share = other.weight / total
        square = self.square + other.square + apart * apart * (self.weight * share)
        return Moments(total, self.mean + apart * share, square)


def moments_of(table: Table, weight: FloatArray) -> Moments:
    """The moments of all columns of a block of rows; missing cells count as the mean."""
    total = float(weight.sum())
    if table.is_sparse:
        data = filled_cells(table.csc, weight, total)
        mean = column_sums(table.csc, data, weight) / total
        square = column_sums(table.csc, data * data, weight) - total * mean * mean
        return Moments(total, mean, np.maximum(square, 0.0))
    mean, square = np.zeros(table.n_features), np.zeros(table.n_features)
    for start in range(0, table.n_features, COLUMNS_AT_ONCE):
        block = table.block(start, min(start + COLUMNS_AT_ONCE, table.n_features))
        part = slice(start, start + block.shape[1])
        mean[part] = centre_block(block, weight, standardize=False)[0]
        square[part] = weight @ (block * block)
    return Moments(total, mean, square)


def centre_by(table: Table, moments: Moments, *, standardize: bool) -> Centred:
    """All columns of a block of rows, centred and scaled by moments that are known already."""
    spread = np.sqrt(moments.square / moments.weight)
    size = np.sqrt(spread * spread + moments.mean * moments.mean)
    varies = spread > FLAT * size
    scale = np.where(varies, spread if standardize else 1.0, 1.0)
    mean, features = moments.mean, np.arange(table.n_features)
    left = np.where(varies, spread / scale, 1.0)
    if table.is_sparse:
        data = table.csc.data
        missing = np.isnan(data)
        if missing.any():
            column = np.repeat(features, np.diff(table.csc.indptr))
            data = np.where(missing, mean[column], data)
        rows: DenseRows | SparseRows = sparse_rows(table.csc, data, mean, scale, features)
        return Centred(rows, features, mean, scale, left)
    X = np.empty((table.n_rows, table.n_features), np.float32)
    for start in range(0, table.n_features, COLUMNS_AT_ONCE):
        block = table.block(start, min(start + COLUMNS_AT_ONCE, table.n_features))
        part = slice(start, start + block.shape[1])
        X[:, part] = np.nan_to_num((block - mean[part]) / scale[part])
    return Centred(DenseRows(X), features, mean, scale, left)

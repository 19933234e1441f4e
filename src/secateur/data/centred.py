"""Rows for Feature Gradients: standardised in float32, without constants and duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from secateur._kernels.columns import FLAT, DenseColumns
from secateur.data.standardize import (
    Moments,
    column_moments,
    fill_missing,
    sparse_columns,
    stays_sparse,
    unit_of,
    warn_of_rounding,
    warn_of_size,
)
from secateur.data.table import DenseTable, SparseTable, Table
from secateur.exceptions import InputError
from secateur.typing import FloatArray, IntArray

COLUMNS_AT_ONCE = 64  # read together: they stay in the cache for a few thousand rows
SPARSE_FLAT = 1e-7  # as `FLAT`, for sparse columns, which are centred in float32
LARGEST = 1e18  # cells are held in float32, and multiplied with each other


class DenseRows(NamedTuple):
    """Centred rows: X of shape (n_rows, n_columns), float32, C order."""

    X: npt.NDArray[np.float32]


class SparseRows(NamedTuple):
    """Compressed rows, centred implicitly: a row is z_i - mean."""

    indptr: IntArray
    indices: npt.NDArray[np.int32]
    data: npt.NDArray[np.float32]
    mean: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Columns of a table, centred and scaled."""

    rows: DenseRows | SparseRows  # x = (column - mean) / scale; missing cells are 0, the mean
    features: IntArray  # the columns of the table that take part, sorted
    spread: FloatArray  # the standard deviation of x


def centre(
    table: Table, weight: FloatArray, *, standardize: bool, cost: FloatArray | None = None
) -> Centred:
    """Centre the columns that vary; of equal ones the cheapest stays, then the first."""
    moments = moments_of(table, weight)
    unit = unit_of(np.asarray(moments.top))
    if standardize and (unit != 1.0).any():
        warn_of_size(table.names, unit < 1.0)
        if table.is_sparse:
            csc = table.csc.copy()
            csc.data *= np.repeat(unit, np.diff(csc.indptr))
            table = SparseTable(csc, table.schema)
        else:
            table = DenseTable(table.columns(slice(None)) * unit, table.schema)
        moments = moments_of(table, weight)
    found = centre_by(table, moments, standardize=standardize)
    stays = _spread(table, moments) > 0.0
    warn_of_rounding(table, ~stays & (moments.mean != 0.0))
    one, two = (_sketch(found.rows, seed) for seed in (0, 1))
    order = np.lexsort((np.zeros(len(one)) if cost is None else cost, two, one))
    a, b = order[:-1], order[1:]
    stays[b[(one[a] == one[b]) & (two[a] == two[b])]] = False
    keep = np.flatnonzero(stays)
    if len(keep) == table.n_features:
        return found
    rows: DenseRows | SparseRows
    if isinstance(found.rows, DenseRows):
        rows = DenseRows(np.take(found.rows.X, keep, axis=1))  # an index would give columns
    else:
        import scipy.sparse as sp

        indptr, indices, data, mean = found.rows
        csr = sp.csr_array((data, indices, indptr), shape=(table.n_rows, table.n_features))
        rows = _sparse_rows(csr[:, keep], mean[keep])
    return Centred(rows, keep, found.spread[keep])


def moments_of(table: Table, weight: FloatArray) -> Moments:
    """The moments of all columns of a block of rows; missing cells count as the mean."""
    total = float(weight.sum())
    if stays_sparse(table):
        found = column_moments(sparse_columns(table.csc), weight)
        top = abs(table.csc).nanmax(axis=0).toarray().ravel()
        return found._replace(weight=total, top=top)
    mean, square, top = (np.empty(table.n_features) for _ in range(3))
    for start in range(0, table.n_features, COLUMNS_AT_ONCE):
        part = slice(start, min(start + COLUMNS_AT_ONCE, table.n_features))
        found = column_moments(DenseColumns(table.block(part.start, part.stop).T), weight)
        mean[part], square[part], top[part] = found.mean, found.square, found.top
    return Moments(total, mean, square, top)


def _spread(table: Table, moments: Moments) -> FloatArray:
    """The standard deviation of each column; 0 for constants."""
    spread = np.sqrt(moments.square / moments.weight)
    # a column may lie far from zero, where the spread is lost in rounding
    flat = SPARSE_FLAT if stays_sparse(table) else FLAT
    return np.where(spread > flat * np.hypot(spread, moments.mean), spread, 0.0)


def centre_by(table: Table, moments: Moments, *, standardize: bool) -> Centred:
    """All columns of a block of rows, centred and scaled by moments that are known already."""
    mean, spread, features = moments.mean, _spread(table, moments), np.arange(table.n_features)
    scale = np.where(spread > 0.0, spread, 1.0) if standardize else np.ones(len(mean))
    left = np.where(spread > 0.0, spread / scale, 1.0)
    if stays_sparse(table):
        import scipy.sparse as sp

        columns = sparse_columns(table.csc, copy=True)
        fill_missing(columns, mean)
        columns.values[:] /= np.repeat(scale, np.diff(columns.indptr))
        check_size(columns.values)
        parts = (columns.values.astype(np.float32), columns.indices, columns.indptr)
        csr = sp.csc_array(parts, shape=table.csc.shape).tocsr()
        return Centred(_sparse_rows(csr, mean / scale), features, left)
    X = np.empty((table.n_rows, table.n_features), np.float32)
    for start in range(0, table.n_features, COLUMNS_AT_ONCE):
        part = slice(start, min(start + COLUMNS_AT_ONCE, table.n_features))
        block = table.block(part.start, part.stop)
        block -= mean[part]
        block /= scale[part]
        block[np.isnan(block)] = 0.0
        check_size(block)
        X[:, part] = block
    return Centred(DenseRows(X), features, left)


def _sparse_rows(csr: Any, mean: FloatArray) -> SparseRows:
    indptr, indices = csr.indptr.astype(np.int64), csr.indices.astype(np.int32)
    return SparseRows(indptr, indices, csr.data, mean)


def check_size(values: FloatArray) -> None:
    """Refuse values whose squares do not fit into float32."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"Values of X must be finite in float32 with their squares, so at most {LARGEST:g} "
            f"after centring. Got {largest:g}. Use standardize=True, or clip the outliers."
        )


def _sketch(rows: DenseRows | SparseRows, seed: int) -> FloatArray:
    """A random combination of the cells of each column: equal to the bit for equal columns only."""
    # sums run over rows in the same order for each column
    if isinstance(rows, DenseRows):
        probe = np.random.default_rng(seed).standard_normal(len(rows.X))
        sketch = np.zeros(rows.X.shape[1])
        for start in range(0, len(rows.X), 256):
            part = rows.X[start : start + 256] * probe[start : start + 256, None]
            sketch += np.add.reduce(part, axis=0)
        return sketch
    probe = np.random.default_rng(seed).standard_normal(len(rows.indptr) - 1)
    cells = np.repeat(probe, np.diff(rows.indptr)) * rows.data
    return np.bincount(rows.indices, cells, minlength=len(rows.mean)).astype(np.float64)

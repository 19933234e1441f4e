"""Centred and scaled columns, without constants and duplicates, for Feature Gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from secateur.data.standardize import Moments
from secateur.data.table import Table
from secateur.exceptions import InputError
from secateur.typing import BoolArray, FloatArray, IntArray

# Columns read in one go: a block of them stays in the cache for tables of a few thousand rows.
COLUMNS_AT_ONCE = 64
# A column whose spread is below this share of its largest value is constant but for rounding.
FLAT = 1e-7


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
    """The columns of a table that vary, centred and scaled.

    Constant columns are left out, and of columns that are equal cell by cell all but one.
    """

    rows: DenseRows | SparseRows  # x = (column - mean) / scale; missing cells are 0, the mean
    features: IntArray  # the columns of the table, sorted
    mean: FloatArray
    scale: FloatArray
    spread: FloatArray  # the standard deviation of x

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return isinstance(self.rows, SparseRows)

    @property
    def n_columns(self) -> int:
        """How many columns take part."""
        return len(self.features)


def centre(
    table: Table, weight: FloatArray, *, standardize: bool, cost: FloatArray | None = None
) -> Centred:
    """Centre the columns of a table; of equal columns the cheapest stays, then the first."""
    maker = _centre_sparse if table.is_sparse else _centre_dense
    found = maker(table, weight, standardize)
    keep = _apart(found, cost)
    return found if keep.all() else _narrowed(found, keep)


def check_size(values: FloatArray) -> None:
    """Refuse values whose squares do not fit into float32."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"Values of X must be finite in float32 with their squares, so at most {LARGEST:g} "
            f"after centring. Got {largest:g}. Use standardize=True, or clip the outliers."
        )


# ---- dense ------------------------------------------------------------------------------------


def _centre_dense(table: Table, weight: FloatArray, standardize: bool) -> Centred:
    n_rows, n_features = table.n_rows, table.n_features
    X = np.empty((n_rows, n_features), np.float32)
    mean, scale, spread = (np.zeros(n_features) for _ in range(3))
    for start in range(0, n_features, COLUMNS_AT_ONCE):
        stop = min(start + COLUMNS_AT_ONCE, n_features)
        block = table.block(start, stop)
        part = slice(start, stop)
        mean[part], scale[part], spread[part] = centre_block(block, weight, standardize)
        check_size(block)
        X[:, start:stop] = block
    varies = scale > 0.0
    features = np.flatnonzero(varies)
    if not varies.all():
        X = np.take(X, features, axis=1)  # row after row: an index would give columns
    return Centred(DenseRows(X), features, mean[varies], scale[varies], spread[varies])


def centre_block(
    block: FloatArray, weight: FloatArray, standardize: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre and scale a block of columns in place; a scale of 0 marks a constant column."""
    size = np.abs(block).max(axis=0)
    if np.isnan(size).any():
        return _centre_gaps(block, weight, standardize)
    total = weight.sum()
    mean = weight @ block / total
    block -= mean
    spread = np.sqrt(weight @ (block * block) / total)
    return mean, *_rescale(block, spread, size, standardize)


def _centre_gaps(
    block: FloatArray, weight: FloatArray, standardize: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same where cells are missing: they count as the mean of the others."""
    missing = np.isnan(block)
    there = weight @ ~missing
    there = np.where(there > 0.0, there, 1.0)
    block[missing] = 0.0
    size = np.abs(block).max(axis=0)
    mean = weight @ block / there
    block -= mean
    block[missing] = 0.0
    spread = np.sqrt(weight @ (block * block) / weight.sum())
    return mean, *_rescale(block, spread, size, standardize)


def _rescale(
    block: FloatArray, spread: FloatArray, size: FloatArray, standardize: bool
) -> tuple[FloatArray, FloatArray]:
    """Divide by the scale; gives it, and the spread that is left."""
    varies = spread > FLAT * size
    scale = np.where(varies, spread if standardize else 1.0, 0.0)
    block /= np.where(varies, scale, 1.0)
    return scale, spread / np.where(varies, scale, 1.0)


# ---- sparse -----------------------------------------------------------------------------------


def _centre_sparse(table: Table, weight: FloatArray, standardize: bool) -> Centred:
    csc = table.csc
    total = weight.sum()
    data = filled_cells(csc, weight, total)
    mean = column_sums(csc, data, weight) / total
    square = column_sums(csc, data * data, weight) / total
    spread = np.sqrt(np.maximum(square - mean * mean, 0.0))
    # a full column may lie far from zero, where the difference of squares drowns in rounding
    varies = spread > FLAT * np.sqrt(square)
    scale = np.where(varies, spread if standardize else 1.0, 0.0)
    features = np.flatnonzero(varies)
    rows = sparse_rows(csc, data, mean, scale, features)
    mean, scale = mean[features], scale[features]
    return Centred(rows, features, mean, scale, spread[features] / scale)


def sparse_rows(
    csc: Any, data: FloatArray, mean: FloatArray, scale: FloatArray, features: IntArray
) -> SparseRows:
    """Compressed rows of the columns that vary, divided by their scales."""
    import scipy.sparse as sp

    divisor = np.repeat(np.where(scale > 0.0, scale, 1.0), np.diff(csc.indptr))
    divided = data / divisor
    check_size(divided)
    values = divided.astype(np.float32)
    scaled = sp.csc_array((values, csc.indices, csc.indptr), shape=csc.shape)
    if len(features) < csc.shape[1]:
        scaled = scaled[:, features]
    csr = scaled.tocsr()
    return SparseRows(
        csr.indptr.astype(np.int64),
        csr.indices.astype(np.int32),
        csr.data,
        mean[features] / scale[features],
    )


def column_sums(csc: Any, data: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted sums of the columns of a CSC matrix whose values are replaced by ``data``."""
    import scipy.sparse as sp

    same = sp.csc_array((data, csc.indices, csc.indptr), shape=csc.shape)
    sums: FloatArray = same.T @ weight
    return sums


def filled_cells(csc: Any, weight: FloatArray, total: float) -> FloatArray:
    """The stored cells, missing ones as the mean of the rest of their column."""
    data: FloatArray = csc.data
    missing = np.isnan(data)
    if not missing.any():
        return data
    gone = column_sums(csc, missing.astype(np.float64), weight)
    data = np.where(missing, 0.0, data)
    there = np.where(total - gone > 0.0, total - gone, 1.0)
    mean = column_sums(csc, data, weight) / there
    column = np.repeat(np.arange(csc.shape[1]), np.diff(csc.indptr))
    return np.where(missing, mean[column], data)


# ---- equal columns ----------------------------------------------------------------------------


def _apart(found: Centred, cost: FloatArray | None) -> BoolArray:
    """Which columns stay: all, but only one of those that are equal cell by cell."""
    one, two = (_sketch(found.rows, seed) for seed in (0, 1))
    its_cost = np.zeros(len(one)) if cost is None else cost[found.features]
    order = np.lexsort((np.arange(len(one)), its_cost, two, one))
    a, b = order[:-1], order[1:]
    keep = np.ones(len(one), np.bool_)
    keep[b[(one[a] == one[b]) & (two[a] == two[b])]] = False
    return keep


def _sketch(rows: DenseRows | SparseRows, seed: int) -> FloatArray:
    """A random combination of the cells of each column: equal for equal columns only.

    Sums run over rows in the same order for each column, so equal columns have equal bits; that
    two others agree in two sketches, to the last bit, does not happen.
    """
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


def _narrowed(found: Centred, keep: BoolArray) -> Centred:
    rest = (found.features[keep], found.mean[keep], found.scale[keep], found.spread[keep])
    if isinstance(found.rows, DenseRows):
        return Centred(DenseRows(np.take(found.rows.X, np.flatnonzero(keep), axis=1)), *rest)
    import scipy.sparse as sp

    old = found.rows
    shape = (len(old.indptr) - 1, len(old.mean))
    csr = sp.csr_array((old.data, old.indices, old.indptr), shape=shape)
    csr = csr[:, np.flatnonzero(keep)]
    rows = SparseRows(
        csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data, old.mean[keep]
    )
    return Centred(rows, *rest)


# ---- streams ----------------------------------------------------------------------------------


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

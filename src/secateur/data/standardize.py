"""Columns on one scale: dense ones copied and standardised, sparse ones left as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secateur._kernels.columns import (
    DenseColumns,
    SparseColumns,
    add_dense,
    add_sparse,
    dense_dots,
    dense_moments,
    fill_and_scale,
    gather_dense,
    gather_sparse,
    sparse_dots,
    sparse_moments,
    transpose_block,
)
from secateur._kernels.threads import Threads
from secateur.data.centred import (
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
from secateur.data.table import DenseTable, Table
from secateur.typing import FloatArray, IntArray


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


CROWDED = 2.0 / 3.0
"""A sparse table with a larger share of stored cells takes less memory as a dense one."""

BLOCK_CELLS = 1 << 20
"""Cells copied out of a table at a time."""

WORTH_A_THREAD = 100_000
"""Stored cells of a loop that are worth waking a thread for."""


@dataclass(frozen=True, slots=True, eq=False)
class StandardColumns:
    """The columns of a table as numbers that can be compared.

    A stored value is ``(x - shift) / factor``, x in the user's units; missing values are
    ``fill``. Sparse columns are stored as they are: centring them would fill them up.

    Parameters
    ----------
    columns : DenseColumns or SparseColumns
    n_rows : int
    fill, shift, factor : arrays of shape (n_features,)
    """

    columns: DenseColumns | SparseColumns
    n_rows: int
    fill: FloatArray
    shift: FloatArray
    factor: FloatArray

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.fill)

    @property
    def n_cells(self) -> int:
        """The number of stored cells."""
        return int(self.columns.values.size)

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return isinstance(self.columns, SparseColumns)

    @property
    def is_frugal(self) -> bool:
        """Whether all rows of a few columns may be more than memory has room for: they are here."""
        return False

    def are_alike(self, a: int, b: int) -> bool | None:
        """Whether two sparse columns are copies or mirror images; None where one must look closer.

        Where most rows of both are not stored, those rows have one value in each, so columns that
        store different rows differ.
        """
        if not isinstance(self.columns, SparseColumns):
            return None
        indptr, indices, values = self.columns
        one, other = (slice(indptr[j], indptr[j + 1]) for j in (a, b))
        if np.array_equal(indices[one], indices[other]):
            return True if np.array_equal(values[one], values[other]) else None
        n_stored = max(one.stop - one.start, other.stop - other.start)
        return False if 2 * n_stored < self.n_rows else None

    def n_stored(self, features: IntArray) -> int:
        """The number of stored cells of some columns."""
        if not isinstance(self.columns, SparseColumns):
            return len(features) * self.n_rows
        indptr = self.columns.indptr
        return int((indptr[features + 1] - indptr[features]).sum())

    def at_hand(
        self, features: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> tuple[DenseColumns | SparseColumns, IntArray, FloatArray, FloatArray]:
        """Columns to go over again and again, where some features are among them, their scale."""
        return self.columns, features, mean, inverse

    def dots(self, vectors: FloatArray, threads: Threads) -> FloatArray:
        """Sums over rows of each stored column times each vector, (n_vectors, n_features)."""
        out = np.empty((len(vectors), self.n_features))
        for vector, its_out in zip(vectors, out, strict=True):
            self._dots(vector, threads, its_out)
        return out

    def _dots(self, vector: FloatArray, threads: Threads, out: FloatArray) -> None:
        columns = self.columns
        if isinstance(columns, SparseColumns):
            threads.run(
                lambda a, b: sparse_dots(*columns, vector, a, b, out), len(out), _grain(self)
            )
        else:
            values = columns.values
            threads.run(lambda a, b: dense_dots(values, vector, a, b, out), len(out), _grain(self))

    def moments(self, weight: FloatArray, threads: Threads) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        mean, spread = np.empty(self.n_features), np.empty(self.n_features)
        columns = self.columns
        if isinstance(columns, SparseColumns):
            threads.run(
                lambda a, b: sparse_moments(*columns, weight, a, b, mean, spread),
                len(mean),
                _grain(self),
            )
        else:
            values = columns.values
            threads.run(
                lambda a, b: dense_moments(values, weight, a, b, mean, spread),
                len(mean),
                _grain(self),
            )
        return mean, spread

    def gather(
        self, features: IntArray, rows: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """``(stored - mean) * inverse`` of a few columns, shape (n_features, n_rows)."""
        out = np.empty((len(features), len(rows)))
        columns = self.columns
        if isinstance(columns, SparseColumns):
            place = np.full(self.n_rows, -1, np.int64)
            place[rows] = np.arange(len(rows))
            gather_sparse(*columns, features, place, mean, inverse, out)
        else:
            gather_dense(columns.values, features, rows, mean, inverse, out)
        return out

    def combine(
        self, features: IntArray, step: FloatArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The sum of a few columns, standardised as in `gather`, each times its step."""
        out = np.zeros(self.n_rows)
        columns = self.columns
        if isinstance(columns, SparseColumns):
            add_sparse(*columns, features, mean, inverse, step, out)
        else:
            add_dense(columns.values, features, mean, inverse, step, out)
        return out


def _grain(columns: StandardColumns) -> int:
    """Columns of a loop that are worth a thread."""
    return max(1, WORTH_A_THREAD * columns.n_features // max(1, columns.n_cells))


def standardize_table(
    table: Table,
    weight: FloatArray,
    *,
    centre: bool = True,
    scale: bool = True,
    threads: Threads | None = None,
) -> StandardColumns:
    """Read a table as columns of numbers; missing cells take the mean of their column.

    Parameters
    ----------
    table : Table
        Without categories.
    weight : array of shape (n_rows,)
    centre, scale : bool, default=True
        Whether dense columns are centred and brought to standard deviation one. Sparse columns
        are left to those who use them.
    threads : Threads, optional

    Examples
    --------
    >>> from secateur.data.frames import read_table
    >>> columns = standardize_table(read_table([[1.0, 7.0], [3.0, None]]), np.ones(2))
    >>> columns.columns.values, columns.shift
    (array([[-1.,  1.],
           [ 0.,  0.]]), array([2., 7.]))
    """
    threads = threads or Threads(1)
    shares = weight / weight.sum()
    if stays_sparse(table):
        return _sparse(table, shares)
    values = _read_dense(table, threads)
    out = [np.empty(table.n_features) for _ in range(3)]
    grain = max(1, WORTH_A_THREAD // table.n_rows)
    threads.run(
        lambda a, b: fill_and_scale(values, shares, centre, scale, a, b, *out), len(values), grain
    )
    return StandardColumns(DenseColumns(values), table.n_rows, *out)


def stays_sparse(table: Table) -> bool:
    """Whether only the cells that are not zero are stored."""
    return table.is_sparse and table.csc.nnz <= CROWDED * table.n_rows * table.n_features


def _read_dense(table: Table, threads: Threads) -> FloatArray:
    """All cells, feature-major."""
    values = np.empty((table.n_features, table.n_rows))
    if isinstance(table, DenseTable) and not table.categories:
        array = table.array
        if array.flags.c_contiguous and array.dtype.kind in "fiu" and array.dtype.itemsize <= 8:
            threads.run(
                lambda a, b: transpose_block(array, a, b, values), table.n_features, grain=64
            )
        else:
            values[:] = array.T
        return values
    at_once = max(1, BLOCK_CELLS // table.n_rows)
    for start in range(0, table.n_features, at_once):
        values[start : start + at_once] = table.block(start, start + at_once).T
    return values


def _sparse(table: Table, shares: FloatArray) -> StandardColumns:
    csc = table.csc
    values, missing = csc.data, np.flatnonzero(np.isnan(csc.data))
    fill = np.zeros(table.n_features)
    if len(missing):
        values = values.copy()
        column = np.searchsorted(csc.indptr, missing, side="right") - 1
        for j in np.unique(column):
            cells = slice(csc.indptr[j], csc.indptr[j + 1])
            gone = np.isnan(csc.data[cells])
            present = shares[csc.indices[cells]] * ~gone
            known = 1.0 - float(shares[csc.indices[cells]][gone].sum())
            total = float(present @ np.where(gone, 0.0, csc.data[cells]))
            fill[j] = total / known if known > 1e-12 else 0.0
            values[cells] = np.where(gone, fill[j], csc.data[cells])
    columns = SparseColumns(
        csc.indptr.astype(np.int64, copy=False), csc.indices.astype(np.int32, copy=False), values
    )
    zero, one = np.zeros(table.n_features), np.ones(table.n_features)
    return StandardColumns(columns, table.n_rows, fill, zero, one)

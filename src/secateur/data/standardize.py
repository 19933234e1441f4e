"""The standardiser: moments of columns, and columns shifted and scaled by them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels import columns as kernels
from secateur._kernels.columns import FLAT, LARGE, SMALL, DenseColumns, SparseColumns
from secateur._kernels.threads import Threads
from secateur.data.table import DenseTable, Table
from secateur.exceptions import InputError, SecateurWarning, some_of
from secateur.typing import BoolArray, FloatArray, IntArray

ONE_THREAD = Threads(1)
GRAIN = 16  # columns that are worth a thread
CROWDED = 2.0 / 3.0  # share of stored cells above which a dense table takes less memory
BLOCK_CELLS = 1 << 20  # cells copied out of a table at a time
WORTH_A_THREAD = 100_000  # stored cells of a loop that are worth waking a thread for


class Moments(NamedTuple):
    """Weight, mean, sum of squared distances from it, and largest value of each column."""

    weight: Any  # a number, or one for each column where missing cells do not count
    mean: FloatArray
    square: FloatArray
    top: FloatArray | None = None  # None for sparse columns

    def faded(self, share: float) -> Moments:
        """The moments of the same rows where each weighs that share of what it did."""
        return self._replace(weight=self.weight * share, square=self.square * share)

    def joined(self, other: Moments) -> Moments:
        """The moments of both sets of rows together (Chan, Golub and LeVeque)."""
        total = self.weight + other.weight
        share = np.divide(other.weight, total, out=np.zeros_like(total), where=total > 0.0)
        apart = other.mean - self.mean
        square = self.square + other.square + apart * apart * (self.weight * share)
        top = None
        if self.top is not None and other.top is not None:
            top = np.maximum(self.top, other.top)
        return Moments(total, self.mean + apart * share, square, top)


class Scale(NamedTuple):
    """What standardises columns: fill of missing cells, shift, factor, and which become zero."""

    fill: FloatArray
    shift: FloatArray
    factor: FloatArray
    is_zero: Any


def scale_of(found: Moments, *, centre: bool, scale: bool) -> Scale:
    """The scale of a table from the moments of its rows, whose weights have the sum one."""
    zero = np.zeros(len(found.mean))
    _check_squares(np.isfinite(found.square))
    if found.top is None:
        return Scale(found.mean, zero, zero + 1.0, zero > 0.0)
    spread = np.sqrt(found.square)
    is_flat = spread <= FLAT * found.top
    return Scale(
        found.mean,
        found.mean if centre else zero,
        np.where(is_flat, 1.0, spread) if scale else zero + 1.0,
        is_flat if centre else zero > 0.0,
    )


def _check_squares(is_finite: BoolArray) -> None:
    wrong = np.flatnonzero(~is_finite)
    if wrong.size:
        raise InputError(
            f"The squares of X must be finite. Got values beyond {LARGE:.0e} in column(s) number "
            f"{some_of(wrong.tolist())}. Divide these columns by a constant; use NaN for missing "
            "values."
        )


def unit_of(top: FloatArray) -> FloatArray:
    """The power of two for columns whose largest values cannot be squared, 1 for others."""
    safe = np.where((top > 0.0) & ((top <= SMALL) | (top >= LARGE)), top, 1.0)
    return np.ldexp(1.0, np.minimum(1 - np.frexp(safe)[1], 1000))


def warn_of_size(names: Sequence[str], too_large: BoolArray) -> None:
    """Warn of columns whose small values vanish beside the large ones."""
    if too_large.any():
        warnings.warn(
            f"Column(s) {some_of([names[j] for j in np.flatnonzero(too_large).tolist()])} have "
            f"values beyond {LARGE:.0e}, beside which small ones count as equal. Use NaN for "
            "missing values.",
            SecateurWarning,
            stacklevel=2,
        )


def warn_of_rounding(table: Table, is_flat: BoolArray) -> None:
    """Warn of columns that count as constant although their values differ."""
    features, lost = np.flatnonzero(is_flat), list[str]()
    for start in range(0, len(features), GRAIN):
        some = features[start : start + GRAIN]
        cells = table.columns(some)
        differ = np.fmin.reduce(cells) < np.fmax.reduce(cells)
        lost += [table.names[j] for j in some[differ]]
    if lost:
        warnings.warn(
            f"Column(s) {some_of(lost)} count as constant. Got values that differ by so small a "
            "share of their size that it is lost in rounding. Subtract a constant from them, in "
            "more digits than floats have.",
            SecateurWarning,
            stacklevel=2,
        )


def column_moments(
    columns: DenseColumns | SparseColumns, weight: FloatArray, threads: Threads = ONE_THREAD
) -> Moments:
    """Moments of the cells that are not missing."""
    if not isinstance(columns, SparseColumns):
        out = np.empty((4, len(columns.values)))
        run = lambda a, b: kernels.present_moments(columns.values, weight, a, b, *out)  # noqa: E731
        threads.run(run, len(columns.values), GRAIN)
        return Moments(*out)
    values, missing = columns.values, np.isnan(columns.values)
    present: Any = float(weight.sum())
    if missing.any():
        present = np.maximum(present - _sums(columns, missing.astype(np.float64), weight), 0.0)
        values = np.where(missing, 0.0, values)
    mean = _sums(columns, values, weight) / np.where(present > 0.0, present, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # whoever needs squares checks them
        square = _sums(columns, values * values, weight) - present * mean * mean
    return Moments(present, mean, np.maximum(square, 0.0))


def _sums(columns: SparseColumns, values: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted sums of sparse columns whose stored cells are replaced by ``values``."""
    import scipy.sparse as sp

    shape = (len(weight), len(columns.indptr) - 1)
    return sp.csc_array((values, columns.indices, columns.indptr), shape=shape).T @ weight


def sparse_columns(csc: Any, *, copy: bool = False) -> SparseColumns:
    """The compressed columns of scipy in the types that kernels take."""
    indptr, indices = csc.indptr.astype(np.int64, copy=False), csc.indices
    values = csc.data.copy() if copy else csc.data
    return SparseColumns(indptr, indices.astype(np.int32, copy=False), values)


def apply_scale(columns: DenseColumns | SparseColumns, scale: Scale, threads: Threads) -> None:
    """Fill, centre and scale columns in place; sparse ones are filled only."""
    if isinstance(columns, SparseColumns):
        fill_missing(columns, scale.fill)
        return
    threads.run(lambda a, b: kernels.scale_by(columns.values, *scale, a, b), len(scale.fill), GRAIN)


def fill_missing(columns: SparseColumns, fill: FloatArray) -> None:
    """Fill missing cells of sparse columns in place."""
    missing = np.flatnonzero(np.isnan(columns.values))
    column = np.searchsorted(columns.indptr, missing, side="right") - 1
    columns.values[missing] = fill[column]


@dataclass(frozen=True, slots=True, eq=False)
class StandardColumns:
    """The columns of a table, stored as ``(x - shift) / factor``, x in the user's units."""

    columns: DenseColumns | SparseColumns  # sparse ones as they are: centring would fill them up
    n_rows: int
    fill: FloatArray  # for missing values
    shift: FloatArray
    factor: FloatArray

    is_frugal = False  # whether all rows of a few columns may be more than memory has room for

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

    def are_alike(self, a: int, b: int) -> bool | None:
        """Whether two sparse columns are copies or mirror images; None where that is not known."""
        if not isinstance(self.columns, SparseColumns):
            return None
        indptr, indices, values = self.columns
        one, other = (slice(indptr[j], indptr[j + 1]) for j in (a, b))
        sizes = one.stop - one.start, other.stop - other.start
        if sizes[0] == sizes[1] and (indices[one] == indices[other]).all():
            return True if (values[one] == values[other]).all() else None
        # rows that are not stored have one value: if they are most rows, the others differ
        n_stored = max(sizes)
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
        kernel = kernels.sparse_dots if self.is_sparse else kernels.dense_dots
        for vector, its_out in zip(vectors, out, strict=True):
            self._run(kernel, threads, vector, its_out)
        return out

    def moments(self, weight: FloatArray, threads: Threads) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        mean, spread = np.empty(self.n_features), np.empty(self.n_features)
        kernel = kernels.sparse_moments if self.is_sparse else kernels.dense_moments
        self._run(kernel, threads, weight, mean, spread)
        _check_squares(np.isfinite(spread))
        return mean, spread

    def _run(
        self, kernel: Callable[..., Any], threads: Threads, vector: FloatArray, *out: FloatArray
    ) -> None:
        """Call a kernel for all columns with a vector over rows."""
        columns, grain = self.columns, WORTH_A_THREAD * self.n_features // max(1, self.n_cells)
        threads.run(
            lambda a, b: kernel(*columns, vector, a, b, *out), self.n_features, max(1, grain)
        )

    def gather(
        self, features: IntArray, rows: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """``(stored - mean) * inverse`` of a few columns, shape (n_features, n_rows)."""
        out = np.empty((len(features), len(rows)))
        if self.is_sparse:
            place = np.full(self.n_rows, -1, np.int64)
            place[rows] = np.arange(len(rows))
            kernels.gather_sparse(*self.columns, features, place, mean, inverse, out)
        else:
            kernels.gather_dense(*self.columns, features, rows, mean, inverse, out)
        return out

    def combine(
        self, features: IntArray, step: FloatArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The sum of a few columns, standardised as in `gather`, each times its step."""
        out = np.zeros(self.n_rows)
        add = kernels.add_sparse if self.is_sparse else kernels.add_dense
        add(*self.columns, features, mean, inverse, step, out)
        return out


def standardize_table(
    table: Table,
    weight: FloatArray,
    *,
    centre: bool = True,
    scale: bool = True,
    threads: Threads = ONE_THREAD,
) -> StandardColumns:
    """Read a table as columns of numbers; missing cells take the mean of their column."""
    shares = weight / weight.sum()
    if stays_sparse(table):
        has_gaps = bool(np.isnan(table.csc.data).any())
        unit = unit_of(abs(table.csc).nanmax(axis=0).toarray().ravel() if scale else np.ones(1))
        warn_of_size(table.names, unit < 1.0)
        is_odd = bool((unit != 1.0).any())
        columns = sparse_columns(table.csc, copy=has_gaps or is_odd)
        zero = np.zeros(table.n_features)
        if is_odd:
            columns.values[:] *= np.repeat(unit, np.diff(columns.indptr))
        fill = column_moments(columns, shares).mean if has_gaps else zero
        if has_gaps:
            fill_missing(columns, fill)
        return StandardColumns(columns, table.n_rows, fill / unit, zero, zero + 1.0 / unit)
    values = _read_dense(table, threads)
    out = [np.empty(table.n_features) for _ in range(3)]
    fixed = (values, shares, centre, scale)
    run = lambda a, b: kernels.fill_and_scale(*fixed, a, b, *out)  # noqa: E731
    threads.run(run, len(values), max(1, WORTH_A_THREAD // table.n_rows))
    _, shift, factor = out
    warn_of_size(table.names, factor > LARGE)
    is_flat = (values[:, 0] == 0.0) & (values[:, -1] == 0.0) & (shift != 0.0)
    is_flat[is_flat] = ~values[is_flat].any(axis=1)
    warn_of_rounding(table, is_flat)
    return StandardColumns(DenseColumns(values), table.n_rows, *out)


def stays_sparse(table: Table) -> bool:
    """Whether only the cells that are not zero are stored."""
    return table.is_sparse and table.csc.nnz <= CROWDED * table.n_rows * table.n_features


def _read_dense(table: Table, threads: Threads) -> FloatArray:
    """All cells, feature-major."""
    values = np.empty((table.n_features, table.n_rows))
    if isinstance(table, DenseTable) and not table.schema.encoders:
        array = table.array
        if array.flags.c_contiguous and array.dtype.kind in "fiu" and array.dtype.itemsize <= 8:
            run = lambda a, b: kernels.transpose_block(array, a, b, values)  # noqa: E731
            threads.run(run, table.n_features, grain=64)
        else:
            values[:] = array.T
        return values
    at_once = max(1, BLOCK_CELLS // table.n_rows)
    for start in range(0, table.n_features, at_once):
        values[start : start + at_once] = table.block(start, start + at_once).T
    return values

"""Binning: the columns of a table as codes of one byte, and further rows in known bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from secateur._kernels.binning import bin_sparse_columns, bins_by_row, cut_sorted, encode, move_bins
from secateur._kernels.partition import sparse_column
from secateur._kernels.records import MISSING, DenseCodes, SparseCodes
from secateur._kernels.threads import Threads
from secateur.data import bundles
from secateur.data.sampling import sample_rows
from secateur.data.table import Table
from secateur.typing import AnyArray, BoolArray, CodeArray, FloatArray, IntArray

COLUMNS_AT_ONCE = 4  # columns copied to floats together: half a cache line of a row
SAMPLE_ROWS = 200_000  # above so many rows the cuts are chosen on a sample of that size


class BinnedColumns(NamedTuple):
    """The binned columns of a table.

    Feature j has ``n_bins[j]`` bins and one more for missing values; in histograms it begins at
    ``offset[j]``. The cuts of a feature are ``cuts[j]``: bin b holds values up to ``cuts[j][b]``.
    ``bundles`` are bundled columns of few values; ``extra`` has the codes of one more column.
    """

    codes: DenseCodes | SparseCodes
    n_rows: int
    n_bins: IntArray
    offset: IntArray
    cuts: tuple[FloatArray, ...]
    is_categorical: BoolArray
    has_missing: BoolArray
    bundles: bundles.BundledCodes | None = None
    extra: CodeArray | None = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.n_bins)

    @property
    def n_coded(self) -> int:
        """The columns that are among the codes: all, or all but the last."""
        codes = self.codes
        return len(codes.codes if isinstance(codes, DenseCodes) else codes.zero_code)

    @property
    def varying(self) -> IntArray:
        """The features on which rows can differ at all."""
        return np.flatnonzero(self.n_bins + self.has_missing > 1)

    def threshold(self, feature: int, last: int) -> float:
        """The cut behind a bin; infinite behind the last, where only missing values go right."""
        cuts = self.cuts[feature]
        return float(cuts[last]) if last < len(cuts) else np.inf


def bin_table(
    table: Table,
    weight: FloatArray,
    *,
    max_bins: int = 255,
    threads: Threads | None = None,
    random_state: int = 0,
) -> BinnedColumns:
    """Bin all columns of a table into bins of about equal weight; sparse ones stay sparse.

    Columns with at most ``max_bins`` distinct values get a bin for each. Very long tables choose
    the cuts on a sample of rows, drawn by ``random_state``.
    """
    threads = threads or Threads(1)
    sample = None
    if table.n_rows > SAMPLE_ROWS:
        sample = sample_rows(table.n_rows, SAMPLE_ROWS, random_state)
    is_categorical = np.zeros(table.n_features, np.bool_)
    is_categorical[list(table.categories)] = True
    bin_codes = _bin_sparse if table.is_sparse else _bin_dense
    codes, n_bins, cuts, has_missing = bin_codes(table, weight, max_bins, sample, threads)
    offset = offset_of(n_bins)
    columns = BinnedColumns(
        codes, table.n_rows, n_bins, offset, tuple(cuts), is_categorical, has_missing
    )
    return with_bundles(columns, threads)


def with_bundles(columns: BinnedColumns, threads: Threads) -> BinnedColumns:
    """Bundle columns of few values, where the codes are dense and it saves work."""
    held = columns.codes
    if not isinstance(held, DenseCodes) or columns.n_rows < bundles.LEAST_ROWS:
        return columns
    found = bundles.bundle_columns(held.codes, columns.n_bins, columns.varying, threads)
    return columns._replace(bundles=found)


def _each_column(
    table: Table, threads: Threads, visit: Callable[[int, FloatArray], object]
) -> None:
    """Call ``visit(j, values)`` for every column of a dense table; a few are read together."""

    def some_columns(start: int, stop: int) -> None:
        for first in range(start, stop, COLUMNS_AT_ONCE):
            block = table.block(first, min(first + COLUMNS_AT_ONCE, stop))
            for j in range(block.shape[1]):
                visit(first + j, block[:, j])
            del block  # before the next one is made: they are the most memory that binning takes

    threads.run(some_columns, table.n_features, COLUMNS_AT_ONCE)


def _bin_dense(
    table: Table, weight: FloatArray, max_bins: int, sample: IntArray | None, threads: Threads
) -> tuple[DenseCodes, IntArray, list[FloatArray], BoolArray]:
    codes = np.empty((table.n_features, table.n_rows), np.uint8)
    categories = table.categories
    n_bins = np.zeros(table.n_features, np.int64)
    cuts = [np.empty(0)] * table.n_features
    has_missing = np.zeros(table.n_features, np.bool_)

    def bin_column(j: int, values: FloatArray) -> None:
        if j in categories:
            n_bins[j] = max(1, len(categories[j]))
        else:
            seen = (values, weight) if sample is None else (values[sample], weight[sample])
            cuts[j] = _cuts(*seen, max_bins)
            n_bins[j] = len(cuts[j]) + 1
        has_missing[j] = _encode_column(values, cuts[j], j in categories, codes[j])

    _each_column(table, threads, bin_column)
    return DenseCodes(codes), n_bins, cuts, has_missing


def _encode_column(
    values: FloatArray, cuts: FloatArray, is_categorical: bool, codes_out: CodeArray
) -> bool:
    """Write the codes of one dense column; gives whether any value is missing."""
    if not is_categorical:
        return bool(encode(values, cuts, codes_out))
    missing = np.isnan(values)
    codes_out[:] = np.where(missing, MISSING, values).astype(np.uint8)
    return bool(missing.any())


def _cuts(values: FloatArray, weight: FloatArray, max_bins: int) -> FloatArray:
    """The cuts of one column given in any order, NaN allowed."""
    if len(weight) and weight[0] == weight[-1] and (weight == weight[0]).all():
        # Equal weights need no permutation, and a plain sort is several times as fast.
        ordered = np.sort(values)
    else:
        order = np.argsort(values, kind="stable")
        ordered, weight = values[order], weight[order]
    n = int(np.searchsorted(ordered, np.nan))
    cuts = np.empty(max_bins)
    return cuts[: cut_sorted(ordered[:n], weight[:n], max_bins, cuts)].copy()


def _bin_sparse(
    table: Table, weight: FloatArray, max_bins: int, sample: IntArray | None, threads: Threads
) -> tuple[SparseCodes, IntArray, list[FloatArray], BoolArray]:
    matrix = table.csc
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    given = (indptr, indices, matrix.data.astype(np.float64, copy=False))
    is_seen = np.full(table.n_rows, sample is None)
    if sample is not None:
        is_seen[sample] = True
    seen = (is_seen, int(is_seen.sum()), float(weight[is_seen].sum()))
    # A column has a cut less than distinct values, zero among them.
    n_most = np.minimum(np.diff(indptr), max_bins - 1)
    cut_start = np.concatenate([[0], np.cumsum(n_most)])
    cuts, n_cuts = np.empty(cut_start[-1]), np.empty(table.n_features, np.int64)
    codes, zero_code = np.empty(len(indices), np.uint8), np.zeros(table.n_features, np.uint8)
    has_missing = np.zeros(table.n_features, np.bool_)
    out = (cuts, n_cuts, codes, zero_code, has_missing)
    threads.run(
        lambda a, b: bin_sparse_columns(given, weight, seen, max_bins, cut_start, a, b, out),
        table.n_features,
        256,
    )
    parts = [cuts[a : a + n] for a, n in zip(cut_start, n_cuts, strict=False)]
    held = _sparse_codes(indptr, indices, codes, zero_code, n_cuts + 1, table.n_rows)
    return held, n_cuts + 1, parts, has_missing


def _sparse_codes(
    indptr: IntArray,
    indices: AnyArray,
    codes: CodeArray,
    zero_code: CodeArray,
    n_bins: IntArray,
    n_rows: int,
) -> SparseCodes:
    """With the stored cells in the order of rows as well, as places in a histogram."""
    per_row = np.bincount(indices, minlength=n_rows)
    row_start = np.concatenate([[0], np.cumsum(per_row)]).astype(np.int64)
    row_bins = np.empty(len(indices), np.uint32)
    bins_by_row(indptr, indices, codes, offset_of(n_bins), n_bins, row_start, row_bins)
    return SparseCodes(indptr, indices, codes, zero_code, row_start, row_bins)


def offset_of(n_bins: IntArray) -> IntArray:
    """Where each feature begins in a histogram; one bin more than values for the missing."""
    return np.concatenate([[0], np.cumsum(n_bins + 1)])


def narrowed(columns: BinnedColumns, features: IntArray) -> BinnedColumns:
    """The same columns with room in histograms for the listed features alone.

    Of the others nothing may be asked but codes; stored cells of theirs are left out by row.
    """
    width = np.zeros(columns.n_features, np.int64)
    width[features] = columns.n_bins[features] + 1
    offset = np.concatenate([[0], np.cumsum(width)])
    if isinstance(columns.codes, SparseCodes) and len(features) < columns.n_features:
        by = np.where(width > 0, offset[:-1] - columns.offset[:-1], -columns.offset[-1])
        place = np.arange(columns.offset[-1]) + np.repeat(by, columns.n_bins + 1)
        held = columns.codes
        row_start, row_bins = np.empty_like(held.row_start), np.empty_like(held.row_bins)
        n_kept = move_bins(held.row_start, held.row_bins, place, row_start, row_bins)
        moved = held._replace(row_start=row_start, row_bins=row_bins[:n_kept].copy())
        columns = columns._replace(codes=moved)
    return columns._replace(offset=offset)


def take_columns(columns: BinnedColumns, features: IntArray) -> BinnedColumns:
    """A few columns, dense, in the order asked for; sparse ones are written out."""
    codes = columns.codes
    if isinstance(codes, DenseCodes):
        taken = codes.codes[features]
    else:
        taken = np.empty((len(features), columns.n_rows), np.uint8)
        for place, j in enumerate(features):
            sparse_column(
                codes.indptr, codes.indices, codes.codes, codes.zero_code, j, taken[place]
            )
    n_bins = columns.n_bins[features]
    return BinnedColumns(
        DenseCodes(taken),
        columns.n_rows,
        n_bins,
        offset_of(n_bins),
        tuple(columns.cuts[j] for j in features),
        columns.is_categorical[features],
        columns.has_missing[features],
    )


class Category(NamedTuple):
    """A category of each row, from 0 to n - 1, that is no column of the table."""

    codes: CodeArray
    n: int


def with_category(columns: BinnedColumns, category: Category) -> BinnedColumns:
    """The same columns and one more, last: a category of each row.

    The codes of the others stay where they are: in memory, in a mapped file, or shared with other
    fits.
    """
    n_bins = np.append(columns.n_bins, category.n)
    # What came from another process may be read only, for which kernels would be compiled anew.
    extra = np.require(category.codes, requirements=["C", "W"])
    return columns._replace(
        n_bins=n_bins,
        offset=offset_of(n_bins),
        cuts=(*columns.cuts, np.empty(0)),
        is_categorical=np.append(columns.is_categorical, True),
        has_missing=np.append(columns.has_missing, False),
        extra=extra,
    )


# ---- further rows, in known bins --------------------------------------------------------------


def encode_dense(
    table: Table, bins: BinnedColumns, codes_out: CodeArray, threads: Threads
) -> BoolArray:
    """Write the codes of further rows in bins that are known; gives which columns lack values."""
    has_missing = np.zeros(table.n_features, np.bool_)

    def encode_column(j: int, values: FloatArray) -> None:
        is_categorical = bool(bins.is_categorical[j])
        has_missing[j] = _encode_column(values, bins.cuts[j], is_categorical, codes_out[j])

    _each_column(table, threads, encode_column)
    return has_missing


def encode_sparse(table: Table, bins: BinnedColumns) -> tuple[SparseCodes, BoolArray]:
    """The codes of further rows of a sparse table in bins that are known; likewise."""
    matrix = table.csc
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    codes = np.empty(len(indices), np.uint8)
    has_missing = np.zeros(table.n_features, np.bool_)
    for j in np.flatnonzero(np.diff(indptr)):
        stored = slice(indptr[j], indptr[j + 1])
        has_missing[j] = encode(matrix.data[stored], bins.cuts[j], codes[stored])
    zero_code = np.array([int(np.searchsorted(cuts, 0.0)) for cuts in bins.cuts], np.uint8)
    held = _sparse_codes(indptr, indices, codes, zero_code, bins.n_bins, table.n_rows)
    return held, has_missing


def empty_codes(n_features: int, zero_code: CodeArray | None) -> DenseCodes | SparseCodes:
    """Codes of no rows; sparse ones have a code of zero for each column."""
    if zero_code is None:
        return DenseCodes(np.empty((n_features, 0), np.uint8))
    indptr, n_bins = np.zeros(n_features + 1, np.int64), np.zeros(n_features, np.int64)
    indices, codes = np.empty(0, np.int32), np.empty(0, np.uint8)
    return _sparse_codes(indptr, indices, codes, zero_code, n_bins, 0)

"""Binning: columns as codes of one byte, bundled where they have few values; further rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from secateur._kernels import binning as kernels
from secateur._kernels.partition import sparse_column
from secateur._kernels.records import MISSING, N_CODES, DenseCodes, SparseCodes
from secateur._kernels.threads import Threads
from secateur.data.sampling import sample_rows
from secateur.data.table import Table
from secateur.typing import AnyArray, BoolArray, CodeArray, FloatArray, IntArray

COLUMNS_AT_ONCE = 4  # columns copied to floats together: half a cache line of a row...
CELLS_AT_ONCE = 1 << 14  # ... or so many cells, if the rows are few
SAMPLE_ROWS = 200_000  # above so many rows the cuts are chosen on a sample of that size

# Where the codes of several columns occur in at most 256 combinations, as those of one-hot columns,
# the histogram of the combinations gives those of all columns: fewer columns to add up.
MIN_BUNDLED_ROWS = 50_000  # fewer rows are added up before the columns are bundled
BUNDLED_SAMPLE = 10_000  # rows, at equal distances, that show which columns go together...
SAMPLED_CODES = 160  # ... in at most so many combinations: all rows have more
MAX_BUNDLED_BINS = 64  # columns of more bins are left as they are: hardly two of them go together
N_OPEN = 6  # the groups that a column is tried with
MIN_SAVED = 0.25  # the share of the columns that must be saved...
MAX_ADDED = 0.1  # ... by bundled columns, which take memory: such a share of all, or one


class BundledCodes(NamedTuple):
    """The bundled columns."""

    codes: CodeArray  # [k, i] of bundled column k and row i
    column: IntArray  # the bundled column of each feature, -1 if it is in none
    own: CodeArray  # [j, code]: the code of feature j where its bundled column has that one


class BinnedColumns(NamedTuple):
    """The binned columns of a table."""

    codes: DenseCodes | SparseCodes
    n_rows: int
    n_bins: IntArray  # of each feature, and there is one more for missing values
    offset: IntArray  # where each feature begins in histograms
    cuts: tuple[FloatArray, ...]  # bin b of feature j holds values up to ``cuts[j][b]``
    is_categorical: BoolArray
    has_missing: BoolArray
    bundles: BundledCodes | None = None  # of columns of few values
    extra: CodeArray | None = None  # the codes of one more column

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

    def thresholds(self, features: IntArray, last: IntArray) -> FloatArray:
        """The cuts behind bins; infinite behind the last, where only missing values go right."""
        if len(features) == 0:
            return np.empty(0)
        distinct, place = np.unique(features, return_inverse=True)
        cuts = [np.append(self.cuts[j], np.inf) for j in distinct.tolist()]
        size = np.array([len(each) for each in cuts])
        start = np.cumsum(size) - size
        found: FloatArray = np.concatenate(cuts)[start[place] + np.minimum(last, size[place] - 1)]
        return found


def bin_table(
    table: Table,
    weight: FloatArray,
    *,
    max_bins: int = 255,
    threads: Threads | None = None,
    random_state: int = 0,
) -> BinnedColumns:
    """Bin all columns of a table: a bin for each distinct value, or bins of about equal weight."""
    threads = threads or Threads(1)
    sample = None
    if table.n_rows > SAMPLE_ROWS:
        sample = sample_rows(table.n_rows, SAMPLE_ROWS, random_state)
    is_categorical = np.zeros(table.n_features, np.bool_)
    is_categorical[list(table.schema.encoders)] = True
    bin_codes = _bin_sparse if table.is_sparse else _bin_dense
    codes, n_bins, cuts, has_missing = bin_codes(table, weight, max_bins, sample, threads)
    more = (offset_of(n_bins), tuple(cuts), is_categorical, has_missing)
    return with_bundles(BinnedColumns(codes, table.n_rows, n_bins, *more), threads)


def _encode_columns(
    table: Table,
    encode: Callable[[int, FloatArray, CodeArray], BoolArray],
    codes_out: CodeArray,
    threads: Threads,
) -> BoolArray:
    """Write codes by ``encode(first column, values by column, codes)``; gives which have gaps."""
    has_missing = np.zeros(table.n_features, np.bool_)
    at_once = max(COLUMNS_AT_ONCE, CELLS_AT_ONCE // max(1, table.n_rows))

    def some_columns(start: int, stop: int) -> None:
        for first in range(start, stop, at_once):
            its = slice(first, min(first + at_once, stop))
            has_missing[its] = encode(first, table.block(first, its.stop).T, codes_out[its])

    threads.run(some_columns, table.n_features, COLUMNS_AT_ONCE)
    return has_missing


def _encode_category(values: FloatArray, codes_out: CodeArray) -> bool:
    """Write the codes of a column of categories; whether one is missing."""
    missing = np.isnan(values)
    codes_out[:] = np.where(missing, MISSING, values).astype(np.uint8)
    return bool(missing.any())


def _bin_dense(
    table: Table, weight: FloatArray, max_bins: int, sample: IntArray | None, threads: Threads
) -> tuple[DenseCodes, IntArray, list[FloatArray], BoolArray]:
    codes = np.empty((table.n_features, table.n_rows), np.uint8)
    categories = table.schema.categories
    n_bins = np.zeros(table.n_features, np.int64)
    cuts = [np.empty(0)] * table.n_features
    seen_weight = weight if sample is None else weight[sample]
    are_equal = len(seen_weight) > 0 and bool((seen_weight == seen_weight[0]).all())

    def encode(first: int, values: FloatArray, codes_out: CodeArray) -> BoolArray:
        has_missing = np.zeros(len(values), np.bool_)
        is_number = np.ones(len(values), np.bool_)
        for j in categories.keys() & range(first, first + len(values)):
            is_number[j - first] = False
            n_bins[j] = max(1, len(categories[j]))
            has_missing[j - first] = _encode_category(values[j - first], codes_out[j - first])
        numbers = np.flatnonzero(is_number)
        seen = values[numbers] if sample is None else values[np.ix_(numbers, sample)]
        if are_equal:
            # Equal weights need no permutation, and a plain sort is several times as fast.
            seen.sort(axis=1)  # a copy already
            ordered, weights = seen, seen_weight[None]
        else:
            order = np.argsort(seen, axis=1, kind="stable")
            ordered, weights = np.take_along_axis(seen, order, 1), seen_weight[order]
        own, n_cuts = np.empty((len(numbers), max_bins)), np.empty(len(numbers), np.int64)
        out = (own, n_cuts, codes_out, has_missing)
        kernels.bin_dense_columns(values, numbers, ordered, weights, max_bins, out)
        for its, n, j in zip(own, n_cuts.tolist(), (first + numbers).tolist(), strict=True):
            cuts[j] = its[:n].copy()
        n_bins[first + numbers] = n_cuts + 1
        return has_missing

    has_missing = _encode_columns(table, encode, codes, threads)
    return DenseCodes(codes), n_bins, cuts, has_missing


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
    fixed = (given, weight, seen, max_bins, cut_start)
    run = lambda a, b: kernels.bin_sparse_columns(*fixed, a, b, out)  # noqa: E731
    threads.run(run, table.n_features, 256)
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
    kernels.bins_by_row(indptr, indices, codes, offset_of(n_bins), n_bins, row_start, row_bins)
    return SparseCodes(indptr, indices, codes, zero_code, row_start, row_bins)


def offset_of(n_bins: IntArray) -> IntArray:
    """Where each feature begins in a histogram; one bin more than values for the missing."""
    return np.concatenate([[0], np.cumsum(n_bins + 1)])


def narrowed(columns: BinnedColumns, features: IntArray) -> BinnedColumns:
    """The same columns with room in histograms for the listed features alone, others have codes."""
    width = np.zeros(columns.n_features, np.int64)
    width[features] = columns.n_bins[features] + 1
    offset = np.concatenate([[0], np.cumsum(width)])
    if isinstance(columns.codes, SparseCodes) and len(features) < columns.n_features:
        by = np.where(width > 0, offset[:-1] - columns.offset[:-1], -columns.offset[-1])
        place = np.arange(columns.offset[-1]) + np.repeat(by, columns.n_bins + 1)
        columns = columns._replace(codes=moved_cells(columns.codes, place))
    return columns._replace(offset=offset)


def moved_cells(held: SparseCodes, place: IntArray) -> SparseCodes:
    """With other places in a histogram for the cells by row; those of negative place go."""
    row_start, row_bins = np.empty_like(held.row_start), np.empty_like(held.row_bins)
    n_kept = kernels.move_bins(held.row_start, held.row_bins, place, row_start, row_bins)
    return held._replace(row_start=row_start, row_bins=row_bins[:n_kept].copy())


def take_columns(columns: BinnedColumns, features: IntArray) -> BinnedColumns:
    """A few columns, dense, in the order asked for; sparse ones are written out."""
    codes = columns.codes
    if isinstance(codes, DenseCodes):
        taken = codes.codes[features]
    else:
        taken = np.empty((len(features), columns.n_rows), np.uint8)
        for place, j in enumerate(features):
            sparse_column(*codes[:4], j, taken[place])
    return described(columns, features, taken)


def described(columns: BinnedColumns, features: IntArray, codes: CodeArray) -> BinnedColumns:
    """Codes of some features, by feature and row, with the bins that these have in ``columns``."""
    n_bins = columns.n_bins[features]
    return BinnedColumns(
        DenseCodes(codes),
        codes.shape[1],
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
    """The same columns, whose codes stay where they are, and one more: a category of each row."""
    n_bins = np.append(columns.n_bins, category.n)
    return columns._replace(
        n_bins=n_bins,
        offset=offset_of(n_bins),
        cuts=(*columns.cuts, np.empty(0)),
        is_categorical=np.append(columns.is_categorical, True),
        has_missing=np.append(columns.has_missing, False),
        # what came from another process may be read only, for which kernels would be compiled again
        extra=np.require(category.codes, requirements=["C", "W"]),
    )


def with_bundles(columns: BinnedColumns, threads: Threads) -> BinnedColumns:
    """Bundle columns of few values, where the codes are dense and it saves work."""
    if not isinstance(columns.codes, DenseCodes) or columns.n_rows < MIN_BUNDLED_ROWS:
        return columns
    codes, varying = columns.codes.codes, columns.varying
    groups = _plan(codes, columns.n_bins, varying)
    if sum(len(group) - 1 for group in groups) < MIN_SAVED * len(varying):
        return columns
    bundled: CodeArray = np.zeros((len(groups), columns.n_rows), np.uint8)
    column = np.full(columns.n_features, -1)
    own: CodeArray = np.zeros((columns.n_features, N_CODES), np.uint8)

    def join(_: int, k: int) -> None:
        members = _join(codes, groups[k], bundled[k], own)
        column[members] = k if len(members) > 1 else -1

    threads.share(join, len(groups))
    return columns._replace(bundles=BundledCodes(bundled, column, own))


def _plan(codes: CodeArray, n_bins: IntArray, varying: IntArray) -> list[list[int]]:
    """Groups of at least two columns that have few combinations in a sample of the rows."""
    few = varying[n_bins[varying] <= MAX_BUNDLED_BINS]
    few = few[np.argsort(n_bins[few], kind="stable")]
    step = max(1, codes.shape[1] // BUNDLED_SAMPLE)
    seen = np.zeros(N_CODES * N_CODES, np.uint8)
    groups: list[list[int]] = []
    sums: list[CodeArray] = []
    for j in few.tolist():
        column = np.ascontiguousarray(codes[j, ::step])
        for g in range(max(0, len(groups) - N_OPEN), len(groups)):
            kernels.mark_pairs(sums[g], column, seen)
            if np.count_nonzero(seen) <= SAMPLED_CODES:
                groups[g].append(j)
                break
        else:
            g = len(groups)
            groups.append([j])
            sums.append(np.zeros(len(column), np.uint8))
        _add(column, sums[g], seen)
    groups = sorted((group for group in groups if len(group) > 1), key=len, reverse=True)
    return groups[: max(1, int(MAX_ADDED * len(varying)))]


def _add(column: CodeArray, bundled: CodeArray, seen: AnyArray) -> IntArray | None:
    """Join one more column; returns the pair of each new code, None if they are too many."""
    kernels.mark_pairs(bundled, column, seen)
    pairs = np.flatnonzero(seen)
    if len(pairs) > N_CODES:
        return None
    number = np.zeros(len(seen), np.uint8)
    number[pairs] = np.arange(len(pairs))
    kernels.bundle_pairs(column, number, bundled)
    return np.pad(pairs, (0, N_CODES - len(pairs)))


def _join(codes: CodeArray, group: list[int], bundled: CodeArray, own: CodeArray) -> list[int]:
    """Join the columns of a group, all rows; those that do not go with the others stay out."""
    seen = np.zeros(N_CODES * N_CODES, np.uint8)
    members: list[int] = []
    for j in group:
        pair = _add(codes[j], bundled, seen)
        if pair is None:
            continue
        own[members] = own[members][:, pair >> 8]
        own[j] = pair & 255
        members.append(j)
    return members


def encode_dense(
    table: Table, bins: BinnedColumns, codes_out: CodeArray, threads: Threads
) -> BoolArray:
    """Write the codes of further rows in bins that are known; gives which columns lack values."""

    def encode(first: int, values: FloatArray, codes_out: CodeArray) -> BoolArray:
        return np.array(
            [
                _encode_category(its, out)
                if bins.is_categorical[j]
                else kernels.encode(its, bins.cuts[j], out)
                for j, (its, out) in enumerate(zip(values, codes_out, strict=True), first)
            ],
            np.bool_,
        )

    return _encode_columns(table, encode, codes_out, threads)


def encode_sparse(table: Table, bins: BinnedColumns) -> tuple[SparseCodes, BoolArray]:
    """The codes of further rows of a sparse table in bins that are known; likewise."""
    matrix = table.csc
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    codes = np.empty(len(indices), np.uint8)
    has_missing = np.zeros(table.n_features, np.bool_)
    for j in np.flatnonzero(np.diff(indptr)):
        stored = slice(indptr[j], indptr[j + 1])
        has_missing[j] = kernels.encode(matrix.data[stored], bins.cuts[j], codes[stored])
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

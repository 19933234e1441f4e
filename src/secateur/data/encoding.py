"""Further rows as codes, in bins that are known: how tables are binned block by block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur._kernels.binning import encode
from secateur._kernels.records import DenseCodes, SparseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import COLUMNS_AT_ONCE, BinnedColumns, by_row, encode_column
from secateur.data.table import Table
from secateur.typing import BoolArray, CodeArray, FloatArray


def encode_dense(
    table: Table, bins: BinnedColumns, codes_out: CodeArray, threads: Threads
) -> BoolArray:
    """Write the codes of further rows in bins that are known; gives which columns lack values."""
    has_missing = np.zeros(table.n_features, np.bool_)

    def some_columns(start: int, stop: int) -> None:
        for first in range(start, stop, COLUMNS_AT_ONCE):
            block = table.block(first, min(first + COLUMNS_AT_ONCE, stop))
            for j, values in enumerate(block.T, start=first):
                has_missing[j] = encode_column(
                    values, bins.cuts[j], bool(bins.is_categorical[j]), codes_out[j]
                )

    threads.run(some_columns, table.n_features, COLUMNS_AT_ONCE)
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
    row_start, row_bins = by_row(indptr, indices, codes, bins.n_bins, table.n_rows)
    zero_code = zero_codes(bins.cuts)
    return SparseCodes(indptr, indices, codes, zero_code, row_start, row_bins), has_missing


def zero_codes(cuts: Sequence[FloatArray]) -> CodeArray:
    """The code of zero in each column: the number of cuts below it.

    >>> zero_codes([np.array([-1.0, 0.0, 2.0]), np.empty(0)])
    array([1, 0], dtype=uint8)
    """
    return np.array([int(np.searchsorted(own, 0.0)) for own in cuts], np.uint8)


def without_rows(columns: BinnedColumns, n_rows: int) -> BinnedColumns:
    """The shape of columns whose cells are elsewhere: bins, cuts, and how many rows there are."""
    if isinstance(columns.codes, DenseCodes):
        empty: DenseCodes | SparseCodes = DenseCodes(np.empty((columns.n_features, 0), np.uint8))
    else:
        empty = SparseCodes(
            np.zeros(columns.n_features + 1, np.int64),
            np.empty(0, np.int32),
            np.empty(0, np.uint8),
            columns.codes.zero_code,
            np.zeros(1, np.int64),
            np.empty(0, np.uint32),
        )
    return columns._replace(codes=empty, n_rows=n_rows, bundles=None)

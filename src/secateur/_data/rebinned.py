"""Binned columns made from others: some of them, or one more."""

from __future__ import annotations

import numpy as np

from secateur._data.binned import BinnedColumns, by_row, offset_of
from secateur._kernels.partition import sparse_column
from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.typing import IntArray


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


def with_category(columns: BinnedColumns, category: IntArray) -> BinnedColumns:
    """The same columns and one more, last: a category of each row, from 0 to 254."""
    added = category.astype(np.uint8)
    n_bins = np.append(columns.n_bins, int(added.max(initial=0)) + 1)
    held, n_rows = columns.codes, columns.n_rows
    if isinstance(held, DenseCodes):
        codes: DenseCodes | SparseCodes = DenseCodes(np.vstack([held.codes, added]))
    else:
        indptr = np.append(held.indptr, held.indptr[-1] + n_rows)
        indices = np.append(held.indices, np.arange(n_rows, dtype=np.int32))
        cells = np.append(held.codes, added)
        sorted_cells = by_row(indptr, indices, cells, n_bins, n_rows)
        codes = SparseCodes(
            indptr, indices, cells, np.append(held.zero_code, added[:1]), *sorted_cells
        )
    return BinnedColumns(
        codes,
        n_rows,
        n_bins,
        offset_of(n_bins),
        (*columns.cuts, np.empty(0)),
        np.append(columns.is_categorical, True),
        np.append(columns.has_missing, False),
    )

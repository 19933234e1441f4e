"""Binned columns made from others: some of them, or one more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from secateur._data.binned import BinnedColumns, offset_of
from secateur._kernels.partition import sparse_column
from secateur._kernels.records import DenseCodes
from secateur.typing import CodeArray, IntArray


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

    def cut(self, rows: slice) -> Category:
        """That of some rows that follow each other."""
        return Category(self.codes[rows], self.n)


def with_category(columns: BinnedColumns, category: Category) -> BinnedColumns:
    """The same columns and one more, last: a category of each row.

    It lies beside the codes of the others, which are where they were: in memory, in a file that is
    mapped, shared with other fits.
    """
    n_bins = np.append(columns.n_bins, category.n)
    # What came from another process may be read only, for which kernels would be compiled anew.
    beside = np.require(category.codes, requirements=["C", "W"])
    return columns._replace(
        n_bins=n_bins,
        offset=offset_of(n_bins),
        cuts=(*columns.cuts, np.empty(0)),
        is_categorical=np.append(columns.is_categorical, True),
        has_missing=np.append(columns.has_missing, False),
        beside=beside,
    )

"""The histogram of one node over a block of rows, dense or sparse."""

from __future__ import annotations

import numpy as np

from secateur._execution.blocks import RowArray, RowBlock
from secateur._kernels.histogram import (
    clear_features,
    dense_histograms,
    fill_zero_bins,
    sparse_columns,
    sparse_rows,
)
from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.typing import IntArray

CELLS_PER_THREAD = 50_000
"""Histograms of fewer cells than this are not worth a second thread."""


COLUMN_PRICE = 3
"""By column a stored cell costs so much more: those of rows outside the node are looked at too."""


def histogram(block: RowBlock, node: int, features: IntArray) -> IntArray:
    """The histogram of a node for the features asked for; see ``_kernels.histogram``."""
    if isinstance(block.columns.codes, DenseCodes):
        _dense_node(block, block.columns.codes, node, features)
    else:
        _sparse_node(block, block.columns.codes, node, features)
    return block.histogram


def _dense_node(block: RowBlock, held: DenseCodes, node: int, features: IntArray) -> None:
    start, stop = block.bounds[node]
    in_order = stop - start == block.columns.n_rows
    order, packed = block.order[start:stop], block.packed[start:stop]
    columns = block.columns

    def part(first: int, last: int) -> None:
        dense_histograms(
            held.codes,
            order,
            packed,
            in_order,
            features,
            columns.offset,
            columns.n_bins,
            first,
            last,
            block.histogram,
        )

    grain = max(4, CELLS_PER_THREAD // max(1, stop - start) // 4 * 4)
    block.threads.run(part, len(features), grain)


def _sparse_node(block: RowBlock, held: SparseCodes, node: int, features: IntArray) -> None:
    """By row, for all features at once; by column where few are asked for."""
    columns, out = block.columns, block.histogram
    start, stop = block.bounds[node]
    rows = block.order[start:stop]
    clear_features(features, columns.offset, columns.n_bins, out)
    if len(features) * COLUMN_PRICE * columns.n_rows < len(rows) * columns.n_features:
        total = _add_columns(block, held, rows, features)
    else:
        total = sparse_rows(held.row_start, held.row_bins, rows, block.packed_by_row, out)
    fill_zero_bins(features, columns.offset, columns.n_bins, held.zero_code, total, out)


def _add_columns(
    block: RowBlock, held: SparseCodes, rows: RowArray, features: IntArray
) -> IntArray:
    columns = block.columns
    is_inside = np.zeros(columns.n_rows, np.bool_)
    is_inside[rows] = True
    sparse_columns(
        held.indptr,
        held.indices,
        held.codes,
        block.packed_by_row,
        is_inside,
        features,
        columns.offset,
        columns.n_bins,
        block.histogram,
    )
    total: IntArray = block.packed_by_row[rows].sum()
    return total

"""The histogram of one node over a block of rows, dense or sparse."""

from __future__ import annotations

from secateur._execution.blocks import RowBlock
from secateur._kernels.histogram import (
    dense_histograms,
    sparse_by_column,
    sparse_by_row,
)
from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.typing import IntArray

CELLS_PER_THREAD = 50_000
"""Histograms of fewer cells than this are not worth a second thread."""


COLUMN_PRICE = 3
"""By column a stored cell costs so much more: those of rows outside the node are looked at too."""

FEW_FEATURES = 0.1
"""A larger share of the features is never worth going by column."""


def histograms_of(block: RowBlock, nodes: list[int], features: list[IntArray]) -> IntArray:
    """Histograms of some nodes, of each for the features asked for; see ``_kernels.histogram``."""
    held = block.columns.codes
    out = block.histograms[: len(nodes)]
    if isinstance(held, DenseCodes):
        for node, asked, room in zip(nodes, features, out, strict=True):
            _dense_node(block, held, node, asked, room)
    else:
        for node, asked, room in zip(nodes, features, out, strict=True):
            _sparse_node(block, held, node, asked, room)
    return out


def _dense_node(
    block: RowBlock, held: DenseCodes, node: int, features: IntArray, out: IntArray
) -> None:
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
            out,
        )

    grain = max(4, CELLS_PER_THREAD // max(1, stop - start) // 4 * 4)
    block.threads.run(part, len(features), grain)


def _sparse_node(
    block: RowBlock, held: SparseCodes, node: int, features: IntArray, out: IntArray
) -> None:
    """By row, for all features at once; by column where those asked for have few cells."""
    columns = block.columns
    start, stop = block.bounds[node]
    rows = block.order[start:stop]
    asked = (features, columns.offset, columns.n_bins, out)
    if _has_few_cells(held, features, (stop - start) / columns.n_rows):
        sparse_by_column(
            held.indptr, held.indices, held.codes, held.zero_code, block.packed_by_row, rows, *asked
        )
    else:
        sparse_by_row(
            held.row_start, held.row_bins, held.zero_code, block.packed_by_row, rows, *asked
        )


def _has_few_cells(held: SparseCodes, features: IntArray, share: float) -> bool:
    """Whether the features have few stored cells beside those of a share of the rows."""
    if len(features) > FEW_FEATURES * len(held.zero_code):
        return False
    n_by_column = int((held.indptr[features + 1] - held.indptr[features]).sum())
    return COLUMN_PRICE * n_by_column < share * len(held.indices)

"""Histograms of nodes over a block of rows, dense or sparse."""

from __future__ import annotations

import numpy as np

from secateur._kernels.histogram import (
    dense_histograms,
    sparse_by_column,
    sparse_by_row,
    spread_bins,
)
from secateur._kernels.records import N_CODES, DenseCodes, SparseCodes
from secateur._kernels.splitting import search_rows
from secateur.execution.blocks import PackedArray, RowArray, RowBlock
from secateur.typing import BoolArray, CodeArray, FloatArray, IntArray

CELLS_PER_THREAD = 50_000  # histograms of fewer cells than this are not worth a second thread
# By column a stored cell costs this much more: cells of rows outside the node are read too.
COLUMN_FACTOR = 3
FEW_FEATURES = 0.1  # a larger share of the features is never worth going by column


def histograms_of(block: RowBlock, nodes: list[int], features: list[IntArray]) -> IntArray:
    """Histograms of some nodes, of each for its features; see ``_kernels.histogram``."""
    columns = block.columns
    out = block.buffers.nodes(int(columns.offset[-1]))[: len(nodes)]
    for node, asked, histogram in zip(nodes, features, out, strict=True):
        coded = asked if columns.extra is None else asked[asked < columns.n_coded]
        if isinstance(columns.codes, DenseCodes):
            _dense_node(block, columns.codes, node, coded, histogram)
        else:
            _sparse_node(block, columns.codes, node, coded, histogram)
        if len(coded) < len(asked):  # last, since sparse histograms clear all bins
            codes = block.codes_of(columns.n_coded).reshape(1, -1)
            shape = (columns.offset[columns.n_coded :], columns.n_bins[columns.n_coded :])
            _add_up(block, codes, node, np.zeros(1, np.int64), shape, histogram)
    return out


def few_histograms(block: RowBlock, nodes: list[int], features: list[IntArray]) -> IntArray:
    """The same end to end without the bins of other features, to be sent between processes."""
    built = histograms_of(block, nodes, features)
    offset = block.columns.offset
    parts = [each[bins_of(asked, offset)] for each, asked in zip(built, features, strict=True)]
    return np.concatenate(parts)


def unpack_histograms(sent: IntArray, features: list[IntArray], offset: IntArray) -> IntArray:
    """What ``few_histograms`` sent, each feature at its offset again."""
    built: IntArray = np.empty((len(features), int(offset[-1])), np.int64)
    start = 0
    for histogram, asked in zip(built, features, strict=True):
        bins = bins_of(asked, offset)
        histogram[bins] = sent[start : start + len(bins)]
        start += len(bins)
    return built


def bins_of(features: IntArray, offset: IntArray) -> IntArray:
    """The positions of all bins of some features in a histogram."""
    widths = offset[features + 1] - offset[features]
    starts = np.repeat(offset[features] - np.cumsum(widths) + widths, widths)
    return starts + np.arange(len(starts))


def search_node(
    block: RowBlock,
    node: int,
    features: IntArray,
    total: int,
    limits: tuple[tuple[float, float], np.int64],
    found: tuple[FloatArray, IntArray, BoolArray],
) -> None:
    """The best splits of some features in a node of the only block; no histogram is kept."""
    columns, rows = block.columns, node_rows(block, node)
    shape = (columns.offset, columns.n_bins, columns.is_categorical)
    codes = columns.codes.codes  # dense: sparse blocks are never searched like this
    block.threads.run(
        lambda first, last: search_rows(
            codes, rows, features, shape, total, *limits, first, last, found
        ),
        len(features),
        features_per_thread(len(rows[0])),
    )


def node_rows(block: RowBlock, node: int) -> tuple[RowArray, PackedArray, bool]:
    """The rows of a node with their packed sums, and whether these are all rows in their order."""
    start, stop = block.bounds[node]
    in_order = stop - start == block.columns.n_rows
    return block.order[start:stop], block.packed_of(node), in_order


def features_per_thread(n_rows: int) -> int:
    """The fewest features that are worth a thread."""
    return max(4, CELLS_PER_THREAD // max(1, n_rows) // 4 * 4)


def _dense_node(
    block: RowBlock, held: DenseCodes, node: int, features: IntArray, out: IntArray
) -> None:
    columns, bundles = block.columns, block.columns.bundles
    shape = (columns.offset, columns.n_bins)
    if bundles is None:
        _add_up(block, held.codes, node, features, shape, out)
        return
    is_bundled = bundles.column[features] >= 0
    needed = np.unique(bundles.column[features[is_bundled]])
    _add_up(block, held.codes, node, features[~is_bundled], shape, out)
    if len(needed):  # histograms of the bundles, split up by the codes of the features in them
        n_bundles, features = len(bundles.codes), features[is_bundled]
        built = np.empty((n_bundles, N_CODES), np.int64)
        own_shape = (N_CODES * np.arange(n_bundles), np.full(n_bundles, N_CODES - 1))
        _add_up(block, bundles.codes, node, needed, own_shape, built.reshape(-1))
        own = (bundles.column, bundles.own)
        spread_bins(built, *own, features, *shape, 0, len(features), out)


def _add_up(
    block: RowBlock,
    codes: CodeArray,
    node: int,
    columns: IntArray,
    shape: tuple[IntArray, IntArray],
    out: IntArray,
) -> None:
    """Histograms of some columns of codes over the rows of a node."""
    rows = node_rows(block, node)
    block.threads.run(
        lambda first, last: dense_histograms(codes, *rows, columns, *shape, first, last, out),
        len(columns),
        features_per_thread(len(rows[0])),
    )


def _sparse_node(
    block: RowBlock, held: SparseCodes, node: int, features: IntArray, out: IntArray
) -> None:
    """By row, for all features at once; by column where the features have few stored cells."""
    columns = block.columns
    start, stop = block.bounds[node]
    rows = block.order[start:stop]
    asked = (held.zero_code, block.packed_by_row, rows, features, columns.offset, columns.n_bins)
    n_by_column = np.inf
    if len(features) <= FEW_FEATURES * len(held.zero_code):
        n_by_column = float((held.indptr[features + 1] - held.indptr[features]).sum())
    if COLUMN_FACTOR * n_by_column < len(rows) / columns.n_rows * len(held.indices):
        sparse_by_column(held.indptr, held.indices, held.codes, *asked, out)
    else:
        sparse_by_row(held.row_start, held.row_bins, *asked, out)

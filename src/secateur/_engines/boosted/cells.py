"""What a finished draft of a tree asks of a block of rows: histograms in all of its cells."""

from __future__ import annotations

import numpy as np

from secateur._data.joined import JoinedCodes
from secateur._execution.blocks import RowBlock
from secateur._kernels.confirming import bound_gains, dense_cells
from secateur._kernels.joining import spread_cells
from secateur._kernels.partition import mark_rows
from secateur._kernels.records import MAX_BINS, N_CODES
from secateur.typing import BoolArray, CodeArray, FloatArray, IntArray


def begin_cells(block: RowBlock, cells: list[int]) -> None:
    """Note which of the nodes, that part all rows of the tree, each row is in; dense rows only."""
    if len(block.cell_start) != block.columns.n_rows:
        block.cell_start = block.space.zeros(block.columns.n_rows, np.uint32)
    for c, node in enumerate(cells):
        mark_rows(block.order, *block.bounds[node], np.uint32(c * N_CODES), block.cell_start)
    joined = block.columns.joined
    if joined is not None:
        block.joined_cells = _joined_cells(block, joined, N_CODES * len(cells))


def _joined_cells(block: RowBlock, joined: JoinedCodes, width: int) -> IntArray:
    """The histograms of all joined columns in the cells."""
    columns = np.arange(len(joined.codes))
    all_codes = np.full(len(columns), MAX_BINS)
    out: IntArray = np.empty((len(columns), width), np.int64)

    def part(start: int, stop: int) -> None:
        some = columns[start:stop]
        _add_up(block, joined.codes, some, all_codes, some, out)

    block.threads.run(part, len(columns), 2)
    return out


def cell_histograms(block: RowBlock, n_cells: int, features: IntArray, worker: int) -> IntArray:
    """Histograms in the cells that were noted: ``[f, c * 256 + code]``, packed.

    Several threads may ask at once, each as a worker with a number of its own.
    """
    shape = (len(features), N_CODES * n_cells)
    out: IntArray = block.rooms.cells(worker, shape[0] * shape[1]).reshape(shape)
    _fill(block, features, out)
    return out


def all_cell_histograms(block: RowBlock, n_cells: int, features: IntArray) -> IntArray:
    """As ``cell_histograms`` of very many features, by all threads of the block."""
    shape = (len(features), N_CODES * n_cells)
    out: IntArray = block.rooms.cells(-1, shape[0] * shape[1]).reshape(shape)
    block.threads.run(
        lambda start, stop: _fill(block, features[start:stop], out[start:stop]), len(features), 2
    )
    return out


def cell_bounds(
    histograms: IntArray,
    n_bins: IntArray,
    is_categorical: BoolArray,
    nodes: tuple[IntArray, IntArray],
    unit: tuple[float, float],
) -> FloatArray:
    """What the histograms of some rows say of all nodes, in few numbers; see ``bound_gains``."""
    bounds = np.empty((len(n_bins) + 1, len(nodes[0])))
    bound_gains(histograms, n_bins, is_categorical, nodes, unit, bounds)
    return bounds


def _fill(block: RowBlock, features: IntArray, out: IntArray) -> None:
    held, n_bins, joined = block.columns.codes, block.columns.n_bins, block.columns.joined
    places = np.arange(len(features))
    if joined is None:
        _add_up(block, held.codes, features, n_bins, places, out)
        return
    is_joined = joined.column[features] >= 0
    _add_up(block, held.codes, features[~is_joined], n_bins, places[~is_joined], out)
    own = (joined.column, joined.own)
    spread_cells(block.joined_cells, *own, features[is_joined], places[is_joined], out)


def _add_up(
    block: RowBlock,
    codes: CodeArray,
    columns: IntArray,
    n_bins: IntArray,
    places: IntArray,
    out: IntArray,
) -> None:
    dense_cells(
        codes,
        block.tree_rows,
        block.cell_start,
        block.packed_by_row,
        len(block.tree_rows) == block.columns.n_rows,
        columns,
        n_bins,
        places,
        out,
    )

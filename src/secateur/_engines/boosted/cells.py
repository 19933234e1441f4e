"""What a finished draft of a tree asks of a block of rows: histograms in all of its cells."""

from __future__ import annotations

import numpy as np

from secateur._execution.blocks import RowBlock
from secateur._kernels.confirming import bound_gains, dense_cells
from secateur._kernels.partition import mark_rows
from secateur._kernels.records import N_CODES
from secateur.typing import BoolArray, FloatArray, IntArray


def begin_cells(block: RowBlock, cells: list[int]) -> None:
    """Note which of the nodes, that part all rows of the tree, each row is in; dense rows only."""
    if len(block.cell_start) != block.columns.n_rows:
        block.cell_start = block.space.zeros(block.columns.n_rows, np.uint32)
    for c, node in enumerate(cells):
        mark_rows(block.order, *block.bounds[node], np.uint32(c * N_CODES), block.cell_start)


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
    dense_cells(
        block.columns.codes.codes,
        block.tree_rows,
        block.cell_start,
        block.packed_by_row,
        len(block.tree_rows) == block.columns.n_rows,
        features,
        block.columns.n_bins,
        out,
    )

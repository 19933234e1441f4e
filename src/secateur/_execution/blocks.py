"""A block of rows: what never changes of them, and what moves with them while trees grow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from secateur._data.binned import BinnedColumns
from secateur._kernels.partition import sparse_column
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.typing import CodeArray, FloatArray

HISTOGRAM_ROOM = 1 << 20
"""Bytes that the histograms of nodes that are built together may take..."""

NODES_AT_ONCE = 8
"""... and how many nodes these are at the most; there is always room for one."""

RowArray = npt.NDArray[np.uint32]
PackedArray = npt.NDArray[np.int64]


def nodes_at_once(width: int) -> int:
    """How many nodes' histograms of so many bins are built together.

    >>> nodes_at_once(100), nodes_at_once(10**6)
    (8, 1)
    """
    return min(NODES_AT_ONCE, max(1, HISTOGRAM_ROOM // (8 * width + 1)))


@dataclass(slots=True, eq=False)
class RowBlock:
    """Some rows of a binned table with their target, weight, prediction and place in the tree.

    ``rows`` are the block's rows that train, ``held`` those that only get predictions.
    ``first_row`` is the number of the block's first row in the whole table. ``order`` lists the
    rows of the growing tree, node after node; ``packed`` goes with it, position by position, and
    ``packed_by_row`` with the rows themselves. ``pooled`` are the codes of sums of features, by
    group and row, where newcomers are found by group tests; ``offset`` are predictions to begin
    from, where they are not the best constant.

        order = [c e f | a b d g h]        one run of rows per node
    """

    columns: BinnedColumns
    target: FloatArray
    weight: FloatArray
    rows: RowArray
    held: RowArray
    n_outputs: int
    threads: Threads
    first_row: int = 0
    pooled: CodeArray | None = None
    offset: FloatArray | None = None
    raw: FloatArray = field(init=False)
    gradient: FloatArray = field(init=False)
    hessian: FloatArray = field(init=False)
    order: RowArray = field(init=False)
    spare: RowArray = field(init=False)
    packed: PackedArray = field(init=False)
    packed_by_row: PackedArray = field(init=False)
    quantised_weight: RowArray = field(init=False)
    histograms: PackedArray = field(init=False)
    tree_rows: RowArray = field(init=False)
    cell_start: RowArray = field(init=False)
    cell_rooms: dict[int, PackedArray] = field(init=False, default_factory=dict)
    told_rows: RowArray = field(init=False)
    bounds: dict[int, tuple[int, int]] = field(init=False, default_factory=dict)
    expanded: dict[int, CodeArray] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        n, k = self.columns.n_rows, self.n_outputs
        self.raw = np.zeros((k, n))
        self.gradient = np.zeros((k, n))
        self.hessian = np.ones((k, n))
        self.order = self.rows.copy()
        self.spare = np.empty(len(self.rows), np.uint32)
        self.packed_by_row = np.zeros(n, np.int64)
        self.packed = np.empty(0 if self.is_sparse else len(self.rows), np.int64)
        self.tree_rows = self.rows
        self.told_rows = self.rows
        self.cell_start = np.empty(0, np.uint32)
        self.quantised_weight = np.ones(n, np.uint32)
        self.make_room()

    def make_room(self) -> None:
        """Room for the histograms of as many nodes as are built together."""
        width = int(self.columns.offset[-1])
        self.histograms = np.empty((nodes_at_once(width), width), np.int64)

    @property
    def is_sparse(self) -> bool:
        """Whether only the stored cells have codes."""
        return not isinstance(self.columns.codes, DenseCodes)

    def codes_of(self, feature: int) -> CodeArray:
        """One feature's codes of all rows; a sparse column is written out once and kept."""
        codes = self.columns.codes
        if isinstance(codes, DenseCodes):
            column: CodeArray = codes.codes[feature]
            return column
        if feature not in self.expanded:
            column = np.empty(self.columns.n_rows, np.uint8)
            sparse_column(
                codes.indptr, codes.indices, codes.codes, codes.zero_code, feature, column
            )
            self.expanded[feature] = column
        return self.expanded[feature]

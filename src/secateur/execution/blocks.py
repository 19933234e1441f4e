"""A block of rows: what never changes of them, and what moves with them while trees grow."""

from __future__ import annotations

import mmap
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from secateur._kernels.partition import gather, sparse_column
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns
from secateur.exceptions import StorageError
from secateur.typing import AnyArray, CodeArray, FloatArray


class Allocator(Protocol):
    """Allocates arrays of zeros, and releases their pages while they are not needed."""

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""

    def release(self) -> None:
        """Release the pages; the values stay."""


class HeapAllocator:
    """Plain memory."""

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""
        return np.zeros(shape, dtype)

    def release(self) -> None:
        """Do nothing."""


class FileAllocator:
    """Memory-mapped temporary files, which the system writes out when memory is short."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if n_bytes == 0:
            return np.zeros(shape, dtype)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                _reserve(file, n_bytes)
                mapped = mmap.mmap(file.fileno(), n_bytes)
        except OSError as error:
            raise StorageError(
                "The folder of a stored table must have room for what moves with its rows, "
                f"{n_bytes / 1e6:.0f} MB a block. Got none: {error}. Free some space, or raise "
                "'memory_limit'."
            ) from error
        self._maps.append(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def release(self) -> None:
        """Release the pages; the values stay in the file."""
        for mapped in self._maps:
            release_pages(mapped)


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Reserve the space on the disk: a full one is found now, and not during a fit."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    else:
        file.truncate(n_bytes)


def release_pages(mapped: mmap.mmap) -> None:
    """Release the pages of a mapped file."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def prefetch_pages(mapped: mmap.mmap) -> None:
    """Read a mapped file ahead."""
    if hasattr(mmap, "MADV_WILLNEED"):
        mapped.madvise(mmap.MADV_WILLNEED)


ROWS_PER_THREAD = 8192  # loops over fewer rows than this are not worth a second thread
HISTOGRAM_BYTES = 1 << 20  # bytes that the histograms of nodes that are built together may take...
# ... and how many nodes these are at the most; there is always room for one.
NODES_AT_ONCE = 8

RowArray = npt.NDArray[np.uint32]
PackedArray = npt.NDArray[np.int64]


def nodes_at_once(width: int) -> int:
    """How many nodes' histograms of so many bins are built together."""
    return min(NODES_AT_ONCE, max(1, HISTOGRAM_BYTES // (8 * width + 1)))


class HistogramBuffers:
    """Where blocks that are computed one after the other put what they add up.

    Histograms of nodes, and of cells for each thread; made when they are first asked for.
    """

    def __init__(self) -> None:
        self._nodes: PackedArray = np.empty((0, 0), np.int64)
        self._cells: dict[int, PackedArray] = {}

    def nodes(self, width: int) -> PackedArray:
        """Room for the histograms of as many nodes as are built together."""
        if self._nodes.shape[1] != width:
            self._nodes = np.empty((nodes_at_once(width), width), np.int64)
        return self._nodes

    def cells(self, worker: int, size: int) -> PackedArray:
        """Room for the histograms of cells that one thread makes."""
        room = self._cells.get(worker)
        if room is None or room.size < size:
            room = self._cells[worker] = np.empty(size, np.int64)
        return room[:size]


@dataclass(slots=True, eq=False)
class RowBlock:
    """Some rows of a binned table with their target, weight, prediction and place in the tree.

    ``rows`` are the block's rows that train, ``held`` those that only get predictions.
    ``first_row`` is the number of the block's first row in the whole table. ``order`` lists the
    rows of the growing tree, node after node; ``packed`` goes with it, position by position, for
    the nodes that are ``gathered``, and ``packed_by_row`` with the rows themselves. ``group_sums``
    are the codes of sums of features, by group and row, for the search by group tests. ``space`` is
    where arrays of rows are, ``buffers`` what a block shares with others of its process, ``mapped``
    the file that the codes are in.

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
    group_sums: CodeArray | None = None
    space: Allocator = field(default_factory=HeapAllocator)
    buffers: HistogramBuffers = field(default_factory=HistogramBuffers)
    mapped: mmap.mmap | None = None
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
    bundle_cells: PackedArray = field(init=False)
    objective_rows: RowArray = field(init=False)
    bounds: dict[int, tuple[int, int]] = field(init=False, default_factory=dict)
    gathered: set[int] = field(init=False, default_factory=set)
    expanded: dict[int, CodeArray] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        n, k, zeros = self.columns.n_rows, self.n_outputs, self.space.zeros
        self.raw = zeros((k, n), np.float64)
        self.gradient = zeros((k, n), np.float64)
        self.hessian = zeros((k, n), np.float64)
        self.hessian += 1.0
        self.order = zeros(len(self.rows), np.uint32)
        self.order[:] = self.rows
        self.spare = zeros(len(self.rows), np.uint32)
        self.packed_by_row = zeros(n, np.int64)
        self.packed = zeros(0 if self.is_sparse else len(self.rows), np.int64)
        self.tree_rows = self.rows
        self.objective_rows = self.rows
        self.cell_start = np.empty(0, np.uint32)
        self.bundle_cells = np.empty((0, 0), np.int64)
        self.quantised_weight = zeros(n, np.uint32)
        self.quantised_weight += np.uint32(1)
        self.make_buffers()

    def make_buffers(self) -> None:
        """Room for the histograms of as many nodes as are built together."""
        self.histograms = self.buffers.nodes(int(self.columns.offset[-1]))

    def prefetch(self) -> None:
        """Read the codes ahead, if they are in a file."""
        if self.mapped is not None:
            prefetch_pages(self.mapped)

    def release(self) -> None:
        """Release memory that can be read again from files."""
        self.space.release()
        if self.mapped is not None:
            release_pages(self.mapped)

    @property
    def is_sparse(self) -> bool:
        """Whether only the stored cells have codes."""
        return not isinstance(self.columns.codes, DenseCodes)

    def begin_root(self) -> None:
        """All rows of the order are in the root."""
        self.bounds = {0: (0, len(self.order))}
        self.gathered = set()

    def packed_of(self, node: int) -> PackedArray:
        """The packed rows of a node, in their order; dense rows are gathered once and kept."""
        start, stop = self.bounds[node]
        if stop - start == self.columns.n_rows:
            return self.packed_by_row
        if self.is_sparse:
            return self.packed_by_row[self.order[start:stop]]
        if node not in self.gathered:
            self.gathered.add(node)
            self.threads.run(
                lambda first, last: gather(
                    self.packed_by_row, self.order, start + first, start + last, self.packed
                ),
                stop - start,
                ROWS_PER_THREAD,
            )
        return self.packed[start:stop]

    def codes_of(self, feature: int) -> CodeArray:
        """One feature's codes of all rows; a sparse column is written out once and kept."""
        codes, extra = self.columns.codes, self.columns.extra
        if extra is not None and feature == self.columns.n_coded:
            return extra
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

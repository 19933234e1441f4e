"""Blocks of rows, with their state while trees grow, and the executor over them in this process."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from secateur._kernels.partition import gather, sparse_column
from secateur._kernels.records import DenseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, Category, with_category
from secateur.typing import AnyArray, CodeArray, Finish, FloatArray, IntArray, Result

if TYPE_CHECKING:
    from secateur.execution.dask_rows import DaskFit, DaskRowStore
    from secateur.execution.disk import SubsetRowStore

ROWS_PER_THREAD = 8192  # loops over fewer rows than this are not worth a second thread
HISTOGRAM_BYTES = 1 << 20  # bytes that the histograms of nodes that are built together may take...
NODES_AT_ONCE = 8  # ... and how many nodes these are at most; at least one

RowArray = npt.NDArray[np.uint32]
PackedArray = npt.NDArray[np.int64]
# Runs functions over blocks of rows: the only way an engine reaches rows.
Executor: TypeAlias = "LocalExecutor | DaskFit"
# The rows of a table, and executors over them.
RowStore: TypeAlias = "LocalRowStore | SubsetRowStore | DaskRowStore"


class LocalExecutor:
    """Runs functions over blocks in this process; they must not keep a reference to a block."""

    def __init__(self, blocks: Sequence[Any], *, is_frugal: bool = False) -> None:
        self.blocks = list(blocks)
        # a block gives its memory back after each call: calls are expensive, ask for much at once
        self.one_pass = is_frugal

    def walk(self, function: Callable[..., Result], *small: Any) -> Iterator[Result]:
        """What `each` gives, one after the other: a block is asked when its turn comes."""
        for number, block in enumerate(self.blocks):
            for following in self.blocks[number + 1 : number + 2] if self.one_pass else ():
                advise(following.mapped, "MADV_WILLNEED")
            yield function(block, *small)
            if self.one_pass:
                block.release()

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` of every block."""
        return list(self.walk(function, *small))

    def sum(self, function: Callable[..., Any], *small: Any, finish: Finish | None = None) -> Any:
        """The sum of ``function(block, *small)`` over the blocks; ``finish`` is done to it."""
        visited = self.walk(function, *small)
        total = next(visited) if len(self.blocks) == 1 else added(visited)
        return total if finish is None else finish(total)

    def apply(self, function: Callable[..., None], *small: Any) -> None:
        """Call ``function(block, *small)`` for every block."""
        self.each(function, *small)

    def checkpoint(self, function: Callable[..., None], *small: Any) -> None:
        """Do nothing: blocks of this process are not lost."""

    def close(self) -> None:
        """Do nothing."""


def only_block(executor: Executor) -> Any | None:
    """The block that has all rows, in the memory of this process; None where there is no such."""
    if not isinstance(executor, LocalExecutor) or executor.one_pass or len(executor.blocks) != 1:
        return None
    return executor.blocks[0]


def added(results: Iterable[Any]) -> Any:
    """The sum of arrays, numbers, or tuples of these; making one may overwrite the one before."""
    return reduce(_add, results, None)


def _add(total: Any, result: Any) -> Any:
    if isinstance(result, tuple):
        totals = [None] * len(result) if total is None else total
        return tuple(_add(a, b) for a, b in zip(totals, result, strict=True))
    if isinstance(result, np.ndarray):
        return result.copy() if total is None else np.add(total, result, out=total)
    return result if total is None else total + result


class HeapAllocator:
    """Allocates arrays of zeros in plain memory; subclasses release it while it is not needed."""

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""
        return np.zeros(shape, dtype)

    def release(self) -> None:
        """Release the pages; the values stay."""


def nodes_at_once(width: int) -> int:
    """How many nodes' histograms of so many bins are built together."""
    return min(NODES_AT_ONCE, max(1, HISTOGRAM_BYTES // (8 * width + 1)))


class HistogramBuffers:
    """Histograms of nodes, and of cells for each thread, that blocks use one after the other."""

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


@dataclass(frozen=True, slots=True, eq=False)
class FitRows:
    """The rows of a fit: target and weight of all, and which are training and test rows."""

    target: FloatArray
    weight: FloatArray
    train: IntArray
    test: IntArray
    n_outputs: int
    category: Category | None = None  # one more column, which only this fit has

    def cut(self, first: int, n_rows: int) -> FitRows:
        """The part of some rows that follow each other, numbered from 0."""
        if n_rows == len(self.target):
            return self
        here, category = slice(first, first + n_rows), self.category
        if category is not None:
            category = Category(category.codes[here], category.n)
        ends = [first, first + n_rows]
        train = self.train[slice(*np.searchsorted(self.train, ends))] - first
        test = self.test[slice(*np.searchsorted(self.test, ends))] - first
        return FitRows(self.target[here], self.weight[here], train, test, self.n_outputs, category)


@dataclass(eq=False)
class CodeBlock:
    """Codes of some rows, held for all fits."""

    columns: BinnedColumns
    first_row: int  # its number in the whole table
    threads: Threads
    mapped: mmap.mmap | None = None  # the file that the codes are in
    space: HeapAllocator = field(default_factory=HeapAllocator)  # where arrays of rows are
    group_sums: CodeArray | None = None  # of features, by group and row, for group tests

    def release(self) -> None:
        """Release memory that can be read again from files."""
        self.space.release()
        advise(self.mapped, "MADV_DONTNEED")


def advise(mapped: mmap.mmap | None, what: str) -> None:
    """Have the system read or release the pages of a mapped file, where it can."""
    if mapped is not None and hasattr(mmap, what):
        mapped.madvise(getattr(mmap, what))


class RowBlock(CodeBlock):
    """Codes of some rows with their target, weight, prediction and place in the tree of one fit."""

    def __init__(
        self, codes: CodeBlock, asked: FitRows, space: HeapAllocator, buffers: HistogramBuffers
    ) -> None:
        columns = codes.columns
        if asked.category is not None:
            columns = with_category(columns, asked.category)
        super().__init__(
            columns, codes.first_row, codes.threads, codes.mapped, space, codes.group_sums
        )
        self.target, self.weight, self.n_outputs = asked.target, asked.weight, asked.n_outputs
        self.rows: RowArray = asked.train.astype(np.uint32)  # those that train
        self.held: RowArray = asked.test.astype(np.uint32)  # those that only get predictions
        self.buffers = buffers  # shared with other blocks of the process
        n, n_train, k, zeros = columns.n_rows, len(self.rows), asked.n_outputs, space.zeros
        self.raw: FloatArray = zeros((k, n), np.float64)
        self.gradient: FloatArray = zeros((k, n), np.float64)
        self.hessian: FloatArray = zeros((k, n), np.float64)
        self.hessian += 1.0
        # the rows of the growing tree, one run of rows per node: [c e f | a b d g h]
        self.order: RowArray = zeros(n_train, np.uint32)
        self.order[:] = self.rows
        self.spare: RowArray = zeros(n_train, np.uint32)
        self.packed_by_row: PackedArray = zeros(n, np.int64)
        # as ``order``, position by position, for the nodes that are ``gathered``
        self.packed: PackedArray = zeros(0 if self.is_sparse else n_train, np.int64)
        self.tree_rows = self.objective_rows = self.rows
        self.cell_start: RowArray = np.empty(0, np.uint32)
        self.bundle_cells: PackedArray = np.empty((0, 0), np.int64)
        self.quantised_weight: RowArray = zeros(n, np.uint32)
        self.quantised_weight += np.uint32(1)
        self.bounds: dict[int, tuple[int, int]] = {}
        self.gathered: set[int] = set()
        self.expanded: dict[int, CodeArray] = {}

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
            cells = (self.packed_by_row, self.order)
            run = lambda a, b: gather(*cells, start + a, start + b, self.packed)  # noqa: E731
            self.threads.run(run, stop - start, ROWS_PER_THREAD)
        return self.packed[start:stop]

    def codes_of(self, feature: int) -> CodeArray:
        """One feature's codes of all rows; a sparse column is written out once and kept."""
        codes, extra = self.columns.codes, self.columns.extra
        if extra is not None and feature == self.columns.n_coded:
            return extra
        if isinstance(codes, DenseCodes):
            return codes.codes[feature]
        if feature not in self.expanded:
            column = np.empty(self.columns.n_rows, np.uint8)
            sparse_column(*codes[:4], feature, column)
            self.expanded[feature] = column
        return self.expanded[feature]


class AllRows:
    """A store whose fits are on all rows of its blocks."""

    __slots__ = ()

    def of_blocks(self, values: AnyArray) -> AnyArray:
        """Values of the rows of a fit as values of all rows of the blocks: these are the same."""
        return values

    def of_fit(self, values: AnyArray) -> AnyArray:
        """Values of all rows of the blocks as values of the rows of a fit."""
        return values


@dataclass(frozen=True, slots=True, eq=False)
class LocalRowStore(AllRows):
    """Rows in blocks of this process, which are asked one after the other."""

    held: Sequence[CodeBlock]
    space: Callable[[], HeapAllocator] = HeapAllocator  # makes the allocator of a block
    is_frugal: bool = False  # whether memory is given back on the way

    def executor(self, asked: FitRows) -> LocalExecutor:
        """The blocks of a fit."""
        buffers, blocks = HistogramBuffers(), []
        for each in self.held:
            here = asked.cut(each.first_row, each.columns.n_rows)
            blocks.append(RowBlock(each, here, self.space(), buffers))
        return LocalExecutor(blocks, is_frugal=self.is_frugal)

    def code_executor(self) -> LocalExecutor:
        """The codes, block after block."""
        return LocalExecutor(self.held, is_frugal=self.is_frugal)

"""Row stores in this process, in memory and on disk, and the executor over their blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, Category, with_bundles, with_category
from secateur.data.memory import resident_memory
from secateur.data.table import Table
from secateur.execution.blocks import (
    Allocator,
    FileAllocator,
    HeapAllocator,
    HistogramBuffers,
    RowBlock,
    prefetch_pages,
    release_pages,
)
from secateur.storage.folder import StoredBlock
from secateur.storage.stored_table import StoredTable, read_together
from secateur.typing import CodeArray, Executor, Finish, FloatArray, IntArray, Result

Block = TypeVar("Block")


class LocalExecutor(Generic[Block]):
    """Runs functions over blocks of rows in this process.

    ``sum`` adds what a function returns for each block (arrays or tuples of them), ``each`` gives
    the list, ``apply`` wants no answer, ``map`` runs independent tasks. A function must not keep a
    reference to what it is given. With ``is_frugal`` a block gives its memory back after each call.
    """

    def __init__(self, blocks: Sequence[Block], *, is_frugal: bool = False) -> None:
        self.blocks = list(blocks)
        self.one_pass = is_frugal

    def _visit(self, function: Callable[..., Any], small: tuple[Any, ...]) -> Iterator[Any]:
        for number, block in enumerate(self.blocks):
            if self.one_pass and number + 1 < len(self.blocks):
                self.blocks[number + 1].prefetch()  # type: ignore[attr-defined]  # blocks of rows
            yield function(block, *small)
            if self.one_pass:
                block.release()  # type: ignore[attr-defined]  # likewise

    def sum(self, function: Callable[..., Any], *small: Any, finish: Finish | None = None) -> Any:
        """The sum of ``function(block, *small)`` over the blocks; ``finish`` is done to it."""
        visited = self._visit(function, small)
        total = next(visited) if len(self.blocks) == 1 else added(visited)
        return total if finish is None else finish(total)

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` of every block."""
        return list(self._visit(function, small))

    def walk(self, function: Callable[..., Result], *small: Any) -> Iterator[Result]:
        """What `each` gives, one after the other: a block is asked when its turn comes."""
        return self._visit(function, small)

    def apply(self, function: Callable[..., None], *small: Any) -> None:
        """Call ``function(block, *small)`` for every block."""
        for _ in self._visit(function, small):
            pass

    def checkpoint(self, function: Callable[..., None], *small: Any) -> None:
        """Do nothing: blocks of this process are not lost."""

    def close(self) -> None:
        """Do nothing."""

    def map(self, function: Callable[..., Result], tasks: Iterable[Any]) -> list[Result]:
        """``function(task)`` of every task."""
        return [function(task) for task in tasks]


def only_block(executor: Executor) -> Any | None:
    """The block that has all rows, in the memory of this process; None where there is no such."""
    if not isinstance(executor, LocalExecutor) or executor.one_pass or len(executor.blocks) != 1:
        return None
    return executor.blocks[0]


def added(results: Iterable[Any]) -> Any:
    """The sum of arrays, numbers, or tuples of these.

    A result may be overwritten when the next one is made: the first is copied, others are added.
    """
    total: Any = None
    for result in results:
        total = _copied(result) if total is None else _add(total, result)
    return total


def _copied(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_copied(part) for part in result)
    return result.copy() if isinstance(result, np.ndarray) else result


def _add(total: Any, result: Any) -> Any:
    """Add to what is ours alone."""
    if isinstance(total, tuple):
        return tuple(_add(a, b) for a, b in zip(total, result, strict=True))
    if isinstance(total, np.ndarray):
        return np.add(total, result, out=total)
    return total + result


# What a row takes beside its codes, target and weight: place in the tree, packed sums ...
ROW_BYTES = 48
# ... and for each output: prediction, gradient, hessian.
OUTPUT_BYTES = 24
# Of the limit; the rest is for bundled columns and what comes and goes: sums, histograms.
USABLE = 0.95
# What moves with the rows stays in memory if it takes no more than such a share of it.
STATE_SHARE = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class FitRows:
    """The rows of a fit: target and weight of all, and which are training and test rows.

    ``category`` is one more column, which only this fit has.
    """

    target: FloatArray
    weight: FloatArray
    train: IntArray
    test: IntArray
    n_outputs: int
    category: Category | None = None

    def cut(self, first: int, n_rows: int) -> FitRows:
        """The part of some rows that follow each other, numbered from 0."""
        rows = slice(first, first + n_rows)
        return FitRows(
            self.target[rows],
            self.weight[rows],
            _inside(self.train, first, n_rows),
            _inside(self.test, first, n_rows),
            self.n_outputs,
            None if self.category is None else self.category.cut(rows),
        )


def _inside(rows: IntArray, first: int, n_rows: int) -> IntArray:
    """Those of some sorted rows that are in a block, numbered from its first."""
    start, stop = np.searchsorted(rows, [first, first + n_rows])
    return rows[start:stop] - first


def make_block(
    columns: BinnedColumns, first_row: int, asked: FitRows, threads: Threads, **more: Any
) -> RowBlock:
    """The block of rows of a fit, not yet begun; ``asked`` is the part of these rows."""
    if asked.category is not None:
        columns = with_category(columns, asked.category)
    return RowBlock(
        columns,
        asked.target,
        asked.weight,
        asked.train.astype(np.uint32),
        asked.test.astype(np.uint32),
        asked.n_outputs,
        threads,
        first_row=first_row,
        **more,
    )


class RowStore(Protocol):
    """The rows of a table, and executors over them."""

    def executor(self, asked: FitRows) -> Executor:
        """The executor over the rows for one fit."""

    def code_executor(self) -> Executor:
        """The executor over the codes, for all fits."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRowStore:
    """All rows in the memory of this process, in one block."""

    columns: BinnedColumns
    threads: Threads
    group_sums: CodeArray | None = None

    def executor(self, asked: FitRows) -> Executor:
        """One block, that threads work inside."""
        return LocalExecutor(
            [make_block(self.columns, 0, asked, self.threads, group_sums=self.group_sums)]
        )

    def code_executor(self) -> Executor:
        """The codes as one block."""
        return LocalExecutor([CodeBlock(self.columns, 0, self.threads)])


@dataclass(slots=True, eq=False)
class CodeBlock:
    """Codes of some rows, held for all fits: columns, first row, and the sums of groups."""

    columns: BinnedColumns
    first_row: int
    threads: Threads
    mapped: Any = None
    space: Allocator = field(default_factory=HeapAllocator)
    group_sums: CodeArray | None = None

    def prefetch(self) -> None:
        """Read the codes ahead, if they are in a file."""
        if self.mapped is not None:
            prefetch_pages(self.mapped)

    def release(self) -> None:
        """Release memory that can be read again from files."""
        self.space.release()
        if self.mapped is not None:
            release_pages(self.mapped)

    def rows_of(self, asked: FitRows, space: Allocator, buffers: HistogramBuffers) -> RowBlock:
        """The same rows as one fit sees them; ``asked`` is of these rows."""
        return make_block(
            self.columns,
            self.first_row,
            asked,
            self.threads,
            group_sums=self.group_sums,
            space=space,
            buffers=buffers,
            mapped=self.mapped,
        )


def _runs(
    blocks: Sequence[StoredBlock], room: int, *, together: bool
) -> list[tuple[list[StoredBlock], bool]]:
    """Blocks that are held as one, and whether they are read for good: as many as there is room.

    Fewer and longer blocks are asked in fewer calls. Those of stored cells stay as they are, and
    all do where what moves with the rows is given back block by block.
    """
    runs: list[tuple[list[StoredBlock], bool]] = []
    for block in blocks:
        stays = block.n_bytes <= room
        room -= block.n_bytes if stays else 0
        if together and stays and runs and runs[-1][1] and not block.is_sparse:
            runs[-1][0].append(block)
        else:
            runs.append(([block], stays))
    return runs


class DiskRowStore:
    """Rows on disk: as many blocks as memory allows are read for good, the others are mapped."""

    def __init__(
        self, table: StoredTable, threads: Threads, n_outputs: int = 1, n_fits: int = 1
    ) -> None:
        self._threads = threads
        self._folder = table.folder
        budget = max(0, int(USABLE * table.memory_limit) - resident_memory())
        state = n_fits * table.n_stored * (ROW_BYTES + OUTPUT_BYTES * n_outputs)
        self._in_memory = state <= STATE_SHARE * budget
        left = budget - state if self._in_memory else int((1.0 - STATE_SHARE) * budget)
        self.held: list[CodeBlock] = []
        for blocks, stays in _runs(table.blocks, left, together=self._in_memory):
            mapped = None
            if stays:
                columns = read_together(blocks, table.bins)
            else:
                room, mapped = blocks[0].map()
                columns = blocks[0].columns(room, table.bins)
            columns = with_bundles(columns, threads)
            held = CodeBlock(columns, blocks[0].first_row, threads, mapped, self._space())
            held.release()
            self.held.append(held)

    @property
    def is_frugal(self) -> bool:
        """Whether anything must be given back on the way."""
        return not self._in_memory or any(each.mapped is not None for each in self.held)

    def executor(self, asked: FitRows) -> LocalExecutor[RowBlock]:
        """The blocks one after the other."""
        buffers = HistogramBuffers()
        blocks = [
            each.rows_of(asked.cut(each.first_row, each.columns.n_rows), self._space(), buffers)
            for each in self.held
        ]
        return LocalExecutor(blocks, is_frugal=self.is_frugal)

    def _space(self) -> Allocator:
        return HeapAllocator() if self._in_memory else FileAllocator(self._folder)

    def code_executor(self) -> LocalExecutor[CodeBlock]:
        """The codes, block after block."""
        return LocalExecutor(self.held, is_frugal=self.is_frugal)


@dataclass(frozen=True, slots=True, eq=False)
class SubsetRowStore:
    """Some rows of a store: fits get all rows, and use these for training and test."""

    store: RowStore
    rows: IntArray
    n_rows: int

    def executor(self, asked: FitRows) -> Executor:
        """The executor of the whole store, for these rows."""
        target, weight = np.zeros(self.n_rows), np.ones(self.n_rows)
        target[self.rows], weight[self.rows] = asked.target, asked.weight
        train, test = self.rows[asked.train], self.rows[asked.test]
        category = asked.category
        if category is not None:
            codes = np.zeros(self.n_rows, np.uint8)
            codes[self.rows] = category.codes
            category = category._replace(codes=codes)
        return self.store.executor(FitRows(target, weight, train, test, asked.n_outputs, category))

    def code_executor(self) -> Executor:
        """The codes of all rows: what is made of them has no say in what is learnt."""
        return self.store.code_executor()


def row_store_of(table: Table, threads: Threads, n_outputs: int, n_fits: int) -> RowStore | None:
    """Where the rows of a table are; None where they are in the memory of this process."""
    if not isinstance(table, StoredTable):
        return None
    if table.executor is not None:
        store: RowStore = table.executor.row_store(table)
    else:
        store = DiskRowStore(table, threads, n_outputs, max(1, n_fits))
    return store if table.rows is None else SubsetRowStore(store, table.rows, table.n_stored)

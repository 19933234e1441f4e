"""What the hosts of a cluster hold: blocks of rows, and how a host comes by each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from secateur._data.binned import BinnedColumns, with_joined
from secateur._data.lazy import LazyTable
from secateur._data.numbers import StoredNumbers
from secateur._data.standardized import stays_sparse
from secateur._data.stored import StoredBlock, StoredTable
from secateur._data.table import Table
from secateur._execution.local import LocalExecutor
from secateur._execution.number_blocks import NumberBlock, Numbers, read_numbers
from secateur._execution.places import HeldBlock
from secateur._kernels.threads import Threads

BLOCK_CELLS = 1 << 22
"""Cells of a block of numbers, about: 32 MB of a dense one."""

MOST_BLOCKS = 64
"""A table is cut into no more blocks than that: each has an answer of its own to every question."""

Make = Callable[[Any, Any, Threads], Any]
"""From a recipe, and what all blocks share, to a block."""


class Holding(Protocol):
    """Blocks of rows that can be given out again and again."""

    name: str
    make: Make
    shared: Any

    @property
    def n_rows(self) -> Sequence[int]:
        """The rows of each block."""

    @property
    def first_row(self) -> Sequence[int]:
        """The number of the first row of each block."""

    def recipes(self, numbers: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """What a host needs to make each of these blocks, with its number."""


class CodeHolding:
    """The blocks of a stored table: hosts read them from its folder."""

    name = "codes"

    def __init__(self, table: StoredTable) -> None:
        self._blocks = table.blocks
        self.n_rows = [block.n_rows for block in table.blocks]
        self.first_row = [block.first_row for block in table.blocks]
        self.make: Make = read_codes
        self.shared = table.bins

    def recipes(self, numbers: Iterable[int]) -> Iterator[tuple[int, StoredBlock]]:
        """The pieces of the file."""
        return ((number, self._blocks[number]) for number in numbers)


def read_codes(stored: StoredBlock, bins: BinnedColumns, threads: Threads) -> HeldBlock:
    """Codes, read for good."""
    columns = with_joined(stored.columns(stored.read(), bins), threads)
    return HeldBlock(columns, stored.first_row, threads)


class CopyHolding:
    """The same rows several times, one copy for each worker; a copy knows which of them it is.

    ``make`` is given (number, number of copies) and what was shared.
    """

    name = "copies"

    def __init__(self, make: Make, shared: Any, n_copies: int) -> None:
        self.make, self.shared = make, shared
        self.n_rows = [1] * n_copies  # each as heavy as the next: one for every worker
        self.first_row = [0] * n_copies

    def recipes(self, numbers: Iterable[int]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Which of the copies it is."""
        return ((number, (number, len(self.n_rows))) for number in numbers)


class NumberHolding:
    """The rows of a table as blocks of numbers, sent from here.

    How a table is cut depends on its shape alone; a dask collection, and rows on disk, are cut as
    they come: sums over blocks, added in their order, are the same for any number of workers.
    """

    name = "numbers"

    def __init__(self, table: Table) -> None:
        self._table = table
        in_parts = isinstance(table, LazyTable | StoredNumbers)
        self.is_sparse = table.is_sparse if in_parts else stays_sparse(table)
        self._joined = _joined(table) if isinstance(table, StoredNumbers) else []
        self.n_rows = self._lengths(table)
        ends = np.cumsum([0, *self.n_rows])
        self.first_row: Sequence[int] = ends[:-1].tolist()
        self.make: Make = read_numbers
        self.shared = None

    def recipes(self, numbers: Iterable[int]) -> Iterator[tuple[int, Numbers]]:
        """The rows themselves."""
        return ((number, self._numbers(number)) for number in numbers)

    def _numbers(self, number: int) -> Numbers:
        first = self.first_row[number]
        if isinstance(self._table, LazyTable):
            part = self._table.part(number)
        elif isinstance(self._table, StoredNumbers):
            part = self._table.part(self._joined[number])
        else:
            part = self._table.take(np.arange(first, first + self.n_rows[number]))
        every = np.arange(part.n_features)
        return Numbers(first, part.csc if self.is_sparse else part.columns(every))

    def _lengths(self, table: Table) -> list[int]:
        """The rows of each block."""
        if isinstance(table, LazyTable):
            return list(table.lengths)
        if isinstance(table, StoredNumbers):
            return [sum(table.lengths[piece] for piece in pieces) for pieces in self._joined]
        n_rows, width = table.n_rows, table.n_features
        size = max(-(-n_rows // MOST_BLOCKS), BLOCK_CELLS // width, 1)
        return [min(size, n_rows - first) for first in range(0, n_rows, size)]

    def here(self, threads: Threads) -> LocalExecutor[NumberBlock]:
        """All blocks in this process."""
        return LocalExecutor(
            [
                read_numbers(recipe, None, threads)
                for _, recipe in self.recipes(range(len(self.n_rows)))
            ]
        )


def _joined(table: StoredNumbers) -> list[range]:
    """Which blocks of a file are one here: as few as there may be, that follow each other."""
    n_pieces = len(table.pieces)
    size = -(-n_pieces // MOST_BLOCKS)
    return [range(first, min(first + size, n_pieces)) for first in range(0, n_pieces, size)]

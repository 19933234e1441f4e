"""The actors of a cluster: they hold blocks of rows, and make them from recipes.

An actor holds blocks for all fits (codes, or numbers), and for every fit blocks of rows made from
them. Calls come with a serial number. A call that was done already, but whose answer was lost on
the way, is not done again: its answer is kept until the next one comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import BinnedColumns, with_bundles
from secateur.data.standardize import stays_sparse
from secateur.data.table import Table
from secateur.execution.blocks import (
    CodeBlock,
    FitRows,
    HeapAllocator,
    HistogramBuffers,
    RowBlock,
    added,
)
from secateur.execution.distributed_columns import read_numbers
from secateur.storage.folder import StoredBlock
from secateur.storage.stored_table import StoredNumbers, StoredTable
from secateur.typing import Finish

CODES = 0  # the number of the fit that is none: calls on the codes themselves
BLOCK_CELLS = 1 << 22  # cells of a block of numbers, about: 32 MB of a dense one
MAX_BLOCKS = 64  # of a table: each block has an answer of its own to every call


class Call(NamedTuple):
    """A function and its arguments besides a block."""

    verb: str  # sum, each or apply
    function: Any
    small: tuple[Any, ...]
    finish: Finish | None = None  # done to the sum over the blocks of an actor


class Order(NamedTuple):
    """Calls on the blocks of one fit, the last of which is answered."""

    fit: int
    serial: int
    calls: Sequence[Call]


@dataclass(slots=True, eq=False)
class _Fit:
    """The blocks of one fit by number, and the last answer."""

    blocks: dict[int, Any] = field(default_factory=dict)
    serial: int = -1
    answer: Any = None


class WorkerActor:
    """Blocks of rows of one table in one process; lives as a dask actor, or anywhere else."""

    def __init__(self, n_threads: int) -> None:
        self._threads = Threads(n_threads)
        self._buffers = HistogramBuffers()
        self._make: Any = None
        self._shared: Any = None
        self._fits: dict[int, _Fit] = {CODES: _Fit()}  # those of CODES are held for all

    def learn(self, make: Any, shared: Any) -> None:
        """Know how blocks are made: by ``make(recipe, shared, threads)``."""
        self._make, self._shared = make, shared

    def hold(self, number: int, recipe: Any) -> None:
        """Make a block, for good."""
        self._fits[CODES].blocks[number] = self._make(recipe, self._shared, self._threads)

    def begin(self, fit: int, asked: dict[int, FitRows]) -> None:
        """Make the blocks of a fit; ``asked`` are the parts of these blocks."""
        found, held = self._fits.setdefault(fit, _Fit()), self._fits[CODES].blocks
        for number, part in asked.items():
            found.blocks[number] = RowBlock(held[number], part, HeapAllocator(), self._buffers)

    def catch_up(
        self, fit: int, numbers: Sequence[int], done: Sequence[Call], pending: Order | None
    ) -> None:
        """Do to new blocks what was done to the others; they join an answer given already."""
        found = self._fits[fit]
        blocks = {number: found.blocks[number] for number in numbers}
        for call in done:
            for block in blocks.values():
                call.function(block, *call.small)
        if pending is not None and found.serial == pending.serial:
            verb = pending.calls[-1].verb
            found.answer = joined(verb, [found.answer, _run(blocks, pending.calls)])

    def end(self, fit: int) -> None:
        """Forget a fit."""
        self._fits.pop(fit, None)

    def n_fits(self) -> int:
        """How many fits there are blocks of."""
        return len(self._fits) - 1

    def run(self, order: Order, below: Sequence[Any] = ()) -> Any:
        """Do the calls here and in the trees ``below``, (actor, its below); the answer of all."""
        waiting = [actor.run(order, its_below) for actor, its_below in below]
        found = self._fits[order.fit]
        if found.serial != order.serial:
            found.answer = _run(found.blocks, order.calls)
            found.serial = order.serial
        if not waiting:
            return found.answer
        answers = [found.answer, *(future.result() for future in waiting)]
        return joined(order.calls[-1].verb, answers)


def _run(blocks: dict[int, Any], calls: Sequence[Call]) -> Any:
    """All calls on all blocks; the answer of the last one."""
    for call in calls[:-1]:
        for block in blocks.values():
            call.function(block, *call.small)
    last = calls[-1]
    answers = ((number, last.function(block, *last.small)) for number, block in blocks.items())
    if last.verb == "sum":
        total = added(answer for _, answer in answers)
        return total if last.finish is None or not blocks else last.finish(total)
    found = dict(answers)
    return found if last.verb == "each" else None


def joined(verb: str, answers: Sequence[Any]) -> Any:
    """Several answers as one: added up, or listed by block; actors without blocks have none."""
    given = [answer for answer in answers if answer is not None]
    if verb == "sum":
        return added(given)
    if verb == "each":
        return {number: value for answer in given for number, value in answer.items()}
    return None


@dataclass(frozen=True, slots=True, eq=False)
class BlockSource:
    """Blocks of rows; actors make them by ``make(recipe(number), shared, threads)``."""

    name: str
    n_rows: Sequence[int]  # of each block
    recipe: Callable[[int], Any]
    make: Callable[[Any, Any, Threads], Any]
    shared: Any = None


def code_blocks(table: StoredTable) -> BlockSource:
    """The blocks of a stored table: actors read them from its folder."""
    n_rows = [block.n_rows for block in table.blocks]
    return BlockSource("codes", n_rows, table.blocks.__getitem__, read_codes, table.bins)


def read_codes(stored: StoredBlock, bins: BinnedColumns, threads: Threads) -> CodeBlock:
    """Codes, read for good."""
    stored.file.stat()  # a worker that does not see the folder: not a damaged one
    columns = with_bundles(stored.columns(stored.read(), bins), threads)
    return CodeBlock(columns, stored.first_row, threads)


def number_blocks(table: Table) -> BlockSource:
    """The rows of a table as blocks of numbers, sent from here."""
    # cut by the shape alone: sums over blocks, in order, are the same for any number of workers
    part: Callable[[int], Table]
    if isinstance(table, StoredNumbers):
        pieces = table.pieces()
        size = -(-len(pieces) // MAX_BLOCKS)
        runs = [pieces[first : first + size] for first in range(0, len(pieces), size)]
        n_rows = [sum(piece.n_rows for piece in run) for run in runs]
        part, is_sparse = lambda number: table.part(runs[number]), table.is_sparse
    else:
        size = max(-(-table.n_rows // MAX_BLOCKS), BLOCK_CELLS // table.n_features, 1)
        cuts = np.split(np.arange(table.n_rows), range(size, table.n_rows, size))
        n_rows = [len(rows) for rows in cuts]
        part, is_sparse = lambda number: table.take(cuts[number]), stays_sparse(table)
    first_row = np.cumsum([0, *n_rows])

    def recipe(number: int) -> tuple[int, Any]:
        rows = part(number)
        cells = rows.csc if is_sparse else rows.columns(np.arange(rows.n_features))
        return int(first_row[number]), cells

    return BlockSource("numbers", n_rows, recipe, read_numbers)

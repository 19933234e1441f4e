"""The rows of a stored table: as many blocks in memory as it allows, the others mapped."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import with_bundles
from secateur.data.memory import resident_memory
from secateur.exceptions import StorageError
from secateur.execution.blocks import (
    CodeBlock,
    Executor,
    FitRows,
    HeapAllocator,
    LocalRowStore,
    RowStore,
    advise,
)
from secateur.execution.worker import code_blocks
from secateur.storage.folder import StoredBlock
from secateur.storage.stored_table import StoredTable, read_together
from secateur.typing import AnyArray, IntArray

ROW_BYTES = 48  # of a row beside its codes, target and weight: node, packed sums ...
OUTPUT_BYTES = 24  # ... and for each output: prediction, gradient, hessian
USABLE = 0.95  # share of the limit; the rest is for bundled columns, sums and histograms
STATE_SHARE = 0.6  # up to which the state of the rows stays in memory


class FileAllocator(HeapAllocator):
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
                if hasattr(os, "posix_fallocate"):  # a full disk is found now, not during a fit
                    os.posix_fallocate(file.fileno(), 0, n_bytes)
                else:
                    file.truncate(n_bytes)
                mapped = mmap.mmap(file.fileno(), n_bytes)
        except OSError as error:
            raise StorageError(
                "The folder of a stored table must have room for the state of its rows, "
                f"{n_bytes / 1e6:.0f} MB a block. Got none: {error}. Free some space, or raise "
                "'memory_limit'."
            ) from error
        self._maps.append(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def release(self) -> None:
        """Release the pages; the values stay in the file."""
        for mapped in self._maps:
            advise(mapped, "MADV_DONTNEED")


def _runs(
    blocks: Sequence[StoredBlock], room: int, *, together: bool
) -> list[tuple[list[StoredBlock], bool]]:
    """Blocks that are held as one, for fewer calls, and whether they are read for good.

    Sparse ones stay as they are, and all where the rows' state is released block by block.
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


def disk_row_store(
    table: StoredTable, threads: Threads, n_outputs: int, n_fits: int
) -> LocalRowStore:
    """Rows on disk: as many blocks as memory allows are read for good, the others are mapped."""
    budget = max(0, int(USABLE * table.memory_limit) - resident_memory())
    state = n_fits * table.n_stored * (ROW_BYTES + OUTPUT_BYTES * n_outputs)
    in_memory = state <= STATE_SHARE * budget
    left = budget - state if in_memory else int((1.0 - STATE_SHARE) * budget)
    space = HeapAllocator if in_memory else partial(FileAllocator, table.folder)
    held: list[CodeBlock] = []
    for blocks, stays in _runs(table.blocks, left, together=in_memory):
        mapped = None
        if stays:
            columns = read_together(blocks, table.bins)
        else:
            room, mapped = blocks[0].map()
            columns = blocks[0].columns(room, table.bins)
        columns = with_bundles(columns, threads)
        held.append(CodeBlock(columns, blocks[0].first_row, threads, mapped, space()))
        held[-1].release()
    is_frugal = not in_memory or any(each.mapped is not None for each in held)
    return LocalRowStore(held, space, is_frugal)


@dataclass(frozen=True, slots=True, eq=False)
class SubsetRowStore:
    """Some rows of a store: fits get all rows, and use these for training and test."""

    store: RowStore
    rows: IntArray
    n_rows: int

    def executor(self, asked: FitRows) -> Executor:
        """The executor of the whole store, for these rows."""
        target, weight = self.of_blocks(asked.target), self.of_blocks(asked.weight)
        train, test = self.rows[asked.train], self.rows[asked.test]
        category = asked.category
        if category is not None:
            category = category._replace(codes=self.of_blocks(category.codes))
        return self.store.executor(FitRows(target, weight, train, test, asked.n_outputs, category))

    def code_executor(self) -> Executor:
        """The codes of all rows: what is made of them has no influence on what is learnt."""
        return self.store.code_executor()

    def of_blocks(self, values: AnyArray) -> AnyArray:
        """Values of these rows as values of all rows, 0 for the others."""
        found = np.zeros(self.n_rows, values.dtype)
        found[self.rows] = values
        return found

    def of_fit(self, values: AnyArray) -> AnyArray:
        """Those of these rows."""
        return values[self.rows]


def row_store_of(table: StoredTable, threads: Threads, n_outputs: int, n_fits: int) -> RowStore:
    """Where the rows of a stored table are."""
    table.check_source()
    if table.executor is not None:
        store: RowStore = table.executor.distribute(code_blocks(table))
    else:
        store = disk_row_store(table, threads, n_outputs, max(1, n_fits))
    return store if table.rows is None else SubsetRowStore(store, table.rows, table.n_stored)

"""Some rows of a table on disk, as for a fold; and those that are kept in memory to judge by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.frames import select_rows
from secateur.data.sampling import sample_rows
from secateur.data.table import Table
from secateur.data.vectors import as_array
from secateur.data.weights import read_weights
from secateur.exceptions import InputTypeError
from secateur.storage.build import kept_rows
from secateur.storage.sources import Part
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

SAMPLE_ROWS = 100_000
"""The most rows that are read into memory to judge by, and to look at."""

SAMPLE_SHARE = 8
"""They take at most such a part of the memory."""

LEAST_SAMPLE = 1_000
"""The fewest, however wide the table and small the memory."""


class StoredRows(StoredTable):
    """Some rows of a stored table, in their order; selectors fit on them as on the table.

    Codes stay where they are, so bins are those of all rows.
    """

    __slots__ = ("root", "rows")

    def __init__(self, root: StoredTable, rows: IntArray) -> None:
        self.root = root
        self.rows: IntArray = np.sort(np.asarray(rows, np.int64))
        for name in ("folder", "memory_limit", "source", "executor", "schema", "bins", "_header"):
            setattr(self, name, getattr(root, name))
        self.blocks = root.blocks
        self.kept = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def target(self, number: int = 0) -> AnyArray:
        """The values of a target, as they were read."""
        return self.root.target(number)[self.rows]

    @property
    def weight(self) -> FloatArray | None:
        """The weights of the rows, None where all count the same."""
        weight = self.root.weight
        return None if weight is None else weight[self.rows]

    @property
    def task(self) -> AnyArray | None:
        """The task of each row, where there is such a column."""
        task = self.root.task
        return None if task is None else task[self.rows]

    def parts(self, n_rows: int = 10_000) -> Iterator[Part]:
        """These rows as they were read, and no others."""
        for part, here in _among(self.root.parts(n_rows), self.rows):
            weight = None
            if part.weight is not None:
                weight = read_weights(part.weight, int(part.X.shape[0]))[here]
            yield Part(
                select_rows(part.X, here),
                tuple(as_array(values, "target")[here] for values in part.targets),
                weight,
                None if part.task is None else as_array(part.task, "task")[here],
            )

    def take(self, rows: IntArray) -> Table:
        """Some of the rows."""
        return StoredRows(self.root, self.rows[rows])


def _among(parts: Iterable[Part], rows: IntArray) -> Iterator[tuple[Part, IntArray]]:
    """Parts with some of the rows of a table, which are counted without those of weight 0."""
    first = 0
    for part in parts:
        n_read = int(part.X.shape[0])
        kept, _ = kept_rows(part, n_read)
        numbers = np.arange(n_read) if kept is None else kept
        start, stop = np.searchsorted(rows, [first, first + len(numbers)])
        if start < stop:
            yield part, numbers[rows[start:stop] - first]
        first += len(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Rows of a stored table, read from where it was read and kept in memory.

    Parameters
    ----------
    rows : array of int
        Their numbers in the table, rising.
    X : data frame or matrix
        The features, as they were read.
    """

    rows: IntArray
    X: Any

    def among(self, table: StoredTable) -> tuple[IntArray, Any]:
        """Those of the sample that a table has: their places in it, and their features."""
        if not isinstance(table, StoredRows):
            return self.rows, self.X
        _, here, place = np.intersect1d(
            self.rows, table.rows, assume_unique=True, return_indices=True
        )
        return place, select_rows(self.X, here)


def most_sampled(table: StoredTable) -> int:
    """How many rows of a table are read into memory at the most."""
    room = table.memory_limit // SAMPLE_SHARE // (8 * table.n_features)
    return min(SAMPLE_ROWS, max(LEAST_SAMPLE, room))


def sample_stored(table: StoredTable, seed: int, most: int = SAMPLE_ROWS) -> SampledRows:
    """Read a seeded sample of the rows of a stored table, all of them if they are few.

    Which rows these are follows from their numbers and the seed alone. The table keeps them.
    """
    if table.kept is None or table.kept[0] != (seed, most):
        table.kept = ((seed, most), _read_sample(table, seed, most))
    found: SampledRows = table.kept[1]
    return found


def _read_sample(table: StoredTable, seed: int, most: int) -> SampledRows:
    if table.source is None:
        msg = (
            "Rows that judge must be read from their own file. Got a table that was opened from "
            "its folder. Give open_table the file, with the same cache."
        )
        raise InputTypeError(msg)
    most = min(most, most_sampled(table))
    chosen = sample_rows(table.n_rows, most, seed)
    taken = np.arange(table.n_rows) if chosen is None else chosen
    read = table.parts(max(100, min(10_000, most)))
    parts = [select_rows(part.X, here) for part, here in _among(read, taken)]
    return SampledRows(taken, _joined(parts))


def _joined(parts: list[Any]) -> Any:
    """Blocks of one kind as one."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "tocsr"):
        import scipy.sparse as sp

        return sp.vstack(parts, format="csr")
    import narwhals as nw

    return nw.concat([nw.from_native(part) for part in parts]).to_native()

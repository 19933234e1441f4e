"""A table on disk: bins, target and names in memory, codes mapped block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from secateur._kernels.records import DenseCodes
from secateur.data.binning import BinnedColumns
from secateur.data.frames import as_array, select_rows
from secateur.data.sampling import sample_rows
from secateur.data.table import Table, TableSchema
from secateur.data.target import read_weights
from secateur.exceptions import InputTypeError
from secateur.storage.folder import (
    CODES,
    StoredBlock,
    check_bytes,
    check_codes,
    read_bins,
    read_header,
    schema_from_json,
)
from secateur.storage.parts import label_values
from secateur.storage.sources import Part, Source
from secateur.typing import AnyArray, CodeArray, FloatArray, IntArray

SAMPLE_ROWS = 100_000  # the most rows that are read into memory, to score and to report
SAMPLE_SHARE = 8  # they take at most such a part of the memory
MIN_SAMPLE = 1_000  # the fewest, however wide the table and small the memory


def read_together(blocks: Sequence[StoredBlock], bins: BinnedColumns) -> BinnedColumns:
    """Blocks that follow each other as one in memory; those of stored cells are one alone."""
    if len(blocks) == 1:
        return blocks[0].columns(blocks[0].read(), bins)
    n_rows = sum(block.n_rows for block in blocks)
    codes: CodeArray = np.empty((blocks[0].n_features, n_rows), np.uint8)
    for block in blocks:
        first = block.first_row - blocks[0].first_row
        codes[:, first : first + block.n_rows] = block.dense()
    columns = bins._replace(codes=DenseCodes(codes), n_rows=n_rows)
    return check_codes(columns, blocks[0].file.parent)


class DiskTable(Table):
    """Blocks of rows in a folder, or some of these rows; their columns are not given here."""

    kind: ClassVar[tuple[str, str]]

    def __init__(self, folder: Path, executor: Any = None, keeper: Any = None) -> None:
        header = self._header = read_header(folder, self.kind[0])
        self._keeper = keeper  # deletes the folder when it is garbage collected
        self.is_kept = keeper is None  # whether the folder stays when the table is gone
        self.folder = folder
        self.executor = executor  # None is this process
        self.rows: IntArray | None = None  # of the file, sorted; None for all
        self.kept: dict[Any, SampledRows] = {}  # rows in memory: see `sample_stored`
        self.schema: TableSchema = schema_from_json(header)
        self.n_stored: int = header["n_rows"]
        file, width = folder / self.kind[1], len(self.names)
        self.blocks = [StoredBlock(file, n_features=width, **each) for each in header["blocks"]]

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return bool(self._header["is_sparse"])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.n_stored if self.rows is None else len(self.rows)

    def columns(self, *_: Any, **__: Any) -> Any:
        """Raise an error."""
        raise InputTypeError(
            "X must hold its numbers in memory for this. Got a table on disk. Use a boosted "
            "selector, or read the columns that are needed from their file."
        )

    def take(self, rows: IntArray) -> Self:
        """Some rows, in the order of the file, as for a fold; they stay where they are."""
        part, chosen = copy(self), np.sort(np.asarray(rows, np.int64))
        part.rows, part.kept = chosen if self.rows is None else self.rows[chosen], {}
        return part


class StoredTable(DiskTable):
    """A table that `secateur.open_table` made or opened again, or some of its rows.

    Boosted selectors fit on it as on any other table, without a y. Its rows are on disk: what asks
    for them as numbers is refused. The bins are those of all rows.

    Attributes
    ----------
    folder : Path
        Where it is; ``secateur.open_table(folder)`` opens it again.
    n_rows, n_features, names
    target_names : tuple of str
    memory_limit : int
        What a fit may take, in bytes.
    """

    kind = CODES

    def __init__(
        self, folder: Path, memory_limit: int, source: Source | None = None, *more: Any
    ) -> None:
        super().__init__(folder, *more)
        self.memory_limit = memory_limit
        self.source = source
        self.target_names: tuple[str, ...] = tuple(self._header["target_names"])
        self.fingerprint: str = self._header["fingerprint"]  # changes with the data that was read
        self.bins = read_bins(self._checked("bins.npz"), self.n_stored)

    def target(self, number: int = 0) -> AnyArray:
        """The values of a target, as they were read."""
        return self._load(f"target{number}")

    @property
    def weight(self) -> FloatArray | None:
        """The weights of the rows, None where all count the same."""
        return self._load("weight") if "weight.npy" in self._header["checksums"] else None

    @property
    def task(self) -> AnyArray | None:
        """The task of each row, where there is such a column."""
        return self._load("task") if "task" in self._header["labels"] else None

    def _load(self, name: str) -> AnyArray:
        array: AnyArray = np.load(self._checked(f"{name}.npy"))
        here = array if self.rows is None else array[self.rows]
        return label_values(here, self._header["labels"].get(name))

    def _checked(self, name: str) -> Path:
        file, header = self.folder / name, self._header
        check_bytes(file, 0, header["sizes"][name], header["checksums"][name])
        return file

    def check_source(self) -> None:
        """Refuse a table whose files changed since it was opened."""
        if self.source is not None:
            self.source.check()

    def parts(self, n_rows: int = 10_000) -> Iterator[Part]:
        """The rows as they were read, from where they were read."""
        if self.rows is None:
            yield from self.all_parts(n_rows)
            return
        for part, here in _with_rows(self.all_parts(n_rows), self.rows):
            weight = part.weight
            yield Part(
                select_rows(part.X, here),
                tuple(as_array(values, "target")[here] for values in part.targets),
                None if weight is None else read_weights(weight, int(part.X.shape[0]))[here],
                None if part.task is None else as_array(part.task, "task")[here],
            )

    def all_parts(self, n_rows: int) -> Iterator[Part]:
        """All rows of the file, where this table has some of them."""
        if self.source is None:
            raise InputTypeError(
                "The rows of a stored table must be read from their own file. Got a table that was "
                "opened from its folder. Give open_table the file, with the same cache."
            )
        return self.source.parts(n_rows)

    def __repr__(self) -> str:
        return f"StoredTable({self.n_rows:,} x {self.n_features:,}, {str(self.folder)!r})"


def _with_rows(parts: Iterator[Part], rows: IntArray) -> Iterator[tuple[Part, IntArray]]:
    """Parts with some of the rows of a table, which are counted without those of weight 0."""
    first = 0
    for part in parts:
        n_read = int(part.X.shape[0])
        numbers = np.flatnonzero(read_weights(part.weight, n_read))
        start, stop = np.searchsorted(rows, [first, first + len(numbers)])
        if start < stop:
            yield part, numbers[rows[start:stop] - first]
        first += len(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Rows of a stored table, numbered as in its file, and their features in memory."""

    rows: IntArray
    X: Any

    def among(self, table: StoredTable) -> tuple[IntArray, Any]:
        """Those of the sample that a table has: their places in it, and their features."""
        if table.rows is None:
            return self.rows, self.X
        _, here, place = np.intersect1d(
            self.rows, table.rows, assume_unique=True, return_indices=True
        )
        return place, select_rows(self.X, here)


def most_sampled(table: StoredTable) -> int:
    """How many rows of a table are read into memory at the most."""
    room = table.memory_limit // SAMPLE_SHARE // (8 * table.n_features)
    return min(SAMPLE_ROWS, max(MIN_SAMPLE, room))


def sample_stored(table: StoredTable, seed: int, most: int = SAMPLE_ROWS) -> SampledRows:
    """Read a sample of rows by seed, all of them if they are few; the table keeps them."""
    import narwhals as nw
    import scipy.sparse as sp

    if (seed, most) not in table.kept:
        n_sampled = min(most, most_sampled(table))
        taken = sample_rows(table.n_rows, n_sampled, seed)
        read = table.parts(max(100, min(10_000, n_sampled)))
        parts = [select_rows(part.X, here) for part, here in _with_rows(read, taken)]
        if isinstance(parts[0], np.ndarray):
            X = np.concatenate(parts)
        elif hasattr(parts[0], "tocsr"):
            X = sp.vstack(parts, format="csr")
        else:
            X = nw.concat([nw.from_native(part) for part in parts]).to_native()
        rows = taken if table.rows is None else table.rows[taken]
        table.kept = {(seed, most): SampledRows(rows, X)}
    return table.kept[seed, most]

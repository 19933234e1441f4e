"""A table on disk: bins, target and names in memory, codes mapped block by block."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.data.binning import BinnedColumns
from secateur.data.frames import as_array, select_rows
from secateur.data.sampling import sample_rows
from secateur.data.table import RemoteTable, Table, TableSchema
from secateur.data.weights import read_weights
from secateur.exceptions import InputTypeError
from secateur.storage.folder import (
    CODES,
    BlockPiece,
    LabelColumn,
    pieces_of,
    read_bins,
    read_header,
    schema_from_json,
)
from secateur.storage.parts import kept_rows
from secateur.storage.sources import Part, Source
from secateur.typing import AnyArray, CodeArray, FloatArray, IntArray


class StoredBlock(BlockPiece):
    """Where the codes of some rows are."""

    __slots__ = ()

    @property
    def n_bytes(self) -> int:
        """The size of the piece."""
        if self.n_cells is None:
            return self.n_rows * self.n_features
        return 8 * (self.n_features + 1) + 8 * (self.n_rows + 1) + 9 * self.n_cells

    def read(self) -> CodeArray:
        """The bytes, in memory."""
        return np.fromfile(self.file, np.uint8, self.n_bytes, offset=self.offset)

    def map(self) -> tuple[CodeArray, mmap.mmap]:
        """The bytes, mapped; and the mapping, by which pages can be given back.

        A private mapping: numba would compile anew for arrays that cannot be written to.
        """
        begin = self.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        length = self.offset - begin + self.n_bytes
        with self.file.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), length, access=mmap.ACCESS_COPY, offset=begin)
        return np.frombuffer(mapped, np.uint8, self.n_bytes, self.offset - begin), mapped

    def columns(self, room: CodeArray, bins: BinnedColumns) -> BinnedColumns:
        """The bytes as columns."""
        if self.n_cells is None:
            dense = DenseCodes(room.reshape(self.n_features, self.n_rows))
            return bins._replace(codes=dense, n_rows=self.n_rows)
        assert isinstance(bins.codes, SparseCodes)  # noqa: S101  # stored cells
        sizes = [8 * (self.n_features + 1), 8 * (self.n_rows + 1), 4 * self.n_cells]
        indptr, row_start, indices, row_bins, codes = np.split(
            room, np.cumsum([*sizes, 4 * self.n_cells])
        )
        held = SparseCodes(
            indptr.view(np.int64),
            indices.view(np.int32),
            codes,
            bins.codes.zero_code,
            row_start.view(np.int64),
            row_bins.view(np.uint32),
        )
        return bins._replace(codes=held, n_rows=self.n_rows)


def read_together(blocks: Sequence[StoredBlock], bins: BinnedColumns) -> BinnedColumns:
    """Blocks that follow each other as one in memory; those of stored cells are one alone."""
    if len(blocks) == 1:
        return blocks[0].columns(blocks[0].read(), bins)
    n_rows = sum(block.n_rows for block in blocks)
    codes: CodeArray = np.empty((blocks[0].n_features, n_rows), np.uint8)
    for block in blocks:
        first = block.first_row - blocks[0].first_row
        room = block.read().reshape(block.n_features, block.n_rows)
        codes[:, first : first + block.n_rows] = room
    return bins._replace(codes=DenseCodes(codes), n_rows=n_rows)


class StoredTable(RemoteTable):
    """A table that `secateur.open_table` made, or opened again.

    Boosted selectors fit on it as on any other table, without a y. Its rows are on disk: what asks
    for them as numbers is refused.

    Attributes
    ----------
    folder : Path
        Where it is; ``secateur.open_table(folder)`` opens it again.
    n_rows, n_features, names
    target_names : tuple of str
    memory_limit : int
        What a fit may take, in bytes.
    """

    __slots__ = (
        "__weakref__",
        "_header",
        "_targets",
        "_task",
        "_weight",
        "bins",
        "blocks",
        "executor",
        "folder",
        "kept",
        "memory_limit",
        "schema",
        "source",
    )

    where = "a stored table, which has codes on disk"
    advice = "Use a boosted selector, or read the columns that are needed from their file."

    def __init__(
        self, folder: Path, memory_limit: int, source: Source | None = None, executor: Any = None
    ) -> None:
        header = read_header(folder, CODES[0])
        self.folder = folder
        self.memory_limit = memory_limit
        self.source = source
        self.executor = executor
        self.kept: Any = None  # rows in memory: see `sample_stored`
        self.schema: TableSchema = schema_from_json(header)
        self.bins = read_bins(folder, header["n_rows"])
        self._header = header
        self.blocks: Sequence[StoredBlock] = pieces_of(folder, CODES[1], header, StoredBlock)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self._header["n_rows"])

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return bool(self._header["is_sparse"])

    @property
    def target_names(self) -> tuple[str, ...]:
        """The names of the targets."""
        return tuple(self._header["target_names"])

    @property
    def fingerprint(self) -> str:
        """What changes when the data that was read changes."""
        return str(self._header["fingerprint"])

    def target(self, number: int = 0) -> AnyArray:
        """The values of a target, as they were read."""
        return self._labels(f"target{number}")

    @property
    def weight(self) -> FloatArray | None:
        """The weights of the rows, None where all count the same."""
        file = self.folder / "weight.npy"
        return np.load(file) if file.is_file() else None

    @property
    def task(self) -> AnyArray | None:
        """The task of each row, where there is such a column."""
        return self._labels("task") if "task" in self._header["labels"] else None

    def _labels(self, name: str) -> AnyArray:
        array = np.load(self.folder / f"{name}.npy")
        return LabelColumn.of(array, self._header["labels"][name]).values()

    def parts(self, n_rows: int = 10_000) -> Iterator[Part]:
        """The rows as they were read, from where they were read."""
        if self.source is None:
            raise InputTypeError(
                "The rows of a table that was opened from its folder must be read from their own "
                "file. Got none. Give open_table the file, with the same cache."
            )
        return self.source.parts(n_rows)

    def take(self, rows: IntArray) -> Table:
        """Some rows, as for a fold: codes stay where they are."""
        return StoredRows(self, rows)

    def __repr__(self) -> str:
        return f"StoredTable({self.n_rows:,} x {self.n_features:,}, {str(self.folder)!r})"


# ---- some of its rows --------------------------------------------------------------------------

SAMPLE_ROWS = 100_000  # the most rows that are read into memory, to score and to report
SAMPLE_SHARE = 8  # they take at most such a part of the memory
LEAST_SAMPLE = 1_000  # the fewest, however wide the table and small the memory


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
    """Rows of a stored table, read from where it was read and kept in memory."""

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
        raise InputTypeError(
            "Test rows must be read from their own file. Got a table that was opened from "
            "its folder. Give open_table the file, with the same cache."
        )
    most = min(most, most_sampled(table))
    chosen = sample_rows(table.n_rows, most, seed)
    taken = np.arange(table.n_rows) if chosen is None else chosen
    read = table.parts(max(100, min(10_000, most)))
    parts = [select_rows(part.X, here) for part, here in _among(read, taken)]
    return SampledRows(taken, _concatenated(parts))


def _concatenated(parts: list[Any]) -> Any:
    """Blocks of one kind as one."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "tocsr"):
        import scipy.sparse as sp

        return sp.vstack(parts, format="csr")
    import narwhals as nw

    return nw.concat([nw.from_native(part) for part in parts]).to_native()

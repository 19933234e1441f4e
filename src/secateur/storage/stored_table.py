"""A table on disk: bins, target and names in memory, codes mapped block by block."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.data.binning import BinnedColumns
from secateur.data.table import Table, TableSchema
from secateur.exceptions import InputTypeError
from secateur.storage.folder import read_bins, read_header, read_schema
from secateur.storage.labels import LabelColumn
from secateur.storage.sources import Part, Source
from secateur.typing import AnyArray, CodeArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """Where the codes of some rows are: a piece of a file.

    Nothing is open: a block can be sent to another process that sees the same folder.
    """

    file: Path
    offset: int
    first_row: int
    n_rows: int
    n_features: int
    n_cells: int | None = None

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


class StoredTable(Table):
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

    def __init__(
        self,
        folder: Path,
        memory_limit: int,
        source: Source | None = None,
        executor: Any = None,
    ) -> None:
        header = read_header(folder)
        self.folder = folder
        self.memory_limit = memory_limit
        self.source = source
        self.executor = executor
        self.kept: Any = None  # rows in memory that judge: see `sample_stored`
        self.schema: TableSchema = read_schema(header)
        self.bins = read_bins(folder, header["n_rows"])
        self._header = header
        self.blocks: Sequence[StoredBlock] = [
            StoredBlock(folder / "codes.bin", n_features=len(header["names"]), **told)
            for told in (
                {key: block.get(key) for key in ("offset", "first_row", "n_rows", "n_cells")}
                for block in header["blocks"]
            )
        ]

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
            msg = (
                "The rows of a table that was opened from its folder must be read from their own "
                "file. Got none. Give open_table the file, with the same cache."
            )
            raise InputTypeError(msg)
        return self.source.parts(n_rows)

    def take(self, rows: IntArray) -> Table:
        """Some rows, as for a fold: codes stay where they are."""
        from secateur.storage.stored_rows import StoredRows

        return StoredRows(self, rows)

    def __repr__(self) -> str:
        return f"StoredTable({self.n_rows:,} x {self.n_features:,}, {str(self.folder)!r})"

    # ---- what a table on disk does not do -----------------------------------------------------

    def block(self, start: int, stop: int) -> FloatArray:  # noqa: ARG002
        """Refused: the numbers are not there."""
        raise _not_here()

    def columns(self, indices: IntArray) -> FloatArray:  # noqa: ARG002
        """Refused: the numbers are not there."""
        raise _not_here()


def _not_here() -> InputTypeError:
    return InputTypeError(
        "X must hold its numbers in memory for this. Got a stored table, which has codes on disk. "
        "Use a boosted selector, or read the columns that are needed from their file."
    )

"""Tables on disk: codes for trees, and numbers for algorithms that read all rows again and again.

Of both, target and names are in memory, blocks are read or mapped. Numbers are stored as

    dense     n_features x n_rows, as float32 where that loses nothing, else as float64
    sparse    compressed columns: indptr, then values, then indices

How their rows are cut depends on the width of the table alone, so that sums over blocks, added in
their order, do not depend on how the rows came or how much memory there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from secateur._kernels.records import DenseCodes
from secateur.data.binning import BinnedColumns
from secateur.data.frames import as_array, select_rows
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, rows_of
from secateur.data.target import read_target, read_weights
from secateur.exceptions import InputTypeError, StorageError
from secateur.storage.folder import (
    CODES,
    HEADER,
    NUMBERS,
    StoredBlock,
    check_bytes,
    check_codes,
    read_bins,
    read_header,
    schema_from_json,
    schema_to_json,
    write_blocks,
    write_header,
)
from secateur.storage.parts import RowReader, check_same_rows, label_values
from secateur.storage.sources import Part, Source, read_blocks
from secateur.storage.writing import TemporaryFolder, write_folder
from secateur.typing import AnyArray, CodeArray, FloatArray, IntArray

BLOCK_CELLS = 1 << 20  # cells of a dense block, about: 8 MB once they are read
MIN_ROWS = 64  # the fewest rows of a block, however wide the table
MAX_ROWS = 1 << 17  # the most rows of a dense block
SPARSE_ROWS = 1 << 13  # the rows of a sparse one
PART_CELLS = 1 << 21  # cells that are read together, about: 16 MB of them
# Complains of columns before any work: it is given their names, and which are categories.
Check = Callable[[tuple[str, ...], Sequence[int]], None]


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
        self.kept: dict[Any, Any] = {}  # rows in memory: see `sample_stored`
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
            self.source.files.check()

    def parts(self, n_rows: int = 10_000) -> Iterator[Part]:
        """The rows as they were read, from where they were read."""
        if self.rows is None:
            yield from self.all_parts(n_rows)
            return
        for part, here in with_rows(self.all_parts(n_rows), self.rows):
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


def with_rows(parts: Iterator[Part], rows: IntArray) -> Iterator[tuple[Part, IntArray]]:
    """Parts with some of the rows of a table, which are counted without those of weight 0."""
    first = 0
    for part in parts:
        n_read = int(part.X.shape[0])
        numbers = np.flatnonzero(read_weights(part.weight, n_read))
        here = rows_within(rows, first, len(numbers))
        if len(here):
            yield part, numbers[here]
        first += len(numbers)


def rows_within(rows: IntArray, first: int, n_rows: int) -> IntArray:
    """Those of some sorted rows that are in a block, numbered from its first."""
    start, stop = np.searchsorted(rows, [first, first + n_rows])
    return rows[start:stop] - first


# ---- numbers ----------------------------------------------------------------------------------


def encode_numbers(rows: list[Any]) -> list[AnyArray]:
    """The arrays of a block of numbers."""
    import scipy.sparse as sp

    if sp.issparse(rows[0]):
        matrix = sp.vstack(rows, format="csc")
        matrix.sort_indices()
        indptr, values = matrix.indptr.astype(np.int64), matrix.data.astype(np.float64)
        return [indptr, values, matrix.indices.astype(np.int32)]
    cells = np.concatenate(rows).T
    with np.errstate(over="ignore"):
        narrow = cells.astype(np.float32)
    is_same = bool(((narrow == cells) | np.isnan(cells)).all())
    return [narrow if is_same else cells]


class StoredNumbers(DiskTable):
    """The numbers of a table in a file, or some rows of it."""

    kind = NUMBERS

    def pieces(self) -> list[Piece]:
        """The blocks with rows of this table, and which of theirs these are."""
        found: list[Piece] = []
        for block in self.blocks:
            kept, n_rows = None, block.n_rows
            if self.rows is not None:
                kept = rows_within(self.rows, block.first_row, block.n_rows)
                n_rows = len(kept)
            if n_rows:
                found.append(Piece(block, None if n_rows == block.n_rows else kept, n_rows))
        return found

    def part(self, pieces: Sequence[Piece]) -> Table:
        """The rows of some pieces, read."""
        if self.is_sparse:
            import scipy.sparse as sp

            stacked = sp.vstack([piece.sparse() for piece in pieces], format="csc")
            stacked.sort_indices()
            return SparseTable(stacked, self.schema)
        cells = [(each.block.dense().T, each.kept) for each in pieces]
        kept = [rows if some is None else rows[some] for rows, some in cells]
        return DenseTable(np.concatenate(kept), self.schema, is_encoded=True)


class Piece(NamedTuple):
    """Rows of a block: which of them count, None for all, and how many these are."""

    block: StoredBlock
    kept: IntArray | None
    n_rows: int

    def sparse(self) -> Any:
        """The rows as a matrix in compressed columns, its indices sorted."""
        matrix = self.block.sparse()
        return matrix if self.kept is None else rows_of(matrix, self.kept)


def store_stream(
    X: Any, y: Any, sample_weight: Any, check: Check
) -> tuple[StoredNumbers, AnyArray, FloatArray | None]:
    """Write the rows of positive weight of a stream to disk; return numbers, target and weights."""
    blocks = read_blocks(X, y, sample_weight, PART_CELLS)
    first = next(blocks)  # before a folder is made
    errors: list[OSError] = []
    keeper = TemporaryFolder()

    def read() -> Iterator[Part]:
        try:
            for block, values, weight in chain([first], blocks):
                if values is None:
                    read_target(None, target_type="regression")
                rows = np.asarray(block) if isinstance(block, list | tuple) else block
                if len(rows.shape) != 2 or rows.shape[0]:
                    yield Part(rows, (values,), weight)
        except OSError as error:
            errors.append(error)
            raise

    folder = keeper.path / "numbers"
    try:
        rows = write_folder(folder, lambda draft: _write_numbers(draft, read(), check), keep=False)
    except StorageError:
        if errors:  # of the stream, not of the folder that is written to
            raise errors[0] from None
        raise
    target = label_values(*rows.targets[0].encoded())
    return StoredNumbers(folder, None, keeper), target, rows.weight


def numbers_of(table: StoredTable, check: Check) -> StoredNumbers:
    """The numbers that a stored table was made of, written beside it the first time."""
    check(table.names, tuple(table.categories))
    table.check_source()
    folder = table.folder.with_name(f"numbers-{table.fingerprint}")
    if not (folder / HEADER).is_file():
        n_rows = max(100, min(10_000, PART_CELLS // table.n_features))
        given = None if table.schema.has_names else table.names

        def write(part: Path) -> None:
            rows = _write_numbers(part, table.all_parts(n_rows), check, given)
            check_same_rows(rows.n_rows, table.n_stored)

        write_folder(folder, write, keep=table.is_kept)
    numbers = StoredNumbers(folder, table.executor, table)
    return numbers if table.rows is None else numbers.take(table.rows)


def _write_numbers(
    folder: Path, parts: Iterable[Part], check: Check, names: tuple[str, ...] | None = None
) -> RowReader:
    """Write the files of a table of numbers; return what was read."""
    rows = RowReader(parts, None, names)
    schema, every = rows.schema, np.arange(rows.schema.n_features)
    check(schema.names, rows.categorical)
    numbers = (
        table.csc.tocsr() if table.is_sparse else table.columns(every) for table in rows.tables()
    )
    size = max(MIN_ROWS, min(MAX_ROWS, BLOCK_CELLS // schema.n_features))
    size = SPARSE_ROWS if rows.is_sparse else size
    blocks = write_blocks(folder / NUMBERS[1], numbers, size, encode_numbers)
    facts = {"n_rows": rows.n_rows, "is_sparse": rows.is_sparse, "blocks": blocks}
    write_header(folder, {**schema_to_json(schema), **facts}, NUMBERS)
    return rows

"""Numbers of a table on disk, for algorithms that read all rows again and again.

    dense     n_features x n_rows, as float32 where that loses nothing, else as float64
    sparse    compressed columns: indptr, then values, then indices

How rows are cut depends on the width of the table alone, so that sums over blocks, added in their
order, do not depend on how the rows came or how much memory there is.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from secateur.data.frames import as_array, check_length
from secateur.data.table import DenseTable, RemoteTable, SparseTable, Table, TableSchema
from secateur.data.target import read_target
from secateur.exceptions import InputError
from secateur.storage.folder import (
    HEADER,
    NUMBERS,
    BlockPiece,
    BlockWriter,
    pieces_of,
    read_header,
    schema_from_json,
    schema_to_json,
    whole_folder,
    write_header,
)
from secateur.storage.parts import PartReader, RowCollector, check_any, check_same_rows
from secateur.storage.sources import Block, Part, first_block, read_blocks
from secateur.storage.stored_table import StoredRows, StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

BLOCK_CELLS = 1 << 20  # cells of a dense block, about: 8 MB once they are read
LEAST_ROWS = 64  # the fewest rows of a block, however wide the table
MOST_ROWS = 1 << 17  # the most rows of a dense block
SPARSE_ROWS = 1 << 13  # the rows of a sparse one
FEW = 0.25  # up to such a share of the columns, they are read one by one


def rows_of_block(n_features: int, *, is_sparse: bool) -> int:
    """How many rows make a block.

    >>> rows_of_block(1000, is_sparse=False), rows_of_block(10**6, is_sparse=False)
    (1048, 64)
    """
    if is_sparse:
        return SPARSE_ROWS
    return max(LEAST_ROWS, min(MOST_ROWS, BLOCK_CELLS // n_features))


class NumberPiece(BlockPiece):
    """Where the numbers of some rows are."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """What a number is stored as."""
        return np.dtype(f"f{self.itemsize}")

    def dense(self) -> AnyArray:
        """All columns, shape (n_features, n_rows), as they are stored."""
        n_items = self.n_features * self.n_rows
        cells = np.fromfile(self.file, self.dtype, n_items, offset=self.offset)
        return cells.reshape(self.n_features, self.n_rows)

    def some(self, features: IntArray) -> AnyArray:
        """A few columns, shape (len(features), n_rows), as they are stored."""
        if len(features) > FEW * self.n_features:
            return self.dense()[features]
        out = np.empty((len(features), self.n_rows), self.dtype)
        with self.file.open("rb", buffering=0) as opened:
            for column, feature in zip(out, features.tolist(), strict=True):
                opened.seek(self.offset + feature * self.n_rows * self.itemsize)
                opened.readinto(column.data)
        return out

    def sparse(self) -> Any:
        """The block as a matrix in compressed columns."""
        import scipy.sparse as sp

        assert self.n_cells is not None  # noqa: S101  # stored cells
        n_ends, place = self.n_features + 1, self.offset
        indptr = np.fromfile(self.file, np.int64, n_ends, offset=place)
        place += 8 * n_ends
        values = np.fromfile(self.file, np.float64, self.n_cells, offset=place)
        place += 8 * self.n_cells
        indices = np.fromfile(self.file, np.int32, self.n_cells, offset=place)
        return sp.csc_array((values, indices, indptr), shape=(self.n_rows, self.n_features))


def encode_numbers(rows: list[Any]) -> tuple[list[AnyArray], dict[str, Any]]:
    """The arrays of a block of numbers."""
    import scipy.sparse as sp

    if sp.issparse(rows[0]):
        matrix = sp.vstack(rows, format="csc")
        matrix.sort_indices()
        arrays = [
            matrix.indptr.astype(np.int64),
            matrix.data.astype(np.float64),
            matrix.indices.astype(np.int32),
        ]
        return arrays, {"itemsize": 8, "n_cells": int(matrix.nnz)}
    cells = np.concatenate(rows).T
    with np.errstate(over="ignore"):
        narrow = cells.astype(np.float32)
    is_same = bool(((narrow == cells) | np.isnan(cells)).all())
    kept = narrow if is_same else cells
    return [kept], {"itemsize": kept.itemsize}


class StoredNumbers(RemoteTable):
    """The numbers of a table in a file, or some rows of it."""

    __slots__ = ("_is_sparse", "executor", "folder", "keeper", "kept", "lengths", "pieces",
                 "rows", "schema")  # fmt: skip

    where = "rows on disk"
    advice = "Read the columns that are needed from their file."

    def __init__(
        self, folder: Path, keeper: Any = None, executor: Any = None, rows: IntArray | None = None
    ) -> None:
        header = read_header(folder, NUMBERS[0])
        self.folder = folder
        self.keeper = keeper  # deletes the folder when it is garbage collected
        self.executor = executor  # None is this process
        self.rows = rows  # of the file, sorted; None for all
        self.schema: TableSchema = schema_from_json(header)
        self._is_sparse = bool(header["is_sparse"])
        pieces = pieces_of(folder, NUMBERS[1], header, NumberPiece)
        kept = [_inside(piece, rows) for piece in pieces]
        found = [
            (piece, here)
            for piece, here in zip(pieces, kept, strict=True)
            if here is None or len(here)
        ]
        self.pieces: Sequence[NumberPiece] = [piece for piece, _ in found]
        # the rows of each block, None for all
        self.kept: Sequence[IntArray | None] = [here for _, here in found]
        self.lengths = tuple(p.n_rows if here is None else len(here) for p, here in found)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.lengths)

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return self._is_sparse

    def take(self, rows: IntArray) -> StoredNumbers:
        """Some rows, in the order of the file; the numbers stay where they are."""
        chosen = np.sort(np.asarray(rows, np.int64))
        chosen = chosen if self.rows is None else self.rows[chosen]
        return StoredNumbers(self.folder, self.keeper, self.executor, chosen)

    def part(self, numbers: Sequence[int]) -> Table:
        """The rows of some blocks, read."""
        if self._is_sparse:
            import scipy.sparse as sp

            stacked = sp.vstack([self._sparse(number) for number in numbers], format="csc")
            stacked.sort_indices()
            return SparseTable(stacked, self.schema)
        cells = np.concatenate([self._dense(number) for number in numbers])
        return DenseTable(cells, self.schema, is_encoded=True)

    def _sparse(self, number: int) -> Any:
        matrix, here = self.pieces[number].sparse(), self.kept[number]
        return matrix if here is None else rows_of(matrix, here)

    def _dense(self, number: int) -> AnyArray:
        cells, here = self.pieces[number].dense().T, self.kept[number]
        return cells if here is None else cells[here]


def rows_of(matrix: Any, rows: IntArray) -> Any:
    """Some rows of compressed columns, their indices sorted."""
    taken = matrix[rows]
    taken.sort_indices()
    return taken


def _inside(piece: NumberPiece, rows: IntArray | None) -> IntArray | None:
    """Those of some rows that are in a block, numbered from its first; None for all of its rows."""
    if rows is None:
        return None
    start, stop = np.searchsorted(rows, [piece.first_row, piece.first_row + piece.n_rows])
    return None if stop - start == piece.n_rows else rows[start:stop] - piece.first_row


PART_CELLS = 1 << 21  # cells that are read together, about: 16 MB of them
# Complains of columns before any work: it is given their names, and which are categories.
Check = Callable[[tuple[str, ...], Sequence[int]], None]


class _Keeper:
    """Deletes a folder when it is garbage collected."""

    def __init__(self, folder: Path) -> None:
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


class NumberStream(NamedTuple):
    """What a stream was: its numbers on disk; target and weights."""

    table: StoredNumbers
    target: AnyArray
    weight: FloatArray | None


def store_stream(X: Any, y: Any, check: Check) -> NumberStream:
    """Write the numbers of an iterator or a file to a folder that goes with the table.

    Rows of weight 0 are left out, and so are blocks without rows.
    """
    first, blocks = first_block(read_blocks(X, y, PART_CELLS))
    root = Path(tempfile.mkdtemp(prefix="secateur-"))
    keeper = _Keeper(root)
    folder = root / "numbers"
    try:
        target, weight = _write(folder, _parts(chain([first], blocks)), check)
    except _BrokenStream as broken:
        raise broken.error from None
    return NumberStream(StoredNumbers(folder, keeper), target, weight)


def numbers_of(table: StoredTable, check: Check) -> StoredNumbers:
    """The numbers that a stored table was made of, written beside it the first time."""
    root = table.root if isinstance(table, StoredRows) else table
    check(root.names, tuple(root.categories))
    folder = root.folder.with_name(f"numbers-{root.fingerprint}")
    if not (folder / HEADER).is_file():
        n_rows = max(100, min(10_000, PART_CELLS // root.n_features))
        given = None if root.schema.has_names else root.names
        _write(folder, root.parts(n_rows), check, names=given, expected=root.n_rows)
    numbers = StoredNumbers(folder, root, root.executor)
    return numbers.take(table.rows) if isinstance(table, StoredRows) else numbers


class _BrokenStream(Exception):  # noqa: N818  # it goes no further than this file
    """An error of the system that is the stream's own, not that of the folder written to."""

    def __init__(self, error: OSError) -> None:
        self.error = error


def _own_errors(blocks: Iterable[Block]) -> Iterator[Block]:
    try:
        yield from blocks
    except OSError as error:
        raise _BrokenStream(error) from error


def _parts(blocks: Iterable[Block]) -> Iterator[Part]:
    for X, y, weight in _own_errors(blocks):
        rows = np.asarray(X) if isinstance(X, list | tuple) else X
        if len(rows.shape) != 2 or rows.shape[0]:
            yield Part(rows, (y,), weight)


def _write(
    folder: Path,
    parts: Iterable[Part],
    check: Check,
    *,
    names: tuple[str, ...] | None = None,
    expected: int | None = None,
) -> tuple[AnyArray, FloatArray | None]:
    """Write a folder of numbers; return target and weights."""
    found: tuple[RowCollector, BlockWriter] | None = None
    kind, name = NUMBERS
    with whole_folder(folder) as draft:
        with (draft / name).open("wb") as file:
            for part in parts:
                found = found or _begin(file, part, check, names)
                _add(part, *found)
            check_any(0 if found is None else found[0].n_rows)
            assert found is not None  # noqa: S101  # or it would have been refused
            rows, writer = found
            writer.flush()
        check_same_rows(rows.n_rows, rows.n_rows if expected is None else expected)
        facts = {"n_rows": rows.n_rows, "is_sparse": rows.reader.is_sparse, "blocks": writer.blocks}
        write_header(draft, {**schema_to_json(rows.reader.schema), **facts}, kind)
    return rows.targets[0].values(), rows.weight


def _begin(
    file: BinaryIO, part: Part, check: Check, names: tuple[str, ...] | None
) -> tuple[RowCollector, BlockWriter]:
    reader = PartReader.of(part.X, None, names)
    check(reader.schema.names, reader.categorical)
    block_rows = rows_of_block(reader.schema.n_features, is_sparse=reader.is_sparse)
    return RowCollector(reader, 1), BlockWriter(file, block_rows, encode_numbers)


def _add(part: Part, rows: RowCollector, writer: BlockWriter) -> None:
    """Check some rows, and write those of positive weight."""
    import scipy.sparse as sp

    if sp.issparse(part.X) != rows.reader.is_sparse:
        found = "dense after sparse" if rows.reader.is_sparse else "sparse after dense"
        raise InputError(
            f"The blocks of a stream must be of one kind. Got {found} ones. Make all of them "
            "sparse, or none."
        )
    if part.targets[0] is None:
        read_target(None, target_type="regression")
    labels = as_array(part.targets[0], "y")
    check_length(len(labels), int(part.X.shape[0]), "y")
    table = rows.add(part._replace(targets=(labels,)))
    every: IntArray = np.arange(table.n_features)
    writer.add(table.csc.tocsr() if table.is_sparse else table.columns(every))

"""Numbers of a table on disk, for algorithms that read all rows again and again.

    dense     n_features x n_rows, as float32 where that loses nothing, else as float64
    sparse    compressed columns: indptr, then values, then indices

How rows are cut depends on the width of the table alone, so that sums over blocks, added in their
order, do not depend on how the rows came or how much memory there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur.data.table import DenseTable, SparseTable, Table, rows_of
from secateur.data.target import read_target
from secateur.exceptions import StorageError
from secateur.storage.folder import (
    HEADER,
    NUMBERS,
    StoredBlock,
    schema_to_json,
    write_blocks,
    write_header,
)
from secateur.storage.parts import RowReader, check_same_rows, label_values
from secateur.storage.sources import Part, read_blocks
from secateur.storage.stored_table import DiskTable, StoredTable
from secateur.storage.writing import TemporaryFolder, write_folder
from secateur.typing import AnyArray, FloatArray, IntArray

BLOCK_CELLS = 1 << 20  # cells of a dense block, about: 8 MB once they are read
MIN_ROWS = 64  # the fewest rows of a block, however wide the table
MAX_ROWS = 1 << 17  # the most rows of a dense block
SPARSE_ROWS = 1 << 13  # the rows of a sparse one
PART_CELLS = 1 << 21  # cells that are read together, about: 16 MB of them
# Complains of columns before any work: it is given their names, and which are categories.
Check = Callable[[tuple[str, ...], Sequence[int]], None]


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
            kept = None
            if self.rows is not None:
                ends = [block.first_row, block.first_row + block.n_rows]
                start, stop = np.searchsorted(self.rows, ends)
                if start == stop:
                    continue
                kept = self.rows[start:stop] - block.first_row
            n_rows = block.n_rows if kept is None else len(kept)
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
        rows = write_folder(folder, lambda draft: _write(draft, read(), check), keep=False)
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
            rows = _write(part, table.all_parts(n_rows), check, given)
            check_same_rows(rows.n_rows, table.n_stored)

        write_folder(folder, write, keep=table.is_kept)
    numbers = StoredNumbers(folder, table.executor, table)
    return numbers if table.rows is None else numbers.take(table.rows)


def _write(
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

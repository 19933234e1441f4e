"""One pass over a stream: its numbers go to a file, target and weights stay here."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from secateur.data.target import read_target
from secateur.data.vectors import as_array, check_length
from secateur.exceptions import InputError
from secateur.storage.blocks import Block, first_block, read_blocks
from secateur.storage.build import kept_rows
from secateur.storage.folder import HEADER, told_schema, whole_folder, write_header
from secateur.storage.labels import LabelColumn
from secateur.storage.numbers import KIND, NUMBERS, NumberWriter, StoredNumbers
from secateur.storage.parts import PartReader, check_any
from secateur.storage.sources import Part
from secateur.storage.stored_rows import StoredRows
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

PART_CELLS = 1 << 21
"""Cells that are read together, about: 16 MB of them."""

Check = Callable[[tuple[str, ...], Sequence[int]], None]
"""Complains of columns before any work: it is given their names, and which are categories."""


class _Keeper:
    """Has a folder, and takes it along when nobody needs it any more."""

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
    """Write a folder of numbers; give target and weights."""
    desk: _Desk | None = None
    with whole_folder(folder) as draft:
        with (draft / NUMBERS).open("wb") as file:
            for part in parts:
                if desk is None:
                    reader = PartReader.of(part.X, None, names)
                    check(reader.schema.names, reader.categorical)
                    desk = _Desk(file, reader)
                desk.take(part)
            check_any(0 if desk is None else desk.n_rows)
            assert desk is not None  # noqa: S101  # or it would have been refused
            header = desk.finish()
        if expected is not None and desk.n_rows != expected:
            msg = (
                f"The data must stay as it is while it is read. Got {desk.n_rows} rows where there "
                f"were {expected} before. Open it again."
            )
            raise InputError(msg)
        write_header(draft, header, KIND)
    return desk.labels.finished().values(), desk.weight


class _Desk:
    """Takes the parts one by one."""

    def __init__(self, file: BinaryIO, reader: PartReader) -> None:
        self._reader = reader
        self._writer = NumberWriter(file, reader.schema.n_features, is_sparse=reader.is_sparse)
        self._weights: list[FloatArray] = []
        self._is_weighted = False
        self.labels = LabelColumn()
        self.n_rows = 0

    def take(self, part: Part) -> None:
        """Check some rows, and write those of positive weight."""
        self._check_kind(part.X)
        table = self._reader.table(part.X)
        if part.targets[0] is None:
            read_target(None, target_type="regression")
        labels = as_array(part.targets[0], "y")
        check_length(len(labels), table.n_rows, "y")
        kept, weight = kept_rows(part, table.n_rows)
        if kept is not None:
            table = table.take(kept)
        self._reader.refuse_infinite(table)
        self.labels.add(labels, kept)
        self._is_weighted |= weight is not None
        self._weights.append(np.ones(table.n_rows) if weight is None else weight)
        every: IntArray = np.arange(table.n_features)
        self._writer.add(table.csc.tocsr() if table.is_sparse else table.columns(every))
        self.n_rows += table.n_rows

    def _check_kind(self, X: Any) -> None:
        import scipy.sparse as sp

        if sp.issparse(X) != self._reader.is_sparse:
            told = "dense after sparse" if self._reader.is_sparse else "sparse after dense"
            msg = (
                f"The blocks of a stream must be of one kind. Got {told} ones. Make all of them "
                "sparse, or none."
            )
            raise InputError(msg)

    def finish(self) -> dict[str, Any]:
        """Write what waits, and tell what there is."""
        self._writer.flush()
        return {
            **told_schema(self._reader.schema),
            "n_rows": self.n_rows,
            "is_sparse": self._reader.is_sparse,
            "blocks": self._writer.blocks,
        }

    @property
    def weight(self) -> FloatArray | None:
        """The weights of the rows, None where nobody gave any."""
        return np.concatenate(self._weights) if self._is_weighted else None

"""The door for long files: whatever a file is, its rows as blocks of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

from secateur._data.reading.arrow_blocks import ArrowBlocks
from secateur._data.reading.delimited import ReadOptions
from secateur._data.reading.delimited_blocks import DelimitedBlocks
from secateur._data.reading.formats import FileKind, kind_of
from secateur._data.reading.opening import read_head
from secateur._data.reading.raw import RawTable
from secateur._data.reading.sparse import LibsvmBlocks
from secateur.exceptions import InputError


class FileBlocks(Protocol):
    """A file whose rows can be read block by block, as often as need be."""

    @property
    def kind(self) -> FileKind:
        """Format and compression."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed, in sentences."""

    def read(self, n_rows: int, texts: Collection[int] = ()) -> Iterator[RawTable]:
        """The rows in order, at most so many at a time.

        The columns of ``texts`` come as text, whatever is in them; of the others a block tells
        which have words (``RawTable.others``).
        """


def kind_of_file(file: Path) -> FileKind:
    """Format and compression of a file, by its first bytes and its name."""
    return kind_of(file.name, *read_head(file))


def open_blocks(file: Path, options: ReadOptions | None = None) -> FileBlocks:
    """Find out how the rows of a file can be read."""
    kind = kind_of_file(file)
    if kind.format in {"parquet", "feather"}:
        return ArrowBlocks.of(file, kind)
    if kind.format == "libsvm":
        return LibsvmBlocks.of(file, kind)
    if kind.format == "npz":
        raise InputError(
            f"{file.name} must be CSV, TSV, Parquet, Feather or LIBSVM to be read in blocks. Got "
            "NPZ. Read it into memory, or write it as Parquet."
        )
    return DelimitedBlocks.of(file, kind, options or ReadOptions())

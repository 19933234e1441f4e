"""Text files as data frames in blocks: numbers, dates as days, and text, as in whole files."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from secateur.exceptions import InputError, SecateurWarning
from secateur.storage.reading.arrow import ArrowBlocks
from secateur.storage.reading.columns import Treatment, gather_facts, treat
from secateur.storage.reading.delimited import ReadOptions
from secateur.storage.reading.delimited_blocks import DelimitedBlocks
from secateur.storage.reading.encoding import arrow, read_head
from secateur.storage.reading.formats import FileKind, RawTable, kind_of
from secateur.storage.reading.svmlight import LibsvmBlocks
from secateur.typing import AnyArray, FloatArray


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


LOOK_ROWS = 20_000
"""Rows that are looked at together to tell what the columns are."""


class TextFrames:
    """The blocks of a text file as pyarrow tables, whose columns are of one kind in all of them.

    Parameters
    ----------
    file : Path
    labels : collection of str
        Columns whose whole numbers stay whole, as labels of classes do.
    """

    def __init__(self, file: Path, labels: Collection[str] = ()) -> None:
        self._blocks: FileBlocks = open_blocks(file)
        names = self._blocks.names
        rows = max(100, min(LOOK_ROWS, (1 << 23) // len(names)))
        facts, self._asked = gather_facts(names, lambda texts: self._blocks.read(rows, texts))
        self._treatments: dict[int, Treatment] = {}
        for position, told in facts.texts.items():
            treatment, note = treat(told, names[position])
            if treatment is not None and treatment.is_number and names[position] not in labels:
                self._treatments[position] = treatment
                warnings.warn(note, SecateurWarning, stacklevel=3)
        self._texts = set(facts.texts) - set(self._treatments)
        self._labels = {place for place, name in enumerate(names) if name in set(labels)}

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._blocks.names)

    def read(self, n_rows: int) -> Iterator[Any]:
        """Tables of at most so many rows, in order."""
        for raw in self._blocks.read(n_rows, self._asked):
            yield self._table(raw)

    def _table(self, raw: RawTable) -> Any:
        pa = arrow()
        columns = [self._column(raw, place) for place in range(len(raw.names))]
        return pa.table(dict(zip(raw.names, columns, strict=True)))

    def _column(self, raw: RawTable, place: int) -> Any:
        if place in self._texts:
            return raw.texts[place].to_arrow()
        treatment = self._treatments.get(place)
        if treatment is not None:
            return treatment.numbers(raw, place)
        numbers = np.ascontiguousarray(raw.matrix[:, place])
        return whole_labels(numbers) if place in self._labels else numbers


def whole_labels(numbers: FloatArray) -> AnyArray:
    """Labels as integers where all of them are whole, so that they print so.

    >>> whole_labels(np.array([0.0, 1.0])), whole_labels(np.array([0.5, 1.0]))
    (array([0, 1]), array([0.5, 1. ]))
    """
    is_whole = bool((numbers == np.floor(numbers)).all()) and bool((np.abs(numbers) < 2**53).all())
    return numbers.astype(np.int64) if is_whole else numbers

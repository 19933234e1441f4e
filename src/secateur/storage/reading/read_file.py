"""`read_file`: a table from a file of any supported format, as a whole or in blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.exceptions import InputError, SecateurWarning
from secateur.storage.reading.columns import Conversion, choose_conversion, summarize
from secateur.storage.reading.csv import CsvFile
from secateur.storage.reading.dialect import DELIMITERS, ReadOptions
from secateur.storage.reading.formats import (
    FileKind,
    RawTable,
    compress,
    kind_of_file,
    library,
    open_file,
)
from secateur.storage.reading.matrices import SvmlightFile, read_npz, reduced_npz
from secateur.storage.reading.parquet import ArrowFile
from secateur.typing import AnyArray, FloatArray

# Tables of numbers in memory at a time: as read, as features, and what a fit makes of them.
COPIES = 3
EXPANSION = 6  # how many times larger decompressed content is, about
SAMPLE_BYTES = 1 << 20  # the beginning of a text, by which the length of its cells is estimated
SUMMARY_ROWS = 20_000  # rows that are summarized together


TableFile = ArrowFile | SvmlightFile | CsvFile


def read_file(file: str | Path, options: ReadOptions | None = None) -> RawTable:
    """Read CSV, TSV, Parquet, Feather, LIBSVM or NPZ, compressed or not."""
    path = Path(file)
    kind = kind_of_file(path)
    if kind.format == "npz":
        raw = read_npz(path, kind)
    else:
        [raw] = _open(path, kind, options, in_memory=True).read()
    return replace(raw, notes=(*kind.notes, *raw.notes))


def open_blocks(file: Path, options: ReadOptions | None = None) -> TableFile:
    """Open a file to read its rows in blocks; NPZ files cannot be."""
    return _open(file, kind_of_file(file), options, in_memory=False)


def _open(file: Path, kind: FileKind, options: ReadOptions | None, *, in_memory: bool) -> TableFile:
    if kind.format in {"parquet", "feather"}:
        return ArrowFile.open(file, kind)
    if kind.format == "libsvm":
        return SvmlightFile.open(file, kind, in_memory=in_memory)
    if kind.format == "npz":
        raise InputError(
            f"{file.name} must be CSV, TSV, Parquet, Feather or LIBSVM to be read in blocks. Got "
            "NPZ. Read it into memory, or write it as Parquet."
        )
    return CsvFile.open(file, kind, options or ReadOptions(), in_memory=in_memory)


def needed_memory(file: Path) -> int:
    """Estimate the bytes of memory that reading a whole file and a fit on it take.

    Parquet and Feather files give their numbers of rows and columns. The cells of text are counted
    in its beginning. Compressed content is taken to be `EXPANSION` times as large. The result is 0
    for NPZ files, which can be read as a whole only.
    """
    kind = kind_of_file(file)
    n_bytes = file.stat().st_size * (EXPANSION if kind.compression else 1)
    if kind.format == "npz":
        return 0
    if kind.format in {"parquet", "feather"}:
        if kind.compression:
            return (1 + COPIES) * n_bytes
        opened = ArrowFile.open(file, kind)
        return n_bytes + COPIES * 8 * opened.n_rows * opened.n_columns
    with open_file(file) as (stream, _):
        head = stream.read(SAMPLE_BYTES)
    if kind.format == "libsvm":
        n_values = head.count(b":") / max(1, len(head))
        return int(n_bytes * (1 + COPIES * 16 * n_values))
    n_cells = head.count(b"\n") + max(head.count(sign.encode()) for sign in DELIMITERS)
    return int(n_bytes * (2 + COPIES * 8 * n_cells / max(1, len(head))))


def reduced_file(
    file: Path, raw: RawTable, columns: Sequence[int], options: ReadOptions
) -> tuple[str, bytes]:
    """Name and content of a file with some columns of another, all rows, each cell as it was.

    Format and compression stay; ``adult.csv.gz`` becomes ``adult.selected.csv.gz``. A LIBSVM file
    keeps its labels and the numbers of its columns, an NPZ file all arrays besides the table.
    """
    kept, kind = sorted(set(columns)), raw.kind
    if kind.format == "npz":
        content = reduced_npz(file, raw, kept)
    else:
        content = _open(file, kind, options, in_memory=True).reduced(kept)
    name = f"{kind.stem}.selected{kind.suffix or f'.{kind.format}'}"
    return name, compress(content, kind.compression)


# ---- frames -----------------------------------------------------------------------------------


class TextFrames:
    """The blocks of a text file as pyarrow tables whose columns have one type in all blocks."""

    def __init__(self, file: Path, labels: Collection[str] = ()) -> None:
        self._file: TableFile = open_blocks(file)
        names = self._file.names
        rows = max(100, min(SUMMARY_ROWS, (1 << 23) // len(names)))
        summary, self._wanted = summarize(names, lambda texts: self._file.read(rows, texts))
        self._conversions: dict[int, Conversion] = {}
        for position, text in summary.texts.items():
            conversion, note = choose_conversion(text, names[position])
            if conversion is not None and conversion.is_number and names[position] not in labels:
                self._conversions[position] = conversion
                warnings.warn(note, SecateurWarning, stacklevel=3)
        self._texts = set(summary.texts) - set(self._conversions)
        self._labels = {place for place, name in enumerate(names) if name in set(labels)}

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._file.names)

    def read(self, n_rows: int) -> Iterator[Any]:
        """Tables of at most ``n_rows`` rows, in order."""
        for raw in self._file.read(n_rows, self._wanted):
            columns = [self._column(raw, place) for place in range(len(raw.names))]
            yield library("pyarrow").table(dict(zip(raw.names, columns, strict=True)))

    def _column(self, raw: RawTable, place: int) -> Any:
        if place in self._texts:
            return raw.texts[place].to_arrow()
        if place in self._conversions:
            return self._conversions[place].numbers(raw, place)
        numbers = np.ascontiguousarray(raw.matrix[:, place])
        return whole_labels(numbers) if place in self._labels else numbers


def whole_labels(numbers: FloatArray) -> AnyArray:
    """Labels as integers where all of them are whole numbers."""
    is_whole = bool((numbers == np.floor(numbers)).all()) and bool((np.abs(numbers) < 2**53).all())
    return numbers.astype(np.int64) if is_whole else numbers

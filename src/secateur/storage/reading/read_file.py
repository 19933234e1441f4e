"""`read_file`: a table from a file of any supported format, as a whole or in blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from secateur.exceptions import InputError, SecateurWarning, some_of
from secateur.storage.reading.columns import summarize
from secateur.storage.reading.csv import CsvFile
from secateur.storage.reading.dialect import DELIMITERS, NOTHING_SAID, ReadOptions
from secateur.storage.reading.formats import (
    NO_FILES,
    RawTable,
    SourceFiles,
    compress,
    files_of,
    kind_of_file,
    kind_of_name,
    library,
    open_file,
)
from secateur.storage.reading.plan import Conversion, choose_conversion
from secateur.storage.reading.typed_files import (
    ArrowFile,
    SvmlightFile,
    arrow_errors,
    dataset_tables,
    parquet_tables,
    read_npz,
    reduced_npz,
)
from secateur.typing import AnyArray, FloatArray

COPIES = 3  # tables of numbers in memory: as read, as features, and what a fit makes
EXPANSION = 6  # how many times larger decompressed content is, about
SAMPLE_BYTES = 1 << 20  # the beginning of a text, by which the length of its cells is estimated
SUMMARY_ROWS = 20_000  # rows of text that are summarized together
SUMMARY_CELLS = 1 << 23  # and their cells, at most

TableFile = ArrowFile | SvmlightFile | CsvFile
# The names of the columns, and a reader of tables of at most so many rows.
Frames = tuple[list[str], Callable[[int], Iterator[Any]]]


def read_file(file: str | Path, options: ReadOptions = NOTHING_SAID) -> RawTable:
    """Read CSV, TSV, Parquet, Feather, LIBSVM or NPZ, compressed or not."""
    path = Path(file)
    kind = kind_of_file(path)
    files = SourceFiles.of(path) if path.is_file() else NO_FILES
    if kind.format == "npz":
        raw = read_npz(path, kind, options.names)
    else:
        [raw] = open_blocks(path, options, in_memory=True).read()
    files.check()
    return replace(raw, notes=(*kind.notes, *raw.notes), files=files)


def open_blocks(
    file: Path, options: ReadOptions = NOTHING_SAID, *, in_memory: bool = False
) -> TableFile:
    """Open a file to read its rows in blocks; NPZ files cannot be."""
    kind = kind_of_file(file)
    if kind.format in {"parquet", "feather"}:
        return ArrowFile.open(file, kind, options.names)
    if kind.format == "libsvm":
        return SvmlightFile.open(file, kind, in_memory=in_memory)
    if kind.format == "npz":
        raise InputError(
            f"{file.name} must be CSV, TSV, Parquet, Feather or LIBSVM to be read in blocks. Got "
            "NPZ. Write it as Parquet, or load it into memory (without --dask and --workers)."
        )
    return CsvFile.open(file, kind, options, in_memory=in_memory)


def needed_memory(file: Path) -> int:
    """Estimate the bytes of reading a whole file and of a fit; 0 for NPZ files."""
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
    """Name and content of a file with some columns of another, in the same format."""
    kept, kind = sorted(set(columns)), raw.kind
    if kind.format == "npz":
        content = reduced_npz(file, raw, kept)
    else:
        content = open_blocks(file, options, in_memory=True).reduced(kept)
    raw.files.check()
    name = f"{kind.stem}.selected{kind.suffix or f'.{kind.format}'}"
    return name, compress(content, kind.compression)


def whole_labels(numbers: FloatArray) -> AnyArray:
    """Labels as integers where all of them are whole numbers."""
    is_whole = bool((numbers == np.floor(numbers)).all()) and bool((np.abs(numbers) < 2**53).all())
    return numbers.astype(np.int64) if is_whole else numbers


def format_of_path(path: Path) -> str:
    """What kind of table a file or folder holds: csv, parquet, feather, libsvm or npz."""
    if not path.is_dir():
        return kind_of_file(path).format.replace("tsv", "csv")
    kinds = {kind_of_name(file.name).format for file in files_of(path)} - {"", "libsvm", "npz"}
    if len(kinds) > 1:
        raise InputError(
            f"A folder must hold files of one kind. Got {sorted(kinds)} in {str(path)!r}. Give "
            "each kind a folder of its own."
        )
    return kinds.pop().replace("tsv", "csv") if kinds else "parquet"


def open_frames(path: Path, labels: Collection[str]) -> Frames:
    """Open a file or folder; whole numbers in columns of labels stay integers."""
    kind = format_of_path(path)
    if kind in {"csv", "npz"}:  # an archive is refused
        parts = [_open_text(file, labels) for file in files_of(path)]
        names = parts[0][0]
        others = [part[0] for part in parts if part[0] != names]
        if others:
            raise InputError(
                f"The files of a folder must have the same columns. Got {some_of(names)} and "
                f"{some_of(others[0])} in {str(path)!r}. Write them alike."
            )
        return names, lambda n: (table for _, read in parts for table in read(n))
    with arrow_errors(path, kind):
        dataset = library("pyarrow.dataset").dataset(str(path), format=kind, partitioning="hive")
    names, read_schema = list(dataset.schema.names), library("pyarrow.parquet").read_schema
    # Where all columns are in the files, these are read themselves: a dataset would have whole
    # row groups in memory.
    is_parquet = kind == "parquet" and all(read_schema(f) == dataset.schema for f in dataset.files)
    return names, partial(frames_of, dataset, by_file=is_parquet)


def frames_of(dataset: Any, n_rows: int, *, by_file: bool = False) -> Iterator[Any]:
    """The rows of a pyarrow dataset, in order, as tables of at most so many rows."""
    with arrow_errors(Path("each file"), "table"):
        if not by_file:
            yield from dataset_tables(dataset, n_rows)
        for file in dataset.files if by_file else ():
            yield from parquet_tables(Path(file), n_rows)


def _open_text(file: Path, labels: Collection[str]) -> Frames:
    """A text file, whose columns have one type in all blocks."""
    opened = open_blocks(file, ReadOptions(names=tuple(labels)))
    names = opened.names
    rows = max(100, min(SUMMARY_ROWS, SUMMARY_CELLS // len(names)))
    summary, wanted = summarize(names, partial(opened.read, rows))
    conversions: dict[int, Conversion] = {}
    for place, text in summary.texts.items():
        conversion, note = choose_conversion(text, names[place])
        if conversion is not None and conversion.is_number and names[place] not in labels:
            conversions[place] = conversion
            warnings.warn(note, SecateurWarning, stacklevel=4)

    def column(raw: RawTable, place: int) -> Any:
        if place in conversions:
            return conversions[place].numbers(raw, place)
        if place in summary.texts:
            return raw.texts[place].to_arrow()
        numbers = np.ascontiguousarray(raw.matrix[:, place])
        return whole_labels(numbers) if names[place] in labels else numbers

    def read(n_rows: int) -> Iterator[Any]:
        for raw in opened.read(n_rows, wanted):
            columns = {name: column(raw, place) for place, name in enumerate(names)}
            yield library("pyarrow").table(columns)

    return list(names), read

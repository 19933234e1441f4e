"""What kind of file this is: told by its first bytes where they tell, by its name otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from secateur.data.messages import some_of
from secateur.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """Numbers as one matrix, all other columns as text.

    A matrix and not a data frame: a frame of a million columns takes a minute and gigabytes, a
    matrix of them takes three seconds.

    Parameters
    ----------
    matrix : ndarray or CSR matrix of shape (n_rows, n_columns), float64
        NaN where a value is missing, and all along the columns of ``texts``.
    names : tuple of str
        One for each column, no two alike.
    texts : mapping of int to polars.Series
        The columns that hold other things than numbers, by position, missing values as nulls.
    sides : mapping of str to ndarray
        What lies beside the table: the labels of a LIBSVM file, arrays of an NPZ file.
    kind : FileKind
    notes : tuple of str
        What was guessed or done, in sentences.
    others : frozenset of int
        Where a table is one block of a file: columns that hold other things than numbers here, and
        were not asked for as text.
    """

    matrix: Any
    names: tuple[str, ...]
    kind: FileKind
    texts: Mapping[int, Any] = field(default_factory=dict)
    sides: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    others: frozenset[int] = frozenset()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix stores its non-zeros only."""
        return hasattr(self.matrix, "indptr")


def mended_names(given: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Give every column a name of its own, and say what was changed.

    >>> mended_names(["a", "", "a"])
    (('a', 'column 2', 'a (2)'), ["Columns share the name 'a': ..."])
    """
    stripped = [name.strip() or f"column {place}" for place, name in enumerate(given, start=1)]
    doubled = [name for name, count in Counter(stripped).items() if count > 1]
    if not doubled:
        return tuple(stripped), []
    names = _numbered(stripped, set(stripped))
    example = f"{doubled[0]} (2)"
    return names, [
        f"Columns share the name {some_of(doubled)}: later ones get a number, as {example!r}."
    ]


def _numbered(names: list[str], taken: set[str]) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    mended = []
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            counts[name] += 1
            new = f"{name} ({counts[name] + 1})"
        seen.add(new)
        mended.append(new)
    return tuple(mended)


_ZIP = b"PK\x03\x04"
_EXCEL = "an Excel workbook", "Save it as CSV"
_MAGIC = {
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"\x89HDF\r\n": ("an HDF5 file", "Write its table as Parquet or CSV"),
    b"SQLite format 3\x00": ("an SQLite database", "Write its table as CSV"),
    b"%PDF-": ("a PDF document", "Write its table as CSV"),
    b"\x93NUMPY": ("a single array of numpy", "Write table and target with numpy.savez"),
}
_EXCEL_PARTS = (b"[Content_Types].xml", b"xl/workbook", b"xl/worksheets")
_WEB = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)
_HEAD = 4000


def refuse_others(name: str, content: bytes) -> None:
    r"""Raise for a file of a kind that is not read, saying which it is and what to do.

    >>> refuse_others("a.csv", b"a,b\n")
    >>> refuse_others("a.csv", b"<!DOCTYPE html><html>")
    Traceback (most recent call last):
    ...
    secateur.exceptions.InputError: a.csv must be a table. Got a web page. Get the file itself, ...
    """
    head = content[:_HEAD]
    known = next((told for magic, told in _MAGIC.items() if head.startswith(magic)), None)
    if head.startswith(_ZIP) and any(part in head for part in _EXCEL_PARTS):
        known = _EXCEL
    elif _WEB.match(head):
        known = "a web page", "Get the file itself, perhaps after signing in"
    if known is not None:
        raise InputError(f"{name} must be a table. Got {known[0]}. {known[1]}.")


COMPRESSIONS = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
_MAGIC_COMPRESSION = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
_MAGIC_FORMAT = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"PK\x03\x04": "npz"}
_SUFFIXES = {
    **dict.fromkeys((".csv", ".data", ".dat", ".txt"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".libsvm", ".svm", ".svmlight"), "libsvm"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
    ".npz": "npz",
}
BINARY = {"parquet", "feather", "npz"}
WORDS = {"parquet": "Parquet", "feather": "Feather", "npz": "NPZ", "libsvm": "LIBSVM"}
READ = "CSV, TSV, Parquet, Feather, LIBSVM and NPZ, also compressed (.gz, .bz2, .xz, .zst)"
# A label and at least one index:value pair, and nothing else.
_LIBSVM_LINE = re.compile(rb"^[-+\d.eE,]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?$")


@dataclass(frozen=True, slots=True)
class FileKind:
    """Format and compression of a file, and its name without folder and suffixes.

    ``notes`` tell where name and content disagree.

    >>> kind_of_name("data/adult.csv.gz")
    FileKind(format='csv', compression='gz', stem='adult', suffix='.csv.gz')
    """

    format: str
    compression: str
    stem: str
    suffix: str
    notes: tuple[str, ...] = field(default=(), repr=False)


def kind_of(name: str, head: bytes, compression: str) -> FileKind:
    r"""What a file is, by its first bytes (decompressed) and its name.

    Where they disagree the bytes are right, and that is said.

    >>> kind_of("a.csv.gz", b"a,b\n", "").notes
    ('a.csv.gz is not compressed, although it is called so: it is read as it is.',)
    """
    named = kind_of_name(name)
    found = format_of(name, head)
    notes = []
    if named.compression and not compression:
        notes.append(f"{name} is not compressed, although it is called so: it is read as it is.")
    elif named.compression != compression and named.suffix:
        notes.append(f"{name} is compressed as .{compression}, whatever its name says.")
    is_other = found in BINARY or found == "libsvm"
    if named.format and is_other and found != named.format:
        notes.append(f"{name} is {WORDS[found]}, whatever its name says, and is read so.")
    return replace(named, compression=compression, format=found, notes=tuple(notes))


def kind_of_name(name: str) -> FileKind:
    """What the name of a file tells; the format is "" where it tells nothing."""
    file = Path(name)
    compression = COMPRESSIONS.get(file.suffix.lower(), "")
    inner = file.with_suffix("") if compression else file
    known = _SUFFIXES.get(inner.suffix.lower(), "")
    stem = inner.stem if known else inner.name
    return FileKind(known, compression, stem, file.name[len(stem) :])


def compression_of(head: bytes) -> str:
    """How a file is compressed, by its first bytes; "" for not at all."""
    return next((name for magic, name in _MAGIC_COMPRESSION.items() if head.startswith(magic)), "")


def format_of(name: str, content: bytes) -> str:
    r"""The format of a file by its first bytes (decompressed), and by its name for text.

    >>> format_of("a.csv", b"PAR1...")
    'parquet'
    >>> format_of("unknown", b"1 3:0.5 7:1\n")
    'libsvm'
    """
    refuse_others(name, content)
    for magic, known in _MAGIC_FORMAT.items():
        if content.startswith(magic):
            return known
    named = kind_of_name(name).format
    if named in BINARY:
        is_text = content.strip() and b"\x00" not in content[:1000]
        found, advice = (
            ("text", "Call it .csv if it is a table of text")
            if is_text
            else ("one that does not begin like that", "Check that it is whole")
        )
        raise InputError(
            f"{name} must be a {named} file. Got {found}. {advice}, or get the file again."
        )
    if named == "libsvm":
        return named
    line = content[:100_000].lstrip().partition(b"\n")[0].rstrip(b"\r")
    if _LIBSVM_LINE.match(line):
        return "libsvm"
    return named or "csv"

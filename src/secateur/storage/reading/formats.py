"""File formats: which format and compression a file has, and how it is opened."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from secateur.data.memory import available_memory
from secateur.exceptions import InputError, OutOfMemoryError, import_optional, similar_to, some_of

CHUNK = 1 << 22  # bytes read at a time
MAX_CELL = 1 << 24  # bytes of a cell of text: more is no table, but may fill the memory
MAX_LINE = 1 << 28
_COMPRESSIONS = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
_MODULES: dict[str, Any] = {"gz": gzip, "bz2": bz2, "xz": lzma}
_FORMATS = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"PK\x03\x04": "npz"}
_SUFFIXES = {
    **dict.fromkeys((".csv", ".data", ".dat", ".txt"), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".libsvm", ".svm", ".svmlight"), "libsvm"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
    ".npz": "npz",
}
_TITLES = {"parquet": "Parquet", "feather": "Feather", "npz": "NPZ", "libsvm": "LIBSVM"}
_EXCEL = "an Excel workbook", "Save it as CSV"
_UNSUPPORTED = {
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"\x89HDF\r\n": ("an HDF5 file", "Write its table as Parquet or CSV"),
    b"SQLite format 3\x00": ("an SQLite database", "Write its table as CSV"),
    b"%PDF-": ("a PDF document", "Write its table as CSV"),
    b"\x93NUMPY": ("a single NumPy array", "Write table and target with numpy.savez"),
}
_EXCEL_PARTS = (b"[Content_Types].xml", b"xl/workbook", b"xl/worksheets")
_HTML = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)
_JSON = re.compile(rb'\s*(\{\s*"[^"]*"\s*:|\[\s*[\[{])')
# A label and at least one index:value pair, and nothing else.
_LIBSVM_LINE = re.compile(rb"^[-+\d.eE,]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?$")
_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


@dataclass(frozen=True, slots=True)
class FileKind:
    """Format and compression of a file, and its name without folder and suffixes."""

    format: str
    compression: str
    stem: str
    suffix: str
    notes: tuple[str, ...] = field(default=(), repr=False)  # where name and content disagree


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder, sorted."""
    if path.is_file():
        return [path]
    return sorted(f for f in path.rglob("*") if f.is_file() and f.name[0] not in "._")


class SourceFiles(NamedTuple):
    """Files or folders that are read more than once, and names, sizes and times when opened."""

    paths: tuple[Path, ...] = ()
    fingerprint: str = ""

    @classmethod
    def of(cls, *paths: Path) -> SourceFiles:
        """Files as they are now; to be asked before they are read."""
        places = tuple(path.resolve() for path in paths)
        facts = [(file, file.stat()) for path in places for file in files_of(path)]
        if paths and not facts:
            raise InputError(
                f"A folder must hold files. Got none in {str(paths[0])!r}. Check the path."
            )
        found = [f"{file}:{stat.st_size}:{stat.st_mtime_ns}" for file, stat in facts]
        return cls(places, ";".join(found))

    def check(self) -> None:
        """Refuse files that changed since they were opened."""
        try:
            found = SourceFiles.of(*self.paths).fingerprint
        except (OSError, InputError):
            found = ""
        if found != self.fingerprint:
            raise InputError(
                "The data must stay as it was when it was opened. Got "
                f"{', '.join(path.name for path in self.paths[:3])} changed or removed since. Open "
                "it again; open_table(table.folder) has the rows as they were, for boosted "
                "selectors."
            )


NO_FILES = SourceFiles()


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """The columns of a file: numbers as one matrix, all others as text, by position."""

    matrix: Any
    names: tuple[str, ...]
    kind: FileKind
    texts: Mapping[int, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)  # arrays besides the table
    notes: tuple[str, ...] = ()
    decimal: str = "."  # the decimal sign of the file
    files: SourceFiles = NO_FILES

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse."""
        return hasattr(self.matrix, "indptr")


def unique_names(
    given: Sequence[str], used: Collection[str] = ()
) -> tuple[tuple[str, ...], list[str]]:
    """Give every column a name of its own, and note it; those ``used`` must have theirs already.

    >>> unique_names(["a", "", "a"])
    (('a', 'column 2', 'a (2)'), ["Columns share the name 'a': ..."])
    """
    names = [name.strip() or f"column {number}" for number, name in enumerate(given, start=1)]
    counts = Counter(names)
    if len(counts) == len(names):
        return tuple(names), []
    unique: dict[str, None] = {}
    numbers: Counter[str] = Counter()
    for name in names:
        new = name
        while new in unique or (new != name and new in counts):
            numbers[name] += 1
            new = f"{name} ({numbers[name] + 1})"
        unique[new] = None
    doubled = [name for name, count in counts.items() if count > 1]
    for name in set(doubled) & set(used):
        raise InputError(
            f"{name!r} must be the name of one column. Got {counts[name]} columns of that name. "
            "Rename or remove the others in the file."
        )
    example = f"{doubled[0]} (2)"
    note = f"Columns share the name {some_of(doubled)}: later ones get a number, as {example!r}."
    return tuple(unique), [note]


def kind_of_file(file: Path) -> FileKind:
    """Format and compression of a file, by its first bytes; notes say where its name disagrees."""
    with open_file(file) as (stream, compression):
        head = stream.read(100_000)
    name, named, notes = file.name, kind_of_name(file.name), []
    found = _format_of(name, head, named.format)
    if named.compression and not compression:
        notes.append(f"{name} is not compressed, although its name says so.")
    elif named.compression != compression and named.suffix:
        notes.append(f"{name} is compressed as .{compression}, although its name says otherwise.")
    if named.format not in {"", found} and found in _TITLES:
        notes.append(f"{name} is read as {_TITLES[found]}, although its name says otherwise.")
    return replace(named, compression=compression, format=found, notes=tuple(notes))


def kind_of_name(name: str) -> FileKind:
    """Format and compression by the name of a file; "" for an unknown format."""
    file = Path(name)
    suffix = file.suffix.lower().removeprefix(".")
    compression = suffix if suffix in _COMPRESSIONS.values() else ""
    inner = file.with_suffix("") if compression else file
    known = _SUFFIXES.get(inner.suffix.lower(), "")
    stem = inner.stem if known else inner.name
    return FileKind(known, compression, stem, file.name[len(stem) :])


def _format_of(name: str, head: bytes, named: str) -> str:
    """The format of a file by its first bytes (decompressed), and by its name for text."""
    other = _by_magic(_UNSUPPORTED, head)
    if head.startswith(b"PK\x03\x04") and any(part in head[:4000] for part in _EXCEL_PARTS):
        other = _EXCEL
    elif _HTML.match(head):
        other = "a web page", "Get the file itself, perhaps after signing in"
    elif _JSON.match(head):
        other = "JSON", "Write its table as CSV or Parquet"
        if b'"secateur.' in head[:1000]:
            other = "a saved result of secateur", "Use secateur cut or report for it"
    if other is not None:
        raise InputError(f"{name} must be a table. Got {other[0]}. {other[1]}.")
    if found := _by_magic(_FORMATS, head):
        return str(found)
    if named in _FORMATS.values():
        is_text = head.strip() and b"\x00" not in head[:1000]
        got = "text" if is_text else "one that begins otherwise"
        advice = "Call it .csv if it is a table of text" if is_text else "Check that it is complete"
        raise InputError(
            f"{name} must be a {named} file. Got {got}. {advice}, or get the file again."
        )
    line = head.lstrip().partition(b"\n")[0].rstrip(b"\r")
    return "libsvm" if named == "libsvm" or _LIBSVM_LINE.match(line) else named or "csv"


def _by_magic(table: Mapping[bytes, Any], head: bytes) -> Any:
    return next((value for magic, value in table.items() if head.startswith(magic)), None)


# ---- opening ----------------------------------------------------------------------------------


@contextmanager
def open_file(file: Path) -> Iterator[tuple[Any, str]]:
    """The decompressed content of a file and its compression; damaged content is refused."""
    check_file(file)
    with _Watched(file) as raw, io.BufferedReader(raw, 1 << 18) as stream:
        compression = _by_magic(_COMPRESSIONS, stream.read(8)) or ""
        stream.seek(0)
        try:
            if compression == "zst":
                arrow = library("pyarrow").CompressedInputStream(stream, "zstd")
                yield io.BufferedReader(arrow), compression
            else:
                yield (_MODULES[compression].open(stream) if compression else stream), compression
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the system, not of the content
            raise InputError(
                f"{file.name} must be a whole {compression} file. Got one that is truncated or "
                f"damaged ({error}). Get the file again."
            ) from error


def read_bytes(file: Path, *, is_text: bool = False) -> bytes:
    """The decompressed content of a file, which may take half of the available memory."""
    available, content = available_memory(), io.BytesIO()
    for chunk in read_chunks(file, is_text=is_text):
        content.write(chunk)
        if available is not None and content.tell() > available // 2:
            raise OutOfMemoryError(
                f"{file.name} does not fit into memory. Got more than {available // 2} bytes of "
                "content. Use a part of its rows, or a machine with more memory."
            )
    return content.getvalue()


def read_chunks(file: Path, *, is_text: bool = True) -> Iterator[bytes]:
    """The decompressed content of a file, some megabytes at a time; text in lines of cells."""
    n_line = n_cell = 0  # bytes since the last line break, and since the last delimiter
    with open_file(file) as (stream, _):
        while chunk := stream.read(CHUNK):
            below = len(chunk) - 1 - chunk.rfind(b"\n")
            if below < len(chunk):
                n_line = n_cell = below
            else:
                last = max(chunk.rfind(sign) for sign in (b",", b"\t", b";", b"|", b" "))
                n_line, n_cell = n_line + below, len(chunk) - 1 - last + n_cell * (last < 0)
            if is_text and (n_line > MAX_LINE or n_cell > MAX_CELL):
                what, limit = ("cell", MAX_CELL) if n_cell > MAX_CELL else ("line", MAX_LINE)
                raise InputError(
                    f"{file.name} must be a table of text. Got a {what} of more than "
                    f"{limit >> 20} MB. Check the export, or write it as Parquet."
                )
            yield chunk


@contextmanager
def reading_listened(listener: Callable[[float], None]) -> Iterator[None]:
    """Call a function with the share of each file that was read, each time some of it was."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


class _Watched(io.FileIO):
    """A file that reports how far it was read."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self._listener, self._n_bytes = _LISTENER.get(), max(1, file.stat().st_size)

    def readinto(self, buffer: Any) -> int | None:
        """Read some bytes."""
        n_bytes = super().readinto(buffer)
        if self._listener is not None:
            self._listener(self.tell() / self._n_bytes)
        return n_bytes


def check_file(file: Path) -> None:
    """Raise an error if a file does not exist or is a folder."""
    found = ""
    if file.is_dir():
        found = "a folder. Name a file in it."
    elif file.is_symlink() and not file.exists():
        found = f"a link to {str(file.readlink())!r}, which does not exist."
    elif not file.exists():
        found = "no such file."
        with suppress(OSError):
            found += similar_to(file.name, [other.name for other in file.parent.iterdir()])
    if found:
        raise InputError(f"{file} must be a file. Got {found}")


def compress(content: bytes, compression: str) -> bytes:
    """Compress as `read_bytes` decompresses."""
    if compression == "zst":
        found: bytes = library("pyarrow").compress(content, codec="zstd", asbytes=True)
        return found
    return _MODULES[compression].compress(content) if compression else content


def library(name: str) -> Any:
    """A library that reading needs, or an error that says how to install it."""
    return import_optional(name, "Reading this file", "secateur[cli]")

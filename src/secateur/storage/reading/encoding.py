"""The encoding of a text file: found in one walk over it, for short and long files alike."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from secateur.data.memory import available_memory
from secateur.exceptions import InputError, MissingDependencyError, OutOfMemoryError
from secateur.storage.reading.formats import compression_of

_CHUNK = 1 << 24


def read_bytes(file: Path) -> tuple[bytes, str]:
    """The content of a file, and how it was compressed; decided by its first bytes.

    A small file can hold a very large one, so reading ends before memory does.
    """
    with opened(file) as (stream, compression):
        return _read_limited(stream, file), compression


@contextmanager
def opened(file: Path) -> Iterator[tuple[Any, str]]:
    """The decompressed content of a file as a stream, and how it was compressed.

    What is damaged shows while it is read: an error in our words then too.
    """
    check_file(file)
    with file.open("rb") as stream:
        compression = compression_of(stream.read(8))
        stream.seek(0)
        try:
            yield _decompressing(stream, compression), compression
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the system, not of the content
            raise InputError(
                f"{file} must be a whole {compression} file. Got one that breaks off or is "
                f"damaged ({error}). Get the file again."
            ) from error


def read_head(file: Path, n_bytes: int = 100_000) -> tuple[bytes, str]:
    """The first bytes of a file, decompressed, and how it is compressed."""
    with opened(file) as (stream, compression):
        return stream.read(n_bytes), compression


def check_file(file: Path) -> None:
    """Refuse what is not there or is a folder, in our words."""
    if file.is_dir():
        raise InputError(f"{file} must be a file. Got a folder. Name a file in it.")
    if not file.exists():
        raise InputError(f"{file} must be a file. Got no such file.{_neighbours(file)}")


def compress(content: bytes, compression: str) -> bytes:
    """Compress as a file was that `read_bytes` read."""
    if compression == "zst":
        compressed: bytes = arrow().compress(content, codec="zstd", asbytes=True)
        return compressed
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "": bytes,
    }
    return packers[compression](content)


def arrow() -> Any:
    """The library pyarrow, or what to install."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise _missing("pyarrow") from error
    return pa


def polars() -> Any:
    """The library polars, or what to install."""
    try:
        import polars as pl
    except ImportError as error:
        raise _missing("polars") from error
    return pl


def _missing(library: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"This file needs {library}. Got no such package. Install it with "
        "'pip install secateur[cli]'."
    )


def _decompressing(stream: IO[bytes], compression: str) -> Any:
    if compression == "gz":
        return gzip.GzipFile(fileobj=stream)
    if compression == "bz2":
        return bz2.BZ2File(stream)
    if compression == "xz":
        return lzma.LZMAFile(stream)
    if compression == "zst":
        return io.BufferedReader(arrow().CompressedInputStream(stream, "zstd"))
    return stream


def _read_limited(stream: Any, file: Path) -> bytes:
    limit = available_memory()
    parts, n_bytes = [], 0
    while part := stream.read(_CHUNK):
        n_bytes += len(part)
        if limit is not None and n_bytes > limit // 2:  # the table itself needs room too
            raise OutOfMemoryError(
                f"{file} does not fit into memory. Got more than {limit // 2} bytes of content. "
                "Use a part of its rows, or a machine with more memory."
            )
        parts.append(part)
    return b"".join(parts)


def _neighbours(file: Path) -> str:
    from secateur.data.messages import similar_to

    with suppress(OSError):
        return similar_to(file.name, [other.name for other in file.parent.iterdir()])
    return ""


_BOMS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_SAMPLE = 1_000_000
CHUNK = 1 << 22
"""Bytes that are decoded at once."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file are text.

    Parameters
    ----------
    codec, errors : str
        As Python has them.
    has_newlines : bool
        If not, lines end with a return alone, as on old Macs.
    n_quotes : int
        Quotation marks in the whole file.
    notes : tuple of str
    """

    codec: str
    errors: str = "strict"
    has_newlines: bool = True
    n_quotes: int = 0
    notes: tuple[str, ...] = ()

    def texts(self, chunks: Iterable[bytes]) -> Iterator[str]:
        """The text, piece by piece."""
        decoder = codecs.getincrementaldecoder(self.codec)(self.errors)
        for chunk in chunks:
            yield self._lined(decoder.decode(chunk))
        yield self._lined(decoder.decode(b"", final=True))

    def _lined(self, text: str) -> str:
        return text if self.has_newlines else text.replace("\r", "\n")


def decoded(content: bytes, name: str, encoding: str | None = None) -> tuple[str, list[str]]:
    """The text of a file, and what was guessed of its encoding."""
    found = find_encoding([content], name, encoding)
    return "".join(found.texts([content])), list(found.notes)


def find_encoding(chunks: Iterable[bytes], name: str, encoding: str | None = None) -> Encoding:
    r"""Walk over the bytes of a file and tell how they are text.

    UTF-8 unless the file begins with the mark of another; what is not valid there is read as
    Windows-1252, in which any text of western Europe can be read.

    >>> find_encoding([b"caf\xe9\n"], "a.csv").codec
    'cp1252'
    """
    walk = _Walk(name, encoding)
    for chunk in chunks:
        walk.go(chunk)
    return walk.end()


class _Walk:
    """What is known of a file so far."""

    def __init__(self, name: str, encoding: str | None) -> None:
        self._name = name
        self._asked = encoding
        self._codec = ""
        self._errors = "strict"
        self._notes: tuple[str, ...] = ()
        self._n_lines = 0
        self._n_quotes = 0
        self._decoder: Any = None

    def go(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._decoder is None:
            self._begin(chunk)
        self._count(self._decode(chunk))

    def end(self) -> Encoding:
        """What was found."""
        if self._decoder is None:
            self._begin(b"")
        self._count(self._decode(b"", final=True))
        return Encoding(self._codec, self._errors, self._n_lines > 0, self._n_quotes, self._notes)

    def _begin(self, head: bytes) -> None:
        marked = next((known for bom, known in _BOMS.items() if head.startswith(bom)), None)
        if self._asked is None and marked is None and b"\x00" in head[:_SAMPLE]:
            raise InputError(
                f"{self._name} must be text. Got bytes that no text has. Name it by its format "
                "(.parquet, .feather, .npz), or give --encoding."
            )
        self._codec = self._asked or marked or "utf-8"
        try:
            b"".decode(self._codec)  # Python knows codecs that are not of text
            self._decoder = codecs.getincrementaldecoder(self._codec)()
        except LookupError as error:
            raise InputError(
                f"'encoding' must be one that Python knows. Got {self._codec!r}. Use for instance "
                "utf-8 or latin-1."
            ) from error
        self._is_sure = self._asked is not None or marked is not None

    def _decode(self, chunk: bytes, *, final: bool = False) -> str:
        try:
            return str(self._decoder.decode(chunk, final))
        except UnicodeError as error:
            if self._is_sure:
                raise InputError(
                    f"{self._name} must be {self._codec} text. Got bytes that are not ({error}). "
                    "Give another --encoding."
                ) from error
            return self._take_windows(error, chunk)

    def _take_windows(self, error: UnicodeError, chunk: bytes) -> str:
        """Not UTF-8 after all; what was counted so far is the same in both."""
        before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
        line = self._n_lines + before.count(b"\n") + 1
        self._notes = (
            f"Line {line} is not UTF-8: the file is read as Windows-1252 (--encoding overrules).",
        )
        self._codec, self._errors, self._is_sure = "cp1252", "replace", True
        self._decoder = codecs.getincrementaldecoder("cp1252")("replace")
        return str(self._decoder.decode(chunk))

    def _count(self, text: str) -> None:
        self._n_lines += text.count("\n")
        self._n_quotes += text.count('"')


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file of any length, to be read as often as need be."""

    file: Path
    encoding: Encoding

    @classmethod
    def of(cls, file: Path, encoding: str | None = None) -> TextFile:
        """Walk over a file to find its encoding."""
        return cls(file, find_encoding(_chunks(file), file.name, encoding))

    def texts(self) -> Iterator[str]:
        """The text, piece by piece."""
        return self.encoding.texts(_chunks(self.file))

    @contextmanager
    def utf8(self, skip: int = 0) -> Iterator[io.BufferedReader]:
        """The text as a stream of UTF-8 bytes, without so many characters at its beginning."""
        yield io.BufferedReader(_Utf8(self.texts(), skip), CHUNK)


def _chunks(file: Path) -> Iterator[bytes]:
    with opened(file) as (stream, _):
        while chunk := stream.read(CHUNK):
            yield chunk


class _Utf8(io.RawIOBase):
    """Pieces of text as bytes."""

    def __init__(self, texts: Iterator[str], skip: int) -> None:
        self._texts = texts
        self._skip = skip
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, room: Any) -> int:
        """Fill some room; 0 at the end."""
        while not self._ready:
            text = next(self._texts, None)
            if text is None:
                return 0
            kept = text[self._skip :]
            self._skip = max(0, self._skip - len(text))
            self._ready = memoryview(kept.encode("utf-8", errors="replace"))
        n = min(len(room), len(self._ready))
        room[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

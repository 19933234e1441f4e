"""Bytes of files: decompressed on the way in, compressed on the way out, never beyond memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from secateur._data.memory import available_memory
from secateur._data.reading.formats import compression_of
from secateur.exceptions import InputError, MissingDependencyError, OutOfMemoryError

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
    from secateur._data.wording import similar_to

    with suppress(OSError):
        return similar_to(file.name, [other.name for other in file.parent.iterdir()])
    return ""

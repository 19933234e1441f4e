"""The door for files: whatever a file is, read as a `RawTable`, or refused in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from secateur.storage.reading.arrow import read_arrow, shape_of
from secateur.storage.reading.delimited import ReadOptions, read_delimited
from secateur.storage.reading.dialect import DELIMITERS
from secateur.storage.reading.encoding import read_bytes, read_head
from secateur.storage.reading.formats import FileKind, RawTable, kind_of
from secateur.storage.reading.npz import read_npz
from secateur.storage.reading.read_blocks import kind_of_file
from secateur.storage.reading.svmlight import read_libsvm

COPIES = 3
"""Tables of numbers that are there at a time: as it was read, as features, and what a fit makes."""

PACKED = 6
"""How many times as long a compressed text is when it is unpacked, about."""

HEAD = 1 << 20
"""Bytes of a text that tell how long its cells are."""


def needed_memory(file: Path) -> int:
    """The bytes that reading a file as a whole and fitting on it would take, about; 0 for NPZ."""
    kind = kind_of_file(file)
    n_bytes = file.stat().st_size
    if kind.format == "npz":
        return 0  # there is no other way to read it
    if kind.format in {"parquet", "feather"}:
        if kind.compression:
            return (1 + COPIES) * PACKED * n_bytes
        n_rows, n_columns = shape_of(file, kind)
        return n_bytes + COPIES * 8 * n_rows * n_columns
    head, _ = read_head(file, HEAD)
    n_bytes *= PACKED if kind.compression else 1
    if kind.format == "libsvm":
        share = head.count(b":") / max(1, len(head))
        return int(n_bytes * (1 + COPIES * 16 * share))
    n_cells = head.count(b"\n") + max(head.count(sign.encode()) for sign in DELIMITERS)
    return int(n_bytes * (2 + COPIES * 8 * n_cells / max(1, len(head))))


__all__ = ["ReadOptions", "read_file"]


def read_file(file: str | Path, options: ReadOptions | None = None) -> RawTable:
    """Read CSV, TSV, Parquet, Feather, LIBSVM or NPZ, compressed or not.

    Parameters
    ----------
    file : path
    options : ReadOptions
        For text: delimiter, header and encoding are guessed by default.

    Returns
    -------
    RawTable
    """
    path = Path(file)
    content, compression = read_bytes(path)
    kind = kind_of(path.name, content, compression)
    raw = _read(content, path.name, kind, options or ReadOptions())
    return replace(raw, notes=(*kind.notes, *raw.notes))


def _read(content: bytes, name: str, kind: FileKind, options: ReadOptions) -> RawTable:
    if kind.format in {"parquet", "feather"}:
        return read_arrow(content, name, kind)
    if kind.format == "npz":
        return read_npz(content, name, kind)
    if kind.format == "libsvm":
        return read_libsvm(content, name, kind)
    return read_delimited(content, name, kind, options)

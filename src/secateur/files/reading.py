"""The door for files: whatever a file is, read as a `RawTable`, or refused in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from secateur._data.reading.arrow import read_arrow
from secateur._data.reading.delimited import ReadOptions, read_delimited
from secateur._data.reading.formats import FileKind, kind_of
from secateur._data.reading.opening import read_bytes
from secateur._data.reading.raw import RawTable
from secateur._data.reading.sparse import read_libsvm
from secateur.files.npz import read_npz

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

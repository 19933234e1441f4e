"""How much memory a file would take, told without reading it."""

from __future__ import annotations

from pathlib import Path

from secateur._data.reading.arrow_blocks import shape_of
from secateur._data.reading.blocks import kind_of_file
from secateur._data.reading.dialect import DELIMITERS
from secateur._data.reading.opening import read_head

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

"""The reduced file: some columns of a file, in the format and compression that it came in."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from secateur.storage.reading.arrow import arrow_table
from secateur.storage.reading.delimited import ReadOptions, dialect_of, rows_of
from secateur.storage.reading.encoding import compress, read_bytes
from secateur.storage.reading.formats import RawTable
from secateur.storage.reading.npz import load_arrays
from secateur.storage.reading.svmlight import LABEL, libsvm_bytes


def reduced_name(raw: RawTable) -> str:
    """What the reduced file is called: ``adult.csv.gz`` becomes ``adult.selected.csv.gz``."""
    suffix = raw.kind.suffix or f".{raw.kind.format}"
    return f"{raw.kind.stem}.selected{suffix}"


def reduced_bytes(file: Path, raw: RawTable, columns: Sequence[int], options: ReadOptions) -> bytes:
    """Some columns of a file, all of its rows, each cell as it was written.

    A LIBSVM file keeps its labels and the numbers of its columns; an NPZ file all arrays besides
    the table.

    Parameters
    ----------
    file : Path
        What ``raw`` was read from.
    raw : RawTable
    columns : sequence of int
        Positions of the columns to keep.
    options : ReadOptions
        As the file was read.
    """
    content, _ = read_bytes(file)
    kept = sorted(set(columns))
    if raw.kind.format in {"parquet", "feather"}:
        written = _arrow(content, file.name, raw, kept)
    elif raw.kind.format == "npz":
        written = _npz(content, file.name, raw, kept)
    elif raw.kind.format == "libsvm":
        written = _libsvm(raw, kept)
    else:
        written = _delimited(content, file.name, raw, kept, options)
    return compress(written, raw.kind.compression)


def _delimited(
    content: bytes, name: str, raw: RawTable, kept: list[int], options: ReadOptions
) -> bytes:
    text, dialect, _ = dialect_of(content, name, raw.kind, options)
    out = io.StringIO(newline="")
    end = "\r\n" if "\r\n" in text[:100_000] else "\n"
    writer = csv.writer(out, delimiter=dialect.delimiter, lineterminator=end)
    if dialect.header is not None:
        writer.writerow([dialect.header[place] for place in kept])
    for cells in rows_of(text, dialect, name):
        writer.writerow([cells[place] for place in kept])
    return out.getvalue().encode("utf-8")


def _arrow(content: bytes, name: str, raw: RawTable, kept: list[int]) -> bytes:
    table = arrow_table(content, name, raw.kind.format)
    # columns that could not be read have no place in raw: found by what they are called there
    wanted = {raw.names[place] for place in kept}
    from secateur.storage.reading.formats import mended_names

    labels, _ = mended_names(table.column_names)
    taken = table.select([place for place, label in enumerate(labels) if label in wanted])
    stream = io.BytesIO()
    if raw.kind.format == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(taken, stream)
    else:
        import pyarrow.feather

        pyarrow.feather.write_feather(taken, stream)
    return stream.getvalue()


def _npz(content: bytes, name: str, raw: RawTable, kept: list[int]) -> bytes:
    arrays: dict[str, Any] = dict(load_arrays(content, name))
    n_columns = len(raw.names)
    parts = set()
    if raw.is_sparse:
        parts = {"data", "indices", "indptr", "shape"}
        part = raw.matrix[:, kept]
        stored = arrays["data"].dtype
        arrays |= {"data": part.data.astype(stored), "indices": part.indices}
        arrays |= {"indptr": part.indptr, "shape": np.array(part.shape)}
        if "format" in arrays:
            arrays["format"] = np.array(b"csr")
    for key, array in arrays.items():
        if array.ndim == 2 and array.shape == (raw.n_rows, n_columns):
            arrays[key] = array[:, kept]
        elif array.shape == (n_columns,) and key not in raw.sides and key not in parts:
            arrays[key] = array[kept]  # names of columns, and what else goes with them
    arrays["feature_names"] = np.array([raw.names[place] for place in kept])
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _libsvm(raw: RawTable, kept: list[int]) -> bytes:
    from scipy.sparse import csr_matrix

    part = raw.matrix[:, kept].tocoo()
    columns = np.array(kept, dtype=np.int64)[part.col]
    whole = csr_matrix((part.data, (part.row, columns)), shape=raw.matrix.shape)
    first = int(raw.names[0].removeprefix("x"))
    return libsvm_bytes(whole, raw.sides[LABEL], first)

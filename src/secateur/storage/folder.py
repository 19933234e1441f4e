"""What a stored table is on disk: a folder that is written whole or not at all.

    header.json    names, categories, labels, sizes, and the fingerprint of what was read
    bins.npz       cuts and bins of every column
    target0.npy    a target; target1.npy a further one, weight.npy and task.npy where there are any
    codes.bin      block after block of rows; within a block feature by feature

A block of a sparse table is five arrays end to end: its stored cells by column and by row.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.data.binning import BinnedColumns, offset_of
from secateur.data.categories import Categories
from secateur.data.table import TableSchema
from secateur.exceptions import StorageError
from secateur.typing import AnyArray

HEADER = "header.json"
KIND = "secateur table"
VERSION = 1


def digest(*facts: object) -> str:
    """A short text that changes with any of the facts.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    told = json.dumps([str(fact) for fact in facts]).encode()
    return hashlib.blake2b(told, digest_size=16).hexdigest()


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, that takes its name when all is written, and is gone otherwise."""
    part = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    try:
        part.mkdir(parents=True)
        yield part
        if folder.exists():  # somebody else was as quick, with the same rows
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.rename(folder)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise _unwritable(folder, error) from error
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _unwritable(folder: Path, error: OSError) -> StorageError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageError(
            f"The cache must have room for the table. Got a full disk at {str(folder.parent)!r}. "
            "Free some space, or give another folder as 'cache'. Nothing was kept."
        )
    return StorageError(
        f"The cache must be a folder that can be written to. Got {str(folder.parent)!r}: {error}. "
        "Give another folder as 'cache'. Nothing was kept."
    )


def write_bins(folder: Path, bins: BinnedColumns) -> None:
    """Cuts end to end, and what else there is of every column."""
    more: dict[str, Any] = {}
    if isinstance(bins.codes, SparseCodes):
        more["zero_code"] = bins.codes.zero_code
    np.savez(
        folder / "bins.npz",
        cuts=np.concatenate([np.empty(0), *bins.cuts]),
        n_cuts=np.array([len(own) for own in bins.cuts]),
        n_bins=bins.n_bins,
        is_categorical=bins.is_categorical,
        has_missing=bins.has_missing,
        **more,
    )


def read_bins(folder: Path, n_rows: int) -> BinnedColumns:
    """The bins, without any rows."""
    with np.load(folder / "bins.npz") as stored:
        arrays = dict(stored)
    ends = np.cumsum(arrays["n_cuts"])
    cuts = tuple(np.split(arrays["cuts"], ends[:-1])) if len(ends) else ()
    n_bins = arrays["n_bins"]
    codes: DenseCodes | SparseCodes = DenseCodes(np.empty((len(n_bins), 0), np.uint8))
    if "zero_code" in arrays:
        codes = SparseCodes(
            np.zeros(len(n_bins) + 1, np.int64),
            np.empty(0, np.int32),
            np.empty(0, np.uint8),
            arrays["zero_code"],
            np.zeros(1, np.int64),
            np.empty(0, np.uint32),
        )
    offset = offset_of(n_bins)
    return BinnedColumns(
        codes, n_rows, n_bins, offset, cuts, arrays["is_categorical"], arrays["has_missing"]
    )


def told_schema(schema: TableSchema) -> dict[str, Any]:
    """Names and categories as JSON."""
    return {
        "names": list(schema.names),
        "has_names": schema.has_names,
        "categories": {
            str(j): {
                "values": known.values.tolist(),
                "dtype": "object" if known.values.dtype.kind == "O" else str(known.values.dtype),
                "has_other": known.has_other,
            }
            for j, known in schema.encoders.items()
        },
    }


def read_schema(told: dict[str, Any]) -> TableSchema:
    """The way back."""
    known = {
        int(j): Categories(_as_values(each["values"], each["dtype"]), each["has_other"])
        for j, each in told["categories"].items()
    }
    return TableSchema(tuple(told["names"]), told["has_names"], known)


def _as_values(values: list[Any], dtype: str) -> AnyArray:
    if dtype == "object":
        return np.fromiter(values, dtype=object, count=len(values))
    return np.array(values, dtype=dtype)


def write_header(folder: Path, header: dict[str, Any], kind: str = KIND) -> None:
    """The header comes last: it has the sizes of all other files."""
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    text = json.dumps({"kind": kind, "version": VERSION, "sizes": sizes, **header})
    (folder / HEADER).write_text(text, encoding="utf-8")


def read_header(folder: Path, kind: str = KIND) -> dict[str, Any]:
    """Read the header and hold it against the files; refuse what is not whole."""
    try:
        header: dict[str, Any] = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = (
            f"{str(folder)!r} must be a stored table. Got no header that can be read: {error}. "
            "Delete the folder and open the data again."
        )
        raise StorageError(msg) from error
    if header.get("kind") != kind or header.get("version") != VERSION:
        msg = (
            f"{str(folder)!r} must be a stored table of version {VERSION}. Got "
            f"{header.get('kind')!r}, version {header.get('version')!r}. Delete the folder and "
            "open the data again."
        )
        raise StorageError(msg)
    for name, size in header["sizes"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            msg = (
                f"{str(folder)!r} must be a whole stored table. Got {name} missing or of another "
                "size. Delete the folder and open the data again."
            )
            raise StorageError(msg)
    return header

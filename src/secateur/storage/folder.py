"""The format of a table on disk: a folder that is written whole or not at all.

    header.json    names, categories, labels, sizes, blocks, and the fingerprint of the data
    codes.bin      blocks of rows as codes, or numbers.bin as numbers; feature by feature
    bins.npz       cuts and bins of every column, for codes
    target0.npy    a target; target1.npy a further one, weight.npy and task.npy where there are any

A block of a sparse table is several arrays end to end: its stored cells by column (and by row).
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.data.binning import BinnedColumns, empty_codes, offset_of
from secateur.data.categories import Categories
from secateur.data.table import TableSchema
from secateur.exceptions import StorageError
from secateur.typing import AnyArray, CodeArray, IntArray

HEADER = "header.json"
VERSION = 2
# The kinds of tables on disk: name in the header, and the file of the blocks.
CODES = ("secateur table", "codes.bin")
NUMBERS = ("secateur numbers", "numbers.bin")


def digest(*facts: object) -> str:
    """A short text that changes with any of the facts, and with the format."""
    text = json.dumps([str(fact) for fact in (VERSION, *facts)]).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


class TemporaryFolder:
    """A new folder that is deleted when this object is garbage collected."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="secateur-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, that takes its name when all is written, and is gone otherwise."""
    part = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.part")
    try:
        part.mkdir(parents=True)
        yield part
        if folder.exists():  # another process wrote the same table
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
    fact = f"a folder that can be written to. Got {str(folder.parent)!r}: {error}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        fact = f"a folder with room for the table. Got a full disk at {str(folder.parent)!r}"
    return StorageError(
        f"The cache must be {fact}. Free some space, or give another folder as 'cache'. Nothing "
        "was kept."
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
    n_bins, ends = arrays["n_bins"], np.cumsum(arrays["n_cuts"])
    return BinnedColumns(
        empty_codes(len(n_bins), arrays.get("zero_code")),
        n_rows,
        n_bins,
        offset_of(n_bins),
        tuple(np.split(arrays["cuts"], ends[:-1])) if len(ends) else (),
        arrays["is_categorical"],
        arrays["has_missing"],
    )


def schema_to_json(schema: TableSchema) -> dict[str, Any]:
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


def schema_from_json(found: dict[str, Any]) -> TableSchema:
    """Names and categories from JSON."""
    known = {
        int(j): Categories(np.array(each["values"], dtype=each["dtype"]), each["has_other"])
        for j, each in found["categories"].items()
    }
    return TableSchema(tuple(found["names"]), found["has_names"], known)


def write_header(folder: Path, header: dict[str, Any], kind: str) -> None:
    """Write the header, last: it has the sizes of all other files."""
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    text = json.dumps({"kind": kind, "version": VERSION, "sizes": sizes, **header})
    (folder / HEADER).write_text(text, encoding="utf-8")


def read_header(folder: Path, kind: str) -> dict[str, Any]:
    """Read the header, and check the sizes of the files."""
    try:
        header: dict[str, Any] = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{str(folder)!r} must be a stored table. Got no header that can be read: {error}. "
            "Delete the folder and open the data again."
        ) from error
    if header.get("kind") != kind or header.get("version") != VERSION:
        raise StorageError(
            f"{str(folder)!r} must be a stored table of version {VERSION}. Got "
            f"{header.get('kind')!r}, version {header.get('version')!r}. Delete the folder and "
            "open the data again."
        )
    for name, size in header["sizes"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise StorageError(
                f"{str(folder)!r} must be a whole stored table. Got {name} missing or of another "
                "size. Delete the folder and open the data again."
            )
    return header


# ---- blocks of rows ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """Where a block of rows is in a file; nothing is open, so that it can be sent elsewhere."""

    file: Path
    offset: int
    first_row: int
    n_rows: int
    n_features: int
    arrays: list[tuple[str, int]]  # type and length of each; a dense block is one array

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return len(self.arrays) > 1

    @property
    def n_bytes(self) -> int:
        """The size of the block."""
        return sum(self._sizes())

    def _sizes(self) -> list[int]:
        return [np.dtype(dtype).itemsize * length for dtype, length in self.arrays]

    def read(self) -> CodeArray:
        """The bytes, in memory."""
        return np.fromfile(self.file, np.uint8, self.n_bytes, offset=self.offset)

    def map(self) -> tuple[CodeArray, mmap.mmap]:
        """The bytes, mapped; and the mapping, by which pages can be given back.

        A private mapping: numba would compile anew for arrays that cannot be written to.
        """
        begin = self.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        length = self.offset - begin + self.n_bytes
        with self.file.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), length, access=mmap.ACCESS_COPY, offset=begin)
        return np.frombuffer(mapped, np.uint8, self.n_bytes, self.offset - begin), mapped

    def split(self, room: CodeArray) -> list[AnyArray]:
        """The bytes as the arrays that were written, a dense one as (n_features, n_rows)."""
        if not self.is_sparse:
            return [room.view(self.arrays[0][0]).reshape(self.n_features, self.n_rows)]
        parts = np.split(room, np.cumsum(self._sizes()[:-1]))
        return [part.view(dtype) for part, (dtype, _) in zip(parts, self.arrays, strict=True)]

    def columns(self, room: CodeArray, bins: BinnedColumns) -> BinnedColumns:
        """The bytes of a block of codes as columns."""
        if not self.is_sparse:
            return bins._replace(codes=DenseCodes(*self.split(room)), n_rows=self.n_rows)
        assert isinstance(bins.codes, SparseCodes)  # noqa: S101  # stored cells
        indptr, row_start, indices, row_bins, codes = self.split(room)
        zero_code = bins.codes.zero_code
        held = SparseCodes(indptr, indices, codes, zero_code, row_start, row_bins)
        return bins._replace(codes=held, n_rows=self.n_rows)

    def dense(self) -> AnyArray:
        """All columns of a block of numbers, shape (n_features, n_rows), as they are stored."""
        return self.split(self.read())[0]

    def some(self, features: IntArray) -> AnyArray:
        """A few columns, shape (len(features), n_rows), as they are stored; no others are read."""
        shape = (self.n_features, self.n_rows)
        mapped = np.memmap(self.file, self.arrays[0][0], "r", self.offset, shape)
        return np.asarray(mapped[features])

    def sparse(self) -> Any:
        """A block of numbers as a matrix in compressed columns."""
        import scipy.sparse as sp

        indptr, values, indices = self.split(self.read())
        return sp.csc_array((values, indices, indptr), shape=(self.n_rows, self.n_features))


def write_blocks(
    file: Path, parts: Iterable[Any], block_rows: int, encode: Callable[[list[Any]], list[AnyArray]]
) -> list[dict[str, Any]]:
    """Write rows that come in parts as blocks of so many rows; return what the header says of them.

    ``encode`` makes of the rows of a block its arrays, the widest items first.
    """
    blocks, first_row = [], 0
    with file.open("wb") as out:
        for rows in _in_blocks(parts, block_rows):
            n_rows, arrays = sum(int(each.shape[0]) for each in rows), encode(rows)
            kinds = [(each.dtype.str, each.size) for each in arrays]
            place = {"offset": out.tell(), "first_row": first_row, "n_rows": n_rows}
            blocks.append({**place, "arrays": kinds})
            for array in arrays:
                out.write(np.ascontiguousarray(array).data)
            first_row += n_rows
    return blocks


def _in_blocks(parts: Iterable[Any], block_rows: int) -> Iterator[list[Any]]:
    waiting: list[Any] = []
    n_left = block_rows
    for rows in parts:
        start, stop = 0, int(rows.shape[0])
        while start < stop:
            waiting.append(rows[start : start + n_left])
            start += n_left
            n_left = max(0, start - stop)
            if n_left == 0:
                yield waiting
                waiting, n_left = [], block_rows
    if waiting:
        yield waiting

"""The format of a table on disk, which is a folder.

    header.json    names, categories, labels, sizes, blocks, and the fingerprint of the data
    codes.bin      blocks of rows as codes, or numbers.bin as numbers; feature by feature
    bins.npz       cuts and bins of every column, for codes
    target0.npy    a target; target1.npy a further one, weight.npy and task.npy where there are any

A block of a sparse table is several arrays end to end: its stored cells by column (and by row).
Header, blocks and other files have checksums, which are compared before they are used.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from secateur._kernels.records import DenseCodes, SparseCodes
from secateur.data.binning import BinnedColumns, empty_codes, offset_of
from secateur.data.categories import Categories
from secateur.data.table import TableSchema
from secateur.exceptions import StorageError
from secateur.typing import AnyArray, CodeArray, IntArray

HEADER = "header.json"
VERSION = 3
# The kinds of tables on disk: name in the header, and the file of the blocks.
CODES = ("secateur table", "codes.bin")
NUMBERS = ("secateur numbers", "numbers.bin")
CHUNK = 1 << 20  # bytes that are checked at a time


def digest(*facts: object) -> str:
    """A short text that changes with any of the facts, and with the format."""
    text = json.dumps([str(fact) for fact in (VERSION, *facts)]).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def write_bins(folder: Path, bins: BinnedColumns) -> None:
    """Cuts end to end, and what else there is of every column."""
    codes = bins.codes
    more: dict[str, Any] = {"zero_code": codes.zero_code} if isinstance(codes, SparseCodes) else {}
    np.savez(
        folder / "bins.npz",
        cuts=np.concatenate([np.empty(0), *bins.cuts]),
        n_cuts=np.array([len(own) for own in bins.cuts]),
        n_bins=bins.n_bins,
        is_categorical=bins.is_categorical,
        has_missing=bins.has_missing,
        **more,
    )


def read_bins(file: Path, n_rows: int) -> BinnedColumns:
    """The bins, without any rows."""
    with np.load(file) as stored:
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
                "dtype": str(known.values.dtype),
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


def write_header(folder: Path, header: dict[str, Any], kind: tuple[str, str]) -> None:
    """Write the header, last: it has the sizes of all other files, and their checksums."""
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    others = {name: size for name, size in sizes.items() if name != kind[1]}
    checksums = {name: _checksum(folder / name, 0, size, 0) for name, size in others.items()}
    facts = {"kind": kind[0], "version": VERSION, "sizes": sizes, "checksums": checksums, **header}
    text = json.dumps({**facts, "checksum": crc32(json.dumps(facts).encode())})
    (folder / HEADER).write_text(text, encoding="utf-8")


def read_header(folder: Path, kind: str) -> dict[str, Any]:
    """Read the header, and check the sizes of the files."""
    try:
        header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(folder, f"a header that cannot be read: {error}") from error
    found = header if isinstance(header, dict) else {}
    if found.get("kind") != kind or found.get("version") != VERSION:
        raise StorageError(
            f"{str(folder)!r} must be a stored table of version {VERSION}. Got "
            f"{found.get('kind')!r}, version {found.get('version')!r}. Delete the folder and "
            "open the data again."
        )
    if found.pop("checksum", None) != crc32(json.dumps(found).encode()):
        raise damaged(folder, f"{HEADER} with another checksum")
    for name, size in found["sizes"].items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise damaged(folder, f"{name} missing or of another size")
    return found


def damaged(folder: Path, found: str) -> StorageError:
    """The error of a store that is not as it was written."""
    return StorageError(
        f"{str(folder)!r} must be a stored table as it was written. Got {found}. Delete the "
        "folder and open the data again."
    )


def check_bytes(file: Path, offset: int, n_bytes: int, checksum: int) -> None:
    """Refuse bytes that are not those that were written; read them once per process."""
    try:
        found = _checksum(file, offset, n_bytes, file.stat().st_mtime_ns)
    except OSError as error:
        raise damaged(file.parent, f"{file.name} that cannot be read: {error}") from error
    if found != checksum:
        raise damaged(file.parent, f"{file.name} with another checksum from byte {offset} on")


@lru_cache(1 << 16)
def _checksum(file: Path, offset: int, n_bytes: int, _changed: int) -> int:
    """The checksum of some bytes of a file that was changed at some time."""
    found, left = 0, n_bytes
    with file.open("rb") as opened:
        opened.seek(offset)
        while left and (chunk := opened.read(min(left, CHUNK))):
            found, left = crc32(chunk, found), left - len(chunk)
    return found


def check_codes(columns: BinnedColumns, folder: Path) -> BinnedColumns:
    """Refuse codes that are in no bin of their column: kernels do not check what they index."""
    codes, size = columns.codes, max(1, CHUNK // max(1, columns.n_rows))
    if isinstance(codes, DenseCodes):
        # one more, so that the code of missing values is 0
        tops = [
            (codes.codes[start : start + size] + np.uint8(1)).max(axis=1)
            for start in range(0, columns.n_features, size)
        ]
        fits = bool((np.concatenate(tops) <= columns.n_bins).all())
    else:
        ends, rows = (0, len(codes.codes)), codes.indices
        pointers = (codes.indptr, codes.row_start)
        fits = all((p[0], p[-1]) == ends and (np.diff(p) >= 0).all() for p in pointers) and bool(
            (codes.codes + np.uint8(1) <= np.repeat(columns.n_bins, np.diff(codes.indptr))).all()
            and ((rows >= 0) & (rows < columns.n_rows)).all()
            and (codes.row_bins < columns.offset[-1]).all()
        )
    if not fits:
        raise damaged(folder, "codes that are in no bin")
    return columns


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """Where a block of rows is in a file; nothing is open, so that it can be sent elsewhere."""

    file: Path
    offset: int
    first_row: int
    n_rows: int
    n_features: int
    arrays: list[tuple[str, int]]  # type and length of each; a dense block is one array
    checksum: int

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored."""
        return len(self.arrays) > 1

    @property
    def n_cells(self) -> int:
        """The cells that are stored."""
        return self.arrays[-1][1]

    @property
    def n_bytes(self) -> int:
        """The size of the block."""
        return sum(self._sizes())

    def _sizes(self) -> list[int]:
        return [np.dtype(dtype).itemsize * length for dtype, length in self.arrays]

    def read(self) -> CodeArray:
        """The bytes, in memory."""
        check_bytes(self.file, self.offset, self.n_bytes, self.checksum)
        return np.fromfile(self.file, np.uint8, self.n_bytes, offset=self.offset)

    def map(self) -> tuple[CodeArray, mmap.mmap]:
        """The bytes, mapped; and the mapping, by which pages can be given back."""
        check_bytes(self.file, self.offset, self.n_bytes, self.checksum)
        # A private mapping: numba would compile again for arrays that cannot be written to.
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
        held: DenseCodes | SparseCodes
        if isinstance(bins.codes, SparseCodes):
            indptr, row_start, indices, row_bins, codes = self.split(room)
            zero_code = bins.codes.zero_code
            held = SparseCodes(indptr, indices, codes, zero_code, row_start, row_bins)
        else:
            held = DenseCodes(*self.split(room))
        return check_codes(bins._replace(codes=held, n_rows=self.n_rows), self.file.parent)

    def dense(self) -> AnyArray:
        """All columns of a block of numbers, shape (n_features, n_rows), as they are stored."""
        return self.split(self.read())[0]

    def some(self, features: IntArray) -> AnyArray:
        """A few columns, shape (len(features), n_rows), as they are stored; no others are read."""
        return self.split(self.map()[0])[0][features]

    def sparse(self) -> Any:
        """A block of numbers as a matrix in compressed columns."""
        import scipy.sparse as sp

        indptr, values, indices = self.split(self.read())
        return sp.csc_array((values, indices, indptr), shape=(self.n_rows, self.n_features))


def write_blocks(
    file: Path, parts: Iterable[Any], block_rows: int, encode: Callable[[list[Any]], list[AnyArray]]
) -> list[dict[str, Any]]:
    """Write rows in blocks, each as the arrays of ``encode``; return what a header says of them."""
    blocks, first_row = [], 0
    with file.open("wb") as out:
        for rows in _in_blocks(parts, block_rows):
            n_rows, arrays = sum(int(each.shape[0]) for each in rows), encode(rows)
            kinds = [(each.dtype.str, each.size) for each in arrays]
            place = {"offset": out.tell(), "first_row": first_row, "n_rows": n_rows}
            checksum = 0
            for array in arrays:
                content = np.ascontiguousarray(array)
                checksum = crc32(content.data, checksum)
                out.write(content.data)
            blocks.append({**place, "arrays": kinds, "checksum": checksum})
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

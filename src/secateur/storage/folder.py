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
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import numpy as np

from secateur._kernels.records import SparseCodes
from secateur.data.binning import BinnedColumns, empty_codes, offset_of
from secateur.data.categories import Categories, is_missing
from secateur.data.frames import as_array
from secateur.data.table import TableSchema
from secateur.exceptions import InputError, StorageError
from secateur.typing import AnyArray, IntArray

HEADER = "header.json"
CODES = ("secateur table", "codes.bin")
# The kinds of tables on disk: name in the header, and the file of the blocks.
NUMBERS = ("secateur numbers", "numbers.bin")
VERSION = 1


def digest(*facts: object) -> str:
    """A short text that changes with any of the facts."""
    text = json.dumps([str(fact) for fact in facts]).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


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
    codes = empty_codes(len(n_bins), arrays.get("zero_code"))
    offset = offset_of(n_bins)
    return BinnedColumns(
        codes, n_rows, n_bins, offset, cuts, arrays["is_categorical"], arrays["has_missing"]
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
        int(j): Categories(_as_values(each["values"], each["dtype"]), each["has_other"])
        for j, each in found["categories"].items()
    }
    return TableSchema(tuple(found["names"]), found["has_names"], known)


def _as_values(values: list[Any], dtype: str) -> AnyArray:
    if dtype == "object":
        return np.fromiter(values, dtype=object, count=len(values))
    return np.array(values, dtype=dtype)


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
class BlockPiece:
    """Where a block of rows is in a file; nothing is open, so that it can be sent elsewhere.

    ``n_cells`` is the number of stored cells of a sparse block, None for a dense one;
    ``itemsize`` the bytes of a cell.
    """

    file: Path
    offset: int
    first_row: int
    n_rows: int
    n_features: int
    n_cells: int | None = None
    itemsize: int = 1


Piece = TypeVar("Piece", bound=BlockPiece)


def pieces_of(folder: Path, file: str, header: dict[str, Any], kind: type[Piece]) -> list[Piece]:
    """The blocks that a header lists."""
    n_features = len(header["names"])
    return [kind(folder / file, n_features=n_features, **block) for block in header["blocks"]]


class BlockWriter:
    """Collects rows and writes a block when it is full."""

    def __init__(
        self,
        file: BinaryIO,
        block_rows: int,
        encode: Callable[[list[Any]], tuple[list[AnyArray], dict[str, Any]]],
    ) -> None:
        self._file = file
        self._block_rows = block_rows
        self._encode = encode
        self._waiting: list[Any] = []
        self._n_waiting = 0
        self.n_rows = 0
        self.blocks: list[dict[str, Any]] = []

    def add(self, rows: Any) -> None:
        """Add rows; full blocks are written."""
        start, stop = 0, int(rows.shape[0])
        while start < stop:
            n = min(stop - start, self._block_rows - self._n_waiting)
            self._waiting.append(rows[start : start + n])
            self._n_waiting += n
            start += n
            if self._n_waiting == self._block_rows:
                self.flush()

    def flush(self) -> None:
        """Write the rows collected so far as a block."""
        if not self._n_waiting:
            return
        arrays, facts = self._encode(self._waiting)
        place = {"offset": self._file.tell(), "first_row": self.n_rows, "n_rows": self._n_waiting}
        self.blocks.append({**place, **facts})
        for array in arrays:
            self._file.write(np.ascontiguousarray(array).data)
        self.n_rows += self._n_waiting
        self._waiting, self._n_waiting = [], 0


# ---- columns of labels ------------------------------------------------------------------------


class LabelColumn:
    """Numbers as they are; text and other values as codes of the distinct ones.

    >>> column = LabelColumn()
    >>> column.add(["b", "a"])
    >>> column.add(["b", None])
    >>> column.finished().values()
    array(['b', 'a', 'b', None], dtype=object)
    """

    def __init__(self) -> None:
        self._parts: list[AnyArray] = []
        self._codes: dict[Any, int] = {}
        self.array: AnyArray = np.empty(0)
        self.labels: list[Any] | None = None

    @classmethod
    def of(cls, array: AnyArray, labels: list[Any] | None) -> LabelColumn:
        """A column that was finished before."""
        column = cls()
        column.array, column.labels = array, labels
        return column

    def add(self, values: Any, kept: IntArray | None = None) -> None:
        """Append values, or some of them."""
        array = as_array(values, "target")
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(
                f"'target' must be one value per row. Got shape {array.shape}. Name one column."
            )
        array = array if kept is None else array[kept]
        if array.dtype.kind in "biuf":
            self._parts.append(array)
            return
        codes = self._codes
        found = [codes.setdefault(_plain(value), len(codes)) for value in array.tolist()]
        self._parts.append(np.array(found, np.int32))

    def finished(self) -> LabelColumn:
        """The whole column."""
        kinds = {part.dtype.kind for part in self._parts}
        has_text = bool(self._codes)
        if has_text and kinds != {"i"}:
            raise InputError(
                "'target' must hold values of one kind. Got text in some rows and numbers in "
                "others. Make all of them text, or all numbers."
            )
        array = np.concatenate(self._parts) if self._parts else np.empty(0)
        return LabelColumn.of(array, list(self._codes) if has_text else None)

    def values(self) -> AnyArray:
        """The values, as they came."""
        if self.labels is None:
            return self.array
        labels = np.fromiter(self.labels, dtype=object, count=len(self.labels))
        return labels[self.array]


def _plain(value: Any) -> Any:
    """Text, numbers, truth or None: what a header of JSON can hold."""
    if is_missing(value):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)

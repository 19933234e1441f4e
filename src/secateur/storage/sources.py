"""Rows in blocks: from files, data frames, matrices and dask collections, or from an iterator.

A source can be read more than once, block by block, and has a fingerprint: a text that changes
when its rows do. A stream is read once.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from secateur.data.frames import as_frame
from secateur.exceptions import InputError, InputTypeError, some_of
from secateur.storage.file_blocks import (
    batches_of,
    files_of,
    is_libsvm,
    libsvm_blocks,
    open_frames,
    open_libsvm,
)
from secateur.storage.reading.matrices import LABEL

if TYPE_CHECKING:
    from secateur.storage.stored_table import StoredTable

TARGET = "(target)"  # the name of a target that came without one


class Roles(NamedTuple):
    """Which columns are not features: targets, weight, task, and those left out."""

    targets: tuple[str, ...] = ()
    weight: str | None = None
    task: str | None = None
    drop: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.targets, *(n for n in (self.weight, self.task) if n), *self.drop)


class Part(NamedTuple):
    """Some rows: features, and one column for each target; weight and task where there are any."""

    X: Any
    targets: tuple[Any, ...]
    weight: Any = None
    task: Any = None


class Source(ABC):
    """Rows that can be read again and again; ``names`` are for columns that have none."""

    names: tuple[str, ...] | None = None
    fingerprint: str
    target_names: tuple[str, ...]
    width: int

    @abstractmethod
    def parts(self, n_rows: int) -> Iterator[Part]:
        """The rows in order, about so many at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class FrameSource(Source):
    """Rows of data frames: ``read`` gives an iterator of frames of so many rows."""

    read: Callable[[int], Iterator[Any]]
    roles: Roles
    fingerprint: str
    width: int

    @property
    def target_names(self) -> tuple[str, ...]:  # type: ignore[override]  # reckoned
        """The names of the targets."""
        return self.roles.targets

    def parts(self, n_rows: int) -> Iterator[Part]:
        """The rows in order, about so many at a time."""
        for native in self.read(n_rows):
            frame = as_frame(native)
            assert frame is not None  # noqa: S101  # a source of frames
            roles = self.roles
            X = frame.drop(list(dict.fromkeys(roles.named))).to_native()
            yield Part(
                X,
                tuple(frame[name] for name in roles.targets),
                None if roles.weight is None else frame[roles.weight],
                None if roles.task is None else frame[roles.task],
            )


@dataclass(frozen=True, slots=True, eq=False)
class MatrixSource(Source):
    """Rows of matrices beside a target."""

    read: Callable[[int], Iterator[tuple[Any, Any]]]
    fingerprint: str
    width: int
    target_names: tuple[str, ...] = ("y",)
    names: tuple[str, ...] | None = None

    def parts(self, n_rows: int) -> Iterator[Part]:
        """The rows in order, about so many at a time."""
        return (Part(X, (y,)) for X, y in self.read(n_rows))


def open_source(data: Any, target: Any, roles: Roles) -> Source:
    """The source for data of any kind; see `open_table` for data and target."""
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if not path.exists():
            msg = f"'data' must be a table or the name of a file. Got {str(path)!r}, which is no "
            raise InputError(msg + "file or folder. Check the path.")
        if is_libsvm(path):
            _refuse_names(target, roles, "a LIBSVM file, which holds its labels")
            return _of_libsvm(path)
        labels = [target] if isinstance(target, str) else target if _are_names(target) else ()
        columns, read = open_frames(path, [*labels, *([roles.task] if roles.task else ())])
        full = _with_targets(roles, target, columns)
        return FrameSource(read, full, print_of_files(path), len(columns))
    module = type(data).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(data, "to_batches") and hasattr(data, "files"):
        prints = [print_of_files(Path(file)) for file in data.files if Path(file).exists()]
        columns = list(data.schema.names)
        full = _with_targets(roles, target, columns)
        fingerprint = ";".join(prints) or uuid4().hex
        return FrameSource(lambda n: batches_of(data, n), full, fingerprint, len(columns))
    if is_lazy(data):
        return _of_dask(data, target, roles)
    return _of_memory(data, target, roles)


def is_lazy(data: Any) -> bool:
    """Whether rows are those of a dask collection."""
    return type(data).__module__.partition(".")[0] in {"dask", "dask_expr"}


def _of_libsvm(path: Path) -> Source:
    opened = open_libsvm(path)

    def read(n_rows: int) -> Iterator[tuple[Any, Any]]:
        return ((raw.matrix, raw.extra[LABEL]) for raw in opened.read(n_rows))

    return MatrixSource(read, print_of_files(path), len(opened.names), names=opened.names)


def _of_dask(data: Any, target: Any, roles: Roles) -> Source:
    """Partition after partition, each computed when its turn comes."""
    from dask.base import tokenize

    if hasattr(data, "columns"):
        if hasattr(target, "compute"):  # a column of its own beside the frame
            data, target = data.assign(**{TARGET: target}), TARGET
        full = _with_targets(roles, target, [str(name) for name in data.columns])
        return FrameSource(
            lambda _: (data.partitions[i].compute() for i in range(data.npartitions)),
            full,
            tokenize(data),
            len(data.columns),
        )
    _refuse_names(None, roles, "an array, which has no names")
    if target is None or isinstance(target, str):
        raise InputError(
            f"'target' must hold a value for each row of the array. Got {target!r}. Give y."
        )
    if data.ndim != 2:
        msg = f"'data' must be a table of rows and columns. Got an array of shape {data.shape}. "
        raise InputError(msg + "Reshape it.")
    rows = data.rechunk((data.chunks[0], -1))
    width = int(data.shape[1])
    return MatrixSource(lambda _: _dask_rows(rows, target), tokenize(data, target), width)


def _dask_rows(rows: Any, target: Any) -> Iterator[tuple[Any, Any]]:
    first = 0
    for i in range(rows.numblocks[0]):
        block = rows.blocks[i].compute()
        some = target[first : first + len(block)]
        yield block, some.compute() if hasattr(some, "compute") else some
        first += len(block)


def _of_memory(data: Any, target: Any, roles: Roles) -> Source:
    """What is in memory already, in slices; nobody can tell whether it has changed since."""
    frame = None if isinstance(data, list | tuple) else as_frame(data)
    if frame is not None and (target is None or _are_names(target)):
        full = _with_targets(roles, target, list(frame.columns))
        return FrameSource(
            lambda n: (frame[i : i + n].to_native() for i in range(0, len(frame), n)),
            full,
            uuid4().hex,
            len(frame.columns),
        )
    if not hasattr(data, "shape"):
        raise InputTypeError(
            "'data' must be the name of a file, a dataset, a data frame or an array. Got "
            f"{type(data).__name__}. Give one of these."
        )
    _refuse_names(target if _are_names(target) else None, roles, "an array, which has no names")
    if target is None or not hasattr(target, "__getitem__"):
        raise InputError(
            "'target' must be the name of a column, or hold a value for each row of an array. Got "
            f"{target!r}. Give one of these."
        )
    matrix = data.tocsr() if hasattr(data, "tocsr") else data
    return MatrixSource(
        lambda n: (
            (matrix[i : i + n], target[i : i + n]) for i in range(0, int(matrix.shape[0]), n)
        ),
        uuid4().hex,
        int(matrix.shape[1]),
    )


def _are_names(target: Any) -> bool:
    if isinstance(target, str):
        return True
    return isinstance(target, list | tuple) and all(isinstance(name, str) for name in target)


def _with_targets(roles: Roles, target: Any, columns: list[str]) -> Roles:
    """The roles with their targets, all of them columns that are there."""
    if target is None:
        free = [name for name in columns if name not in roles.named]
        target = free[-1:]
    if not _are_names(target) or not target:
        raise InputError(
            f"'target' must be the name of a column, or a list of names. Got {target!r}. The "
            f"columns are {some_of(columns)}."
        )
    full = roles._replace(targets=(target,) if isinstance(target, str) else tuple(target))
    lost = [name for name in full.named if name not in columns]
    if lost:
        raise InputError(
            f"'target', 'weight', 'task' and 'drop' must name columns of the table. Got "
            f"{some_of(lost)}. The columns are {some_of(columns)}."
        )
    return full


def _refuse_names(target: Any, roles: Roles, what: str) -> None:
    if target is not None or roles.named:
        raise InputError(
            "'target', 'weight', 'task' and 'drop' must not name columns of "
            f"{what}. Got some. Leave them out."
        )


def print_of_files(path: Path) -> str:
    """Names, sizes and times of the last change of all files."""
    facts = [
        f"{file.name}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files_of(path)
    ]
    if not facts:
        raise InputError(f"A folder must hold files. Got none in {str(path)!r}. Check the path.")
    return ";".join(facts)


# ---- streams ----------------------------------------------------------------------------------

ROWS = 10_000  # rows of a file that are read at once

Block = tuple[Any, Any, Any]  # X, y and weights of some rows; weights may be None


def is_stream(X: Any) -> bool:
    """Whether X comes in blocks: a file's name, an iterator, or a table on disk."""
    return isinstance(X, str | os.PathLike | Iterator) or _is_stored(X)


def _is_stored(X: Any) -> bool:
    return hasattr(X, "target_names") and hasattr(X, "parts")


def read_blocks(X: Any, y: Any = None, most_cells: int | None = None) -> Iterator[Block]:
    """The blocks of a stream."""
    if not isinstance(X, str | os.PathLike):
        if y is not None:
            raise InputError(
                "'y' must come with each block of a stream. Got it beside an iterator, or a table "
                "that has its own. Give an iterator of (X, y) pairs, or leave it out."
            )
        return stored_blocks(X) if _is_stored(X) else _checked(X)
    file = Path(X)
    if not file.exists():
        msg = f"X must be a table, an iterator or the name of a file. Got {str(file)!r}, which is "
        raise InputError(msg + "no file. Check the path.")
    if not is_libsvm(file):
        return _frame_blocks(file, y, most_cells)
    if y is not None:
        raise InputError(
            "'y' must be None for a LIBSVM file, which holds its labels. Got a y. Leave it out."
        )
    return ((X, y, None) for X, y in libsvm_blocks(file, ROWS))


def _checked(blocks: Iterable[Any]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) not in {2, 3}:
            raise InputTypeError(
                "A stream must give blocks (X, y) or (X, y, weight). Got "
                f"{type(block).__name__}. Give an iterator of pairs."
            )
        yield (*block, None) if len(block) == 2 else tuple(block)


def first_block(blocks: Iterator[Block]) -> tuple[Block, Iterator[Block]]:
    """The first block of a stream, and those that follow; there must be one."""
    first = next(blocks, None)
    if first is None:
        raise InputError(
            "A stream must have at least one block. Got none. Check the iterator or the file."
        )
    return first, blocks


def refuse_beside(sample_weight: Any) -> None:
    """Refuse weights that do not come with the blocks."""
    if sample_weight is not None:
        raise InputError(
            "'sample_weight' must come with the blocks of a stream. Got it beside them. Give "
            "an iterator of (X, y, weight)."
        )


def _frame_blocks(file: Path, target: Any, most_cells: int | None) -> Iterator[Block]:
    names, read = open_frames(file, [target] if isinstance(target, str) else ())
    n_rows = ROWS if most_cells is None else max(100, min(ROWS, most_cells // len(names)))
    name = names[-1] if target is None else target
    if name not in names:
        raise InputError(
            f"'y' must name a column of the file. Got {name!r}. The columns are {names[:5]} ..."
        )
    return ((part.drop_columns([name]), part.column(name), None) for part in read(n_rows))


def stored_blocks(table: StoredTable) -> Iterator[Block]:
    """The rows that a stored table was made of, read again as they were."""
    if len(table.target_names) > 1:
        raise InputError(
            f"A stream must have one target. Got {list(table.target_names)}. Open the table with "
            "one of them."
        )
    return ((part.X, part.targets[0], part.weight) for part in table.parts(ROWS))


def lazy_blocks(X: Any, y: Any) -> Iterator[Block]:
    """The parts of a dask array or data frame, each computed when its turn comes."""
    source = open_source(X, y, Roles())
    return ((part.X, part.targets[0], None) for part in source.parts(ROWS))

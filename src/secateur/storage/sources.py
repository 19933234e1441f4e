"""Rows in blocks: from files, data frames, matrices and dask collections, or from an iterator.

A source can be read more than once, block by block, and has a fingerprint: a text that changes
when its rows do. A stream is read once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from secateur.data.frames import as_array, as_frame, check_length, is_lazy
from secateur.exceptions import ClusterError, InputError, InputTypeError, some_of
from secateur.storage.reading.formats import NO_FILES, SourceFiles, kind_of_file
from secateur.storage.reading.read_file import format_of_path, frames_of, open_frames
from secateur.storage.reading.typed_files import LABEL, SvmlightFile

TARGET = "(target)"  # the name of a target that came without one
ROWS = 10_000  # rows of a stream that are read at once


class Part(NamedTuple):
    """Some rows: features, and one column for each target; weight and task where there are any."""

    X: Any
    targets: tuple[Any, ...]
    weight: Any = None
    task: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Rows that can be read again and again: ``read(n)`` gives them in order, about n at a time.

    ``width`` is the number of columns; ``names`` are for those that have none. ``files`` are those
    that are read, which must not change.
    """

    read: Callable[[int], Iterator[Part]]
    fingerprint: str
    width: int
    target_names: tuple[str, ...] = ("y",)
    names: tuple[str, ...] | None = None
    files: SourceFiles = NO_FILES

    def parts(self, n_rows: int) -> Iterator[Part]:
        """All rows in order, about so many at a time, as they were when the source was opened."""
        self.files.check()
        try:
            yield from self.read(n_rows)
        except Exception as error:
            self.files.check()  # a file that changed is the cause, whatever the reader says
            if isinstance(error, OSError):
                what = f"The data must be there to be read. Got {error}. Check the file."
                raise InputError(what) from error
            raise
        self.files.check()


class Roles(NamedTuple):
    """Columns that are not features, besides the targets."""

    weight: str | None = None
    task: str | None = None
    drop: Sequence[str] = ()

    @property
    def named(self) -> list[str]:
        """All of them."""
        return [*(name for name in (self.weight, self.task) if name), *self.drop]


def open_source(data: Any, target: Any, roles: Roles) -> Source:
    """The source for data of any kind; see `open_table` for data and target."""
    if isinstance(data, str | os.PathLike):
        return _file_source(Path(data), target, roles)
    if hasattr(data, "to_batches") and hasattr(data, "files"):  # a dataset of pyarrow
        paths = [Path(file) for file in data.files if Path(file).exists()]
        files = SourceFiles.of(*paths) if paths else NO_FILES
        columns = list(data.schema.names)
        return _frame_source(partial(frames_of, data), columns, target, roles, files)
    if is_lazy(data):
        return _dask_source(data, target, roles)
    return _memory_source(data, target, roles)


def _file_source(path: Path, target: Any, roles: Roles) -> Source:
    if not path.exists():
        raise InputError(
            f"The data must be a table or the name of a file. Got {str(path)!r}, which is no file "
            "or folder. Check the path."
        )
    files = SourceFiles.of(path)  # before anything is read
    if format_of_path(path) == "libsvm":
        _refuse_names(target, roles, "a LIBSVM file, which holds its labels")
        opened = SvmlightFile.open(path, kind_of_file(path))

        def parts(n_rows: int) -> Iterator[Part]:
            return (Part(raw.matrix, (raw.extra[LABEL],)) for raw in opened.read(n_rows))

        names = opened.names
        return Source(parts, files.fingerprint, len(names), names=names, files=files)
    labels = [target] if isinstance(target, str) else target if _are_names(target) else ()
    columns, read = open_frames(path, [*labels, *([roles.task] if roles.task else ())])
    return _frame_source(read, columns, target, roles, files)


def _frame_source(
    read: Callable[[int], Iterator[Any]],
    columns: list[str],
    target: Any,
    roles: Roles,
    files: SourceFiles = NO_FILES,
    fingerprint: str = "",
) -> Source:
    """Rows of data frames; without files and fingerprint a change of them is not seen."""
    targets = _target_names(target, columns, roles)
    others = list(dict.fromkeys([*targets, *roles.named]))

    def parts(n_rows: int) -> Iterator[Part]:
        for native in read(n_rows):
            frame = as_frame(native)
            assert frame is not None  # noqa: S101  # a source of frames
            yield Part(
                frame.drop(others).to_native(),
                tuple(frame[name] for name in targets),
                None if roles.weight is None else frame[roles.weight],
                None if roles.task is None else frame[roles.task],
            )

    fingerprint = fingerprint or files.fingerprint or uuid4().hex
    return Source(parts, fingerprint, len(columns), targets, files=files)


def _dask_source(data: Any, target: Any, roles: Roles) -> Source:
    """Partition after partition, each computed when its turn comes."""
    from dask.base import tokenize

    has_columns = hasattr(data, "columns")
    if has_columns and roles.named and hasattr(target, "compute"):  # a column beside the frame
        data, target = data.assign(**{TARGET: target}), TARGET
    if has_columns and (target is None or _are_names(target)):
        columns, partitions = [str(name) for name in data.columns], _partitions(data)
        read = lambda _: map(computed, partitions)  # noqa: E731
        return _frame_source(read, columns, target, roles, fingerprint=tokenize(data))
    _refuse_names(None, roles, "a table with its target beside it")
    if target is None or isinstance(target, str):
        raise InputError(
            f"'target' must hold a value for each row of the array. Got {target!r}. Give y."
        )
    width = int(_partitions(data)[0].shape[1])

    def parts(_: int) -> Iterator[Part]:
        return (Part(X, (y,)) for X, y, _ in lazy_blocks(data, target, None))

    names = (TARGET if has_columns else "y",)
    return Source(parts, tokenize(data, target), width, names)


def _partitions(X: Any) -> list[Any]:
    """The blocks of rows of a dask data frame or array, not computed."""
    if hasattr(X, "columns"):
        return [X.partitions[i] for i in range(X.npartitions)]
    if X.ndim != 2:
        raise InputError(
            f"X must be a table of rows and columns. Got an array of shape {X.shape}. Reshape it."
        )
    rows = X.rechunk((X.chunks[0], -1))
    return [rows.blocks[i] for i in range(rows.numblocks[0])]


def _memory_source(data: Any, target: Any, roles: Roles) -> Source:
    """What is in memory already, in slices; a change of it cannot be seen."""
    frame = None if isinstance(data, list | tuple) else as_frame(data)
    if frame is not None and (target is None or _are_names(target)):

        def read(n_rows: int) -> Iterator[Any]:
            return (frame[i : i + n_rows].to_native() for i in range(0, len(frame), n_rows))

        return _frame_source(read, list(frame.columns), target, roles)
    if not hasattr(data, "shape"):
        raise InputTypeError(
            "The data must be the name of a file, a dataset, a data frame or an array. Got "
            f"{type(data).__name__}. Give one of these."
        )
    _refuse_names(target if _are_names(target) else None, roles, "an array, which has no names")
    if target is None or not hasattr(target, "__getitem__"):
        raise InputError(
            "'target' must be the name of a column, or hold a value for each row of an array. Got "
            f"{target!r}. Give one of these."
        )
    matrix = data.tocsr() if hasattr(data, "tocsr") else data

    def parts(n: int) -> Iterator[Part]:
        starts = range(0, int(matrix.shape[0]), n)
        return (Part(matrix[i : i + n], (target[i : i + n],)) for i in starts)

    return Source(parts, uuid4().hex, int(matrix.shape[1]))


def _are_names(target: Any) -> bool:
    if isinstance(target, str):
        return True
    return isinstance(target, list | tuple) and all(isinstance(name, str) for name in target)


def _target_names(target: Any, columns: list[str], roles: Roles) -> tuple[str, ...]:
    """The targets, the last column by default; all columns that are named must be there."""
    if target is None:
        target = [name for name in columns if name not in roles.named][-1:]
    if not _are_names(target) or not target:
        raise InputError(
            f"The target must be the name of a column, or a list of names. Got {target!r}. The "
            f"columns are {some_of(columns)}."
        )
    targets = (target,) if isinstance(target, str) else tuple(target)
    lost = [name for name in (*targets, *roles.named) if name not in columns]
    if lost:
        raise InputError(
            "Target, weight, task and columns to drop must be columns of the table. Got "
            f"{some_of(lost)}. The columns are {some_of(columns)}."
        )
    return targets


def _refuse_names(target: Any, roles: Roles, what: str) -> None:
    if target is not None or roles.named:
        raise InputError(
            "Target, weight, task and columns to drop must not be named for "
            f"{what}. Got some. Leave them out."
        )


# ---- streams ----------------------------------------------------------------------------------

Block = tuple[Any, Any, Any]  # X, y and weights of some rows; weights may be None


def read_blocks(
    X: Any, y: Any = None, sample_weight: Any = None, max_cells: int | None = None
) -> Iterator[Block]:
    """The blocks of an iterator, a file, a stored table or a dask collection."""
    has_own = isinstance(X, Iterator) or hasattr(X, "target_names")  # or it is a stored table
    if sample_weight is not None or (y is not None and has_own):
        what = "'y'" if sample_weight is None else "'sample_weight'"
        raise InputError(
            f"{what} must come with the blocks of a stream. Got it beside them. Give an iterator "
            "of (X, y) or (X, y, weight), or leave it out."
        )
    is_empty, blocks = True, X
    if not isinstance(X, Iterator):
        source = X if hasattr(X, "target_names") else open_source(X, y, Roles())
        if len(source.target_names) > 1:
            raise InputError(
                f"A stream must have one target. Got {list(source.target_names)}. Name one of them."
            )
        n_rows = ROWS if max_cells is None else max(100, min(ROWS, max_cells // source.width))
        blocks = ((part.X, part.targets[0], part.weight) for part in source.parts(n_rows))
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) not in {2, 3}:
            raise InputTypeError(
                "A stream must give blocks (X, y) or (X, y, weight). Got "
                f"{type(block).__name__}. Give an iterator of pairs."
            )
        is_empty = False
        yield (*block, None) if len(block) == 2 else tuple(block)
    if is_empty:
        raise InputError(
            "A stream must have at least one block. Got none. Check the iterator or the file."
        )


def lazy_blocks(X: Any, y: Any, weight: Any) -> Iterator[Block]:
    """The partitions of a dask collection; y may be the name of a column of a data frame."""
    if isinstance(y, str) and hasattr(X, "columns"):
        _target_names(y, list(X.columns), Roles())
        X, y = X.drop(columns=[y]), X[y]
    found = [computed(each) if hasattr(each, "compute") else each for each in (y, weight)]
    given = [None if each is None else as_array(each, "y") for each in found]
    pairs = zip(given, ("y", "sample_weight"), strict=True)
    named = [(values, what) for values, what in pairs if values is not None]
    parts = _partitions(X)
    n_rows = 0
    for number, each in enumerate(parts):
        block = computed(each)
        rows = slice(n_rows, n_rows + block.shape[0])
        n_rows = rows.stop
        if any(len(values) < n_rows for values, _ in named):
            n_rows += sum(len(computed(part)) for part in parts[number + 1 :])
            break
        yield block, *(None if values is None else values[rows] for values in given)
    for values, what in named:
        check_length(len(values), n_rows, what)


def computed(collection: Any) -> Any:
    """The values of a dask collection."""
    try:
        return collection.compute()
    except Exception as error:
        if not hasattr(error, "allowed_failures"):  # of a worker that was killed
            raise
        raise ClusterError(
            "The workers must have memory for the partitions of X and y. Got workers that ended "
            f"while one was computed: {error}. Use smaller partitions, or give workers more memory."
        ) from error

"""Tables that come in blocks of rows: iterators, and files of any kind that is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from secateur.exceptions import InputError, InputTypeError
from secateur.storage.file_blocks import is_libsvm, libsvm_blocks, open_frames
from secateur.storage.sources import Roles, open_source
from secateur.storage.stored_table import StoredTable

ROWS = 10_000
"""Rows of a file that are read at once."""

Block = tuple[Any, Any, Any]
"""X, y and weights of some rows; weights may be None."""


def is_stream(X: Any) -> bool:
    """Whether X comes in blocks: a file's name, an iterator, or a table on disk.

    >>> is_stream("rows.parquet"), is_stream(iter([])), is_stream([[1.0]])
    (True, True, False)
    """
    return isinstance(X, str | os.PathLike | Iterator | StoredTable)


def read_blocks(X: Any, y: Any = None, most_cells: int | None = None) -> Iterator[Block]:
    """The blocks of a stream.

    Parameters
    ----------
    X : iterator of (X, y) or (X, y, weight), stored table, or name of a file
        Parquet (a file or a folder), CSV, Feather, or LIBSVM; see `secateur.storage.file_blocks`.
    y : str, optional
        The column of a file that is the target; the last one by default. LIBSVM has its own.
    most_cells : int, optional
        The most cells of a block of a file, about; so many rows at a time otherwise, however wide.

    Examples
    --------
    >>> [len(X) for X, y, weight in read_blocks(iter([([[1.0]], [0]), ([[2.0]], [1])]))]
    [1, 1]
    """
    if not isinstance(X, str | os.PathLike):
        if y is not None:
            msg = (
                "'y' must come with each block of a stream. Got it beside an iterator, or a table "
                "that has its own. Give an iterator of (X, y) pairs, or leave it out."
            )
            raise InputError(msg)
        return stored_blocks(X) if isinstance(X, StoredTable) else _checked(X)
    file = Path(X)
    if not file.exists():
        msg = f"X must be a table, an iterator or the name of a file. Got {str(file)!r}, which is "
        raise InputError(msg + "no file. Check the path.")
    if not is_libsvm(file):
        return _frame_blocks(file, y, most_cells)
    if y is not None:
        msg = "'y' must be None for a LIBSVM file, which holds its labels. Got a y. Leave it out."
        raise InputError(msg)
    return ((X, y, None) for X, y in libsvm_blocks(file, ROWS))


def _checked(blocks: Iterable[Any]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) not in {2, 3}:
            msg = (
                "A stream must give blocks (X, y) or (X, y, weight). Got "
                f"{type(block).__name__}. Give an iterator of pairs."
            )
            raise InputTypeError(msg)
        yield (*block, None) if len(block) == 2 else tuple(block)


def first_block(blocks: Iterator[Block]) -> tuple[Block, Iterator[Block]]:
    """The first block of a stream, and those that follow; there must be one."""
    first = next(blocks, None)
    if first is None:
        msg = "A stream must have at least one block. Got none. Check the iterator or the file."
        raise InputError(msg)
    return first, blocks


def refuse_beside(sample_weight: Any) -> None:
    """Refuse weights that do not come with the blocks."""
    if sample_weight is not None:
        msg = (
            "'sample_weight' must come with the blocks of a stream. Got it beside them. Give "
            "an iterator of (X, y, weight)."
        )
        raise InputError(msg)


def _frame_blocks(file: Path, target: Any, most_cells: int | None) -> Iterator[Block]:
    names, read = open_frames(file, [target] if isinstance(target, str) else ())
    n_rows = ROWS if most_cells is None else max(100, min(ROWS, most_cells // len(names)))
    name = names[-1] if target is None else target
    if name not in names:
        msg = f"'y' must name a column of the file. Got {name!r}. The columns are {names[:5]} ..."
        raise InputError(msg)
    return ((part.drop_columns([name]), part.column(name), None) for part in read(n_rows))


def stored_blocks(table: StoredTable) -> Iterator[Block]:
    """The rows that a stored table was made of, read again as they were."""
    if len(table.target_names) > 1:
        msg = (
            f"A stream must have one target. Got {list(table.target_names)}. Open the table with "
            "one of them."
        )
        raise InputError(msg)
    return ((part.X, part.targets[0], part.weight) for part in table.parts(ROWS))


def lazy_blocks(X: Any, y: Any) -> Iterator[Block]:
    """The parts of a dask array or data frame, each computed when its turn comes."""
    source = open_source(X, y, Roles())
    return ((part.X, part.targets[0], None) for part in source.parts(ROWS))

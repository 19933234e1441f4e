"""Tables that come in blocks of rows: iterators, Parquet and LIBSVM files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from secateur.exceptions import InputError, InputTypeError, MissingDependencyError

ROWS = 10_000
"""Rows of a file that are read at once."""

Block = tuple[Any, Any, Any]
"""X, y and weights of some rows; weights may be None."""


def is_stream(X: Any) -> bool:
    """Whether X comes in blocks: a file's name, or an iterator that is no table.

    >>> is_stream("rows.parquet"), is_stream(iter([])), is_stream([[1.0]])
    (True, True, False)
    """
    return isinstance(X, str | os.PathLike | Iterator)


def read_blocks(X: Any, y: Any = None) -> Iterator[Block]:
    """The blocks of a stream.

    Parameters
    ----------
    X : iterator of (X, y) or (X, y, weight), or name of a file
        Files end in .parquet or .pq, or in .svm, .libsvm, .svmlight or .txt, also with .gz.
    y : str, optional
        The column of a Parquet file that is the target; the last one by default.

    Examples
    --------
    >>> [len(X) for X, y, weight in read_blocks(iter([([[1.0]], [0]), ([[2.0]], [1])]))]
    [1, 1]
    """
    if not isinstance(X, str | os.PathLike):
        if y is not None:
            msg = (
                "'y' must come with each block of a stream. Got it beside an iterator. Give an "
                "iterator of (X, y) pairs."
            )
            raise InputError(msg)
        return _checked(X)
    file = Path(X)
    if not file.is_file():
        msg = f"X must be a table, an iterator or the name of a file. Got {str(file)!r}, which is "
        raise InputError(msg + "no file. Check the path.")
    if file.suffix in {".parquet", ".pq"}:
        return _parquet_blocks(file, y)
    if y is not None:
        msg = "'y' must be None for a LIBSVM file, which holds its labels. Got a y. Leave it out."
        raise InputError(msg)
    return libsvm_blocks(file)


def _checked(blocks: Iterable[Any]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) not in {2, 3}:
            msg = (
                "A stream must give blocks (X, y) or (X, y, weight). Got "
                f"{type(block).__name__}. Give an iterator of pairs."
            )
            raise InputTypeError(msg)
        yield (*block, None) if len(block) == 2 else tuple(block)


def _parquet_blocks(file: Path, target: str | None) -> Iterator[Block]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        msg = (
            "A Parquet file needs pyarrow. Got no such package. Install it with 'pip install "
            "secateur[frames]'."
        )
        raise MissingDependencyError(msg) from error
    stored = pq.ParquetFile(file)
    names = stored.schema_arrow.names
    name = names[-1] if target is None else target
    if name not in names:
        msg = f"'y' must name a column of the file. Got {name!r}. The columns are {names[:5]} ..."
        raise InputError(msg)
    for part in stored.iter_batches(batch_size=ROWS):
        block = pa.Table.from_batches([part])
        yield block.drop_columns([name]), block.column(name), None


def libsvm_blocks(file: str | os.PathLike[str], n_columns: int | None = None) -> Iterator[Block]:
    """Blocks of a LIBSVM file, as sparse matrices.

    Parameters
    ----------
    file : path
    n_columns : int, optional
        The number of columns. Without it the file is looked through once before.
    """
    width = _libsvm_width(file) if n_columns is None else n_columns
    return _libsvm_parts(file, width)


def _libsvm_parts(file: str | os.PathLike[str], width: int) -> Iterator[Block]:
    from sklearn.datasets import load_svmlight_file

    with _opened(file) as lines:
        while part := list(islice(lines, ROWS)):
            try:
                X, y = load_svmlight_file(
                    BytesIO(b"".join(part)), n_features=width, zero_based=False
                )
            except ValueError as error:
                msg = (
                    f"{os.fspath(file)} must be a LIBSVM file with columns from 1 to {width}. Got "
                    f"a line that is not so: {error}. Check the file, or the number of columns."
                )
                raise InputError(msg) from error
            yield X, y, None


def _libsvm_width(file: str | os.PathLike[str]) -> int:
    """The largest column number: indices rise along a line, so the last of each will do."""
    most = 0
    with _opened(file) as lines:
        for line in lines:
            last = line.partition(b"#")[0].split()[-1:]
            if last and b":" in last[0]:
                most = max(most, int(last[0].partition(b":")[0]))
    return most


def _opened(file: str | os.PathLike[str]) -> Any:
    if os.fspath(file).endswith(".gz"):
        import gzip

        return gzip.open(file, "rb")
    return Path(file).open("rb")

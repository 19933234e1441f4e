"""Files and folders of tables in blocks of rows: frames, or sparse matrices from LIBSVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from secateur.exceptions import InputError, MissingDependencyError, some_of
from secateur.storage.reading.formats import kind_of_file, kind_of_name
from secateur.storage.reading.matrices import LABEL, SvmlightFile
from secateur.storage.reading.parquet import parquet_batches
from secateur.storage.reading.read_file import TextFrames


def format_of(path: Path) -> str:
    """What kind of table a file or folder holds: csv, parquet, feather, libsvm or npz."""
    if not path.is_dir():
        return kind_of_file(path).format.replace("tsv", "csv")
    kinds = {kind_of_name(file.name).format for file in files_of(path)} - {"", "libsvm", "npz"}
    if len(kinds) > 1:
        raise InputError(
            f"A folder must hold files of one kind. Got {sorted(kinds)} in {str(path)!r}. Give "
            "each kind a folder of its own."
        )
    return kinds.pop().replace("tsv", "csv") if kinds else "parquet"


def is_libsvm(path: Path) -> bool:
    """Whether a file is read as LIBSVM, by its name or its first line."""
    return format_of(path) == "libsvm"


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder, sorted."""
    if path.is_file():
        return [path]
    return sorted(f for f in path.rglob("*") if f.is_file() and f.name[0] not in "._")


# ---- frames -----------------------------------------------------------------------------------


def open_frames(
    path: Any, labels: Collection[str] = ()
) -> tuple[list[str], Callable[[int], Iterator[Any]]]:
    """The names of the columns, and a reader of pyarrow tables of at most so many rows."""
    if isinstance(path, str | os.PathLike) and format_of(Path(path)) == "csv":
        parts = [TextFrames(file, labels) for file in files_of(Path(path))]
        _check_alike(parts, path)
        return parts[0].names, lambda n: (table for part in parts for table in part.read(n))
    dataset = open_dataset(path)
    names = list(dataset.schema.names)
    files = [Path(file) for file in getattr(dataset, "files", ())]
    if _is_plain_parquet(dataset, files):
        return names, lambda n: _parquet_tables(files, n)
    return names, lambda n: batches_of(dataset, n)


def _is_plain_parquet(dataset: Any, files: list[Path]) -> bool:
    """Whether rows can be had from the files themselves: all columns are in them, alike in all."""
    import pyarrow.parquet as pq

    if getattr(getattr(dataset, "format", None), "default_extname", "") != "parquet" or not files:
        return False
    return all(file.is_file() and pq.read_schema(file).equals(dataset.schema) for file in files)


def _parquet_tables(files: list[Path], n_rows: int) -> Iterator[Any]:
    """Rows of Parquet files a few at a time; a dataset has whole row groups in memory."""
    import pyarrow as pa

    try:
        for file in files:
            for batch in parquet_batches(file, n_rows):
                yield pa.Table.from_batches([batch])
    except (OSError, ValueError) as error:
        raise _unreadable("a file of the table", "table", error) from error
    finally:
        # What pages were decoded into is kept for the next time, hundreds of megabytes of it.
        pa.default_memory_pool().release_unused()


def _check_alike(parts: list[TextFrames], path: Any) -> None:
    others = [part.names for part in parts if part.names != parts[0].names]
    if others:
        raise InputError(
            f"The files of a folder must have the same columns. Got {some_of(parts[0].names)} and "
            f"{some_of(others[0])} in {str(path)!r}. Write them alike."
        )


def open_dataset(path: Any) -> Any:
    """A pyarrow dataset over typed files; one that is a dataset already is taken as it is."""
    ds = _pyarrow_dataset()
    if isinstance(path, ds.Dataset):
        return path
    kind = format_of(Path(path))
    if kind == "npz":
        raise InputError(
            f"{path} must be Parquet, Feather, CSV or LIBSVM. Got NPZ. Load its arrays instead."
        )
    try:
        return ds.dataset(os.fspath(path), format=kind, partitioning="hive")
    except (OSError, ValueError) as error:
        raise _unreadable(path, kind, error) from error


def _pyarrow_dataset() -> Any:
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise MissingDependencyError(
            "Files of tables need pyarrow. Got no such package. Install it with 'pip install "
            "secateur[frames]'."
        ) from error
    return ds


def batches_of(dataset: Any, n_rows: int) -> Iterator[Any]:
    """The rows of a pyarrow dataset, in order, as tables of at most so many rows."""
    import pyarrow as pa

    # Little is read ahead: the reader, not the fit, would set the peak of memory.
    batches = dataset.to_batches(batch_size=n_rows, batch_readahead=1, fragment_readahead=1)
    try:
        for batch in batches:
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
    except (OSError, ValueError) as error:  # pyarrow's errors of content are ValueErrors
        raise _unreadable("a file of the table", "table", error) from error


def _unreadable(path: Any, kind: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0][:300]
    return InputError(
        f"{path} must be a readable {kind} file. Got an error from pyarrow: {reason}. Check the "
        "file, and that all its rows are of one form."
    )


# ---- LIBSVM -----------------------------------------------------------------------------------


def libsvm_blocks(
    file: str | os.PathLike[str], n_rows: int = 10_000, n_columns: int | None = None
) -> Iterator[tuple[Any, Any]]:
    """Blocks of a LIBSVM file: sparse matrices and labels."""
    opened = open_libsvm(Path(file))
    width = len(opened.names)
    if n_columns is not None and n_columns < width:
        raise InputError(
            f"{os.fspath(file)} must be a LIBSVM file with {n_columns} columns. Got {width}. Check "
            "the file, or the number of columns."
        )
    return _libsvm_parts(opened, n_rows, n_columns or width)


def open_libsvm(file: Path) -> SvmlightFile:
    """A LIBSVM file, its columns known from a first walk."""
    return SvmlightFile.open(file, kind_of_file(file))


def _libsvm_parts(opened: SvmlightFile, n_rows: int, width: int) -> Iterator[tuple[Any, Any]]:
    for raw in opened.read(n_rows):
        X = raw.matrix
        if X.shape[1] < width:
            X.resize((X.shape[0], width))
        yield X, raw.extra[LABEL]

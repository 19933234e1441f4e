"""Files of tables, read in blocks of rows: Parquet, CSV and Feather as frames, LIBSVM as matrices.

A name tells what a file is: .parquet or .pq, .csv or .tsv (also .gz), .feather or .arrow; anything
else is LIBSVM. A folder holds files of one of the first three kinds, Parquet if nothing tells.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from secateur.exceptions import InputError, MissingDependencyError

FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
}


def format_of(path: Path) -> str:
    """What kind of table a file or folder holds.

    >>> format_of(Path("rows.csv.gz")), format_of(Path("rows.svm"))
    ('csv', 'libsvm')
    """
    if path.is_dir():
        kinds = {format_of(file) for file in path.rglob("*") if _is_part(file)} - {"libsvm"}
        if len(kinds) > 1:
            msg = (
                f"A folder must hold files of one kind. Got {sorted(kinds)} in {str(path)!r}. Give "
                "each kind a folder of its own."
            )
            raise InputError(msg)
        return kinds.pop() if kinds else "parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return FORMATS.get(suffixes[-1] if suffixes else "", "libsvm")


def _is_part(file: Path) -> bool:
    return file.is_file() and not file.name.startswith((".", "_"))


def is_libsvm(path: Path) -> bool:
    """Whether a file is read as LIBSVM: if its name says nothing else."""
    return format_of(path) == "libsvm"


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder, sorted."""
    return [path] if path.is_file() else sorted(f for f in path.rglob("*") if _is_part(f))


# ---- frames -----------------------------------------------------------------------------------


def arrow_blocks(path: Any, n_rows: int) -> tuple[list[str], Iterator[Any]]:
    """The names of the columns, and pyarrow tables of at most so many rows, in order."""
    dataset = open_dataset(path)
    return list(dataset.schema.names), batches_of(dataset, n_rows)


def open_dataset(path: Any, labels: Collection[str] = ()) -> Any:
    """A pyarrow dataset over a file or folder; one that is a dataset already is taken as it is.

    Whole numbers of a CSV file become floats, but for the columns of ``labels``.
    """
    ds = _pyarrow_dataset()
    if isinstance(path, ds.Dataset):
        return path
    kind = format_of(Path(path))
    reader = _csv_format(Path(path)) if kind == "csv" else kind
    try:
        opened = ds.dataset(os.fspath(path), format=reader, partitioning="hive")
        if kind == "csv":
            # What looks whole in the first rows may have fractions, or gaps, further down.
            schema = _with_floats(opened.schema, labels)
            opened = ds.dataset(os.fspath(path), schema, format=reader, partitioning="hive")
    except (OSError, ValueError) as error:
        raise _unreadable(path, kind, error) from error
    return opened


def _pyarrow_dataset() -> Any:
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        msg = (
            "Files of tables need pyarrow. Got no such package. Install it with 'pip install "
            "secateur[frames]'."
        )
        raise MissingDependencyError(msg) from error
    return ds


def _csv_format(path: Path) -> Any:
    import pyarrow.csv as pa_csv
    import pyarrow.dataset as ds

    first = next(iter(files_of(path)), path)
    is_tabbed = ".tsv" in first.suffixes
    return ds.CsvFileFormat(
        parse_options=pa_csv.ParseOptions(delimiter="\t" if is_tabbed else ","),
        convert_options=pa_csv.ConvertOptions(strings_can_be_null=True),
    )


def _with_floats(schema: Any, labels: Collection[str]) -> Any:
    """The same columns; whole numbers, and columns that begin empty, as floats."""
    import pyarrow as pa

    fields = [
        pa.field(field.name, pa.float64())
        if _may_be_floats(field.type) and field.name not in labels
        else field
        for field in schema
    ]
    return pa.schema(fields)


def _may_be_floats(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


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
    """Blocks of a LIBSVM file: sparse matrices and labels.

    Parameters
    ----------
    file : path
    n_rows : int, default=10_000
        The rows of a block.
    n_columns : int, optional
        The number of columns. Without it the file is looked through once before.
    """
    width = libsvm_width(file) if n_columns is None else n_columns
    return _libsvm_parts(file, n_rows, width)


def _libsvm_parts(
    file: str | os.PathLike[str], n_rows: int, width: int
) -> Iterator[tuple[Any, Any]]:
    from sklearn.datasets import load_svmlight_file

    with _opened(file) as lines:
        while part := list(islice(lines, n_rows)):
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
            yield X, y


def libsvm_width(file: str | os.PathLike[str]) -> int:
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

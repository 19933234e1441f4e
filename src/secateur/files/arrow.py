"""Parquet and Feather: typed columns, read through pyarrow."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from secateur._data.memory import require_memory
from secateur._data.wording import some_of
from secateur.exceptions import InputError
from secateur.files.formats import FileKind
from secateur.files.naming import mended_names
from secateur.files.numbers import as_numbers
from secateur.files.opening import arrow, polars
from secateur.files.raw import RawTable
from secateur.typing import FloatArray

SECONDS_PER_DAY = 86_400


def read_arrow(content: bytes, name: str, kind: FileKind) -> RawTable:
    """Read a Parquet or Feather file."""
    table = arrow_table(content, name, kind.format)
    if table.num_rows == 0 or table.num_columns == 0:
        raise InputError(f"{name} must have rows and columns. Got {table.shape}. Check the export.")
    names, notes = mended_names(table.column_names)
    require_memory(8 * table.num_rows * table.num_columns, f"The columns of {name}", "Use fewer.")
    matrix = np.full(table.shape, np.nan, order="F")
    texts: dict[int, Any] = {}
    times, others = [], []
    for place, label in enumerate(names):
        read = _read(table.column(place))
        if read is None:
            others.append(label)
            continue
        matrix[:, place], text, is_time = read
        if text is not None:
            texts[place] = text
        if is_time:
            times.append(label)
    notes += _told(times, others)
    unread = set(others)
    kept = [place for place, label in enumerate(names) if label not in unread]
    return _taken(RawTable(matrix, names, kind, texts, {}, tuple(notes)), kept)


def arrow_table(content: bytes, name: str, format_: str) -> Any:
    """The table in a Parquet or Feather file, as it is stored."""
    pa = arrow()
    try:
        if format_ == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.read_table(pa.BufferReader(content))
        import pyarrow.feather

        return pyarrow.feather.read_table(BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{name} must be a whole {format_} file. Got one that cannot be read ({error}). Write "
            "it again."
        ) from error


def _read(column: Any) -> tuple[FloatArray, Any, bool] | None:
    """One column as numbers, and as text where it is text; None for lists, bytes and the like."""
    pl = polars()
    try:
        series = pl.from_arrow(column)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
    dtype = series.dtype
    if dtype in (pl.Categorical, pl.Enum) or dtype == pl.String:
        return (*as_numbers(series.cast(pl.String)), False)
    if dtype.is_temporal():
        return _days(series), None, True
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        numbers = series.cast(pl.Float64, strict=False).to_numpy()
        return numbers.astype(np.float64), None, False
    return None


def _days(series: Any) -> FloatArray:
    """Dates and times as days since 1970, durations and times of day as days."""
    pl = polars()
    if series.dtype in (pl.Date, pl.Datetime):
        micros = series.cast(pl.Datetime("us")).cast(pl.Int64)
        return _floats(micros) / (1e6 * SECONDS_PER_DAY)
    if series.dtype == pl.Duration:
        return _floats(series.dt.total_microseconds()) / (1e6 * SECONDS_PER_DAY)
    return _floats(series.cast(pl.Int64)) / (1e9 * SECONDS_PER_DAY)


def _floats(series: Any) -> FloatArray:
    pl = polars()
    floats: FloatArray = series.cast(pl.Float64).to_numpy().astype(np.float64)
    return floats


def _told(times: list[str], others: list[str]) -> list[str]:
    notes = []
    if times:
        notes.append(f"Dates become days since 1970: {some_of(times)}.")
    if others:
        notes.append(f"Lists, bytes and structures are left out: {some_of(others)}.")
    return notes


def _taken(raw: RawTable, kept: list[int]) -> RawTable:
    """The table without some columns."""
    if len(kept) == len(raw.names):
        return raw
    texts = {new: raw.texts[old] for new, old in enumerate(kept) if old in raw.texts}
    names = tuple(raw.names[place] for place in kept)
    return RawTable(raw.matrix[:, kept], names, raw.kind, texts, raw.sides, raw.notes)

"""Data frames of any library, read column by column through narwhals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur._data.checks import check_real, to_floats
from secateur._data.table import Table, TableSchema
from secateur.exceptions import SecateurError
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw

# By the names of narwhals' data types: numbers that are floats as soon as they are in numpy ...
_DIRECT = {
    *("Float16", "Float32", "Float64"),
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
}
# ... and those that the frame's own library must turn into floats first.
_CAST = {"Boolean", "Decimal", "Int128", "UInt128"}
_KINDS = {
    **dict.fromkeys(_DIRECT | _CAST, "number"),
    **dict.fromkeys(("Categorical", "Enum"), "category"),
    "String": "text",
    **dict.fromkeys(("Date", "Datetime", "Duration", "Time"), "time"),
    **dict.fromkeys(("Object", "Unknown"), "object"),
}
# Columns taken out of a frame in one go.
_PART = 32


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable(Table):
    """A table over a data frame.

    Parameters
    ----------
    frame : narwhals.DataFrame
        The user's own frame, wrapped.
    schema : TableSchema
        Names and categories.

    Examples
    --------
    >>> import narwhals as nw
    >>> import pandas as pd
    >>> frame = nw.from_native(pd.DataFrame({"a": [1, 2], "b": [True, None]}))
    >>> FrameTable(frame, TableSchema(("a", "b"), has_names=True)).block(0, 2)
    array([[ 1.,  1.],
           [ 2., nan]])
    """

    frame: nw.DataFrame[Any]
    schema: TableSchema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.frame.shape[0])

    def block(self, start: int, stop: int) -> FloatArray:
        """Give the columns from start to stop, in Fortran order."""
        stop = min(stop, self.n_features)
        out = np.empty((self.n_rows, stop - start), dtype=np.float64, order="F")
        return self._fill(out, range(start, stop))

    def columns(self, indices: IntArray) -> FloatArray:
        """Give a few columns, in C order."""
        out = np.empty((self.n_rows, len(indices)), dtype=np.float64)
        return self._fill(out, np.asarray(indices).tolist())

    def take(self, rows: IntArray) -> FrameTable:
        """Give the table of some rows."""
        return FrameTable(self.frame[np.asarray(rows)], self.schema)

    def _fill(self, out: FloatArray, features: Sequence[int]) -> FloatArray:
        for start, part in parts_of(self.frame, features):
            here = features[start : start + _PART]
            if self._is_plain(part, here):
                out[:, start : start + _PART] = part.to_numpy()
                continue
            for position, feature in enumerate(here):
                out[:, start + position] = self._read(part[:, position], feature)
        return out

    def _is_plain(self, part: nw.DataFrame[Any], features: Sequence[int]) -> bool:
        # such columns come at once, which is many times quicker in wide pandas frames
        encoders = self.schema.encoders
        return all(
            _dtype_name(dtype) in _DIRECT and feature not in encoders
            for dtype, feature in zip(part.schema.values(), features, strict=True)
        )

    def _read(self, series: nw.Series[Any], feature: int) -> FloatArray:
        known = self.schema.encoders.get(feature)
        return read_floats(series) if known is None else known.encode(read_values(series))


def parts_of(
    frame: nw.DataFrame[Any], features: Sequence[int]
) -> Iterator[tuple[int, nw.DataFrame[Any]]]:
    """Give the frame's columns a few at a time, with the position of the first.

    A column of a narrow part is found at once; in a wide frame all the names are read for each.
    """
    for start in range(0, len(features), _PART):
        here = features[start : start + _PART]
        # a slice is a view where the frame's library has views
        columns: Any = slice(here.start, here.stop) if isinstance(here, range) else list(here)
        part: nw.DataFrame[Any] = frame[:, columns]
        yield start, part


def kinds_of(frame: nw.DataFrame[Any], features: Sequence[int]) -> dict[int, str]:
    """Tell what each of the columns holds.

    One of number, category, text, empty (text without a single value), time, other.
    """
    kinds: dict[int, str] = {}
    for start, part in parts_of(frame, features):
        for position, dtype in enumerate(part.schema.values()):
            kind = _KINDS.get(_dtype_name(dtype), "other")
            if kind in {"object", "text"}:
                kind = _look_into(part[:, position], kind)
            kinds[features[start + position]] = kind
    return kinds


def read_floats(series: nw.Series[Any]) -> FloatArray:
    """Give a column of numbers as floats, missing values as NaN."""
    if _dtype_name(series.dtype) in _CAST:
        import narwhals as nw

        series = series.cast(nw.Float64)
    values = series.to_numpy()
    check_real(values.dtype, f"column {series.name!r}")
    return to_floats(values) if values.dtype.kind not in "fiub" else values.astype(np.float64)


def read_values(series: nw.Series[Any]) -> AnyArray:
    """Give a column as it is, missing values as None or NaN."""
    values = series.to_numpy()
    # pyarrow writes some value into the gaps of dictionary columns, so they are asked for
    missing = series.is_null().to_numpy().astype(np.bool_)
    if missing.any():
        is_float = values.dtype.kind == "f"
        values = values.astype(values.dtype if is_float else object)
        values[missing] = np.nan if is_float else None
    return values


def declared_order(series: nw.Series[Any]) -> list[Any] | None:
    """Give the categories in the order declared by the frame, where it declares one."""
    declared = getattr(series.dtype, "categories", None)
    return None if declared is None else list(declared)


def _look_into(series: nw.Series[Any], kind: str) -> str:
    if kind == "text":
        return "empty" if series.is_null().all() else "text"
    try:
        read_floats(series)
    except (SecateurError, TypeError, ValueError):
        return "text"
    return "number"


def _dtype_name(dtype: Any) -> str:
    return type(dtype).__name__

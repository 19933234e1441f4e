"""Data frames of any library, read column by column through narwhals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.data.checks import check_real, kind_of_objects, to_floats
from secateur.data.table import Order, Table, TableSchema
from secateur.exceptions import InputError, SecateurError, some_of
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw


def refuse_kinds(names: tuple[str, ...], kinds: dict[int, str], chosen: Collection[int]) -> None:
    """Raise for columns that are neither numbers nor categories, naming them."""
    for kind, what in _REFUSED.items():
        found = [names[feature] for feature, its_kind in kinds.items() if its_kind == kind]
        if found:
            raise InputError(
                "X must hold numbers or categories. " + what.format(f"column(s) {some_of(found)}")
            )
    rest = {names[feature]: kind for feature, kind in kinds.items() if feature not in chosen}
    text = [name for name, kind in rest.items() if kind in {"text", "category"}]
    if text:
        raise InputError(
            "X holds columns of text: could not convert string to float. Got column(s) "
            f"{some_of(text)}. Convert them to a category type, or name them in "
            "categorical_features=[...], or use categorical_features='from_dtype'."
        )
    other = [name for name, kind in rest.items() if kind == "other"]
    if other:
        raise InputError(
            "X must hold numbers or categories. Got lists, structures, bytes or integers too large "
            f"for floats in column(s) {some_of(other)}. Convert them to columns of numbers, or "
            "drop them."
        )


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
_REFUSED = {
    "time": "Got dates or times in {}. Convert them to numbers, for instance days since a date, or "
    "drop them.",
    "complex": "Complex data not supported. Got complex numbers in {}. Give both parts as columns.",
}
# Columns taken out of a frame in one go.
_PART = 32


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable(Table):
    """A table over a data frame."""

    frame: nw.DataFrame[Any]
    schema: TableSchema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.frame.shape[0])

    def columns(self, features: IntArray | slice, order: Order = "C") -> FloatArray:
        """Give a few columns as a new array; no others are read."""
        every = range(self.n_features)
        wanted = every[features] if isinstance(features, slice) else features.tolist()
        out = np.empty((self.n_rows, len(wanted)), dtype=np.float64, order=order)
        for start, part in _parts_of(self.frame, wanted):
            here = wanted[start : start + _PART]
            if self._is_plain(part, here):
                out[:, start : start + _PART] = part.to_numpy()
                continue
            for position, feature in enumerate(here):
                series, known = part[:, position], self.schema.encoders.get(feature)
                out[:, start + position] = (
                    _read_floats(series) if known is None else known.encode(read_values(series))
                )
        return out

    def take(self, rows: IntArray) -> FrameTable:
        """Give the table of some rows."""
        return FrameTable(self.frame[np.asarray(rows)], self.schema)

    def _is_plain(self, part: nw.DataFrame[Any], features: Sequence[int]) -> bool:
        # such columns come at once, which is many times quicker in wide pandas frames
        return all(
            type(dtype).__name__ in _DIRECT and feature not in self.schema.encoders
            for dtype, feature in zip(part.schema.values(), features, strict=True)
        )


def _parts_of(
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

    One of number, category, text, empty (text without a single value), time, complex, other.
    """
    kinds: dict[int, str] = {}
    for start, part in _parts_of(frame, features):
        for position, dtype in enumerate(part.schema.values()):
            kind = _KINDS.get(type(dtype).__name__, "other")
            if kind in {"object", "text"}:
                kind = _look_into(part[:, position], kind)
            kinds[features[start + position]] = kind
    return kinds


def _read_floats(series: nw.Series[Any]) -> FloatArray:
    """Give a column of numbers as floats, missing values as NaN."""
    if type(series.dtype).__name__ in _CAST:
        import narwhals as nw

        series = series.cast(nw.Float64)
    values = series.to_numpy()
    check_real(values.dtype, f"column {series.name!r}")
    return to_floats(values) if values.dtype.kind not in "fiub" else values.astype(np.float64)


def read_values(series: nw.Series[Any]) -> AnyArray:
    """Give a column as it is, missing values as None or NaN."""
    values = _with_signed_codes(series).to_numpy()
    # pyarrow writes some value into the gaps of dictionary columns, so they are asked for
    missing = series.is_null().to_numpy().astype(np.bool_)
    if missing.any():
        is_float = values.dtype.kind == "f"
        values = values.astype(values.dtype if is_float else object)
        values[missing] = np.nan if is_float else None
    return values


def _with_signed_codes(series: nw.Series[Any]) -> nw.Series[Any]:
    """A dictionary column of pyarrow with signed codes.

    polars writes unsigned ones, and older versions of pyarrow cannot turn those into numpy arrays.
    """
    native = series.to_native()
    codes = getattr(getattr(native, "type", None), "index_type", None)
    if not str(codes).startswith("uint"):
        return series
    import narwhals as nw
    import pyarrow as pa

    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int64()), chunk.dictionary)
        for chunk in native.chunks
    ]
    kind = pa.dictionary(pa.int64(), native.type.value_type)
    return nw.from_native(pa.chunked_array(chunks, type=kind), series_only=True)


def _look_into(series: nw.Series[Any], kind: str) -> str:
    if kind == "text":
        return "empty" if series.is_null().all() else "text"
    try:
        _read_floats(series)
    except (SecateurError, TypeError, ValueError):
        return kind_of_objects(series.to_numpy())
    return "number"

"""Data frames of any library, read column by column through narwhals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.data.categories import Categories, learn_categories, warn_of_unknown
from secateur.data.checks import (
    check_real,
    check_shape,
    infinite_columns,
    refuse_infinite,
    to_floats,
)
from secateur.data.names import FeatureIndex, align, check_width
from secateur.data.table import Table, TableSchema
from secateur.exceptions import InputError, ParameterError, SecateurError, some_of
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw


# Columns checked for infinities in one go.
_BLOCK = 16


def read_frame(
    frame: nw.DataFrame[Any],
    schema: TableSchema,
    *,
    categorical_features: Any = None,
    like: TableSchema | None = None,
    only: IntArray | None = None,
) -> FrameTable:
    """Check a data frame and give it as a table."""
    check_shape(frame.shape)
    if like is not None:
        frame = _arranged(frame, schema, like)
        return _checked(_read_again(frame, like, only), only)
    kinds = kinds_of(frame, range(schema.n_features))
    chosen = choose_categories(categorical_features, kinds, schema.names)
    refuse_kinds(schema.names, kinds, chosen)
    encoders = {
        feature: _learn(frame[:, feature], schema.names[feature]) for feature in sorted(chosen)
    }
    return _checked(FrameTable(frame, TableSchema(schema.names, schema.has_names, encoders)), only)


def choose_categories(wanted: Any, kinds: dict[int, str], names: tuple[str, ...]) -> set[int]:
    """Give the indices of the columns that count as categories."""
    by_type = {feature for feature, kind in kinds.items() if kind == "category"}
    if wanted is None:
        return by_type
    if isinstance(wanted, str):
        if wanted != "from_dtype":
            raise ParameterError(
                "'categorical_features' must be None, 'from_dtype', a list or a mask. Got "
                f"{wanted!r}. Use [{wanted!r}] to name one column."
            )
        return by_type | {f for f, kind in kinds.items() if kind in {"text", "empty"}}
    named = FeatureIndex(names).find(wanted, parameter="categorical_features")
    return by_type | set(named.tolist())


def refuse_kinds(names: tuple[str, ...], kinds: dict[int, str], chosen: Collection[int]) -> None:
    """Raise for columns that are neither numbers nor categories, naming them."""
    times = [names[feature] for feature, kind in kinds.items() if kind == "time"]
    if times:
        raise InputError(
            f"X must hold numbers or categories. Got dates or times in column(s) {some_of(times)}. "
            "Convert them to numbers, for instance days since a date, or drop them."
        )
    text = [
        names[feature]
        for feature, kind in kinds.items()
        if kind in {"text", "category"} and feature not in chosen
    ]
    if text:
        raise InputError(
            "X holds columns of text: could not convert string to float. Got column(s) "
            f"{some_of(text)}. Convert them to a category type, or name them in "
            "categorical_features=[...], or use categorical_features='from_dtype'."
        )
    other = [names[f] for f, kind in kinds.items() if kind == "other" and f not in chosen]
    if other:
        raise InputError(
            "X must hold numbers or categories. Got lists, structures or bytes in column(s) "
            f"{some_of(other)}. Convert them to columns of numbers, or drop them."
        )


def _arranged(
    frame: nw.DataFrame[Any], schema: TableSchema, like: TableSchema
) -> nw.DataFrame[Any]:
    if not (schema.has_names and like.has_names):
        check_width(schema.n_features, like.names)
        return frame
    order = align(schema.names, like.names)
    return frame if order is None else frame[:, order]


def _read_again(frame: nw.DataFrame[Any], like: TableSchema, only: IntArray | None) -> FrameTable:
    looked_at = _looked_at(like.n_features, only)
    kinds = kinds_of(frame, looked_at)
    refuse_kinds(like.names, kinds, like.encoders.keys())
    for feature, known in like.encoders.items():
        if feature in kinds:
            warn_of_unknown(known, read_values(frame[:, feature]), like.names[feature])
    return FrameTable(frame, like)


def _learn(series: nw.Series[Any], name: str) -> Categories:
    return learn_categories(read_values(series), name=name, order=declared_order(series))


def _checked(table: FrameTable, only: IntArray | None) -> FrameTable:
    floats = [
        feature
        for feature in _looked_at(table.n_features, only)
        if feature not in table.schema.encoders
    ]
    found: list[int] = []
    for start in range(0, len(floats), _BLOCK):
        features = np.array(floats[start : start + _BLOCK])
        found += features[infinite_columns(table.columns(features))].tolist()
    refuse_infinite(np.array(found, dtype=np.int64), table.names)
    return table


def _looked_at(n_features: int, only: IntArray | None) -> Sequence[int]:
    return range(n_features) if only is None else [int(feature) for feature in only]


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
    """A table over a data frame."""

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

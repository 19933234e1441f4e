"""Tables: one interface over arrays, sparse matrices and data frames, without a copy; problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from secateur.data.categories import Categories
from secateur.data.checks import check_real, kind_of_objects, to_floats
from secateur.exceptions import InputError, SecateurError, some_of
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw

    from secateur.data.costs import CostModel
    from secateur.data.target import Target, TargetType

Order = Literal["C", "F"]
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
    "time": "X must hold numbers or categories. Got dates or times in column(s) {}. Convert them "
    "to numbers, for instance days since a date, or drop them.",
    "complex": "X must hold numbers or categories. Complex data not supported. Got complex numbers "
    "in column(s) {}. Give both parts as columns.",
    "text": "X holds columns of text: could not convert string to float. Got column(s) {}. Convert "
    "them to a category type, or name them in categorical_features=[...], or use "
    "categorical_features='from_dtype'.",
    "other": "X must hold numbers or categories. Got lists, structures, bytes or integers too "
    "large for floats in column(s) {}. Convert them to columns of numbers, or drop them.",
}
_PART = 32  # columns taken out of a frame together


@dataclass(frozen=True, slots=True, eq=False)
class TableSchema:
    """Names and categories of a table."""

    names: tuple[str, ...]
    has_names: bool = False  # whether X has the names; x0, x1, ... otherwise
    encoders: Mapping[int, Categories] = field(default_factory=dict)  # category columns by index
    labels: tuple[Hashable, ...] | None = None  # the names as X has them, if they are not text

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def categories(self) -> dict[int, AnyArray]:
        """The known values of each category column; a code is a position in them."""
        return {feature: known.labels for feature, known in self.encoders.items()}

    def take(self, features: IntArray) -> TableSchema:
        """Give the schema of some columns."""
        names = tuple(self.names[feature] for feature in features)
        places = enumerate(features.tolist())
        encoders = {at: self.encoders[each] for at, each in places if each in self.encoders}
        labels = None if self.labels is None else tuple(self.labels[j] for j in features)
        return replace(self, names=names, encoders=encoders, labels=labels)


class Table(ABC):
    """X after validation: rows and columns of numbers, wherever they are stored.

    Missing values come out as NaN, categories as their codes, booleans as 0 and 1.
    """

    __slots__ = ()

    schema: TableSchema
    csc: Any  # the compressed columns of a sparse table, as of `canonical_csc`

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def columns(self, features: IntArray | slice, order: Order = "C") -> FloatArray:
        """Give a few columns as a new array, shape (n_rows, number of features)."""

    @abstractmethod
    def take(self, rows: IntArray) -> Table:
        """Give the table of some rows, with the same names and categories."""

    def block(self, start: int, stop: int) -> FloatArray:
        """Give the columns from start to stop, in Fortran order."""
        return self.columns(slice(start, stop), "F")

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.schema.n_features

    @property
    def names(self) -> tuple[str, ...]:
        """One name per column."""
        return self.schema.names

    @property
    def categories(self) -> dict[int, AnyArray]:
        """The known values of each category column; a code is a position in them."""
        return self.schema.categories

    @property
    def is_sparse(self) -> bool:
        """Whether the table has a ``csc``, to be read instead of blocks."""
        return hasattr(self, "csc")


@dataclass(frozen=True, slots=True, eq=False)
class DenseTable(Table):
    """A table over a numpy array of numbers."""

    array: AnyArray
    schema: TableSchema
    is_encoded: bool = False  # whether the category columns are codes already

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.array.shape[0])

    def columns(self, features: IntArray | slice, order: Order = "C") -> FloatArray:
        """Give a few columns as a new array; no others are read."""
        out = np.array(self.array[:, features], dtype=np.float64, order=order)
        if self.schema.encoders and not self.is_encoded:
            for position, feature in enumerate(np.arange(self.n_features)[features].tolist()):
                if feature in self.schema.encoders:
                    codes = self.schema.encoders[feature].encode(self.array[:, feature])
                    out[:, position] = codes
        return out

    def take(self, rows: IntArray) -> DenseTable:
        """Give the table of some rows."""
        return DenseTable(self.array[rows], self.schema, self.is_encoded)


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable(Table):
    """A table over a scipy matrix in compressed columns."""

    csc: Any
    schema: TableSchema  # without categories

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.csc.shape[0])

    def columns(self, features: IntArray | slice, order: Order = "C") -> FloatArray:
        """Give a few columns as a new array; no others are made dense."""
        return np.asarray(self.csc[:, features].toarray(order=order))

    def take(self, rows: IntArray) -> SparseTable:
        """Give the table of some rows."""
        return SparseTable(rows_of(self.csc, rows), self.schema)


@dataclass(frozen=True, slots=True, eq=False)
class SelectedTable(Table):
    """Some columns of a table, asked for by the numbers that they have in the whole one."""

    selected: Table
    features: IntArray  # sorted
    schema: TableSchema  # of the whole table

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.selected.n_rows

    def columns(self, features: IntArray | slice, order: Order = "C") -> FloatArray:
        """Give a few columns as a new array."""
        wanted = np.arange(self.n_features)[features]
        return self.selected.columns(np.searchsorted(self.features, wanted), order)

    def take(self, rows: IntArray) -> SelectedTable:
        """Give the table of some rows."""
        return replace(self, selected=self.selected.take(rows))


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
            is_plain = all(
                type(dtype).__name__ in _DIRECT and feature not in self.schema.encoders
                for dtype, feature in zip(part.schema.values(), here, strict=True)
            )
            if is_plain:  # at once, which is many times quicker in wide pandas frames
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


def _parts_of(
    frame: nw.DataFrame[Any], features: Sequence[int]
) -> Iterator[tuple[int, nw.DataFrame[Any]]]:
    """Give a few columns at a time, and the position of the first; wide frames are slow."""
    for start in range(0, len(features), _PART):
        here = features[start : start + _PART]
        # a slice is a view where the frame's library has views
        columns: Any = slice(here.start, here.stop) if isinstance(here, range) else list(here)
        part: nw.DataFrame[Any] = frame[:, columns]
        yield start, part


def kinds_of(frame: nw.DataFrame[Any], features: Sequence[int]) -> dict[int, str]:
    """What columns hold: number, category, text, empty (null text), time, complex, other."""
    kinds: dict[int, str] = {}
    for start, part in _parts_of(frame, features):
        for position, dtype in enumerate(part.schema.values()):
            kind = _KINDS.get(type(dtype).__name__, "other")
            if kind == "text" and part[:, position].is_null().all():
                kind = "empty"
            elif kind == "object":
                try:
                    _read_floats(part[:, position])
                    kind = "number"
                except (SecateurError, TypeError, ValueError):
                    kind = kind_of_objects(part[:, position].to_numpy())
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
    native, signed = series.to_native(), series
    codes = getattr(getattr(native, "type", None), "index_type", None)
    if str(codes).startswith("uint"):  # older pyarrow cannot turn these into arrays
        import narwhals as nw
        import pyarrow as pa

        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int64()), chunk.dictionary)
            for chunk in native.chunks
        ]
        kind = pa.dictionary(pa.int64(), native.type.value_type)
        signed = nw.from_native(pa.chunked_array(chunks, type=kind), series_only=True)
    values = signed.to_numpy()
    # pyarrow writes some value into the gaps of dictionary columns, so they are asked for
    missing = series.is_null().to_numpy().astype(np.bool_)
    if missing.any():
        is_float = values.dtype.kind == "f"
        values = values.astype(values.dtype if is_float else object)
        values[missing] = np.nan if is_float else None
    return values


def refuse_kinds(names: tuple[str, ...], kinds: dict[int, str], chosen: Collection[int]) -> None:
    """Raise for columns that are neither numbers nor categories, naming them."""
    wrong = {
        names[feature]: "text" if kind == "category" else kind
        for feature, kind in kinds.items()
        if feature not in chosen or kind in {"time", "complex"}
    }
    for kind, message in _REFUSED.items():
        found = [name for name, its_kind in wrong.items() if its_kind == kind]
        if found:
            raise InputError(message.format(some_of(found)))


def canonical_csc(matrix: Any) -> Any:
    """Return any scipy sparse matrix as CSC without duplicates and zeros; the original stays."""
    import scipy.sparse as sp

    csc = sp.csc_array(matrix, dtype=np.float64)
    # a new wrapper, but perhaps around the user's own arrays
    if not csc.has_canonical_format or (csc.data == 0).any():
        csc = csc.copy()
        csc.sum_duplicates()
        csc.eliminate_zeros()
    return csc


def rows_of(csc: Any, rows: IntArray) -> Any:
    """Some rows of compressed columns, their indices sorted."""
    taken = csc[np.asarray(rows)]
    taken.sort_indices()
    return taken


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The data of a fit: table, target, weights and costs of features."""

    table: Table
    target: Target
    weight: FloatArray
    cost_model: CostModel
    target_type: TargetType

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    def take(self, rows: IntArray) -> Problem:
        """Give the problem of some rows, as for a fold; features and costs stay."""
        return replace(
            self,
            table=self.table.take(rows),
            target=self.target.take(rows),
            weight=self.weight[rows],
        )


class Fold(NamedTuple):
    """Row numbers of one fold: training rows and test rows."""

    train: IntArray
    test: IntArray


def all_rows(n_rows: int) -> Fold:
    """A fold whose training rows are all rows."""
    return Fold(np.arange(n_rows), np.empty(0, np.int64))

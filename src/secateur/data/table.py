"""Tables: one interface over arrays, sparse matrices and data frames, without a copy; problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from secateur.data.categories import Categories
from secateur.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.data.costs import CostModel
    from secateur.data.target import Target, TargetType

Order = Literal["C", "F"]


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

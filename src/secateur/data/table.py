"""Tables: one interface over arrays, sparse matrices and data frames, without a copy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from secateur.data.categories import Categories
from secateur.exceptions import InputTypeError
from secateur.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TableSchema:
    """Names and categories of a table."""

    names: tuple[str, ...]
    has_names: bool = False  # whether X has the names; x0, x1, ... otherwise
    encoders: Mapping[int, Categories] = field(default_factory=dict)  # category columns by index

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def categories(self) -> dict[int, AnyArray]:
        """The known values of each category column; a code is a position in them."""
        return {feature: known.labels for feature, known in self.encoders.items()}


class Table(ABC):
    """X after validation: rows and columns of numbers, wherever they are stored.

    Missing values come out as NaN, categories as their codes, booleans as 0 and 1.
    """

    __slots__ = ()

    schema: TableSchema

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def block(self, start: int, stop: int) -> FloatArray:
        """Give the columns from start to stop, shape (n_rows, stop - start), Fortran order."""

    @abstractmethod
    def columns(self, indices: IntArray) -> FloatArray:
        """Give a few columns, shape (n_rows, len(indices)), C order."""

    @abstractmethod
    def take(self, rows: IntArray) -> Table:
        """Give the table of some rows, with the same names and categories."""

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.schema.n_features

    @property
    def names(self) -> tuple[str, ...]:
        """One name per column."""
        return self.schema.names

    @property
    def has_names(self) -> bool:
        """Whether X brought the names itself."""
        return self.schema.has_names

    @property
    def categories(self) -> dict[int, AnyArray]:
        """The known values of each category column; a code is a position in them."""
        return self.schema.categories

    @property
    def is_sparse(self) -> bool:
        """Whether the table has a ``csc``, to be read instead of blocks."""
        return False

    @property
    def csc(self) -> Any:
        """The compressed columns of a sparse table, as `canonical_csc` gives them."""
        raise InputTypeError(
            f"Only a sparse table has compressed columns. Got a {type(self).__name__}. Ask "
            "'is_sparse' first, and read blocks."
        )


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

    def block(self, start: int, stop: int) -> FloatArray:
        """Give the columns from start to stop, in Fortran order."""
        out = np.array(self.array[:, start:stop], dtype=np.float64, order="F")
        return self._encode(out, range(start, start + out.shape[1]))

    def columns(self, indices: IntArray) -> FloatArray:
        """Give a few columns, in C order."""
        out = np.array(self.array[:, indices], dtype=np.float64, order="C")
        return self._encode(out, indices)

    def take(self, rows: IntArray) -> DenseTable:
        """Give the table of some rows."""
        return DenseTable(self.array[rows], self.schema, self.is_encoded)

    def _encode(self, out: FloatArray, features: range | IntArray) -> FloatArray:
        if self.schema.encoders and not self.is_encoded:
            for position, feature in enumerate(features):
                known = self.schema.encoders.get(int(feature))
                if known is not None:
                    out[:, position] = known.encode(self.array[:, feature])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable(Table):
    """A table over a scipy matrix in compressed columns."""

    matrix: Any  # as of `canonical_csc`
    schema: TableSchema  # without categories

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the table has a ``csc``, to be read instead of blocks."""
        return True

    @property
    def csc(self) -> Any:
        """The compressed columns: ``data``, ``indices``, ``indptr``."""
        return self.matrix

    def block(self, start: int, stop: int) -> FloatArray:
        """Give the columns from start to stop, in Fortran order."""
        return np.asfortranarray(self.matrix[:, start:stop].toarray(order="F"))

    def columns(self, indices: IntArray) -> FloatArray:
        """Give a few columns, in C order; no others are made dense."""
        return np.ascontiguousarray(self.matrix[:, np.asarray(indices)].toarray(order="C"))

    def take(self, rows: IntArray) -> SparseTable:
        """Give the table of some rows."""
        taken = self.matrix[np.asarray(rows)]
        taken.sort_indices()
        return SparseTable(taken, self.schema)


class RemoteTable(Table):
    """A table whose numbers are not in the memory of this process: single columns are refused.

    ``where`` says where they are, ``advice`` what to do instead.
    """

    __slots__ = ()

    where: ClassVar[str]
    advice: ClassVar[str]

    def block(self, start: int, stop: int) -> FloatArray:  # noqa: ARG002
        """Raise an error."""
        raise self._refusal()

    def columns(self, indices: IntArray) -> FloatArray:  # noqa: ARG002
        """Raise an error."""
        raise self._refusal()

    def take(self, rows: IntArray) -> Table:  # noqa: ARG002
        """Raise an error."""
        raise self._refusal()

    def _refusal(self) -> InputTypeError:
        return InputTypeError(
            f"X must hold its numbers in memory for this. Got {self.where}. {self.advice}"
        )


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

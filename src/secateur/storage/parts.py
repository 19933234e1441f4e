"""Parts of one long table, all read alike: the first tells what its columns are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.data.categories import categories_of, count_values
from secateur.data.checks import (
    check_real,
    check_shape,
    infinite_columns,
    infinite_entries,
    refuse_infinite,
    to_floats,
)
from secateur.data.frame_table import (
    FrameTable,
    choose_categories,
    kinds_of,
    read_values,
    refuse_kinds,
)
from secateur.data.frames import as_frame
from secateur.data.names import align, check_width, made_up_names, names_of
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.exceptions import InputError, ParameterError
from secateur.typing import AnyArray

COLUMNS_AT_ONCE = 16
"""Columns checked for infinities in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class PartReader:
    """Reads parts as tables with the names of the first, categories as far as they are known.

    Parameters
    ----------
    schema : TableSchema
    categorical : tuple of int
        The columns of categories.
    is_sparse : bool
    """

    schema: TableSchema
    categorical: tuple[int, ...]
    is_sparse: bool

    @classmethod
    def of(
        cls, X: Any, categorical_features: Any, given: tuple[str, ...] | None = None
    ) -> PartReader:
        """What the first part tells: names, if none are given, and which columns are categories."""
        import scipy.sparse as sp

        is_sparse = bool(sp.issparse(X))
        frame = None if is_sparse or isinstance(X, np.ndarray) else as_frame(X)
        if frame is not None:
            names, has_names = names_of(X)
            kinds = kinds_of(frame, range(len(names)))
            chosen = choose_categories(categorical_features, kinds, names)
            refuse_kinds(names, kinds, chosen)
            return cls(TableSchema(names, has_names), tuple(sorted(chosen)), is_sparse=False)
        check_shape(tuple(X.shape))
        names = made_up_names(int(X.shape[1])) if given is None else given
        chosen = choose_categories(categorical_features, {}, names)
        if is_sparse and chosen:
            msg = (
                "'categorical_features' must be None for a sparse table. Got columns. Use a dense "
                "table for categories."
            )
            raise ParameterError(msg)
        return cls(TableSchema(names), tuple(sorted(chosen)), is_sparse)

    def with_categories(self, counts: dict[int, Counter[Any]]) -> PartReader:
        """The same, once all values of the category columns are known."""
        names = self.schema.names
        known = {feature: categories_of(found, names[feature]) for feature, found in counts.items()}
        return replace(self, schema=replace(self.schema, encoders=known))

    def table(self, X: Any) -> Table:
        """A part as a table, its columns in the order of the first."""
        if self.is_sparse:
            check_width(int(X.shape[1]), self.schema.names)
            return SparseTable(canonical_csc(X), self.schema)
        frame = None if isinstance(X, np.ndarray) else as_frame(X)
        if frame is None:
            return self._array_table(np.asarray(X))
        names, has_names = names_of(X)
        if has_names:
            order = align(names, self.schema.names)
            frame = frame if order is None else frame[:, order]
        check_width(frame.shape[1], self.schema.names)
        return FrameTable(frame, self.schema)

    def _array_table(self, array: AnyArray) -> Table:
        check_real(array.dtype)
        check_width(array.shape[1], self.schema.names)
        if array.dtype.kind in "fiub" or self.categorical:
            return DenseTable(array, self.schema)
        return DenseTable(to_floats(array), self.schema, is_encoded=True)

    def values(self, table: Table, feature: int) -> AnyArray:
        """A column of categories as its values."""
        if isinstance(table, FrameTable):
            return read_values(table.frame[:, feature])
        assert isinstance(table, DenseTable)  # noqa: S101  # sparse tables have no categories
        return table.array[:, feature]

    def count(self, table: Table, counts: dict[int, Counter[Any]]) -> None:
        """Add up how often each value of the category columns occurs."""
        for feature in self.categorical:
            found = count_values(self.values(table, feature).tolist())
            counts.setdefault(feature, Counter()).update(found)

    def refuse_infinite(self, table: Table) -> None:
        """Raise if a part has infinities."""
        names = self.schema.names
        if table.is_sparse:
            entries = infinite_entries(table.csc.data)
            found = np.unique(np.searchsorted(table.csc.indptr, entries, side="right") - 1)
            refuse_infinite(found, names)
            return
        numbers = self.numbers
        for start in range(0, len(numbers), COLUMNS_AT_ONCE):
            some = np.array(numbers[start : start + COLUMNS_AT_ONCE])
            refuse_infinite(some[infinite_columns(table.columns(some))], names)

    @property
    def numbers(self) -> list[int]:
        """The columns that are no categories."""
        sets = set(self.categorical)
        return [j for j in range(self.schema.n_features) if j not in sets]


def check_any(n_rows: int) -> None:
    """Refuse a table without rows."""
    if n_rows == 0:
        msg = (
            "A table must have at least one row of positive weight. Got none. Check the file, or "
            "the filters that made it."
        )
        raise InputError(msg)

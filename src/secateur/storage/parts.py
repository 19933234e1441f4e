"""Reading a long table part by part; the first part defines its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
from secateur.data.table import (
    DenseTable,
    RemoteTable,
    SparseTable,
    Table,
    TableSchema,
    canonical_csc,
)
from secateur.data.weights import read_weights
from secateur.exceptions import InputError, InputTypeError, ParameterError
from secateur.storage.folder import LabelColumn
from secateur.storage.sources import Part
from secateur.typing import AnyArray, FloatArray, IntArray

COLUMNS_AT_ONCE = 16  # columns checked for infinities in one go


@dataclass(frozen=True, slots=True, eq=False)
class PartReader:
    """Reads parts as tables with the names of the first, categories as far as they are known."""

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
            raise ParameterError(
                "'categorical_features' must be None for a sparse table. Got columns. Use a dense "
                "table for categories."
            )
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
        raise InputError(
            "A table must have at least one row of positive weight. Got none. Check the file, or "
            "the filters that made it."
        )


def check_same_rows(n_rows: int, n_before: int) -> None:
    """Refuse data that changed between two passes over it."""
    if n_rows != n_before:
        raise InputError(
            f"The data must stay as it is while it is read. Got {n_rows} rows where there were "
            f"{n_before} before. Open it again."
        )


class RowCollector:
    """Reads parts, drops rows of weight 0, and collects targets, weights and tasks."""

    def __init__(self, reader: PartReader, n_targets: int) -> None:
        self.reader = reader
        self._targets = [LabelColumn() for _ in range(n_targets)]
        self._task: LabelColumn | None = None
        self._weights: list[FloatArray] = []
        self._is_weighted = False
        self.n_rows = 0

    def add(self, part: Part) -> Table:
        """The rows of a part that have weight."""
        table = self.reader.table(part.X)
        kept, weight = kept_rows(part, table.n_rows)
        if kept is not None:
            table = table.take(kept)
        self.n_rows += table.n_rows
        self.reader.refuse_infinite(table)
        for labels, values in zip(self._targets, part.targets, strict=True):
            labels.add(values, kept)
        if part.task is not None:
            self._task = self._task or LabelColumn()
            self._task.add(part.task, kept)
        self._is_weighted |= weight is not None
        self._weights.append(np.ones(table.n_rows) if weight is None else weight)
        return table

    @property
    def targets(self) -> tuple[LabelColumn, ...]:
        """The targets of all rows."""
        return tuple(column.finished() for column in self._targets)

    @property
    def task(self) -> LabelColumn | None:
        """The tasks of all rows, where there are any."""
        return None if self._task is None else self._task.finished()

    @property
    def weight(self) -> FloatArray | None:
        """The weights of all rows, None where none were given."""
        return np.concatenate(self._weights) if self._is_weighted else None


def kept_rows(part: Part, n_rows: int) -> tuple[IntArray | None, FloatArray | None]:
    """The rows of positive weight, None for all of them; and their weights."""
    if part.weight is None:
        return None, None
    weight = read_weights(part.weight, n_rows)
    kept = np.flatnonzero(weight)
    return (None, weight) if len(kept) == n_rows else (kept, weight[kept])


class LazyTable(RemoteTable):
    """A dask array or data frame, computed part by part."""

    __slots__ = ("_parts", "_reader", "lengths", "schema")

    where = "rows of a dask collection"
    advice = "Compute the columns that are needed first: X[...].compute()."

    def __init__(self, X: Any) -> None:
        parts, lengths = _frame_parts(X) if hasattr(X, "columns") else _array_parts(X)
        check_any(sum(lengths))
        self._parts = [part for part, n_rows in zip(parts, lengths, strict=True) if n_rows]
        self.lengths = tuple(n_rows for n_rows in lengths if n_rows)
        self._reader = PartReader.of(self._parts[0].compute(), None)
        if self._reader.is_sparse:
            msg = "A dask collection must have dense parts for this. Got sparse ones. Give the "
            raise InputTypeError(msg + "sparse matrix itself.")
        self.schema: TableSchema = self._reader.schema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.lengths)

    @property
    def categorical(self) -> tuple[int, ...]:
        """The columns of categories, which have no numbers."""
        return self._reader.categorical

    def part(self, number: int) -> Table:
        """The rows of one part, computed."""
        table = self._reader.table(self._parts[number].compute())
        self._reader.refuse_infinite(table)
        if table.n_rows != self.lengths[number]:
            raise InputError(
                f"A part of a dask collection must stay as it is. Got {table.n_rows} rows, after "
                f"{self.lengths[number]} at first. Persist what is drawn at random."
            )
        return table


def _frame_parts(X: Any) -> tuple[Sequence[Any], list[int]]:
    parts = [X.partitions[number] for number in range(X.npartitions)]
    return parts, [int(n_rows) for n_rows in X.map_partitions(len).compute()]


def _array_parts(X: Any) -> tuple[Sequence[Any], list[int]]:
    if X.ndim != 2:
        raise InputError(
            f"X must be a table of rows and columns. Got an array of shape {X.shape}. Reshape it."
        )
    known = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
    rows = known.rechunk((known.chunks[0], -1))
    return [rows.blocks[number] for number in range(rows.numblocks[0])], list(rows.chunks[0])


def computed(value: Any) -> Any:
    """What a dask collection holds; anything else as it is."""
    return value.compute() if hasattr(value, "compute") and hasattr(value, "dask") else value

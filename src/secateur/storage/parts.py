"""Reading a long table part by part; the first part defines its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from secateur.data.categories import categories_of, count_values, is_missing
from secateur.data.checks import check_shape
from secateur.data.frame_table import (
    FrameTable,
    choose_categories,
    kinds_of,
    read_values,
    refuse_kinds,
)
from secateur.data.frames import as_array, as_frame, read_table, select_rows
from secateur.data.names import made_up_names, names_of
from secateur.data.table import Table, TableSchema
from secateur.data.weights import read_weights
from secateur.exceptions import InputError, ParameterError
from secateur.storage.sources import Part
from secateur.typing import AnyArray, FloatArray, IntArray

NOTHING: IntArray = np.empty(0, np.int64)


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
        """The reader for the first part; ``given`` are the names of columns that have none."""
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
        """A part as a table, its columns in the order of the first; numbers are checked."""
        return read_table(X, like=self.schema, only=self.numbers if self.categorical else None)

    def table_again(self, X: Any) -> Table:
        """The same of a part that was checked before, with its categories."""
        is_object = isinstance(X, np.ndarray) and X.dtype.kind not in "fiub"
        return read_table(X, like=self.schema, only=None if is_object else NOTHING)

    @property
    def numbers(self) -> IntArray:
        """The columns that are not categories."""
        return np.setdiff1d(np.arange(self.schema.n_features), self.categorical)


def first_of(parts: Iterable[Part]) -> tuple[Part, Iterator[Part]]:
    """The first part, and all parts."""
    rest = iter(parts)
    first = next(rest, None)
    check_any(0 if first is None else 1)
    assert first is not None  # noqa: S101  # there is a part
    return first, chain([first], rest)


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
        self.targets = [LabelColumn() for _ in range(n_targets)]
        self.task: LabelColumn | None = None
        self._weights: list[FloatArray] = []
        self._is_weighted = False
        self.n_rows = 0
        # how often each value of the category columns occurs
        self.counts: dict[int, Counter[Any]] = {j: Counter() for j in reader.categorical}

    def add(self, part: Part) -> Table | None:
        """The rows of a part that have weight, None if there are none."""
        X, kept, weight = weighted_rows(part)
        n_rows = int(X.shape[0])
        table = self.reader.table(X) if n_rows else None
        self.n_rows += n_rows
        for feature in self.reader.categorical if n_rows else ():
            if isinstance(table, FrameTable):
                values = read_values(table.frame[:, feature])
            else:
                values = X[:, feature]
            self.counts[feature].update(count_values(values.tolist()))
        for labels, values in zip(self.targets, part.targets, strict=True):
            labels.add(values, kept)
        if part.task is not None:
            self.task = self.task or LabelColumn()
            self.task.add(part.task, kept)
        self._is_weighted |= weight is not None
        self._weights.append(np.ones(n_rows) if weight is None else weight)
        return table

    @property
    def weight(self) -> FloatArray | None:
        """The weights of all rows, None where none were given."""
        return np.concatenate(self._weights) if self._is_weighted else None


def weighted_rows(part: Part) -> tuple[Any, IntArray | None, FloatArray | None]:
    """The features of the rows of positive weight; which rows (None for all), their weights."""
    if part.weight is None:
        return part.X, None, None
    weight = read_weights(part.weight, int(part.X.shape[0]))
    kept = np.flatnonzero(weight)
    if len(kept) == len(weight):
        return part.X, None, weight
    return select_rows(part.X, kept), kept, weight[kept]


class LabelColumn:
    """Numbers as they are; text and other values as codes of the distinct ones.

    >>> column = LabelColumn()
    >>> column.add(["b", "a"])
    >>> column.add(["b", None])
    >>> label_values(*column.encoded())
    array(['b', 'a', 'b', None], dtype=object)
    """

    def __init__(self) -> None:
        self._parts: list[AnyArray] = []
        self._codes: dict[Any, int] = {}

    def add(self, values: Any, kept: IntArray | None = None) -> None:
        """Append values, or some of them."""
        array = as_array(values, "target")
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise InputError(
                f"'target' must be one value per row. Got shape {array.shape}. Name one column."
            )
        array = array if kept is None else array[kept]
        if array.dtype.kind not in "biuf":
            codes = self._codes
            found = [codes.setdefault(_plain(value), len(codes)) for value in array.tolist()]
            array = np.array(found, np.int32)
        self._parts.append(array)

    def encoded(self) -> tuple[AnyArray, list[Any] | None]:
        """The numbers; or codes, and the distinct values."""
        if self._codes and {part.dtype.kind for part in self._parts} != {"i"}:
            raise InputError(
                "'target' must hold values of one kind. Got text in some rows and numbers in "
                "others. Make all of them text, or all numbers."
            )
        return np.concatenate(self._parts), list(self._codes) or None


def label_values(array: AnyArray, labels: list[Any] | None) -> AnyArray:
    """The values of a column that was encoded."""
    return array if labels is None else np.array(labels, dtype=object)[array]


def _plain(value: Any) -> Any:
    """Text, numbers, truth or None: what a header of JSON can hold."""
    if is_missing(value):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)

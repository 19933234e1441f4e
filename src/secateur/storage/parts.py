"""Reading a long table part by part; the first part defines its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from secateur.data.categories import categories_of, count_values, is_missing
from secateur.data.frames import (
    as_array,
    as_column,
    check_length,
    is_sparse,
    name_columns,
    read_table,
    select_rows,
)
from secateur.data.table import FrameTable, Table, read_values
from secateur.data.target import read_weights
from secateur.exceptions import InputError
from secateur.storage.sources import Part
from secateur.typing import AnyArray, FloatArray, IntArray

NOTHING: IntArray = np.empty(0, np.int64)


class RowReader:
    """Reads parts as tables with the columns of the first; collects targets, weights and tasks."""

    def __init__(
        self, parts: Iterable[Part], categorical_features: Any, names: tuple[str, ...] | None
    ) -> None:
        rest = iter(parts)
        first = next(rest, None)
        if first is None:
            raise _no_rows()
        self._parts = chain([first], rest)
        self.is_sparse = is_sparse(first.X)
        schema, chosen = name_columns(first.X, categorical_features, names)
        self.schema = replace(schema, labels=None)
        self.categorical = tuple(chosen)
        self.numbers = np.setdiff1d(np.arange(self.schema.n_features), self.categorical)
        self.targets = [LabelColumn() for _ in first.targets]
        self.task: LabelColumn | None = None
        self.weight: FloatArray | None = None  # None where none were given
        self.n_rows = 0
        self._counts: dict[int, Counter[Any]] = {feature: Counter() for feature in chosen}

    def tables(self) -> Iterator[Table]:
        """The rows of positive weight, part after part; their numbers are checked."""
        weights, is_weighted = [], False
        for part in self._parts:
            X, kept, weight = weighted_rows(part)
            if is_sparse(X) != self.is_sparse:
                found = "dense after sparse" if self.is_sparse else "sparse after dense"
                raise InputError(
                    f"The blocks of a table must be of one kind. Got {found} ones. Make all of "
                    "them sparse, or none."
                )
            for labels, values in zip(self.targets, part.targets, strict=True):
                labels.add(values, int(part.X.shape[0]), kept)
            if part.task is not None:
                self.task = self.task or LabelColumn()
                self.task.add(part.task, int(part.X.shape[0]), kept)
            n_rows = int(X.shape[0])
            weights.append(np.ones(n_rows) if weight is None else weight)
            is_weighted |= weight is not None
            self.n_rows += n_rows
            if n_rows:
                yield self._table(X)
        self.weight = np.concatenate(weights) if is_weighted else None
        if not self.n_rows:
            raise _no_rows()

    def _table(self, X: Any) -> Table:
        table = read_table(X, like=self.schema, only=self.numbers if self.categorical else None)
        frame = table.frame if isinstance(table, FrameTable) else None
        for feature, counts in self._counts.items():
            column = X[:, feature] if frame is None else read_values(frame[:, feature])
            counts.update(count_values(column.tolist()))
        return table

    def learn_categories(self) -> None:
        """Know the categories, once all rows were read."""
        names = self.schema.names
        known = {feature: categories_of(c, names[feature]) for feature, c in self._counts.items()}
        self.schema = replace(self.schema, encoders=known)

    def table_again(self, X: Any) -> Table:
        """Rows that were checked before, with their categories."""
        is_object = isinstance(X, np.ndarray) and X.dtype.kind not in "fiub"
        return read_table(X, like=self.schema, only=None if is_object else NOTHING)


def _no_rows() -> InputError:
    return InputError(
        "A table must have at least one row of positive weight. Got none. Check the file, or the "
        "filters that made it."
    )


def check_same_rows(n_rows: int, n_before: int) -> None:
    """Refuse data that changed between two passes over it."""
    if n_rows != n_before:
        raise InputError(
            f"The data must stay as it is while it is read. Got {n_rows} rows where there were "
            f"{n_before} before. Open it again."
        )


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
    >>> column.add(["b", "a"], 2)
    >>> column.add(["b", None], 2)
    >>> label_values(*column.encoded())
    array(['b', 'a', 'b', None], dtype=object)
    """

    def __init__(self) -> None:
        self._parts: list[AnyArray] = []
        self._codes: dict[Any, int] = {}

    def add(self, values: Any, n_rows: int, kept: IntArray | None = None) -> None:
        """Append the values of some rows, or of those that are kept."""
        array = as_array(values, "y")
        array = as_column(array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array)
        check_length(len(array), n_rows, "y")
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

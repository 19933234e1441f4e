"""Rows of a dask collection as a table: computed part by part when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.data.table import Table, TableSchema
from secateur.exceptions import InputError, InputTypeError
from secateur.storage.parts import PartReader, check_any
from secateur.typing import FloatArray, IntArray


class LazyTable(Table):
    """A dask array or data frame whose parts are tables of their own.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame

    Attributes
    ----------
    lengths : tuple of int
        The rows of each part; parts without rows are left out.
    """

    __slots__ = ("_parts", "_reader", "lengths", "schema")

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
            msg = (
                f"A part of a dask collection must stay as it is. Got {table.n_rows} rows, after "
                f"{self.lengths[number]} at first. Persist what is drawn at random."
            )
            raise InputError(msg)
        return table

    # ---- what rows that are elsewhere do not do -----------------------------------------------

    def block(self, start: int, stop: int) -> FloatArray:  # noqa: ARG002
        """Refused: the numbers are not here."""
        raise _not_here()

    def columns(self, indices: IntArray) -> FloatArray:  # noqa: ARG002
        """Refused: the numbers are not here."""
        raise _not_here()

    def take(self, rows: IntArray) -> Table:  # noqa: ARG002
        """Refused: the numbers are not here."""
        raise _not_here()


def _frame_parts(X: Any) -> tuple[Sequence[Any], list[int]]:
    parts = [X.partitions[number] for number in range(X.npartitions)]
    return parts, [int(n_rows) for n_rows in X.map_partitions(len).compute()]


def _array_parts(X: Any) -> tuple[Sequence[Any], list[int]]:
    if X.ndim != 2:
        msg = f"X must be a table of rows and columns. Got an array of shape {X.shape}. Reshape it."
        raise InputError(msg)
    known = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
    rows = known.rechunk((known.chunks[0], -1))
    return [rows.blocks[number] for number in range(rows.numblocks[0])], list(rows.chunks[0])


def computed(value: Any) -> Any:
    """What a dask collection holds; anything else as it is."""
    return value.compute() if hasattr(value, "compute") and hasattr(value, "dask") else value


def _not_here() -> InputTypeError:
    return InputTypeError(
        "X must hold its numbers in memory for this. Got rows of a dask collection. Compute the "
        "columns that are needed first: X[...].compute()."
    )

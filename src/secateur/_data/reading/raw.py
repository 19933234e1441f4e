"""`RawTable`: what a file holds, before anybody has said what its columns are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from secateur._data.reading.formats import FileKind


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """Numbers as one matrix, all other columns as text.

    A matrix and not a data frame: a frame of a million columns takes a minute and gigabytes, a
    matrix of them takes three seconds.

    Parameters
    ----------
    matrix : ndarray or CSR matrix of shape (n_rows, n_columns), float64
        NaN where a value is missing, and all along the columns of ``texts``.
    names : tuple of str
        One for each column, no two alike.
    texts : mapping of int to polars.Series
        The columns that hold other things than numbers, by position, missing values as nulls.
    sides : mapping of str to ndarray
        What lies beside the table: the labels of a LIBSVM file, arrays of an NPZ file.
    kind : FileKind
    notes : tuple of str
        What was guessed or done, in sentences.
    others : frozenset of int
        Where a table is one block of a file: columns that hold other things than numbers here, and
        were not asked for as text.
    """

    matrix: Any
    names: tuple[str, ...]
    kind: FileKind
    texts: Mapping[int, Any] = field(default_factory=dict)
    sides: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    others: frozenset[int] = frozenset()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix stores its non-zeros only."""
        return hasattr(self.matrix, "indptr")

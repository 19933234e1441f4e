"""What grafting asks of the columns of a table, wherever their rows are."""

from __future__ import annotations

from typing import Protocol

from secateur._kernels.columns import DenseColumns, SparseColumns
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, IntArray


class TableColumns(Protocol):
    """Columns on one scale; a stored value is ``(x - shift) / factor``."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def n_cells(self) -> int:
        """The number of stored cells."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether only the cells that are not zero are stored, in this process."""
        ...

    @property
    def is_frugal(self) -> bool:
        """Whether all rows of a few columns may be more than memory has room for."""
        ...

    @property
    def shift(self) -> FloatArray: ...

    @property
    def factor(self) -> FloatArray: ...

    def n_stored(self, features: IntArray) -> int:
        """The number of stored cells of some columns."""
        ...

    def are_alike(self, a: int, b: int) -> bool | None:
        """Whether two columns are copies or mirror images; None where one must look closer."""
        ...

    def dots(self, vectors: FloatArray, threads: Threads) -> FloatArray:
        """X'g: sums over rows of each stored column times each vector, (n_vectors, n_features)."""
        ...

    def moments(self, weight: FloatArray, threads: Threads) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each stored column; the weights have the sum one."""
        ...

    def gather(
        self, features: IntArray, rows: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """``(stored - mean) * inverse`` of a few columns, shape (n_features, n_rows)."""
        ...

    def combine(
        self, features: IntArray, step: FloatArray, mean: FloatArray, inverse: FloatArray
    ) -> FloatArray:
        """The sum of a few columns, standardised as in `gather`, each times its step."""
        ...

    def at_hand(
        self, features: IntArray, mean: FloatArray, inverse: FloatArray
    ) -> tuple[DenseColumns | SparseColumns, IntArray, FloatArray, FloatArray]:
        """Columns in this process, among which some features are: where, and on what scale.

        Means and inverse scales come back place by place, as the columns stand.
        """
        ...

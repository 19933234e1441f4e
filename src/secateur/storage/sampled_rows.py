"""Some rows of a table on disk, in memory: models are scored on them, and reports show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.frames import select_rows
from secateur.data.sampling import sample_queries, sample_rows
from secateur.exceptions import InputError
from secateur.storage.stored_table import StoredTable, with_rows
from secateur.typing import IntArray

SAMPLE_ROWS = 100_000  # the most rows that are read into memory, to score and to report
SAMPLE_SHARE = 8  # they take at most such a part of the memory
MIN_SAMPLE = 1_000  # the fewest, however wide the table and small the memory


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Rows of a stored table, numbered as in its file, and their features in memory."""

    rows: IntArray
    X: Any

    def among(self, table: StoredTable) -> tuple[IntArray, Any]:
        """Those of the sample that a table has: their places in it, and their features."""
        if table.rows is None:
            return self.rows, self.X
        _, here, place = np.intersect1d(
            self.rows, table.rows, assume_unique=True, return_indices=True
        )
        return place, select_rows(self.X, here)


def most_sampled(table: StoredTable) -> int:
    """How many rows of a table are read into memory at the most."""
    room = table.memory_limit // SAMPLE_SHARE // (8 * table.n_features)
    return min(SAMPLE_ROWS, max(MIN_SAMPLE, room))


def sample_stored(
    table: StoredTable, seed: int, most: int = SAMPLE_ROWS, queries: IntArray | None = None
) -> SampledRows:
    """Read a sample of rows by seed, all of them if they are few; the table keeps them.

    ``queries`` are the numbers of the rows' queries, of which the sample has whole ones.
    """
    import narwhals as nw
    import scipy.sparse as sp

    key = (seed, most, None if queries is None else hash(queries.tobytes()))
    if key not in table.kept:
        n_sampled = min(most, most_sampled(table))
        if queries is None or table.n_rows <= n_sampled:
            taken = sample_rows(table.n_rows, n_sampled, seed)
        else:
            _check_largest(table, queries, n_sampled)
            taken = sample_queries(queries, n_sampled, seed)
        read = table.parts(max(100, min(10_000, n_sampled)))
        parts = [select_rows(part.X, here) for part, here in with_rows(read, taken)]
        if isinstance(parts[0], np.ndarray):
            X = np.concatenate(parts)
        elif hasattr(parts[0], "tocsr"):
            X = sp.vstack(parts, format="csr")
        else:
            X = nw.concat([nw.from_native(part) for part in parts]).to_native()
        rows = taken if table.rows is None else table.rows[taken]
        table.kept = {key: SampledRows(rows, X)}
    return table.kept[key]


def _check_largest(table: StoredTable, queries: IntArray, n_sampled: int) -> None:
    """Refuse a query that has more rows than the sample."""
    largest = int(np.bincount(queries).max())
    if largest <= n_sampled:
        return
    advice = "Leave some of its rows out, or name parts of it as queries of their own."
    if largest <= SAMPLE_ROWS:
        needed = largest * SAMPLE_SHARE * 8 * table.n_features
        advice = f"Set the memory limit of the table to at least {needed:,} bytes."
    raise InputError(
        "The rows of a query must fit into the sample that models are evaluated on. Got a query of "
        f"{largest:,} rows, and a sample of {n_sampled:,}. {advice}"
    )

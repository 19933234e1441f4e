"""The first pass over a long table: names, categories, target, and the rows that choose the bins.

All rows choose them where they fit into the sample; else those with the smallest of the keys that
row numbers and the seed give: the rows that a table in memory would take.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.binned import SAMPLE_ROWS, BinnedColumns, bin_table
from secateur._data.labels import LabelColumn
from secateur._data.parts import PartReader, check_any
from secateur._data.sampling import RowSample
from secateur._data.sources import Part, Source
from secateur._data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur._data.weights import read_weights
from secateur._kernels.threads import Threads
from secateur.typing import AnyArray, FloatArray, IntArray

LEAST_SAMPLE = 20_000
"""Rows that choose the bins, however wide the table and small the memory."""

SAMPLE_SHARE = 4
"""The sample takes at most the fourth part of the memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What the first pass found."""

    reader: PartReader
    bins: BinnedColumns
    n_rows: int
    targets: tuple[LabelColumn, ...]
    weight: FloatArray | None
    task: LabelColumn | None


def kept_rows(part: Part, n_rows: int) -> tuple[IntArray | None, FloatArray | None]:
    """The rows of positive weight, None for all of them; and their weights."""
    if part.weight is None:
        return None, None
    weight = read_weights(part.weight, n_rows)
    kept = np.flatnonzero(weight)
    return (None, weight) if len(kept) == n_rows else (kept, weight[kept])


def survey(
    source: Source,
    *,
    categorical_features: Any,
    max_bins: int,
    seed: int,
    memory: int,
    rows_at_once: int,
    threads: Threads,
) -> Survey:
    """Look through a source once."""
    desk: _Desk | None = None
    for part in source.parts(rows_at_once):
        if desk is None:
            reader = PartReader.of(part.X, categorical_features, source.names)
            desk = _Desk(reader, len(part.targets), seed, memory)
        desk.take(part)
    check_any(0 if desk is None else desk.n_rows)
    assert desk is not None  # noqa: S101  # or it would have been refused
    return desk.finish(max_bins, threads)


class _Desk:
    """Takes the parts one by one."""

    def __init__(self, reader: PartReader, n_targets: int, seed: int, memory: int) -> None:
        self._reader = reader
        self._counts: dict[int, Counter[Any]] = {j: Counter() for j in reader.categorical}
        self._labels = [LabelColumn() for _ in range(n_targets)]
        self._task: LabelColumn | None = None
        self._weights: list[FloatArray] = []
        width = 8 * reader.schema.n_features
        most = min(SAMPLE_ROWS, max(LEAST_SAMPLE, memory // SAMPLE_SHARE // width))
        self._sample = RowSample(most, seed)
        self._rows: _DenseSample | _SparseSample = (
            _SparseSample() if reader.is_sparse else _DenseSample(reader, most)
        )
        self.n_rows = 0

    def take(self, part: Part) -> None:
        """Look at the rows of a part that have weight."""
        table = self._reader.table(part.X)
        kept, weight = kept_rows(part, table.n_rows)
        if kept is not None:
            table = table.take(kept)
        if table.n_rows == 0:
            return
        self.n_rows += table.n_rows
        self._reader.refuse_infinite(table)
        self._reader.count(table, self._counts)
        for labels, values in zip(self._labels, part.targets, strict=True):
            labels.add(values, kept)
        if part.task is not None:
            self._task = self._task or LabelColumn()
            self._task.add(part.task, kept)
        if weight is not None:
            self._weights.append(weight)
        self._rows.put(table, *self._sample.offer(table.n_rows))

    def finish(self, max_bins: int, threads: Threads) -> Survey:
        """Choose the bins."""
        reader = self._reader.with_categories(self._counts)
        weight = np.concatenate(self._weights) if self._weights else None
        rows = self._sample.rows
        # Equal weights need no order; others are added up in that of the rows.
        order = None if weight is None else np.argsort(rows)
        its_weight = np.ones(len(rows)) if weight is None else weight[rows[order]]
        sample = self._rows.table(reader.schema, len(rows), order)
        bins = bin_table(sample, its_weight, max_bins=max_bins, threads=threads)
        labels = tuple(column.finished() for column in self._labels)
        task = None if self._task is None else self._task.finished()
        return Survey(reader, bins, self.n_rows, labels, weight, task)


class _DenseSample:
    """Rows of the sample, each in its slot; categories are counted elsewhere and left empty."""

    def __init__(self, reader: PartReader, most: int) -> None:
        self._numbers = np.array(reader.numbers, np.int64)
        # Feature by feature, as bins are chosen; memory is taken where it is written to.
        self._cells = np.empty((reader.schema.n_features, most))

    def put(self, table: Table, taken: IntArray, slots: IntArray) -> None:
        """Write the taken rows into their slots."""
        if len(taken) == 0:
            return
        some = table if len(taken) == table.n_rows else table.take(taken)
        for start in range(0, len(self._numbers), 16):
            features = self._numbers[start : start + 16]
            self._cells[features[:, None], slots] = some.columns(features).T

    def table(self, schema: TableSchema, n_rows: int, order: IntArray | None) -> Table:
        """The sample as a table."""
        for feature in schema.encoders:
            self._cells[feature, :n_rows] = np.nan
        cells: AnyArray = self._cells[:, :n_rows]
        if order is not None:
            for column in cells:  # in place: a second sample would be the peak of memory
                column[:] = column[order]
        return DenseTable(cells.T, schema, is_encoded=True)


class _SparseSample:
    """Rows of the sample in compressed form; of those that share a slot the last one counts."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._slots: list[IntArray] = []

    def put(self, table: Table, taken: IntArray, slots: IntArray) -> None:
        """Keep the taken rows."""
        if len(taken) == 0:
            return
        self._parts.append(table.csc.tocsr()[taken])
        self._slots.append(slots)
        if len(self._parts) > 1 and sum(map(len, self._slots)) > 2 * SAMPLE_ROWS:
            self._join()

    def _join(self) -> None:
        import scipy.sparse as sp

        rows, slots = sp.vstack(self._parts, format="csr"), np.concatenate(self._slots)
        last = np.full(int(slots.max()) + 1, -1, np.int64)
        last[slots] = np.arange(len(slots))  # a later write to the same slot wins
        used = np.flatnonzero(last >= 0)
        self._parts, self._slots = [rows[last[used]]], [used]

    def table(self, schema: TableSchema, n_rows: int, order: IntArray | None) -> Table:
        """The sample as a table."""
        self._join()
        rows = self._parts[0]
        assert rows.shape[0] == n_rows  # noqa: S101  # every slot was written to
        return SparseTable(canonical_csc(rows if order is None else rows[order]), schema)

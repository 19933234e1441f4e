"""The second pass over a long table: its rows as codes, block after block, into a file.

All rows choose them where they fit into the sample; else those with the smallest of the keys that
row numbers and the seed give: the rows that a table in memory would take.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secateur._kernels.records import SparseCodes
from secateur._kernels.threads import Threads
from secateur.data.binning import SAMPLE_ROWS, BinnedColumns, bin_table
from secateur.data.encoding import encode_dense, encode_sparse
from secateur.data.sampling import RowSample
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.data.weights import read_weights
from secateur.exceptions import InputError
from secateur.storage.folder import told_schema, write_bins, write_header
from secateur.storage.labels import LabelColumn
from secateur.storage.parts import PartReader, check_any
from secateur.storage.sources import Part, Source
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

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


def write_table(
    folder: Path,
    source: Source,
    found: Survey,
    *,
    block_rows: int,
    rows_at_once: int,
    facts: dict[str, Any],
    threads: Threads,
) -> None:
    """Write all files of a stored table; ``facts`` go into the header."""
    with (folder / "codes.bin").open("wb") as file:
        kind = _SparseWriter if found.reader.is_sparse else _DenseWriter
        writer = kind(file, found.reader, found.bins, min(block_rows, found.n_rows), threads)
        for part in source.parts(rows_at_once):
            table = found.reader.table(part.X)
            kept, _ = kept_rows(part, table.n_rows)
            writer.add(table if kept is None else table.take(kept))
        writer.flush()
    if writer.n_rows != found.n_rows:
        msg = (
            f"The data must stay as it is while it is read. Got {writer.n_rows} rows where there "
            f"were {found.n_rows} a moment ago. Open it again."
        )
        raise InputError(msg)
    write_bins(folder, found.bins._replace(has_missing=writer.has_missing))
    labels = {f"target{t}": column for t, column in enumerate(found.targets)}
    if found.task is not None:
        labels["task"] = found.task
    for name, column in labels.items():
        np.save(folder / f"{name}.npy", column.array)
    if found.weight is not None:
        np.save(folder / "weight.npy", found.weight)
    write_header(
        folder,
        {
            **facts,
            **told_schema(found.reader.schema),
            "n_rows": found.n_rows,
            "is_sparse": found.reader.is_sparse,
            "target_names": list(source.target_names),
            "labels": {name: _told_labels(column) for name, column in labels.items()},
            "blocks": writer.blocks,
        },
    )


def _told_labels(column: LabelColumn) -> list[Any] | None:
    return column.labels


class _Writer:
    """Fills a block and writes it when it is full."""

    def __init__(
        self,
        file: BinaryIO,
        reader: PartReader,
        bins: BinnedColumns,
        block_rows: int,
        threads: Threads,
    ) -> None:
        self._file = file
        self._reader = reader
        self._bins = bins
        self._block_rows = block_rows
        self._threads = threads
        self.n_rows = 0
        self.blocks: list[dict[str, Any]] = []
        self.has_missing: BoolArray = np.zeros(bins.n_features, np.bool_)

    def _note(self, n_rows: int, **more: Any) -> None:
        first = sum(block["n_rows"] for block in self.blocks)
        at = {"first_row": first, "n_rows": n_rows, "offset": self._file.tell()}
        self.blocks.append({**at, **more})


class _DenseWriter(_Writer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._room = np.empty((self._bins.n_features, self._block_rows), np.uint8)
        self._n_filled = 0

    def add(self, table: Table) -> None:
        """Encode rows; a full block is written."""
        if table.n_rows == 0:
            return
        codes = np.empty((table.n_features, table.n_rows), np.uint8)
        self.has_missing |= encode_dense(table, self._bins, codes, self._threads)
        self.n_rows += table.n_rows
        start = 0
        while start < table.n_rows:
            n = min(table.n_rows - start, self._block_rows - self._n_filled)
            room = slice(self._n_filled, self._n_filled + n)
            self._room[:, room] = codes[:, start : start + n]
            self._n_filled += n
            start += n
            if self._n_filled == self._block_rows:
                self.flush()

    def flush(self) -> None:
        """Write the block as far as it is filled."""
        if self._n_filled:
            self._note(self._n_filled)
            self._file.write(np.ascontiguousarray(self._room[:, : self._n_filled]).data)
            self._n_filled = 0


class _SparseWriter(_Writer):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._waiting: list[Any] = []
        self._n_waiting = 0

    def add(self, table: Table) -> None:
        """Keep rows until there are enough for a block."""
        self._waiting.append(table.csc.tocsr())
        self._n_waiting += table.n_rows
        self.n_rows += table.n_rows
        if self._n_waiting >= self._block_rows:
            self.flush()

    def flush(self) -> None:
        """Encode and write what waits."""
        import scipy.sparse as sp

        if not self._n_waiting:
            return
        table = self._reader.table(sp.vstack(self._waiting, format="csr"))
        codes, has_missing = encode_sparse(table, self._bins)
        self.has_missing |= has_missing
        self._note(table.n_rows, n_cells=len(codes.indices))
        for array in _arrays(codes):
            self._file.write(np.ascontiguousarray(array).data)
        self._waiting, self._n_waiting = [], 0


def _arrays(codes: SparseCodes) -> tuple[Any, ...]:
    """Widest items first, so that all begin at a whole multiple of their size."""
    return codes.indptr, codes.row_start, codes.indices, codes.row_bins, codes.codes

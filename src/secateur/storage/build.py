"""Two passes over a long table: the first chooses the bins, the second writes the codes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import SAMPLE_ROWS, BinnedColumns, bin_table, encode_dense, encode_sparse
from secateur.data.sampling import RowSample
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.storage.folder import CODES, BlockWriter, schema_to_json, write_bins, write_header
from secateur.storage.parts import PartReader, RowCollector, check_any, check_same_rows, kept_rows
from secateur.storage.sources import Part, Source
from secateur.typing import AnyArray, BoolArray, IntArray

MIN_SAMPLE = 20_000  # rows that choose the bins, however wide the table and small the memory
SAMPLE_SHARE = 4  # the sample takes at most the fourth part of the memory


class Survey(NamedTuple):
    """The result of the first pass: how to read the rows, their bins, targets and weights."""

    reader: PartReader
    bins: BinnedColumns
    rows: RowCollector


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
    """Read a source once, and choose the bins."""
    pass_: _FirstPass | None = None
    for part in source.parts(rows_at_once):
        if pass_ is None:
            reader = PartReader.of(part.X, categorical_features, source.names)
            pass_ = _FirstPass(RowCollector(reader, len(part.targets)), seed, memory)
        pass_.add(part)
    check_any(0 if pass_ is None else pass_.rows.n_rows)
    assert pass_ is not None  # noqa: S101  # or it would have been refused
    return pass_.finish(max_bins, threads)


class _FirstPass:
    """Counts the values of categories, and takes the sample of rows that chooses the bins."""

    def __init__(self, rows: RowCollector, seed: int, memory: int) -> None:
        reader = rows.reader
        self.rows = rows
        self._counts: dict[int, Counter[Any]] = {j: Counter() for j in reader.categorical}
        width = 8 * reader.schema.n_features
        most = min(SAMPLE_ROWS, max(MIN_SAMPLE, memory // SAMPLE_SHARE // width))
        self._sample = RowSample(most, seed)
        self._taken: _DenseSample | _SparseSample = (
            _SparseSample() if reader.is_sparse else _DenseSample(reader, most)
        )

    def add(self, part: Part) -> None:
        """Look at the rows of a part."""
        table = self.rows.add(part)
        if table.n_rows:
            self.rows.reader.count(table, self._counts)
            self._taken.put(table, *self._sample.offer(table.n_rows))

    def finish(self, max_bins: int, threads: Threads) -> Survey:
        """Choose the bins."""
        reader, weight = self.rows.reader.with_categories(self._counts), self.rows.weight
        rows = self._sample.rows
        # Equal weights need no order; others are added up in that of the rows.
        order = None if weight is None else np.argsort(rows)
        its_weight = np.ones(len(rows)) if weight is None else weight[rows[order]]
        sample = self._taken.table(reader.schema, len(rows), order)
        bins = bin_table(sample, its_weight, max_bins=max_bins, threads=threads)
        return Survey(reader, bins, self.rows)


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
    reader, n_rows = found.reader, found.rows.n_rows
    kind, name = CODES
    with (folder / name).open("wb") as file:
        encoder = _Encoder(reader, found.bins, threads)
        writer = BlockWriter(file, min(block_rows, n_rows), encoder.block)
        for part in source.parts(rows_at_once):
            table = reader.table(part.X)
            kept, _ = kept_rows(part, table.n_rows)
            writer.add(encoder.rows(table if kept is None else table.take(kept)))
        writer.flush()
    check_same_rows(writer.n_rows, n_rows)
    write_bins(folder, found.bins._replace(has_missing=encoder.has_missing))
    labels = {f"target{t}": column for t, column in enumerate(found.rows.targets)}
    if found.rows.task is not None:
        labels["task"] = found.rows.task
    for label, column in labels.items():
        np.save(folder / f"{label}.npy", column.array)
    if found.rows.weight is not None:
        np.save(folder / "weight.npy", found.rows.weight)
    header = {
        **facts,
        **schema_to_json(reader.schema),
        "n_rows": n_rows,
        "is_sparse": reader.is_sparse,
        "target_names": list(source.target_names),
        "labels": {label: column.labels for label, column in labels.items()},
        "blocks": writer.blocks,
    }
    write_header(folder, header, kind)


class _Encoder:
    """Rows as codes: dense ones as they come, sparse ones block by block."""

    def __init__(self, reader: PartReader, bins: BinnedColumns, threads: Threads) -> None:
        self._reader = reader
        self._bins = bins
        self._threads = threads
        self.has_missing: BoolArray = np.zeros(bins.n_features, np.bool_)

    def rows(self, table: Table) -> Any:
        """The rows of a table for the writer: codes by row, or a matrix in compressed rows."""
        if self._reader.is_sparse:
            return table.csc.tocsr()
        codes = np.empty((table.n_features, table.n_rows), np.uint8)
        if table.n_rows:
            self.has_missing |= encode_dense(table, self._bins, codes, self._threads)
        return codes.T

    def block(self, rows: list[Any]) -> tuple[list[AnyArray], dict[str, Any]]:
        """The arrays of a block; the widest items first, so that all are aligned."""
        if not self._reader.is_sparse:
            return [np.concatenate(rows).T], {}
        import scipy.sparse as sp

        table = self._reader.table(sp.vstack(rows, format="csr"))
        codes, has_missing = encode_sparse(table, self._bins)
        self.has_missing |= has_missing
        wide: list[AnyArray] = [codes.indptr, codes.row_start, codes.indices, codes.row_bins]
        return [*wide, codes.codes], {"n_cells": len(codes.indices)}

"""The second pass over a long table: its rows as codes, block after block, into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secateur._data.binned import BinnedColumns
from secateur._data.encoding import encode_dense, encode_sparse
from secateur._data.labels import LabelColumn
from secateur._data.parts import PartReader
from secateur._data.sources import Source
from secateur._data.store_files import told_schema, write_bins, write_header
from secateur._data.survey import Survey, kept_rows
from secateur._data.table import Table
from secateur._kernels.records import SparseCodes
from secateur._kernels.threads import Threads
from secateur.exceptions import InputError
from secateur.typing import BoolArray


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

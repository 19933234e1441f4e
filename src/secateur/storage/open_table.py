"""`open_table`: tables larger than memory, read once, binned and kept on disk.

The first pass over the rows chooses the bins, the second writes the codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.binning import SAMPLE_ROWS, BinnedColumns, bin_table, encode_dense, encode_sparse
from secateur.data.memory import resolve_limit
from secateur.data.sampling import RowSample
from secateur.data.table import DenseTable, SparseTable, Table, TableSchema, canonical_csc
from secateur.exceptions import ParameterError
from secateur.storage.folder import (
    CODES,
    HEADER,
    digest,
    schema_to_json,
    write_bins,
    write_blocks,
    write_header,
)
from secateur.storage.parts import RowReader, check_same_rows, weighted_rows
from secateur.storage.sources import Part, Roles, Source, open_source
from secateur.storage.stored_table import StoredTable
from secateur.storage.writing import TemporaryFolder, write_folder
from secateur.typing import AnyArray, BoolArray, IntArray

PART_BYTES = 1 << 26  # the numbers of rows that are read together take at most so much ...
PART_SHARE = 64  # ... and such a part of the memory: there are some copies of them
BLOCK_SHARE = 16  # a block of codes takes at most such a part of the memory
BLOCK_ROWS = 1 << 17  # the most rows of a block, so that threads and workers have some to share
MIN_BLOCK_ROWS = 1 << 12  # the fewest, however wide the table
WORKER_BLOCKS = 4  # blocks of each worker, at least, so that all have about the same rows ...
MIN_SHARED_ROWS = 1 << 14  # ... as long as these have so many rows
MIN_SAMPLE = 20_000  # rows that choose the bins, however wide the table and small the memory
SAMPLE_SHARE = 4  # the sample takes at most the fourth part of the memory


def open_table(
    data: Any,
    target: Any = None,
    *,
    cache: Any = None,
    memory_limit: Any = None,
    weight: str | None = None,
    task: str | None = None,
    drop: Sequence[str] = (),
    categorical_features: Any = None,
    max_bins: int = 255,
    random_state: int = 0,
    n_jobs: int | None = None,
    executor: Any = None,
) -> StoredTable:
    """Make a table on disk that boosted selectors fit on block after block.

    One pass chooses the bins, from all rows if they fit into a sample of 200,000 (fewer where
    these would take more than a quarter of the memory), else from a seeded sample; a second pass
    writes one byte per cell. A table that the cache holds already is opened without reading the
    data again.

    Parameters
    ----------
    data : path, pyarrow dataset, dask data frame or array, data frame or array
        Parquet (a file or a folder), CSV, Feather or LIBSVM, by the name of the file; or the
        folder of a stored table.
    target : str, list of str or array, default=None
        The column to be predicted, the last one by default; several columns are several tasks. The
        values themselves where ``data`` is an array. A LIBSVM file has its own.
    cache : path, default=None
        The folder where stored tables are kept. None is a folder that goes with the table.
    memory_limit : int or str, default=None
        What reading, and fits on the table, may take: bytes, or "1.5GB". None is half of the free
        memory.
    weight, task : str, default=None
        Columns with the weight and the task of each row. Rows of weight 0 are left out.
    drop : sequence of str, default=()
        Columns to leave out.
    categorical_features : None, "from_dtype", list or mask
        As in the selectors.
    max_bins : int, default=255
    random_state : int, default=0
        Of the sample. A selector with the same ``random_state`` has the same bins in memory.
    n_jobs : int, default=None
        Threads; None for all cores.
    executor : DaskExecutor, default=None
        Who computes on the blocks; None is this process.

    Returns
    -------
    StoredTable

    Examples
    --------
    >>> import numpy as np, secateur
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 4))
    >>> table = secateur.open_table(X, X[:, 1] + X[:, 2], random_state=0)
    >>> secateur.AGBMRegressor(random_state=0).fit(table).support_
    array([False,  True,  True, False])
    """
    limit = resolve_limit(memory_limit)
    if isinstance(max_bins, bool) or not isinstance(max_bins, int) or not 2 <= max_bins <= 255:
        raise ParameterError(
            f"'max_bins' must be an int from 2 to 255. Got {max_bins!r}. Use 255 for the finest."
        )
    if isinstance(data, str | Path) and (Path(data) / HEADER).is_file():
        return StoredTable(Path(data), limit, None, executor)
    if isinstance(random_state, bool) or not isinstance(random_state, int) or random_state < 0:
        raise ParameterError(f"'random_state' must be an int >= 0. Got {random_state!r}. Use 0.")
    seed = int(np.random.RandomState(random_state).randint(2**31))  # as a selector draws it
    roles = Roles(weight, task, tuple(drop))
    source = data if isinstance(data, Source) else open_source(data, target, roles)
    facts = (source.target_names, *roles, categorical_features, max_bins, seed)
    fingerprint = digest(source.fingerprint, *facts)
    keeper = TemporaryFolder() if cache is None else None
    folder = (Path(cache) if keeper is None else keeper.path) / f"table-{fingerprint}"
    if not (folder / HEADER).is_file():
        room = min(PART_BYTES, limit // PART_SHARE)
        at_once = int(max(100, min(1 << 17, room // (8 * max(1, source.width)))))

        def write(part: Path) -> None:
            with Threads(resolve_n_jobs(n_jobs)) as threads:
                rows = RowReader(source.parts(at_once), categorical_features, source.names)
                bins = survey(rows, limit, seed, max_bins, threads)
                # Models are the same whatever it is: sums over rows have no order.
                most = limit // BLOCK_SHARE // bins.n_features
                block_rows = max(MIN_BLOCK_ROWS, min(BLOCK_ROWS, most))
                if executor is not None:
                    share = -(-rows.n_rows // (WORKER_BLOCKS * executor.n_workers))
                    block_rows = min(block_rows, max(MIN_SHARED_ROWS, share))
                parts = source.parts(min(block_rows, at_once))
                facts = {"fingerprint": fingerprint, "target_names": list(source.target_names)}
                _write(part, rows, parts, bins, threads, block_rows, facts)

        write_folder(folder, write, keep=keeper is None)
    return StoredTable(folder, limit, source, executor, keeper)


def survey(
    rows: RowReader, memory: int, seed: int, max_bins: int, threads: Threads
) -> BinnedColumns:
    """Read all rows once: count the values of categories, and choose the bins from a sample."""
    room = memory // SAMPLE_SHARE // (8 * rows.schema.n_features)
    most = min(SAMPLE_ROWS, max(MIN_SAMPLE, room))
    sample = RowSample(most, seed)
    cells = _SparseSample() if rows.is_sparse else _DenseSample(rows, most)
    for table in rows.tables():
        taken, slots = sample.offer(table.n_rows)
        if len(taken):
            cells.put(table, taken, slots)
    rows.learn_categories()
    weight = rows.weight
    # Equal weights need no order; others are added up in that of the rows.
    order = None if weight is None else np.argsort(sample.rows)
    its_weight = np.ones(len(sample.rows)) if weight is None else weight[sample.rows[order]]
    drawn = cells.table(rows.schema, len(sample.rows), order)
    return bin_table(drawn, its_weight, max_bins=max_bins, threads=threads)


class _DenseSample:
    """Rows of the sample, each in its slot; categories are counted elsewhere and left empty."""

    def __init__(self, rows: RowReader, most: int) -> None:
        self._numbers = rows.numbers
        # Feature by feature, as bins are chosen; memory is taken where it is written to.
        self._cells = np.empty((rows.schema.n_features, most))

    def put(self, table: Table, taken: IntArray, slots: IntArray) -> None:
        """Write the taken rows into their slots."""
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


def _write(
    folder: Path,
    rows: RowReader,
    parts: Iterator[Part],
    bins: BinnedColumns,
    threads: Threads,
    block_rows: int,
    facts: dict[str, Any],
) -> None:
    """Write all files of a stored table; dense rows are encoded as they come, sparse by block."""
    import scipy.sparse as sp

    has_missing: BoolArray = np.zeros(bins.n_features, np.bool_)

    def coded() -> Iterator[Any]:
        for X in (weighted_rows(part)[0] for part in parts):
            if X.shape[0]:
                table = rows.table_again(X)
                if rows.is_sparse:
                    yield table.csc.tocsr()
                    continue
                codes = np.empty((table.n_features, table.n_rows), np.uint8)
                has_missing[encode_dense(table, bins, codes, threads)] = True
                yield codes.T

    def encode(some: list[Any]) -> list[AnyArray]:
        if not rows.is_sparse:
            return [np.concatenate(some).T]
        codes, is_missing = encode_sparse(rows.table_again(sp.vstack(some, format="csr")), bins)
        has_missing[is_missing] = True
        return [codes.indptr, codes.row_start, codes.indices, codes.row_bins, codes.codes]

    blocks = write_blocks(folder / CODES[1], coded(), min(block_rows, rows.n_rows), encode)
    check_same_rows(sum(block["n_rows"] for block in blocks), rows.n_rows)
    write_bins(folder, bins._replace(has_missing=has_missing))
    columns = {f"target{number}": column for number, column in enumerate(rows.targets)}
    columns |= {} if rows.task is None else {"task": rows.task}
    labels = {}
    for name, column in columns.items():
        array, labels[name] = column.encoded()
        np.save(folder / f"{name}.npy", array)
    if rows.weight is not None:
        np.save(folder / "weight.npy", rows.weight)
    facts |= {"n_rows": rows.n_rows, "is_sparse": rows.is_sparse, "labels": labels}
    write_header(folder, {**facts, **schema_to_json(rows.schema), "blocks": blocks}, CODES)

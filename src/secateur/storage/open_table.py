"""`open_table`: tables larger than memory, read once, binned and kept on disk."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.memory import resolve_limit
from secateur.exceptions import ParameterError
from secateur.storage.build import survey, write_table
from secateur.storage.folder import HEADER, digest, whole_folder
from secateur.storage.sources import Roles, Source, open_source
from secateur.storage.stored_table import StoredTable

# What the numbers of the rows that are read at once may take, or less: see ``_rows_at_once``.
PART_BYTES = 1 << 26
# They take at most such a part of the memory: some copies of them are there at a time.
PART_SHARE = 64
BLOCK_SHARE = 16  # a block of codes takes at most such a part of the memory
BLOCK_ROWS = 1 << 17  # the most rows of a block, so that threads and workers have some to share
LEAST_BLOCK = 1 << 12  # the fewest, however wide the table
# A worker of a cluster has so many blocks at least, so that all have about the same rows...
WORKER_BLOCKS = 4
# ... as long as these have so many rows: each block has an answer of its own to every question.
LEAST_SHARED = 1 << 14


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
        return StoredTable(Path(data), limit, executor=executor)
    source = open_source(data, target, Roles((), weight, task, tuple(drop)))
    how = Storing(categorical_features, max_bins, random_state, n_jobs)
    facts = (source.target_names, weight, task, drop)
    return store_source(source, facts, how, cache=cache, limit=limit, executor=executor)


@dataclass(frozen=True, slots=True, eq=False)
class Storing:
    """How rows become codes; parameters as in `open_table`."""

    categorical_features: Any = None
    max_bins: int = 255
    random_state: int = 0
    n_jobs: int | None = None


def store_source(
    source: Source,
    facts: tuple[object, ...],
    how: Storing,
    *,
    cache: Any,
    limit: int,
    executor: Any = None,
) -> StoredTable:
    """Make a stored table of a source, or open the one that the cache holds already."""
    seed = _seed(how.random_state)
    more = (*facts, how.categorical_features, how.max_bins, seed)
    fingerprint = digest(source.fingerprint, *more)
    root = Path(tempfile.mkdtemp(prefix="secateur-")) if cache is None else Path(cache)
    folder = root / f"table-{fingerprint}"
    try:
        if not (folder / HEADER).is_file():
            with whole_folder(folder) as part, Threads(resolve_n_jobs(how.n_jobs)) as threads:
                _write(part, source, how, limit, fingerprint, seed, threads, executor)
        table = StoredTable(folder, limit, source, executor)
    except BaseException:
        if cache is None:
            shutil.rmtree(root, ignore_errors=True)
        raise
    if cache is None:
        weakref.finalize(table, shutil.rmtree, root, ignore_errors=True)
    return table


def _seed(random_state: Any) -> int:
    """The number that a selector with this ``random_state`` would draw."""
    import numpy as np

    if isinstance(random_state, bool) or not isinstance(random_state, int) or random_state < 0:
        raise ParameterError(f"'random_state' must be an int >= 0. Got {random_state!r}. Use 0.")
    return int(np.random.RandomState(random_state).randint(2**31))


def _write(
    folder: Path,
    source: Source,
    how: Storing,
    limit: int,
    fingerprint: str,
    seed: int,
    threads: Threads,
    executor: Any,
) -> None:
    """Both passes."""
    found = survey(
        source,
        categorical_features=how.categorical_features,
        max_bins=how.max_bins,
        seed=seed,
        memory=limit,
        rows_at_once=_rows_at_once(source.width, limit),
        threads=threads,
    )
    block_rows = _block_rows(found.rows.n_rows, found.reader.schema.n_features, limit, executor)
    write_table(
        folder,
        source,
        found,
        block_rows=block_rows,
        rows_at_once=min(block_rows, _rows_at_once(source.width, limit)),
        facts={"fingerprint": fingerprint},
        threads=threads,
    )


def _rows_at_once(width: int, limit: int) -> int:
    """Rows that are read together: their numbers take little of the memory."""
    room = min(PART_BYTES, limit // PART_SHARE)
    return int(max(100, min(1 << 17, room // (8 * max(1, width)))))


def _block_rows(n_rows: int, width: int, limit: int, executor: Any) -> int:
    """The rows of a block. Models are the same whatever it is: sums over rows have no order."""
    most = max(LEAST_BLOCK, min(BLOCK_ROWS, limit // BLOCK_SHARE // width))
    if executor is None:
        return most
    n_workers: int = executor.n_workers
    share = -(-n_rows // (WORKER_BLOCKS * n_workers))
    return min(most, max(LEAST_SHARED, share))

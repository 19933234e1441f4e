"""Files that do not fit into memory, and clusters: when a table goes to disk, and where to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.exceptions import ParameterError

if TYPE_CHECKING:
    from secateur.cli.loading import DataRequest
    from secateur.cli.talking import Talk
    from secateur.files.dataset import Dataset

SCALING = "Large files and clusters"

MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        help="As 800MB: larger tables go to disk. Half of the free memory otherwise.",
        rich_help_panel=SCALING,
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="A folder that keeps tables on disk for the next time.",
        rich_help_panel=SCALING,
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Compute on the cluster of this scheduler, as tcp://10.0.0.1:8786.",
        rich_help_panel=SCALING,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Compute on so many processes of this machine.",
        rich_help_panel=SCALING,
    ),
]


@dataclass(frozen=True, slots=True)
class Room:
    """How much memory there is, where tables on disk go, and who computes on them."""

    memory_limit: MemoryLimit = None
    cache: Cache = None
    dask: DaskAddress = None
    workers: Workers = None

    @contextmanager
    def executor(self, talk: Talk) -> Iterator[Any]:
        """Who computes: None for this process, or a cluster that is let go at the end."""
        if self.dask is None and self.workers is None:
            yield None
            return
        from secateur.cli.cluster import connected

        with connected(self.dask, self.workers, talk) as executor:
            yield executor

    def limit(self) -> int:
        """What may be taken, in bytes."""
        from secateur._data.memory import resolve_limit

        return resolve_limit(self.memory_limit)


def load_stored(
    request: DataRequest,
    talk: Talk,
    room: Room,
    executor: Any,
    *,
    method: str,
    seed: int,
    jobs: int | None,
    write_data: bool,
) -> Dataset | None:
    """The data set of a file that goes to disk, None for one that fits into memory."""
    limit = room.limit()
    why = _why_on_disk(request.file, limit, executor)
    if why is None:
        return None
    _check_method(method, on_cluster=executor is not None)
    if write_data:
        raise ParameterError(
            f"--write-data needs the file in memory. Got one that goes to disk: {why} Leave it "
            "out, or raise --memory-limit."
        )
    talk.note(why)
    from secateur.cli.methods import takes_categories
    from secateur.files.storing import Where, store_dataset

    where = Where(room.cache, limit, executor, seed, jobs)
    dataset = store_dataset(
        request.file,
        request.reading,
        request.roles,
        where,
        task=request.task,
        indicators=not takes_categories(method),
    )
    return replace(dataset, notes=(*dataset.notes, *_of_the_store(dataset, method)))


def _of_the_store(dataset: Dataset, method: str) -> list[str]:
    """What is not as it would be in memory."""
    from secateur._data.stored_rows import most_sampled
    from secateur.cli.methods import uses_bins

    table = dataset.features.X
    n_rows, most = table.n_rows, most_sampled(table)
    notes = ["The rows are in a table on disk; bins are those of all rows, in every fold."]
    if not uses_bins(method):
        notes = ["The rows are in a table on disk, and their numbers are read block by block."]
    if n_rows > most:
        notes.append(
            f"Rows that judge, and those that the report shows, are a sample: {most} of {n_rows}."
        )
    return notes


def _why_on_disk(file: Path, limit: int, executor: Any) -> str | None:
    """What to say of a file that goes to disk, or None."""
    from secateur._data.memory import resident_memory, told_bytes
    from secateur._data.reading.blocks import kind_of_file
    from secateur.files.estimating import needed_memory

    is_npz = kind_of_file(file).format == "npz"
    if executor is not None:
        if is_npz:
            raise ParameterError(
                f"{file.name} must be CSV, TSV, Parquet, Feather or LIBSVM for a cluster. Got NPZ. "
                "Write it as Parquet, or leave --dask and --workers out."
            )
        return f"{file.name} goes to a table on disk, which all workers read."
    needed = resident_memory() + needed_memory(file)
    if needed <= limit or is_npz:
        return None
    return (
        f"{file.name} would take about {told_bytes(needed)} of memory, more than the limit of "
        f"{told_bytes(limit)}: its rows go to a table on disk, block by block."
    )


def _check_method(method: str, *, on_cluster: bool) -> None:
    from secateur.cli.methods import TASKS, fits_stored
    from secateur.comparison.methods import own_methods

    if fits_stored(method, on_cluster=on_cluster):
        return
    names = {name for task in TASKS for name in own_methods(task)}
    able = sorted(name for name in names if fits_stored(name, on_cluster=on_cluster))
    raise ParameterError(
        f"A table on disk must be selected from by {', '.join(able)}. Got {method!r}, which needs "
        "it in memory. Use one of these, raise --memory-limit, or leave --dask and --workers out."
    )

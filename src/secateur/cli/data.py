"""What chosen features are worth on the rows of another file, and what all features are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from secateur.cli.console import Talk
from secateur.cli.documents import score_document
from secateur.cli.exit import ended_by_interrupts
from secateur.cli.options import ReadingOptions, RowOptions, split_names
from secateur.exceptions import ParameterError

if TYPE_CHECKING:
    from secateur.cli.console import Talk
    from secateur.cli.job import Outcome
    from secateur.data.target import TargetType
    from secateur.model_selection.rows import Rows
    from secateur.model_selection.scorers import Metric
    from secateur.storage.reading.dataset import Dataset, Roles
    from secateur.storage.reading.dialect import ReadOptions
    from secateur.storage.reading.further import TestRows


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
        from secateur.data.memory import resolve_limit

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
    from secateur.storage.reading.storing import Where, store_dataset

    where = Where(room.cache, limit, executor, seed, jobs)
    dataset = store_dataset(
        request.file,
        request.reading,
        request.roles,
        where,
        target_type=request.target_type,
        indicators=not takes_categories(method),
    )
    return replace(dataset, notes=(*dataset.notes, *_of_the_store(dataset, method)))


def _of_the_store(dataset: Dataset, method: str) -> list[str]:
    """What is not as it would be in memory."""
    from secateur.cli.methods import uses_bins
    from secateur.storage.stored_rows import most_sampled

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
    from secateur.data.memory import format_bytes, resident_memory
    from secateur.storage.reading.formats import kind_of_file
    from secateur.storage.reading.read_file import needed_memory

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
        f"{file.name} would take about {format_bytes(needed)} of memory, more than the limit of "
        f"{format_bytes(limit)}: its rows go to a table on disk, block by block."
    )


def _check_method(method: str, *, on_cluster: bool) -> None:
    from secateur.cli.methods import TARGET_TYPES, fits_stored
    from secateur.model_selection.methods import own_methods

    if fits_stored(method, on_cluster=on_cluster):
        return
    names = {name for target_type in TARGET_TYPES for name in own_methods(target_type)}
    able = sorted(name for name in names if fits_stored(name, on_cluster=on_cluster))
    raise ParameterError(
        f"A table on disk must be selected from by {', '.join(able)}. Got {method!r}, which needs "
        "it in memory. Use one of these, raise --memory-limit, or leave --dask and --workers out."
    )


@dataclass(frozen=True, slots=True)
class DataRequest:
    """Which file, how to read it, and what its columns are for."""

    file: Path
    roles: Roles
    reading: ReadOptions
    target_type: TargetType | None

    @classmethod
    def of(
        cls,
        file: Path,
        target: str | None,
        rows: RowOptions,
        reading: ReadingOptions,
        *,
        keep: tuple[str, ...] = (),
        tasks: str | None = None,
    ) -> DataRequest:
        """Make a request of what stands on the command line."""
        from secateur.storage.reading.dataset import Roles
        from secateur.storage.reading.dialect import ReadOptions

        time, group = rows.time_column, rows.group_column
        if time is not None and group is not None:
            raise ParameterError(
                "Folds can follow time or groups. Got --time-column and --group-column. Use one."
            )
        delimiter = "\t" if reading.delimiter in {"\\t", "tab"} else reading.delimiter
        return cls(
            file,
            Roles(target, rows.weight, time, group, keep, split_names(rows.drop), tasks),
            ReadOptions(delimiter, reading.header, reading.encoding),
            None if rows.target_type is None else rows.target_type.value,
        )


def load(request: DataRequest, talk: Talk, needs_numbers: Callable[[], bool]) -> Dataset:
    """Read the file and tell its columns apart.

    Parameters
    ----------
    request : DataRequest
    talk : Talk
    needs_numbers : callable
        Tells whether categories must become columns of 0 and 1; asked once the file is read, since
        it may take seconds to load the libraries that know.
    """
    from secateur.storage.reading.dataset import make_dataset
    from secateur.storage.reading.plan import MAX_FRAME_COLUMNS
    from secateur.storage.reading.read_file import read_file

    raw = read_file(request.file, request.reading)
    # data frames are slow in columns, and they are needed for categories only
    is_wide = len(raw.names) > MAX_FRAME_COLUMNS
    dataset = make_dataset(
        raw, request.roles, target_type=request.target_type, indicators=is_wide or needs_numbers()
    )
    return told(dataset, request, talk)


def told(dataset: Dataset, request: DataRequest, talk: Talk) -> Dataset:
    """Say what was found in a file."""
    from secateur.path import wording

    rows, columns = len(dataset.rows), len(dataset.features.names)
    size = f"{rows} rows, {wording.features(columns)}"
    talk.note(f"{request.file.name}: {size}, target {dataset.target!r}.")
    talk.notes(dataset.notes)
    return dataset


def judge_on(
    test: TestRows, outcome: Outcome, dataset: Dataset, seed: int, talk: Talk
) -> dict[str, Any]:
    """Ask the rows of another file, once, about the chosen features and about all of them.

    Both by the same kind of model: the method's own, all features being free to the second, or a
    linear one where the method predicts nothing.
    """
    from secateur.model_selection.fold_scores import StepScorer
    from secateur.model_selection.rows import read_rows

    y, weight, tasks = dataset.beside
    train = read_rows(
        dataset.features.X, y, target_type=dataset.target_type, sample_weight=weight, tasks=tasks
    )
    metric = _metric(outcome, train)
    scorer = StepScorer(outcome.selector, None, train, metric, seed)
    talk.note(f"Fitting all features too, for the rows of {test.file}.")
    with talk.warned(), ended_by_interrupts():
        of_chosen = _evaluated(*_chosen(outcome, train, test), metric, test)
        of_all = _evaluated(scorer.fit_all(train), test.X, metric, test)
    told = {"file": test.file, "rows": len(test.y), **of_chosen}
    return told | {"all_features": {**of_all, "model": scorer.name_of_all}}


def _metric(outcome: Outcome, train: Rows) -> Metric:
    """What the scores of the path were made with."""
    from secateur.model_selection.scorers import RELATIVE, metric_for

    score = outcome.selection.score
    metric = None if score is None else score.metric
    asked = None if metric is None or metric.startswith(RELATIVE) else metric
    return metric_for(asked, train, metric)


def _evaluated(model: Any, X: Any, metric: Metric, test: TestRows) -> dict[str, Any]:
    from secateur.model_selection.rows import TaskModel

    asked = model if test.tasks is None else TaskModel(model, test.tasks)
    fold_losses = metric.evaluate(asked, X, test.y, np.ones(len(test.y)))
    return score_document(metric.score([fold_losses])) or {}


def _chosen(outcome: Outcome, train: Rows, test: TestRows) -> tuple[Any, Any]:
    """What predicts with the chosen features, and the columns that it wants."""
    from secateur.data.frames import select_columns
    from secateur.model_selection.validators import linear_model

    if hasattr(outcome.selector, "predict"):
        return outcome.selector, test.X
    support = outcome.selection.support
    model = train.fit(linear_model(train.target_type, is_sparse=train.is_sparse), support)
    return model, select_columns(test.X, support)

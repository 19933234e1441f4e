"""The data of a command: the file, in memory or as a table on disk, and the costs of features."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.cli import options
from secateur.cli.console import Console
from secateur.data.costs import FeatureCosts
from secateur.data.memory import format_bytes, resident_memory, resolve_limit
from secateur.data.target import TargetType
from secateur.exceptions import InputError, ParameterError, similar_to, some_of
from secateur.path.step import count_of
from secateur.storage.reading.csv import CsvFile
from secateur.storage.reading.dataset import Dataset, Roles, make_dataset
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import kind_of_file, kind_of_name, reading_listened
from secateur.storage.reading.read_file import needed_memory, read_file
from secateur.typing import FloatArray

ON_DISK = "The rows are in a table on disk and are read block by block."
ON_DISK_BINNED = "The rows are in a table on disk; bins are computed from all rows, in every fold."


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
        given: options.DataOptions,
        keep: list[str] | None = None,
        tasks: str | None = None,
    ) -> DataRequest:
        """From the options of the command line."""
        time, group = given.time_column, given.group_column
        if time is not None and group is not None:
            raise ParameterError(
                "--time-column and --group-column cannot be combined. Got both. Use one of them."
            )
        delimiter = "\t" if given.delimiter in {"\\t", "tab"} else given.delimiter
        kept, dropped = options.split_names(keep), options.split_names(given.drop)
        others = (kept, dropped, tasks, given.query_column)
        roles = Roles(given.target, given.weight, time, group, *others)
        return cls(
            file,
            roles,
            ReadOptions(delimiter, given.header, given.encoding, tuple(roles.named)),
            None if given.target_type is None else given.target_type.value,
        )


def load(request: DataRequest, console: Console, method: str | None = None) -> Dataset:
    """Read the file into memory; categories are one-hot encoded where the method needs it."""
    with console.progress("Reading", 1) as progress, reading_listened(progress.within):
        raw = read_file(request.file, request.reading)
    indicators = False
    if method is not None:
        from secateur.cli.methods import has_parameter  # slow: after errors in the file

        indicators = not has_parameter(method, "categorical_features")
    dataset = make_dataset(
        raw, request.roles, target_type=request.target_type, indicators=indicators
    )
    _describe(dataset, request, console)
    return dataset


def _describe(dataset: Dataset, request: DataRequest, console: Console) -> None:
    size = f"{len(dataset.rows)} rows, {count_of(len(dataset.plan.names))}"
    console.message(f"{request.file.name}: {size}, target {dataset.target!r}.", *dataset.notes)


def load_stored(
    request: DataRequest,
    console: Console,
    scaling: options.ScalingOptions,
    executor: Any,
    method: str,
    validation: options.ValidationOptions,
    write_data: bool,
) -> Dataset | None:
    """Write a file that does not fit into memory to a table on disk; None for one that fits."""
    limit = resolve_limit(scaling.memory_limit)
    reason = _reason_for_disk(request.file, limit, executor)
    if reason is None:
        return None
    from secateur.cli.methods import check_stored, has_parameter
    from secateur.storage.reading.stored_dataset import store_dataset
    from secateur.storage.sampled_rows import most_sampled

    check_stored(method, on_cluster=executor is not None)
    if write_data:
        raise ParameterError(
            f"--write-data needs the file in memory. {reason} Leave it out or raise --memory-limit."
        )
    console.message(reason)
    with console.progress("Reading", 1) as progress, reading_listened(progress.within):
        dataset = store_dataset(
            request.file,
            request.reading,
            request.roles,
            target_type=request.target_type,
            indicators=not has_parameter(method, "categorical_features"),
            cache=scaling.cache,
            memory_limit=limit,
            executor=executor,
            random_state=validation.seed,
            n_jobs=validation.jobs,
        )
    table, n_sampled = dataset.features.X, most_sampled(dataset.features.X)
    notes = [*dataset.notes, ON_DISK_BINNED if has_parameter(method, "max_bins") else ON_DISK]
    if table.n_rows > n_sampled:
        notes.append(
            f"Held-out rows, and those of the report, are a sample: {n_sampled} of {table.n_rows}."
        )
    dataset = replace(dataset, notes=tuple(notes))
    _describe(dataset, request, console)
    return dataset


def _reason_for_disk(file: Path, limit: int, executor: Any) -> str | None:
    if executor is not None:
        return f"{file.name} is written to a table on disk, which all workers read."
    needed = resident_memory() + needed_memory(file)
    if needed <= limit or kind_of_file(file).format == "npz":
        return None
    return (
        f"{file.name} would take about {format_bytes(needed)} of memory, more than the limit of "
        f"{format_bytes(limit)}: it is written to a table on disk, block by block."
    )


def read_feature_costs(
    dataset: Dataset, given: options.CostOptions, keep: tuple[str, ...]
) -> tuple[FeatureCosts | None, list[str]]:
    """The costs of features, by position, and notes; of files with two columns, names first."""
    if given.costs is None and given.feature_groups is None and not keep:
        return None, []
    cost, notes = (None, []) if given.costs is None else _read_costs(dataset, given.costs)
    groups: dict[str, list[int]] = {}
    for number, (name, group) in enumerate(_pairs(given.feature_groups)):
        if group and (number or name in dataset.raw.names):  # the first line may be a header
            places = _places(dataset, name, str(given.feature_groups))
            groups.setdefault(group, []).extend(places)
    groups = {group: places for group, places in groups.items() if places}
    kept = [place for name in keep for place in _places(dataset, name, "--keep")]
    return FeatureCosts(cost, feature_groups=groups or None, keep=kept, unit=given.cost_unit), notes


def _read_costs(dataset: Dataset, file: Path) -> tuple[FloatArray, list[str]]:
    names = dataset.plan.names
    cost: FloatArray = np.full(len(names), np.nan)
    for number, (name, text) in enumerate(_pairs(file)):
        value = np.nan
        with suppress(ValueError):
            value = float(text)
        if number == 0 and not np.isfinite(value):
            continue  # a header
        places = _places(dataset, name, str(file))
        if not 0 <= value < np.inf:
            raise InputError(
                f"{file} must hold costs >= 0. Got {text!r} for {name!r}. Use 0 for free features."
            )
        cost[places] = value
    left = np.flatnonzero(np.isnan(cost))
    cost[left] = 1.0
    listed = some_of([names[place] for place in left[:6]])
    notes = [f"Features without a cost in {file.name} cost 1: {listed}."]
    return cost, notes if len(left) else []


def _places(dataset: Dataset, name: str, where: str) -> list[int]:
    """The feature of a column; none if it was left out."""
    names, raw = dataset.plan.names, dataset.raw
    found = [place for place, known in enumerate(names) if known == name]
    if not found and name not in raw.names and name not in raw.extra:
        similar = similar_to(name, names)
        raise InputError(f"{where} must name features of the table. Got {name!r}.{similar}")
    return found


def _pairs(file: Path | None) -> list[tuple[str, str]]:
    if file is None:
        return []
    opened = CsvFile.open(file, kind_of_name(file.name), ReadOptions(header=False))
    if len(opened.names) != 2:
        raise InputError(
            f"{file} must have two columns, a feature and its value. Got {len(opened.names)}. "
            "Write one line for each feature, as: age,2.5"
        )
    rows = (row for frame in opened.cells() for row in frame.fill_null("").iter_rows())
    return [(row[0].strip(), row[1].strip()) for row in rows]

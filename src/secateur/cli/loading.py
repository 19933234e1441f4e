"""From the options of a command to a data set, with everything that was guessed said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.cli.options import ReadingOptions, RowOptions, split_names
from secateur.cli.talking import Talk
from secateur.exceptions import ParameterError

if TYPE_CHECKING:
    from secateur._data.target import Task
    from secateur.files.dataset import Dataset, Roles
    from secateur.files.reading import ReadOptions


@dataclass(frozen=True, slots=True)
class DataRequest:
    """Which file, how to read it, and what its columns are for."""

    file: Path
    roles: Roles
    reading: ReadOptions
    task: Task | None

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
        from secateur.files.dataset import Roles
        from secateur.files.reading import ReadOptions

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
            None if rows.task is None else rows.task.value,
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
    from secateur._data.reading.delimited import WIDE
    from secateur.files.dataset import make_dataset
    from secateur.files.reading import read_file

    raw = read_file(request.file, request.reading)
    # data frames are slow in columns, and they are needed for categories only
    is_wide = len(raw.names) > WIDE
    dataset = make_dataset(
        raw, request.roles, task=request.task, indicators=is_wide or needs_numbers()
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

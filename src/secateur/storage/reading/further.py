"""Further rows from another file, read as those of the first were."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur.data.messages import some_of
from secateur.exceptions import InputError
from secateur.storage.reading.dataset import (
    Dataset,
    column_values,
    labels_of,
    take_rows,
    task_names,
)
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import RawTable
from secateur.storage.reading.plan import make_features
from secateur.storage.reading.read_file import read_file
from secateur.typing import AnyArray


class TestRows(NamedTuple):
    """Features and target of rows that only judge, and the name of their file."""

    file: str
    X: Any
    y: AnyArray
    tasks: AnyArray | None = None


def read_test(
    file: Path, dataset: Dataset, options: ReadOptions, tasks: str | None = None
) -> TestRows:
    """The rows of a file with a target, with the columns and categories of a data set.

    `tasks` is the column that tells tasks apart, where there are several.
    """
    raw = _as_wide(read_file(file, options), dataset)
    y = column_values(raw, dataset.target)
    missing = [v is None for v in y] if y.dtype.kind == "O" else ~np.isfinite(y)
    rows = np.flatnonzero(~np.asarray(missing))
    if not len(rows):
        raise InputError(
            f"{file} must have rows with a target. Got none in {dataset.target!r}. Check the file."
        )
    labels = labels_of(y[rows], dataset.target_type)
    if (labels.dtype.kind == "O") != (dataset.y.dtype.kind == "O"):
        raise InputError(
            f"{file} must have the target of the first file. Got values of another kind in "
            f"{dataset.target!r}. Write both alike."
        )
    indicators = len(dataset.features.names) != len(dataset.plan.names)
    features = make_features(dataset.plan, raw, indicators=indicators)
    names = None if tasks is None else task_names(column_values(raw, tasks)[rows], tasks)
    _check_tasks(file, names, dataset)
    return TestRows(file.name, take_rows(features.X, rows, raw.n_rows), labels, names)


def _check_tasks(file: Path, names: AnyArray | None, dataset: Dataset) -> None:
    if names is None or dataset.tasks is None:
        return
    unknown = sorted(set(names.tolist()) - set(dataset.tasks.tolist()), key=str)
    if unknown:
        raise InputError(
            f"{file} must have tasks of the first file. Got {some_of(unknown)}. Leave these rows "
            "out: nothing was learnt of them."
        )


def _as_wide(raw: RawTable, dataset: Dataset) -> RawTable:
    """A sparse file whose last columns happen to be empty is narrower than the first."""
    if not (raw.is_sparse and dataset.raw.is_sparse) or raw.names == dataset.raw.names:
        return raw
    n_columns = len(dataset.raw.names)
    matrix = raw.matrix.copy()
    if raw.names[0] == dataset.raw.names[0]:
        matrix.resize((raw.n_rows, n_columns))
        return RawTable(matrix, dataset.raw.names, raw.kind, raw.texts, raw.extra, raw.notes)
    return raw

"""A data set from a file that is too large for memory: its features are in a table on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.target import TargetType
from secateur.exceptions import ParameterError
from secateur.storage.open_table import open_table
from secateur.storage.reading.columns import TableSummary, summarize
from secateur.storage.reading.dataset import (
    Dataset,
    Roles,
    RowValues,
    find_column,
    plan_features,
    row_values,
    take_rows,
    target_name,
)
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import RawTable, SourceFiles, library
from secateur.storage.reading.plan import Plan, make_features
from secateur.storage.reading.read_file import TableFile, open_blocks
from secateur.storage.sources import Part, Source

BLOCK_BYTES = 1 << 25  # bytes of the numbers of the rows that are summarized together


def store_dataset(
    file: Path,
    options: ReadOptions,
    roles: Roles,
    *,
    target_type: TargetType | None = None,
    indicators: bool = False,
    **storing: Any,
) -> Dataset:
    """A data set on disk, without rows of weight 0; ``storing`` is as in `open_table`."""
    if roles.time is not None:
        raise ParameterError(
            "Rows that are ordered by time must fit into memory. Got --time-column for a table on "
            "disk. Raise --memory-limit, or use a part of the rows."
        )
    files = SourceFiles.of(file)  # before anything is read
    opened = open_blocks(file, options)
    first = next(opened.read(1))
    names = [target_name(first, roles.target), *roles.named]
    summary, texts, columns = _scan(opened, [find_column(first, name) for name in names])
    plan = plan_features(summary, first, roles)
    values, notes = row_values(columns, roles, target_type)
    features = make_features(plan, next(opened.read(1, texts)), indicators=indicators)
    facts = (features.names, plan.kept.tolist(), sorted(plan.conversions.items()), roles, options)
    source = Source(
        lambda n_rows: _parts(opened.read(n_rows, texts), plan, values, indicators=indicators),
        f"{files.fingerprint} {facts}",
        len(features.names),
        (values.target,),
        features.names,
        files,
    )
    table = open_table(source, **storing)
    kept = values if values.weight is None else values.take(values.weight > 0)
    kept = replace(kept, rows=np.arange(table.n_rows), weight=table.weight)
    return Dataset(
        features=features._replace(X=table, notes=()),
        plan=plan,
        raw=first,
        notes=(*opened.kind.notes, *opened.notes, *plan.notes, *features.notes, *notes),
        **vars(kept),
    )


def _scan(opened: TableFile, places: list[int | None]) -> tuple[TableSummary, set[int], RawTable]:
    """Read all rows: a summary, the columns to be read as text, and all rows of some columns."""
    wanted = sorted({place for place in places if place is not None})
    n_rows = max(100, min(20_000, BLOCK_BYTES // (8 * len(opened.names))))
    names, parts = tuple([opened.names[place] for place in wanted]), list[RawTable]()

    def read(texts: set[int]) -> Iterator[RawTable]:
        parts.clear()
        for raw in opened.read(n_rows, texts):
            matrix = raw.matrix[:, wanted]
            found = {new: raw.texts[old] for new, old in enumerate(wanted) if old in raw.texts}
            dense = matrix.toarray() if raw.is_sparse else matrix
            parts.append(replace(raw, matrix=dense, names=names, texts=found, notes=()))
            yield raw

    summary, texts = summarize(opened.names, read)
    first = parts[0]
    columns = replace(
        first,
        matrix=np.concatenate([part.matrix for part in parts]),
        texts={
            place: library("polars").concat([part.texts[place] for part in parts])
            for place in first.texts
        },
        extra={name: np.concatenate([part.extra[name] for part in parts]) for name in first.extra},
    )
    return summary, texts, columns


def _parts(
    blocks: Iterator[RawTable], plan: Plan, values: RowValues, *, indicators: bool
) -> Iterator[Part]:
    """The rows that have a target, as features."""
    first = 0
    for raw in blocks:
        start, stop = np.searchsorted(values.rows, [first, first + raw.n_rows])
        rows = values.rows[start:stop] - first
        first += raw.n_rows
        if start < stop:
            X = take_rows(make_features(plan, raw, indicators=indicators).X, rows, raw.n_rows)
            here = values.take(slice(start, stop))
            yield Part(X, (here.y,), here.weight, here.tasks)

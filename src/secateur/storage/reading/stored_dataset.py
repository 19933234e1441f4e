"""A data set from a file that is too large for memory: its features are in a table on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.target import TargetType
from secateur.exceptions import ParameterError
from secateur.storage.open_table import Storing, store_source
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
from secateur.storage.reading.formats import RawTable, library
from secateur.storage.reading.plan import Plan, make_features
from secateur.storage.reading.read_file import TableFile, open_blocks
from secateur.storage.sources import Part, Source, print_of_files
from secateur.storage.stored_table import StoredTable
from secateur.typing import IntArray

BLOCK_BYTES = 1 << 25  # bytes of the numbers of the rows that are summarized together


@dataclass(frozen=True, slots=True, eq=False)
class StoreOptions:
    """Where the table is stored, and how; as in `secateur.open_table`."""

    cache: Path | None
    limit: int
    executor: Any = None
    seed: int = 0
    jobs: int | None = None

    def store(self, source: Source, facts: tuple[object, ...]) -> StoredTable:
        """Store the rows of a source; a stored table of the same facts is used again."""
        how = Storing(random_state=self.seed, n_jobs=self.jobs)
        return store_source(
            source, facts, how, cache=self.cache, limit=self.limit, executor=self.executor
        )


def store_dataset(
    file: Path,
    options: ReadOptions,
    roles: Roles,
    storing: StoreOptions,
    *,
    target_type: TargetType | None = None,
    indicators: bool = False,
) -> Dataset:
    """A data set as `make_dataset` makes it, without reading the file as a whole.

    Rows of weight 0 are left out as well.
    """
    if roles.time is not None:
        raise ParameterError(
            "Rows that are ordered by time must fit into memory. Got --time-column for a table on "
            "disk. Raise --memory-limit, or use a part of the rows."
        )
    opened = open_blocks(file, options)
    first = next(opened.read(1))
    names = [target_name(first, roles.target), *roles.named]
    summary, texts, columns = _scan(opened, [find_column(first, name) for name in names])
    plan = plan_features(summary, first, roles)
    values, notes = row_values(columns, roles, target_type)
    features = make_features(plan, next(opened.read(1, texts)), indicators=indicators)
    source = _FileSource(
        opened=opened,
        texts=texts,
        plan=plan,
        indicators=indicators,
        values=values,
        names=features.names,
        width=len(features.names),
        target_names=(values.target,),
        fingerprint=print_of_files(file),
    )
    facts = (features.names, plan.kept.tolist(), sorted(plan.conversions.items()), roles, options)
    table = storing.store(source, facts)
    return Dataset(
        features=features._replace(X=table, notes=()),
        plan=plan,
        raw=first,
        notes=(*opened.kind.notes, *opened.notes, *plan.notes, *features.notes, *notes),
        **vars(_stored_values(values, table)),
    )


def _stored_values(values: RowValues, table: StoredTable) -> RowValues:
    """The values of the rows in a stored table, which has none of weight 0."""
    is_kept = slice(None) if values.weight is None else values.weight > 0
    return replace(
        values,
        rows=np.arange(table.n_rows),
        y=values.y[is_kept],
        weight=table.weight,
        group=None if values.group is None else values.group[is_kept],
        tasks=None if values.tasks is None else values.tasks[is_kept],
    )


def _scan(opened: TableFile, places: list[int | None]) -> tuple[TableSummary, set[int], RawTable]:
    """Read all rows: a summary, the columns to be read as text, and all rows of some columns."""
    wanted = sorted({place for place in places if place is not None})
    n_rows = max(100, min(20_000, BLOCK_BYTES // (8 * len(opened.names))))
    parts: list[RawTable] = []

    def read(texts: set[int]) -> Iterator[RawTable]:
        parts.clear()
        for raw in opened.read(n_rows, texts):
            parts.append(_columns(raw, wanted))
            yield raw

    summary, texts = summarize(opened.names, read)
    return summary, texts, _joined(parts)


def _columns(raw: RawTable, places: list[int]) -> RawTable:
    part = raw.matrix[:, places]
    texts = {new: raw.texts[old] for new, old in enumerate(places) if old in raw.texts}
    matrix = part.toarray() if raw.is_sparse else part
    names = tuple([raw.names[place] for place in places])
    return RawTable(matrix, names, raw.kind, texts, raw.extra)


def _joined(parts: list[RawTable]) -> RawTable:
    pl, first = library("polars"), parts[0]
    matrix = np.concatenate([part.matrix for part in parts])
    texts = {place: pl.concat([part.texts[place] for part in parts]) for place in first.texts}
    extra = {name: np.concatenate([part.extra[name] for part in parts]) for name in first.extra}
    return RawTable(matrix, first.names, first.kind, texts, extra)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _FileSource(Source):
    """The rows of a file that have a target, as features."""

    opened: TableFile
    texts: set[int]
    plan: Plan
    indicators: bool
    values: RowValues
    names: tuple[str, ...]
    width: int
    target_names: tuple[str, ...]
    fingerprint: str

    def parts(self, n_rows: int) -> Iterator[Part]:
        """The rows in order, at most so many at a time."""
        first, values = 0, self.values
        for raw in self.opened.read(n_rows, self.texts):
            start, stop = np.searchsorted(values.rows, [first, first + raw.n_rows])
            rows: IntArray = values.rows[start:stop] - first
            first += raw.n_rows
            if start < stop:
                features = make_features(self.plan, raw, indicators=self.indicators)
                X = take_rows(features.X, rows, raw.n_rows)
                weight = None if values.weight is None else values.weight[start:stop]
                tasks = None if values.tasks is None else values.tasks[start:stop]
                yield Part(X, (values.y[start:stop],), weight, tasks)

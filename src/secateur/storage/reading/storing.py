"""A file that is too large for memory as a data set: its features become a table on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.target import TargetType
from secateur.exceptions import ParameterError
from secateur.storage.folder import LabelColumn
from secateur.storage.open_table import Storing, store_source
from secateur.storage.reading.columns import TableSummary, summarize
from secateur.storage.reading.dataset import (
    Dataset,
    Roles,
    column_values,
    find_column,
    guess_target_type,
    known_target,
    labels_of,
    plan_features,
    read_weight,
    take_rows,
    target_name,
    task_names,
)
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import RawTable
from secateur.storage.reading.plan import Features, Plan, make_features
from secateur.storage.reading.read_file import TableFile, open_blocks
from secateur.storage.sources import Part, Source, print_of_files
from secateur.storage.stored_table import StoredTable
from secateur.typing import AnyArray, FloatArray, IntArray

BLOCK_BYTES = 1 << 25
"""What the numbers of the rows that are looked at together may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """Where the table goes, and who computes on it; as in `secateur.open_table`."""

    cache: Path | None
    limit: int
    executor: Any = None
    seed: int = 0
    jobs: int | None = None


def store_dataset(
    file: Path,
    options: ReadOptions,
    roles: Roles,
    where: Where,
    *,
    target_type: TargetType | None = None,
    indicators: bool = False,
) -> Dataset:
    """Tell the columns of a file apart, as `make_dataset` does, without reading it as a whole.

    Rows of weight 0 are left out as well.
    """
    if roles.time is not None:
        raise ParameterError(
            "Rows that are ordered by time must fit into memory. Got --time-column for a table on "
            "disk. Raise --memory-limit, or use a part of the rows."
        )
    looked = _look_through(open_blocks(file, options), roles)
    plan = plan_features(looked.facts, looked.first, roles, looked.target)
    numbers, values = looked.column(looked.target)
    y, rows, notes = known_target(values, numbers, looked.target)
    guessed, sentence = (
        guess_target_type(y, looked.target) if target_type is None else (target_type, "")
    )
    y = labels_of(y, guessed)
    weight = tasks = None
    if roles.weight is not None:
        weight = read_weight(looked.values(roles.weight, rows), roles.weight)
    if roles.tasks is not None:
        tasks = task_names(looked.values(roles.tasks, rows), roles.tasks)
    made = make_features(plan, looked.one_row(), indicators=indicators)
    source = _Planned(looked, plan, made, indicators, rows, y, weight, tasks, print_of_files(file))
    table = _stored(source, (roles, options), where)
    is_row = slice(None) if weight is None else weight > 0
    guesses = [sentence] if sentence else []
    known = (*looked.blocks.kind.notes, *looked.blocks.notes, *plan.notes)
    told = (*known, *made.notes, *notes, *guesses)
    return Dataset(
        features=made._replace(X=table, notes=()),
        y=y[is_row],
        target_type=guessed,
        target=looked.target,
        weight=table.weight,
        time=None,
        group=None if roles.group is None else looked.values(roles.group, rows)[is_row],
        rows=np.arange(table.n_rows),
        plan=plan,
        raw=looked.first,
        notes=told,
        tasks=None if tasks is None else tasks[is_row],
    )


def _stored(source: _Planned, asked: tuple[object, ...], where: Where) -> StoredTable:
    plan = source.plan
    facts = (source.names, plan.kept.tolist(), sorted(plan.conversions.items()), *asked)
    how = Storing(random_state=where.seed, n_jobs=where.jobs)
    return store_source(
        source, facts, how, cache=where.cache, limit=where.limit, executor=where.executor
    )


@dataclass(slots=True, eq=False)
class _Side:
    """One column with a use of its own, gathered on the way."""

    name: str
    numbers: list[FloatArray] = field(default_factory=list)
    texts: LabelColumn = field(default_factory=LabelColumn)

    def add(self, raw: RawTable) -> None:
        position = find_column(raw, self.name)
        values = column_values(raw, self.name)
        is_text = values.dtype.kind == "O"
        if is_text:
            self.texts.add(values)
        if not is_text or position is not None:
            self.numbers.append(raw.matrix[:, position].copy() if is_text else values)

    def finished(self, position: int | None, facts: TableSummary) -> tuple[Any, AnyArray]:
        """The column as numbers, if it has any; and its values."""
        numbers = np.concatenate(self.numbers) if self.numbers else None
        if numbers is not None and (position is None or position not in facts.texts):
            return numbers, numbers
        return numbers, self.texts.finished().values()


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """A file all of whose rows were looked at.

    ``texts`` are the columns to be read as text, ``sides`` those with a use of their own, and
    ``first`` is its first row, which knows the names of all.
    """

    blocks: TableFile
    first: RawTable
    target: str
    facts: TableSummary
    texts: set[int]
    sides: dict[str, _Side]

    def column(self, name: str) -> tuple[FloatArray | None, AnyArray]:
        """A column as numbers, if it has any; and its values."""
        return self.sides[name].finished(find_column(self.first, name), self.facts)

    def values(self, name: str, rows: IntArray) -> AnyArray:
        """The values of a column in some rows."""
        return self.column(name)[1][rows]

    def one_row(self) -> RawTable:
        """The first row, read as all are."""
        return next(self.blocks.read(1, self.texts))


def _look_through(blocks: TableFile, roles: Roles) -> _Looked:
    first = next(blocks.read(1))
    target = target_name(first, roles.target)
    sought = (target, roles.weight, roles.group, roles.tasks)
    named = [name for name in sought if name is not None]
    for name in named:
        find_column(first, name)  # complains before any work
    sides: dict[str, _Side] = {}
    n_rows = max(100, min(20_000, BLOCK_BYTES // (8 * len(blocks.names))))

    def walk(texts: set[int]) -> Iterator[RawTable]:
        sides.clear()
        sides.update({name: _Side(name) for name in named})
        for raw in blocks.read(n_rows, texts):
            for side in sides.values():
                side.add(raw)
            yield raw

    facts, asked = summarize(blocks.names, walk)
    return _Looked(blocks, first, target, facts, asked, sides)


@dataclass(frozen=True, slots=True, eq=False)
class _Planned(Source):
    """The rows of a file that have a target, their features made by a plan."""

    looked: _Looked
    plan: Plan
    made: Features
    indicators: bool
    rows: IntArray
    y: AnyArray
    weight: FloatArray | None
    tasks: AnyArray | None
    fingerprint: str

    @property
    def target_names(self) -> tuple[str, ...]:  # type: ignore[override]  # reckoned
        """The name of the target."""
        return (self.looked.target,)

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]  # reckoned
        """The features."""
        return self.made.names

    @property
    def width(self) -> int:  # type: ignore[override]  # likewise
        """The number of features."""
        return len(self.names)

    def parts(self, n_rows: int) -> Iterator[Part]:
        """The rows in order, about so many at a time."""
        first = 0
        for raw in self.looked.blocks.read(n_rows, self.looked.texts):
            start, stop = np.searchsorted(self.rows, [first, first + raw.n_rows])
            here = self.rows[start:stop] - first
            first += raw.n_rows
            if start < stop:
                made = make_features(self.plan, raw, indicators=self.indicators)
                X = take_rows(made.X, here, raw.n_rows)
                weight = None if self.weight is None else self.weight[start:stop]
                tasks = None if self.tasks is None else self.tasks[start:stop]
                yield Part(X, (self.y[start:stop],), weight, tasks)

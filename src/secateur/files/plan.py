"""`Plan`: what becomes of each column of a file, decided once and applied to further files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from secateur._data.reading.facts import TableFacts
from secateur._data.reading.treating import Treatment, category, treat
from secateur._data.wording import some_of
from secateur.typing import IntArray

OTHER = "(other)"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which columns of a file are features, and how those of text are read.

    Parameters
    ----------
    kept : array of int
        The positions of the features in the file.
    names : tuple of str
        Their names.
    treatments : mapping of int to Treatment
        By position in the file, for columns of text that are kept.
    notes : tuple of str
        What was decided, in sentences.
    """

    kept: IntArray
    names: tuple[str, ...]
    treatments: Mapping[int, Treatment] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def categories(self) -> list[int]:
        """Positions, among the features, of those that are categories."""
        place = {int(position): new for new, position in enumerate(self.kept)}
        return [place[p] for p, told in self.treatments.items() if told.kind == "category"]


def plan_of(facts: TableFacts, without: Collection[int], keep: Collection[int] = ()) -> Plan:
    """Decide what becomes of each column.

    Parameters
    ----------
    facts : TableFacts
    without : collection of int
        Positions of columns that are no features: the target, weights, what the user drops.
    keep : collection of int
        Positions that stay in whatever they look like.
    """
    treatments, named, notes = _treat_texts(facts, without, keep)
    names = facts.names
    left_out = {*without, *named}
    counters = [p for p in facts.counters if p not in left_out and p not in keep]
    if counters:
        told = some_of([names[p] for p in counters])
        notes.append(f"Left out, since they only number the rows: {told} (--keep takes them in).")
    empty = [p for p in facts.empty if p not in left_out and p not in treatments]
    if empty:
        notes.append(f"Left out, since they have no values: {some_of([names[p] for p in empty])}.")
    left_out.update(counters, empty)
    if facts.n_infinite:
        notes.append(f"Infinite values count as missing: {facts.n_infinite} cells.")
    is_kept = np.ones(len(names), np.bool_)
    is_kept[list(left_out)] = False
    kept = np.flatnonzero(is_kept)
    names_kept = tuple([names[position] for position in kept])
    return Plan(kept, names_kept, treatments, tuple(notes))


def _treat_texts(
    facts: TableFacts, without: Collection[int], keep: Collection[int]
) -> tuple[dict[int, Treatment], list[int], list[str]]:
    treatments: dict[int, Treatment] = {}
    named: list[int] = []
    notes: list[str] = []
    for position, told in sorted(facts.texts.items()):
        if position in without:
            continue
        treatment, note = treat(told, facts.names[position])
        if treatment is None and position in keep:
            treatment, note = category(told, facts.names[position])
        if treatment is None:
            named.append(position)
        else:
            treatments[position] = treatment
        notes += [note] if note else []
    if named:
        names = some_of([facts.names[position] for position in named])
        notes.append(
            f"Left out, since nearly every row has a text of its own: {names} (--keep takes them "
            "in)."
        )
    categories = [facts.names[p] for p, told in treatments.items() if told.kind == "category"]
    if categories:
        notes.append(f"Text is read as categories: {some_of(categories)}.")
    return treatments, named, notes

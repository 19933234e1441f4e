"""A plan applied to a file: features as a matrix, or as a data frame where some are categories."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from secateur._data.reading.naming import mended_names
from secateur._data.reading.opening import polars
from secateur._data.reading.raw import RawTable
from secateur._data.reading.treating import Treatment
from secateur._data.wording import some_of
from secateur.exceptions import InputError
from secateur.files.plan import OTHER, Plan
from secateur.typing import IntArray

MOST_INDICATORS = 50
"""The most frequent values of a category that get a column of 0 and 1 of their own."""


class Features(NamedTuple):
    """The features of a file.

    ``sources`` tells for each the position in the plan of the column that it was made of.
    """

    X: Any
    names: tuple[str, ...]
    sources: IntArray
    notes: tuple[str, ...] = ()


def make_features(plan: Plan, raw: RawTable, *, indicators: bool = False) -> Features:
    """The features of a table, rows as they are.

    Parameters
    ----------
    plan : Plan
    raw : RawTable
        The file that the plan was made for, or another with the same columns.
    indicators : bool, default=False
        Make columns of 0 and 1 of categories, for methods that know numbers only. Otherwise a
        table with categories is a polars data frame.
    """
    positions = _positions(plan, raw)
    own = np.arange(len(plan.kept))
    if raw.is_sparse:
        same = np.array_equal(positions, np.arange(raw.matrix.shape[1]))
        return Features(raw.matrix if same else raw.matrix[:, positions], plan.names, own)
    matrix = _numbers(plan, raw, positions)
    if not plan.categories:
        return Features(matrix, plan.names, own)
    texts = {new: _text(raw, int(positions[new])) for new in plan.categories}
    if indicators:
        return _with_indicators(plan, matrix, texts)
    return Features(_frame(plan, matrix, texts), plan.names, own)


def _positions(plan: Plan, raw: RawTable) -> IntArray:
    """Where the features of the plan are in this table, by name."""
    if max(plan.kept, default=-1) < len(raw.names) and all(
        raw.names[position] == name for position, name in zip(plan.kept, plan.names, strict=True)
    ):
        return plan.kept
    place = {name: position for position, name in enumerate(raw.names)}
    missing = [name for name in plan.names if name not in place]
    if missing:
        raise InputError(
            f"The file must have the columns of the first. Got none named {some_of(missing)}. "
            "Write both files with the same columns."
        )
    return np.array([place[name] for name in plan.names], dtype=np.int64)


def _numbers(plan: Plan, raw: RawTable, positions: IntArray) -> Any:
    matrix = np.array(raw.matrix[:, positions], order="F")
    new = {int(old): place for place, old in enumerate(plan.kept)}
    for old, treatment in plan.treatments.items():
        place = new[old]
        if treatment.is_number:
            matrix[:, place] = treatment.numbers(raw, int(positions[place]))
    matrix[np.isinf(matrix)] = np.nan
    return matrix


def _text(raw: RawTable, position: int) -> Any:
    """A column as text, also where all of its values here happen to be numbers."""
    if position in raw.texts:
        return raw.texts[position]
    pl = polars()
    values = [None if np.isnan(value) else f"{value:g}" for value in raw.matrix[:, position]]
    return pl.Series(values, dtype=pl.String)


def _coded(text: Any, treatment: Treatment) -> Any:
    """Text as one of the values of fit time; others are missing, or count as one."""
    pl = polars()
    known = text.is_in(list(treatment.values))
    other = OTHER if treatment.has_other else None
    mended = pl.select(
        pl.when(known | text.is_null()).then(text).otherwise(pl.lit(other, pl.String))
    ).to_series()
    values = sorted(treatment.values)
    return mended.cast(pl.Enum([*values, OTHER] if treatment.has_other else values))


def _frame(plan: Plan, matrix: Any, texts: dict[int, Any]) -> Any:
    pl = polars()
    columns = []
    for place, name in enumerate(plan.names):
        if place in texts:
            coded = _coded(texts[place], plan.treatments[int(plan.kept[place])])
            columns.append(coded.alias(name))
        else:
            columns.append(pl.Series(name, matrix[:, place]))
    return pl.DataFrame(columns)


def _with_indicators(plan: Plan, matrix: Any, texts: dict[int, Any]) -> Features:
    """Numbers first, as they are; then a column of 0 and 1 for each frequent value."""
    numbers = [place for place in range(len(plan.names)) if place not in texts]
    blocks, names, sources = [matrix[:, numbers]], [plan.names[p] for p in numbers], list(numbers)
    for place, text in texts.items():
        treatment = plan.treatments[int(plan.kept[place])]
        for value in treatment.values[:MOST_INDICATORS]:
            blocks.append(_indicator(text, value))
            names.append(f"{plan.names[place]}={value}")
            sources.append(place)
    told = some_of([plan.names[place] for place in texts])
    note = f"This method knows numbers only: 0 and 1 for each value of {told}."
    mended, _ = mended_names(names)  # a column may have been called "colour=red" all along
    return Features(np.hstack(blocks), mended, np.array(sources, np.int64), (note,))


def _indicator(text: Any, value: str) -> Any:
    return (text == value).fill_null(value=False).to_numpy().astype(np.float64)[:, None]

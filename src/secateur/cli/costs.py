"""Costs and groups from files: a feature and its cost, or its group, in each line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.data.messages import similar_to, some_of
from secateur.exceptions import InputError
from secateur.storage.reading.csv import CsvFile
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import kind_of_name

if TYPE_CHECKING:
    from secateur.data.costs import FeatureCosts
    from secateur.storage.reading.dataset import Dataset


def read_feature_costs(
    dataset: Dataset,
    costs: Path | None,
    groups: Path | None,
    keep: tuple[str, ...],
    unit: str,
) -> tuple[FeatureCosts | None, list[str]]:
    """What features cost, by position, and what to say of it.

    Parameters
    ----------
    dataset : Dataset
    costs, groups : Path or None
        Two columns: the name of a feature, and its cost or its group. A feature may be in several
        groups, one line each.
    keep : tuple of str
    unit : str
    """
    from secateur.data.costs import FeatureCosts

    if costs is None and groups is None and not keep:
        return None, []
    cost, notes = _read_costs(dataset, costs)
    return FeatureCosts(
        cost, feature_groups=_read_groups(dataset, groups), keep=_keep(dataset, keep), unit=unit
    ), notes


def _read_costs(dataset: Dataset, file: Path | None) -> tuple[Any, list[str]]:
    if file is None:
        return None, []
    cost = np.full(len(dataset.features.names), np.nan)
    for number, (name, text) in _pairs(file):
        if number == 1 and not _is_number(text):
            continue  # the names of the columns
        places = _places(dataset, name, file)
        if not _is_number(text) or float(text) < 0:
            raise InputError(
                f"{file} must hold costs >= 0 in its second column. Got {text!r} for {name!r}. Use "
                "0 for what is free."
            )
        cost[places] = float(text)
    left = np.flatnonzero(np.isnan(cost))
    cost[left] = 1.0
    names = [dataset.features.names[place] for place in left[:6]]
    told = f"{len(left)} features have no cost in {file.name} and cost 1: {some_of(names)}."
    return cost, [told] if len(left) else []


def _read_groups(dataset: Dataset, file: Path | None) -> dict[str, list[int]] | None:
    if file is None:
        return None
    groups: dict[str, list[int]] = {}
    known = {*dataset.raw.names, *dataset.features.names}
    for number, (name, group) in _pairs(file):
        if number == 1 and name not in known:
            continue  # the names of the columns
        if group:
            groups.setdefault(group, []).extend(_places(dataset, name, file))
    return {group: places for group, places in groups.items() if places}


def _keep(dataset: Dataset, names: tuple[str, ...]) -> list[int]:
    places: list[int] = []
    for name in names:
        places += _places(dataset, name, None)
    return places


def _places(dataset: Dataset, name: str, file: Path | None) -> list[int]:
    """The features of a name: several where a category became columns; none if it is left out."""
    features = dataset.features
    found = [place for place, known in enumerate(features.names) if known == name]
    if not found and name in dataset.plan.names:
        source = dataset.plan.names.index(name)
        found = np.flatnonzero(features.sources == source).tolist()
    if not found and name not in dataset.raw.names and name not in dataset.raw.extra:
        where = "--keep" if file is None else str(file)
        raise InputError(
            f"{where} must name features of the table. Got {name!r}."
            f"{similar_to(name, features.names)}"
        )
    return found


def _pairs(file: Path) -> list[tuple[int, tuple[str, str]]]:
    opened = CsvFile.open(file, kind_of_name(file.name), ReadOptions(header=False))
    if len(opened.names) != 2:
        raise InputError(
            f"{file} must have two columns, a feature and its value. Got {len(opened.names)}. "
            "Write one line for each feature, as: age,2.5"
        )
    rows = [row for frame in opened.cells() for row in frame.fill_null("").iter_rows()]
    return [(number, (row[0].strip(), row[1].strip())) for number, row in enumerate(rows, start=1)]


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False

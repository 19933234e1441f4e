"""The values of a feature counted in a few bars, by groups of the target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.report.evidence import Distribution
from secateur.typing import FloatArray, IntArray

MOST_GROUPS = 8
MOST_VALUES = 12
N_BARS = 16
OTHER = "other"
THIRDS = ("low", "middle", "high")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows grouped by the target: what the groups are called and which each row is in."""

    names: tuple[str, ...]
    of_row: IntArray

    @property
    def counts(self) -> tuple[int, ...]:
        """How many rows are in each."""
        return tuple(np.bincount(self.of_row, minlength=len(self.names)).tolist())


def one_group(n_rows: int) -> Groups:
    """All rows together, where there is no single target."""
    return Groups(("all rows",), np.zeros(n_rows, dtype=np.int64))


def groups_of_classes(codes: FloatArray, labels: Sequence[Any]) -> Groups:
    """Group rows by class; beyond eight classes the rarer ones are one group.

    Examples
    --------
    >>> groups = groups_of_classes(np.array([0.0, 1.0, 1.0]), ["no", "yes"])
    >>> groups.names, groups.counts
    (('no', 'yes'), (1, 2))
    """
    of_row = codes.astype(np.int64)
    if len(labels) <= MOST_GROUPS:
        return Groups(tuple(map(str, labels)), of_row)
    counts = np.bincount(of_row, minlength=len(labels))
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_GROUPS - 1])
    place = np.full(len(labels), MOST_GROUPS - 1)
    place[kept] = np.arange(len(kept))
    return Groups((*(str(labels[code]) for code in kept), OTHER), place[of_row])


def groups_of_numbers(values: FloatArray) -> Groups:
    """Group rows into the low, the middle and the high third of a target that is a number."""
    cuts = np.quantile(values, [1 / 3, 2 / 3])
    of_row = np.searchsorted(cuts, values, side="left").astype(np.int64)
    edges = [f"{cut:.4g}" for cut in cuts]
    spans = (f"up to {edges[0]}", f"to {edges[1]}", f"above {edges[1]}")
    names = tuple(f"{third} ({span})" for third, span in zip(THIRDS, spans, strict=True))
    return Groups(names, of_row)


def distribution(
    values: FloatArray, categories: Sequence[Any] | None, groups: Groups
) -> Distribution:
    """Count the values of one feature, codes where it has `categories`."""
    is_present = np.isfinite(values)
    present, of_row = values[is_present], groups.of_row[is_present]
    labels, edges, bar = _bars(present, categories)
    n_bars = max(len(labels), len(edges) - 1)
    counts = np.zeros((len(groups.names), n_bars), dtype=np.int64)
    np.add.at(counts, (of_row, bar), 1)
    missing = np.bincount(groups.of_row[~is_present], minlength=len(groups.names))
    return Distribution(labels, edges, tuple(map(tuple, counts.tolist())), tuple(missing.tolist()))


def _bars(
    present: FloatArray, categories: Sequence[Any] | None
) -> tuple[tuple[str, ...], tuple[float, ...], IntArray]:
    values, place, counts = np.unique(present, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    if categories is not None:
        return _category_bars(values, place, counts, categories)
    if len(values) <= MOST_VALUES:
        return tuple(f"{value:.6g}" for value in values), (), place
    return _number_bars(present)


def _category_bars(
    values: FloatArray, place: IntArray, counts: IntArray, categories: Sequence[Any]
) -> tuple[tuple[str, ...], tuple[float, ...], IntArray]:
    names = [str(categories[int(code)]) for code in values]
    if len(names) <= MOST_VALUES:
        return tuple(names), (), place
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_VALUES - 1])
    bar = np.full(len(names), MOST_VALUES - 1)
    bar[kept] = np.arange(len(kept))
    return (*(names[at] for at in kept), OTHER), (), bar[place]


def _number_bars(present: FloatArray) -> tuple[tuple[str, ...], tuple[float, ...], IntArray]:
    # A few far values would squeeze all others into one bar: they are counted in the last ones.
    low, high = np.quantile(present, [0.005, 0.995])
    if not low < high:
        low, high = present.min(), present.max()
    edges = _whole_edges(low, high) if _is_whole(present) else np.linspace(low, high, N_BARS + 1)
    bar = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
    return (), tuple(float(f"{edge:.6g}") for edge in edges), bar


def _is_whole(present: FloatArray) -> bool:
    return bool(np.all(present == np.floor(present))) and float(np.abs(present).max()) < 1e9


def _whole_edges(low: float, high: float) -> FloatArray:
    """Bars that hold equally many whole numbers: others would be full and empty in turn."""
    first, last = math.floor(low), math.ceil(high)
    wide = math.ceil((last - first + 1) / N_BARS)
    n_bars = math.ceil((last - first + 1) / wide)
    edges: FloatArray = first - 0.5 + wide * np.arange(n_bars + 1.0)
    return edges

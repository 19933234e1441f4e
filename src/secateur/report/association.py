"""The values of a feature counted in a few bars, by groups of the target.

Between two numbers r keeps its sign. Where a category takes part there is none: a category and a
number are as alike as the means by category explain the number (the root of the share of its
variance), two categories by Cramér's V. Missing numbers count as the mean, which can only make two
columns less alike; missing categories are a category of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.report.evidence import Distribution
from secateur.typing import FloatArray, IntArray

MOST_CATEGORIES = 50
"""Rarer categories of a column are joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Some columns ready to be compared with others over the same rows.

    Parameters
    ----------
    z : array of shape (n_rows, n_columns)
        Numbers centred and scaled to length one; zero for constants and for categories.
    indicators : dict of int to array of shape (n_rows, n_levels)
        For the position of each category column, one column for each category.
    known : array of bool of shape (n_columns,)
        Whether there is anything to compare: constants are like nothing.
    """

    z: FloatArray
    indicators: dict[int, FloatArray]
    known: Any


def prepare(values: FloatArray, is_category: Any) -> Columns:
    """Make columns ready; `values` has codes where `is_category`.

    Examples
    --------
    >>> columns = prepare(np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]]), [False, True])
    >>> columns.z[:, 0].round(2).tolist(), columns.indicators[1].tolist()
    ([-0.71, 0.0, 0.71], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    """
    categories = np.flatnonzero(np.asarray(is_category))
    z = unit_columns(values)
    indicators = {int(at): indicator(values[:, at]) for at in categories}
    known = np.abs(z).max(axis=0, initial=0.0) > 0
    for at, each in indicators.items():
        known[at] = each.shape[1] > 1
    z[:, categories] = 0.0
    return Columns(z, indicators, known)


def unit_columns(values: FloatArray) -> FloatArray:
    """Return the columns centred and of length one; missing values become 0, constants too."""
    present = np.isfinite(values)
    filled = np.where(present, values, 0.0)
    count = np.maximum(present.sum(axis=0), 1)
    # Scaled first, so that squares of huge values do not overflow.
    scale = np.abs(filled).max(axis=0, initial=0.0)
    filled = filled / np.where(scale > 0, scale, 1.0)
    centred = np.where(present, filled - filled.sum(axis=0) / count, 0.0)
    length = np.sqrt((centred * centred).sum(axis=0))
    # What is left of a constant by rounding is no signal.
    is_constant = length <= 1e-9 * np.sqrt(count)
    return np.where(is_constant, 0.0, centred / np.where(is_constant, 1.0, length))


def indicator(codes: FloatArray) -> FloatArray:
    """Return one column for each code, the rare ones joined; missing is a code of its own."""
    numbers = np.where(np.isfinite(codes), codes, -1.0)
    values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if len(values) > MOST_CATEGORIES:
        rank = np.empty(len(values), dtype=np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(values))
        place = np.minimum(rank[place], MOST_CATEGORIES - 1)
    out = np.zeros((len(codes), int(place.max(initial=-1)) + 1))
    out[np.arange(len(codes)), place] = 1.0
    return out


def alike(some: Columns, others: Columns) -> FloatArray:
    """Return how alike each of `some` and each of `others` are, NaN for constants.

    Examples
    --------
    >>> columns = prepare(np.array([[1.0, -2.0], [2.0, -4.0], [4.0, -8.0]]), [False, False])
    >>> alike(columns, columns).round(6).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    out: FloatArray = np.clip(some.z.T @ others.z, -1.0, 1.0)
    for at, each in some.indicators.items():
        out[at] = correlation_ratio(each, others.z)
        for there, other in others.indicators.items():
            out[at, there] = cramers_v(each, other)
    for there, other in others.indicators.items():
        numbers = [at for at in range(out.shape[0]) if at not in some.indicators]
        out[numbers, there] = correlation_ratio(other, some.z[:, numbers])
    out[~some.known] = np.nan
    out[:, ~others.known] = np.nan
    return out


def alike_sparse(some: Columns, matrix: Any) -> FloatArray:
    """Return how alike each of `some` and each column of a sparse matrix of numbers are."""
    n_rows = matrix.shape[0]
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    squares = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    length = np.sqrt(np.maximum(squares - n_rows * mean * mean, 0.0))
    is_known = length > 1e-9 * np.sqrt(squares + 1e-300)
    # The columns of z are centred, so the mean of the others has no say.
    out: FloatArray = (matrix.T @ some.z).T / np.where(is_known, length, 1.0)
    out = np.clip(out, -1.0, 1.0)
    out[:, ~is_known] = np.nan
    out[~some.known] = np.nan
    return out


def correlation_ratio(groups: FloatArray, z: FloatArray) -> FloatArray:
    """Return the root of the share of variance of each column of `z` between the groups."""
    counts = np.maximum(groups.sum(axis=0), 1.0)
    sums = groups.T @ z
    explained: FloatArray = np.sqrt(np.minimum((sums * sums / counts[:, None]).sum(axis=0), 1.0))
    return explained


def cramers_v(one: FloatArray, other: FloatArray) -> float:
    """Return Cramér's V of two categories given as indicators."""
    least = min(one.shape[1], other.shape[1]) - 1
    if least < 1:
        return float("nan")
    joint = one.T @ other
    expected = np.outer(one.sum(axis=0), other.sum(axis=0)) / len(one)
    chi2 = float((((joint - expected) ** 2) / np.maximum(expected, 1e-300)).sum())
    return float(np.sqrt(min(chi2 / (len(one) * least), 1.0)))


def best_of(strength: FloatArray, names: IntArray, most: int) -> list[tuple[int, float]]:
    """Return the columns of largest absolute strength, best first; ties to the smaller name."""
    order = np.lexsort([names, -np.abs(strength)])[:most]
    return [(int(names[at]), round(float(strength[at]), 4)) for at in order]


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

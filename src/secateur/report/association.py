"""Association between columns, and histograms of columns by groups of the target.

Two numeric columns have Pearson's correlation, which keeps its sign. A numeric and a categorical
column have the correlation ratio, two categorical ones Cramér's V. Missing numbers count as the
mean, which can only weaken a correlation; missing categories are a category of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.report.evidence import Distribution
from secateur.typing import FloatArray, IntArray

MAX_CATEGORIES = 50  # rarer ones are merged
MAX_GROUPS = 8
MAX_VALUES = 12
N_BINS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns prepared for `association`.

    `z` has the numeric columns centred and scaled to length one, zero for constants and categories;
    `indicators` the one-hot encoding of each categorical column, by its position.
    """

    z: FloatArray
    indicators: dict[int, FloatArray]
    is_constant: Any


def prepare(values: FloatArray, is_category: Any) -> Columns:
    """Prepare columns; `values` has codes where `is_category`."""
    present = np.isfinite(values)
    filled = np.where(present, values, 0.0)
    count = np.maximum(present.sum(axis=0), 1)
    # scaled first, so that squares of huge values do not overflow
    scale = np.abs(filled).max(axis=0, initial=0.0)
    filled = filled / np.where(scale > 0, scale, 1.0)
    centred = np.where(present, filled - filled.sum(axis=0) / count, 0.0)
    length = np.sqrt((centred * centred).sum(axis=0))
    is_constant = length <= 1e-9 * np.sqrt(count)  # what rounding leaves of a constant
    z = np.where(is_constant, 0.0, centred / np.where(is_constant, 1.0, length))
    categories = np.flatnonzero(np.asarray(is_category))
    indicators = {int(at): indicator(values[:, at]) for at in categories}
    is_constant[categories] = [each.shape[1] < 2 for each in indicators.values()]
    z[:, categories] = 0.0
    return Columns(z, indicators, is_constant)


def indicator(codes: FloatArray) -> FloatArray:
    """Return the one-hot encoding of codes, rare ones merged; missing is a code of its own."""
    numbers = np.where(np.isfinite(codes), codes, -1.0)
    values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    names, merged = _merged(values.tolist(), counts, MAX_CATEGORIES)
    return np.eye(len(names))[merged[place]]


def association(some: Columns, others: Columns) -> FloatArray:
    """Return the association of each of `some` with each of `others`, NaN for constants."""
    out: FloatArray = np.clip(some.z.T @ others.z, -1.0, 1.0)
    for there, other in others.indicators.items():
        out[:, there] = _correlation_ratio(other, some.z)
    for at, each in some.indicators.items():
        out[at] = _correlation_ratio(each, others.z)
        for there, other in others.indicators.items():
            out[at, there] = cramers_v(each, other)
    out[some.is_constant] = np.nan
    out[:, others.is_constant] = np.nan
    return out


def association_with_sparse(some: Columns, matrix: Any) -> FloatArray:
    """Return the association of each of `some` with each column of a sparse numeric matrix."""
    n_rows = matrix.shape[0]
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    squares = np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()
    length = np.sqrt(np.maximum(squares - n_rows * mean * mean, 0.0))
    is_constant = length <= 1e-9 * np.sqrt(squares + 1e-300)
    # the columns of z are centred, so those of the matrix need not be
    out: FloatArray = (matrix.T @ some.z).T / np.where(is_constant, 1.0, length)
    out = np.clip(out, -1.0, 1.0)
    out[:, is_constant] = np.nan
    out[some.is_constant] = np.nan
    return out


def _correlation_ratio(groups: FloatArray, z: FloatArray) -> FloatArray:
    """The root of the share of the variance of each column of `z` that is between the groups."""
    counts = np.maximum(groups.sum(axis=0), 1.0)[:, None]
    explained: FloatArray = ((groups.T @ z) ** 2 / counts).sum(axis=0)
    return np.sqrt(np.minimum(explained, 1.0))


def cramers_v(one: FloatArray, other: FloatArray) -> float:
    """Return Cramér's V of two one-hot encodings."""
    from scipy.stats.contingency import association as from_table

    if min(one.shape[1], other.shape[1]) < 2:
        return math.nan
    return min(float(from_table((one.T @ other).astype(np.int64))), 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class TargetGroups:
    """Groups of rows by the target: their names, and the group of each row."""

    names: tuple[str, ...]
    of_row: IntArray


def groups_by_class(codes: FloatArray, labels: Sequence[Any]) -> TargetGroups:
    """Group rows by class; beyond eight classes the rarer ones are one group."""
    of_row = codes.astype(np.int64)
    names, place = _merged(labels, np.bincount(of_row, minlength=len(labels)), MAX_GROUPS)
    return TargetGroups(names, place[of_row])


def groups_by_thirds(values: FloatArray) -> TargetGroups:
    """Group rows into the low, middle and high third of a numeric target."""
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    of_row = np.searchsorted([low, high], values, side="left").astype(np.int64)
    names = (f"low (up to {low:.4g})", f"middle (to {high:.4g})", f"high (above {high:.4g})")
    return TargetGroups(names, of_row)


def distribution(
    values: FloatArray, categories: Sequence[Any] | None, groups: TargetGroups
) -> Distribution:
    """Return the histogram of one feature; `values` are codes where it has `categories`."""
    is_present = np.isfinite(values)
    present = values[is_present]
    known, bins, counts = np.unique(present, return_inverse=True, return_counts=True)
    labels: tuple[str, ...] = ()
    edges: FloatArray = np.empty(0)
    if categories is not None:
        labels, place = _merged([categories[int(code)] for code in known], counts, MAX_VALUES)
        bins = place[bins]
    elif len(known) <= MAX_VALUES:
        labels = tuple(f"{value:.6g}" for value in known)
    else:
        edges = _edges(present)
        bins = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
    n_groups = len(groups.names)
    table = np.zeros((n_groups, max(len(labels), len(edges) - 1)), dtype=np.int64)
    np.add.at(table, (groups.of_row[is_present], bins.reshape(-1)), 1)
    missing = np.bincount(groups.of_row[~is_present], minlength=n_groups)
    ends = (present.min(), present.max()) if len(edges) else ()
    edges_, limits = (tuple(float(f"{each:.6g}") for each in some) for some in (edges, ends))
    counted = tuple(map(tuple, table.tolist()))
    return Distribution(labels, edges_, counted, tuple(missing.tolist()), limits)


def _merged(names: Sequence[Any], counts: IntArray, limit: int) -> tuple[tuple[str, ...], IntArray]:
    """At most `limit` names, the rarest merged into "other", and the place of each."""
    if len(names) <= limit:
        return tuple(map(str, names)), np.arange(len(names))
    kept = np.sort(np.argsort(-counts, kind="stable")[: limit - 1])
    place = np.full(len(names), limit - 1)
    place[kept] = np.arange(limit - 1)
    return (*(str(names[at]) for at in kept), "other"), place


def _edges(present: FloatArray) -> FloatArray:
    # a few outliers would squeeze all other values into one bin: the outer bins count them
    low, high = np.quantile(present, [0.005, 0.995])
    if not low < high:
        low, high = present.min(), present.max()
    if (present != np.floor(present)).any() or np.abs(present).max() >= 1e9:
        return np.linspace(low, high, N_BINS + 1)
    # bins with equally many whole numbers: others would be full and empty in turn
    first, n_numbers = math.floor(low), math.ceil(high) - math.floor(low) + 1
    width = math.ceil(n_numbers / N_BINS)
    return first - 0.5 + width * np.arange(math.ceil(n_numbers / width) + 1.0)

"""How alike two columns are: Pearson's r, the correlation ratio, or Cramér's V.

Between two numbers r keeps its sign. Where a category takes part there is none: a category and a
number are as alike as the means by category explain the number (the root of the share of its
variance), two categories by Cramér's V. Missing numbers count as the mean, which can only make two
columns less alike; missing categories are a category of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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

"""What some rows of the table say of features: how they are spread, which are alike, a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.report.association import alike, alike_sparse, best_of, prepare
from secateur.report.distributions import Groups, distribution
from secateur.report.evidence import Distribution
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur._data.table import Table

MOST_SUBSTITUTES = 8
LEAST_STRENGTH = 0.5
# Cells read in the search for substitutes: beyond, fewer rows are looked at.
MOST_CELLS = 100_000_000
FEWEST_ROWS = 400
BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Looked:
    """What the sampled rows say, feature by feature as told."""

    distributions: tuple[Distribution, ...]
    association: tuple[tuple[float, ...], ...]
    substitutes: tuple[tuple[tuple[int, float], ...], ...]


def look(table: Table, rows: IntArray, told: IntArray, groups: Groups) -> Looked:
    """What the sampled rows say of the features told of."""
    sample = table.take(rows)
    values = sample.columns(told)
    labels = {feature: known.tolist() for feature, known in table.categories.items()}
    distributions = tuple(
        distribution(values[:, at], labels.get(int(feature)), groups)
        for at, feature in enumerate(told)
    )
    columns = prepare(values, [int(feature) in labels for feature in told])
    strength = np.round(alike(columns, columns), 4)
    fewer = _fewer_rows(len(rows), table.n_features)
    return Looked(
        distributions,
        tuple(map(tuple, strength.tolist())),
        _substitutes(sample if fewer == len(rows) else sample.take(np.arange(fewer)), told),
    )


def _substitutes(sample: Table, told: IntArray) -> tuple[tuple[tuple[int, float], ...], ...]:
    """For each feature the columns most like it, of all the table, block by block."""
    labels = sample.categories
    columns = prepare(sample.columns(told), [int(feature) in labels for feature in told])
    best: list[list[tuple[int, float]]] = [[] for _ in told]
    for start in range(0, sample.n_features, BLOCK):
        stop = min(start + BLOCK, sample.n_features)
        names = np.arange(start, stop)
        if sample.is_sparse:
            strength = alike_sparse(columns, sample.csc[:, start:stop])
        else:
            block = sample.block(start, stop)
            strength = alike(
                columns, prepare(block, [name in labels for name in range(start, stop)])
            )
        strength[told[:, None] == names] = np.nan  # nobody replaces itself
        is_strong = np.abs(strength) >= LEAST_STRENGTH
        for at in np.flatnonzero(is_strong.any(axis=1)):
            there = is_strong[at]
            best[at] += best_of(strength[at, there], names[there], MOST_SUBSTITUTES)
    return tuple(
        tuple(sorted(each, key=lambda pair: (-abs(pair[1]), pair[0]))[:MOST_SUBSTITUTES])
        for each in best
    )


def strongly_alike(
    table: Table, rows: IntArray, some: IntArray, others: IntArray, least: float
) -> dict[int, dict[int, float]]:
    """For each of some features those of the others that are more alike than `least`."""
    sample, labels = table.take(rows), table.categories
    columns = prepare(sample.columns(some), [int(feature) in labels for feature in some])
    found: dict[int, dict[int, float]] = {int(feature): {} for feature in some}
    for start in range(0, len(others), BLOCK):
        part = others[start : start + BLOCK]
        there = prepare(sample.columns(part), [int(feature) in labels for feature in part])
        strength = np.round(alike(columns, there), 4)
        strength[some[:, None] == part] = np.nan  # nobody replaces itself
        for at, other in zip(*np.nonzero(np.abs(strength) > least), strict=True):
            found[int(some[at])][int(part[other])] = float(strength[at, other])
    return found


def _fewer_rows(n_rows: int, n_features: int) -> int:
    return min(n_rows, max(FEWEST_ROWS, MOST_CELLS // max(n_features, 1)))


def backdrop(table: Table, rows: IntArray, shape: tuple[int, ...]) -> tuple[float, ...]:
    """The mean of each cell of the grid, scaled from 0 to 1."""
    if not shape:
        return ()
    sample = table.take(rows)
    starts = range(0, table.n_features, BLOCK)
    blocks = (sample.block(start, min(start + BLOCK, table.n_features)) for start in starts)
    mean: FloatArray = np.concatenate([np.nan_to_num(each).mean(axis=0) for each in blocks])
    low, high = float(mean.min()), float(mean.max())
    scaled = (mean - low) / (high - low) if high > low else np.zeros_like(mean)
    return tuple(np.round(scaled, 3).tolist())

"""Who the neighbours are and how they vote: the model that nearest neighbours leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur._kernels.neighbours import add_column, nearest
from secateur._kernels.threads import Threads
from secateur.data.table import Table
from secateur.data.weights import are_counts
from secateur.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """How some columns of any table become those that distances are measured on.

    ``mismatch`` is 0 for numbers; for categories it is what two different ones add to a distance.
    """

    features: IntArray
    centre: FloatArray
    factor: FloatArray
    mismatch: FloatArray

    def apply(self, table: Table) -> FloatArray:
        """The columns of a table, shape (n_features, n_rows)."""
        if len(self.features) == 0:
            return np.empty((0, table.n_rows))
        raw = np.ascontiguousarray(table.columns(self.features).T)
        return _scaled(raw, self.centre, self.factor, self.mismatch)


class ScaledTable:
    """A table whose columns are asked for a few at a time, scaled by all of its rows.

    A missing number counts as the weighted mean of its column, a missing category as a category
    of its own. With ``standardize`` a column is divided by its standard deviation, so that two
    rows differ by 2 on average over pairs, and two categories differ by what makes the same
    average; without it numbers stay as they are and categories differ by 1.
    """

    def __init__(self, table: Table, weight: FloatArray, *, standardize: bool) -> None:
        self._table = table
        self._share = weight / weight.sum()
        self._standardize = standardize
        self._known: dict[int, tuple[float, float, float]] = {}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._table.n_rows

    def columns(self, features: IntArray) -> FloatArray:
        """Some columns, shape (n_features, n_rows)."""
        raw = np.ascontiguousarray(self._table.columns(features).T)
        for j, values in zip(features, raw, strict=True):
            if int(j) not in self._known:
                self._known[int(j)] = self._learn(int(j), values)
        scaling = self.scaling(features)
        return _scaled(raw, scaling.centre, scaling.factor, scaling.mismatch)

    def mismatch(self, features: IntArray) -> FloatArray:
        """What a difference of category adds; 0 for numbers. Asked after ``columns``."""
        return self.scaling(features).mismatch

    def scaling(self, features: IntArray | Sequence[int]) -> Scaling:
        """How these columns are made; each must have been asked for before."""
        known = np.array([self._known[int(j)] for j in features]).reshape(-1, 3)
        return Scaling(np.asarray(features, np.int64), known[:, 0], known[:, 1], known[:, 2])

    def _learn(self, feature: int, values: FloatArray) -> tuple[float, float, float]:
        """Centre, factor and mismatch of a column."""
        seen = ~np.isnan(values)
        if feature in self._table.categories:
            return 0.0, 1.0, self._mismatch(np.where(seen, values, -1.0))
        share = self._share[seen]
        if not seen.any():
            return 0.0, 1.0, 0.0
        centre = float(share @ values[seen] / share.sum())
        if not self._standardize:
            return centre, 1.0, 0.0
        spread = float(np.sqrt(share @ (values[seen] - centre) ** 2 / share.sum()))
        return centre, 1.0 / spread if spread > 1e-12 * abs(centre) else 0.0, 0.0

    def _mismatch(self, codes: FloatArray) -> float:
        if not self._standardize:
            return 1.0
        _, which = np.unique(codes, return_inverse=True)
        shares = np.bincount(which, weights=self._share)
        differ = 1.0 - float(shares @ shares)
        return 2.0 / differ if differ > 0.0 else 1.0


def _scaled(
    raw: FloatArray, centre: FloatArray, factor: FloatArray, mismatch: FloatArray
) -> FloatArray:
    """Fill in what is missing and scale; ``raw`` is a fresh array, and used up."""
    for j in range(len(raw)):
        missing = np.isnan(raw[j])
        if mismatch[j] > 0.0:
            raw[j, missing] = -1.0
            continue
        raw[j, missing] = centre[j]
        if factor[j] != 1.0:
            raw[j] = (raw[j] - centre[j]) * factor[j]
    return raw


BLOCK_PAIRS = 4_000_000
"""Distances that are held at a time while predicting."""


@dataclass(frozen=True, slots=True, eq=False)
class Voters:
    """Target and weight of the rows that may be neighbours; ``n_classes`` is 0 for numbers."""

    target: FloatArray
    weight: FloatArray
    n_classes: int
    n_neighbours: int

    @property
    def are_counts(self) -> bool:
        """Whether weights are whole numbers."""
        return are_counts(self.weight)

    def of(self, target: FloatArray) -> Voters:
        """The same rows with another target."""
        return replace(self, target=target)

    def vote(self, rows: AnyArray) -> FloatArray:
        """What neighbours of shape (n_rows, k) predict together, each with its weight.

        Numbers, or probabilities of shape (n_rows, n_classes). Whole weights count rows: a row of
        weight 2 is two of the k neighbours.
        """
        target = self.target[rows]
        if rows.shape[1] == 1 and self.n_classes == 0:
            return np.ascontiguousarray(target[:, 0])
        weight = self.weight[rows]
        if rows.shape[1] > 1 and self.are_counts:
            before = np.cumsum(weight, axis=1) - weight
            weight = np.clip(self.n_neighbours - before, 0.0, weight)
        total = weight.sum(axis=1)
        if self.n_classes == 0:
            mean: FloatArray = (target * weight).sum(axis=1) / total
            return mean
        share = np.zeros((len(rows), self.n_classes))
        each = np.arange(len(rows))
        for q in range(rows.shape[1]):
            share[each, target[:, q].astype(np.int64)] += weight[:, q] / total
        return share

    def constant(self, n_rows: int) -> FloatArray:
        """What all rows together predict: shares of classes, or the mean."""
        share = self.weight / self.weight.sum()
        if self.n_classes == 0:
            low, high = float(self.target.min()), float(self.target.max())
            return np.full(n_rows, min(max(float(share @ self.target), low), high))
        shares = np.bincount(self.target.astype(np.int64), share, self.n_classes)
        return np.repeat(shares[None, :], n_rows, axis=0)


class NeighbourModel:
    """Predicts from the nearest of the rows that it was made of.

    Steps of one path share their columns: a model holds references, not copies.
    """

    def __init__(self, scaling: Scaling, voters: Voters, columns: Sequence[Any]) -> None:
        self.features = scaling.features
        self._scaling = scaling
        self._voters = voters
        self._columns = tuple(column.values for column in columns)

    def response(self, table: Table, threads: Threads) -> FloatArray:
        """Numbers, or probabilities of shape (n_rows, n_classes)."""
        if len(self.features) == 0:
            return self._voters.constant(table.n_rows)
        asked = self._scaling.apply(table)
        n_train = len(self._voters.target)
        k = min(self._voters.n_neighbours, n_train)
        found = np.empty((1, table.n_rows, k), np.int32)
        size = max(1, BLOCK_PAIRS // n_train)
        blocks = -(-table.n_rows // size)

        def part(first: int, last: int) -> None:
            for block in range(first, last):
                self._search(asked, block * size, min(size, table.n_rows - block * size), found)

        threads.run(part, blocks)
        return self._voters.vote(found[0])

    def _search(self, asked: FloatArray, before: int, n_rows: int, found_out: AnyArray) -> None:
        """The nearest rows of a block of rows that ask."""
        n_train = len(self._voters.target)
        distances = np.zeros((n_rows, n_train))
        for values, column, mismatch in zip(
            asked, self._columns, self._scaling.mismatch, strict=True
        ):
            some = values[before : before + n_rows]
            add_column(some, column, float(mismatch), 0, n_rows, distances)
        # every row but one column that adds nothing: the distances are complete
        zero, none = np.zeros((1, asked.shape[1])), np.zeros((1, n_train))
        nearest(distances, zero, none, np.zeros(1), before, 0, n_rows, found_out)

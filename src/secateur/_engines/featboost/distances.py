"""Columns as distances see them: missing values filled in, on one scale if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur._data.table import Table
from secateur.typing import FloatArray, IntArray


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

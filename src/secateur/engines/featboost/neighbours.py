"""Nearest neighbours: distances, votes, the evaluator and its model.

The evaluator keeps, for each fold, the squared distances between its test and training rows:

    distances[t][i, j] = sum over accepted f of (x_if - x_jf)^2        test row i, training row j

A candidate needs one pass over the pairs. If the distances of all folds would have more than
``MAX_PAIRS`` cells, none are kept: they are computed again for a block of test rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from secateur._kernels.neighbours import add_column, nearest
from secateur._kernels.threads import Threads
from secateur.data.problem import Fold
from secateur.data.table import Table
from secateur.data.weights import are_counts
from secateur.engines.featboost.candidates import FoldScorer
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray, IntArray

MAX_PAIRS = 8_000 * 8_000  # distances that are kept from round to round: half a GiB
BLOCK_PAIRS = 4_000_000  # distances of a block of test rows if none are kept
FIRST_VALUES = 16  # values compared first: two different columns seldom agree in so many
MIN_ROWS_PER_THREAD = 16


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Transformation of some columns; ``mismatch`` is the squared distance of two categories."""

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
    """Columns of a table scaled for distances, a few at a time.

    A missing number is the weighted mean of its column, a missing category a category of its own.
    With ``standardize`` numeric columns are divided by their standard deviation, so that the
    mean squared difference of two rows is 2, and categories have the same mean; without it numbers
    are not scaled and two categories differ by 1.
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

    def scaling(self, features: IntArray | Sequence[int]) -> Scaling:
        """The transformation of these columns. Call ``columns`` first."""
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
        deviation = float(np.sqrt(share @ (values[seen] - centre) ** 2 / share.sum()))
        return centre, 1.0 / deviation if deviation > 1e-12 * abs(centre) else 0.0, 0.0

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
    """Fill missing values and scale, in place."""
    for j in range(len(raw)):
        missing = np.isnan(raw[j])
        if mismatch[j] > 0.0:
            raw[j, missing] = -1.0
            continue
        raw[j, missing] = centre[j]
        if factor[j] != 1.0:
            raw[j] = (raw[j] - centre[j]) * factor[j]
    return raw


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourTargets:
    """Target and weight of the training rows; ``n_classes`` is 0 for regression."""

    target: FloatArray
    weight: FloatArray
    n_classes: int
    n_neighbours: int

    def of(self, target: FloatArray) -> NeighbourTargets:
        """The same rows with another target."""
        return replace(self, target=target)

    def vote(self, rows: AnyArray) -> FloatArray:
        """Weighted prediction of neighbours, (n_rows, k); a row of whole weight 2 counts as two."""
        target = self.target[rows]
        if rows.shape[1] == 1 and self.n_classes == 0:
            return np.ascontiguousarray(target[:, 0])
        weight = self.weight[rows]
        if rows.shape[1] > 1 and are_counts(self.weight):
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
        """Prediction from all rows: class frequencies, or the mean."""
        share = self.weight / self.weight.sum()
        if self.n_classes == 0:
            low, high = float(self.target.min()), float(self.target.max())
            return np.full(n_rows, min(max(float(share @ self.target), low), high))
        shares = np.bincount(self.target.astype(np.int64), share, self.n_classes)
        return np.repeat(shares[None, :], n_rows, axis=0)


class Column(NamedTuple):
    """Values of one feature, and the squared distance of two categories (0 for numbers)."""

    values: FloatArray
    mismatch: float


class NeighbourModel:
    """Predicts from the nearest training rows; models of one path share their columns."""

    def __init__(
        self, scaling: Scaling, targets: NeighbourTargets, columns: Sequence[Column]
    ) -> None:
        self.features = scaling.features
        self._scaling = scaling
        self._targets = targets
        self._columns = tuple(column.values for column in columns)

    def response(self, table: Table, threads: Threads) -> FloatArray:
        """Values, or probabilities of shape (n_rows, n_classes)."""
        if len(self.features) == 0:
            return self._targets.constant(table.n_rows)
        asked = self._scaling.apply(table)
        n_train = len(self._targets.target)
        k = min(self._targets.n_neighbours, n_train)
        found = np.empty((1, table.n_rows, k), np.int32)
        size = max(1, BLOCK_PAIRS // n_train)
        blocks = -(-table.n_rows // size)

        def part(first: int, last: int) -> None:
            for block in range(first, last):
                self._search(asked, block * size, min(size, table.n_rows - block * size), found)

        threads.run(part, blocks)
        return self._targets.vote(found[0])

    def _search(self, asked: FloatArray, before: int, n_rows: int, found_out: AnyArray) -> None:
        """The nearest training rows of a block of rows."""
        n_train = len(self._targets.target)
        distances = np.zeros((n_rows, n_train))
        for values, column, mismatch in zip(
            asked, self._columns, self._scaling.mismatch, strict=True
        ):
            some = values[before : before + n_rows]
            add_column(some, column, float(mismatch), 0, n_rows, distances)
        # the distances are complete: the candidate column is zero
        zero, none = np.zeros((1, asked.shape[1])), np.zeros((1, n_train))
        nearest(distances, zero, none, np.zeros(1), before, 0, n_rows, found_out)


class NeighbourEvaluator:
    """Scores subsets by weighted k nearest neighbours."""

    def __init__(
        self,
        table: ScaledTable,
        targets: NeighbourTargets,
        folds: Sequence[Fold],
        scorer: FoldScorer,
        threads: Threads,
    ) -> None:
        self._table = table
        self._targets = targets
        self._folds = folds
        self._scorer = scorer
        self._threads = threads
        self._columns: list[Column] = []
        self._features: list[int] = []
        n_pairs = sum(len(fold.train) * len(fold.test) for fold in folds)
        self._keeps = n_pairs <= MAX_PAIRS
        self._distances: list[FloatArray] = []

    def _kept_distances(self) -> list[FloatArray]:
        """Distances of each fold, allocated at first use so that they are not pickled."""
        if not self._distances:
            self._distances = [np.zeros((len(f.test), len(f.train))) for f in self._folds]
        return self._distances

    def accept(self, feature: int) -> None:
        """Add the feature to the distances."""
        column = self._columns_of(np.array([feature]))[0]
        self._columns.append(column)
        self._features.append(feature)
        if self._keeps:
            for fold, state in zip(self._folds, self._kept_distances(), strict=True):
                self._add(column, fold, state)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores with each candidate, (n_candidates, n_folds); NaN for duplicates of accepted."""
        columns = self._columns_of(candidates)
        fresh = np.flatnonzero([not self._is_duplicate(column) for column in columns])
        out = np.full((len(candidates), len(self._folds)), np.nan)
        if len(fresh) == 0:
            return out
        for t, fold in enumerate(self._folds):
            found = self._neighbours(t, fold, [columns[c] for c in fresh])
            out[fresh, t] = [
                self._scorer.value(t, self._targets.vote(fold.train[each])) for each in found
            ]
        return out

    def _is_duplicate(self, column: Column) -> bool:
        """Whether an accepted feature has the same values, or their negatives."""
        some = column.values[:FIRST_VALUES]
        for known in self._columns:
            first = known.values[:FIRST_VALUES]
            if (first == some).all() and (known.values == column.values).all():
                return True
            if column.mismatch == 0.0 and (first == -some).all():
                return bool((known.values == -column.values).all())
        return False

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        folds = range(len(self._folds))
        values = (self._scorer.value(t, self._predictions(t, self._targets)) for t in folds)
        return np.fromiter(values, np.float64, len(folds))

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate alone for another target."""
        columns = self._columns_of(candidates)
        targets = self._targets.of(target)
        out = np.empty((len(candidates), len(self._folds)))
        for t, fold in enumerate(self._folds):
            blocks = self._blocks(t, fold, keep=False, accepted=())
            found = self._search(fold, columns, blocks)
            for c, each in enumerate(found):
                predicted = targets.vote(fold.train[each])
                out[c, t] = self._scorer.value_for(t, predicted, target[fold.test])
        return out

    def predicted(self, target: FloatArray) -> FloatArray:
        """Held-out predictions of another target; 0 for rows that are never tested."""
        targets = self._targets.of(target)
        total, times = np.zeros(len(target)), np.zeros(len(target))
        for t, fold in enumerate(self._folds):
            total[fold.test] += self._predictions(t, targets)
            times[fold.test] += 1.0
        return np.divide(total, times, out=np.zeros(len(target)), where=times > 0.0)

    def score(self, folds: FloatArray) -> Score:
        """The scores of the folds as one score."""
        return self._scorer.score(folds)

    def model(self) -> NeighbourModel:
        """A model on the accepted features, with all rows."""
        return NeighbourModel(self._table.scaling(self._features), self._targets, self._columns)

    def _predictions(self, t: int, targets: NeighbourTargets) -> FloatArray:
        """Predictions of the test rows of a fold from the accepted features."""
        fold = self._folds[t]
        found = self._neighbours(t, fold, [Column(np.zeros(self._table.n_rows), 0.0)])[0]
        return targets.vote(fold.train[found])

    def _columns_of(self, features: IntArray) -> list[Column]:
        values = self._table.columns(features)
        mismatch = self._table.scaling(features).mismatch
        return [Column(*each) for each in zip(values, mismatch, strict=True)]

    def _neighbours(self, t: int, fold: Fold, columns: Sequence[Column]) -> AnyArray:
        """Positions of the nearest training rows, shape (n_columns, n_test, k)."""
        blocks = self._blocks(t, fold, keep=True, accepted=self._columns)
        return self._search(fold, columns, blocks)

    def _search(
        self, fold: Fold, columns: Sequence[Column], blocks: Iterator[tuple[int, FloatArray]]
    ) -> AnyArray:
        test = np.stack([column.values[fold.test] for column in columns])
        train = np.stack([column.values[fold.train] for column in columns])
        mismatch = np.array([column.mismatch for column in columns])
        k = min(self._targets.n_neighbours, len(fold.train))
        out = np.empty((len(columns), len(fold.test), k), np.int32)
        for first, distances in blocks:

            def part(start: int, stop: int, first: int = first, d: FloatArray = distances) -> None:
                nearest(d, test, train, mismatch, first, start, stop, out)

            self._threads.run(part, len(distances), MIN_ROWS_PER_THREAD)
        return out

    def _blocks(
        self, t: int, fold: Fold, *, keep: bool, accepted: Sequence[Column]
    ) -> Iterator[tuple[int, FloatArray]]:
        """Distances by blocks of test rows: the first row, and the distances."""
        if keep and self._keeps:
            yield 0, self._kept_distances()[t]
            return
        size = max(1, BLOCK_PAIRS // max(1, len(fold.train)))
        for first in range(0, len(fold.test), size):
            some = Fold(fold.train, fold.test[first : first + size])
            distances = np.zeros((len(some.test), len(some.train)))
            for column in accepted:
                self._add(column, some, distances)
            yield first, distances

    def _add(self, column: Column, fold: Fold, distances: FloatArray) -> None:
        test, train = column.values[fold.test], column.values[fold.train]
        self._threads.run(
            lambda start, stop: add_column(test, train, column.mismatch, start, stop, distances),
            len(test),
            MIN_ROWS_PER_THREAD,
        )

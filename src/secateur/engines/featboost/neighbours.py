"""Nearest neighbours: distances, votes, the evaluator and its model.

The evaluator keeps, for each fold, the squared distances between its test and training rows in the
accepted features: a candidate needs one pass over the pairs. Of more than ``MAX_PAIRS`` none are
kept: they are computed again for a block of test rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from secateur._kernels.neighbours import add_column, nearest
from secateur._kernels.threads import Threads
from secateur.data.standardize import unit_of
from secateur.data.table import Fold, Table
from secateur.data.target import are_counts
from secateur.engines.featboost.evaluator import Evaluator, FoldScorer
from secateur.typing import AnyArray, FloatArray, IntArray

MAX_PAIRS = 8_000 * 8_000  # distances that are kept from round to round: half a GiB
BLOCK_PAIRS = 4_000_000  # distances of a block of test rows if none are kept
FIRST = 16  # values compared first: two different columns seldom agree in so many
MIN_ROWS_PER_THREAD = 16
# A column of the test rows, the same column of the training rows, and its mismatch.
Pair = tuple[FloatArray, FloatArray, float]


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Transformation of some columns; ``mismatch`` is the squared distance of two categories."""

    features: IntArray
    centre: FloatArray
    factor: FloatArray
    mismatch: FloatArray

    def apply(self, table: Table) -> FloatArray:
        """The columns of a table with missing values filled, shape (n_features, n_rows)."""
        raw = np.ascontiguousarray(table.columns(self.features).T)
        scales = zip(raw, self.centre, self.factor, self.mismatch, strict=True)
        for values, centre, factor, mismatch in scales:
            missing = np.isnan(values)
            values[missing] = -1.0 if mismatch > 0.0 else centre
            if mismatch == 0.0 and factor != 1.0:
                values[:] = (values - centre) * factor
        return raw


class ScaledTable:
    """Columns of a table scaled for distances, a few at a time.

    A missing number is the weighted mean of its column, a missing category one of its own. With
    ``standardize`` the mean squared difference of two rows is 2 in each column, also of categories;
    without it numbers are not scaled and two categories differ by 1.
    """

    def __init__(self, table: Table, weight: FloatArray, *, standardize: bool) -> None:
        self.table = table
        self._share = weight / weight.sum()
        self._standardize = standardize
        self._known: dict[int, tuple[float, float, float]] = {}

    def scaling(self, features: IntArray | Sequence[int]) -> Scaling:
        """The transformation of these columns."""
        features = np.asarray(features, np.int64)
        unknown = [int(j) for j in features if int(j) not in self._known]
        if unknown:
            raw = np.ascontiguousarray(self.table.columns(np.array(unknown)).T)
            for j, values in zip(unknown, raw, strict=True):
                self._known[j] = self._learn(j, values)
        known = np.array([self._known[int(j)] for j in features]).reshape(-1, 3)
        return Scaling(features, known[:, 0], known[:, 1], known[:, 2])

    def _learn(self, feature: int, values: FloatArray) -> tuple[float, float, float]:
        """Centre, factor and mismatch of a column."""
        seen = ~np.isnan(values)
        if feature in self.table.categories:
            _, which = np.unique(np.where(seen, values, -1.0), return_inverse=True)
            shares = np.bincount(which, weights=self._share)
            differ = 1.0 - float(shares @ shares)
            return 0.0, 1.0, 2.0 / differ if self._standardize and differ > 0.0 else 1.0
        share = self._share[seen]
        if not seen.any():
            return 0.0, 1.0, 0.0
        centre = float(share @ values[seen] / share.sum())
        if not self._standardize:
            return centre, 1.0, 0.0
        apart = values[seen] - centre
        unit = float(unit_of(np.abs(apart).max(keepdims=True))[0])
        deviation = float(np.sqrt(share @ (apart * unit) ** 2 / share.sum())) / unit
        return centre, 1.0 / deviation if deviation > 1e-12 * abs(centre) else 0.0, 0.0


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourTargets:
    """Target and weight of the training rows; ``n_classes`` is 0 for regression."""

    target: FloatArray
    weight: FloatArray
    n_classes: int
    n_neighbours: int

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
            return (target * weight).sum(axis=1) / total
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


def add_distances(pair: Pair, distances: FloatArray, threads: Threads) -> None:
    """Add the squared distances in one column."""
    run = lambda start, stop: add_column(*pair, start, stop, distances)  # noqa: E731
    threads.run(run, len(distances), MIN_ROWS_PER_THREAD)


def distance_blocks(
    pairs: Sequence[Pair], n_test: int, n_train: int, threads: Threads
) -> Iterator[tuple[int, FloatArray]]:
    """Distances by blocks of test rows: the first row, and the distances."""
    size = max(1, BLOCK_PAIRS // max(1, n_train))
    for first in range(0, n_test, size):
        distances = np.zeros((min(size, n_test - first), n_train))
        for test, train, mismatch in pairs:
            add_distances((test[first : first + size], train, mismatch), distances, threads)
        yield first, distances


def find_nearest(
    blocks: Iterable[tuple[int, FloatArray]],
    test: FloatArray,
    train: FloatArray,
    mismatch: FloatArray,
    n_neighbours: int,
    threads: Threads,
) -> AnyArray:
    """Positions of the nearest training rows with each of some columns added, (n, n_test, k)."""
    k = min(n_neighbours, train.shape[1])
    out = np.empty((len(test), test.shape[1], k), np.int32)
    for first, distances in blocks:

        def part(start: int, stop: int, first: int = first, d: FloatArray = distances) -> None:
            nearest(d, test, train, mismatch, first, start, stop, out)

        threads.run(part, len(distances), MIN_ROWS_PER_THREAD)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourModel:
    """Predicts from the nearest training rows; models of one path share their columns."""

    targets: NeighbourTargets
    scaling: Scaling = Scaling(np.empty(0, np.int64), *[np.empty(0)] * 3)  # without features
    columns: tuple[FloatArray, ...] = ()

    @property
    def features(self) -> IntArray:
        """The columns of the table that distances are measured in."""
        return self.scaling.features

    def response(self, table: Table, threads: Threads) -> FloatArray:
        """Values, or probabilities of shape (n_rows, n_classes)."""
        targets, scaling = self.targets, self.scaling
        if len(self.features) == 0:
            return targets.constant(table.n_rows)
        n_train = len(targets.target)
        cells = (scaling.apply(table), self.columns, scaling.mismatch.tolist())
        blocks = distance_blocks(list(zip(*cells, strict=True)), table.n_rows, n_train, threads)
        # the distances are complete: the column that is added is zero
        zero = np.zeros((1, table.n_rows)), np.zeros((1, n_train)), np.zeros(1)
        return targets.vote(find_nearest(blocks, *zero, targets.n_neighbours, threads)[0])


def _first(column: FloatArray) -> bytes:
    """The first values of a column, with one kind of zero."""
    return (column[:FIRST] + 0.0).tobytes()


class NeighbourEvaluator(Evaluator):
    """Scores subsets by weighted k nearest neighbours."""

    def __init__(
        self,
        table: ScaledTable,
        targets: NeighbourTargets,
        folds: Sequence[Fold],
        fold_scorer: FoldScorer,
        threads: Threads,
    ) -> None:
        super().__init__(targets.target, folds)
        self._table = table
        self._targets = targets
        self._fold_scorer = fold_scorer
        self._threads = threads
        self._columns: list[tuple[FloatArray, float]] = []  # values, and mismatch
        self._keeps = sum(len(fold.train) * len(fold.test) for fold in folds) <= MAX_PAIRS
        self._distances: list[FloatArray] = []

    def accept(self, feature: int) -> None:
        """Add the feature to the distances."""
        super().accept(feature)
        [values], [mismatch] = self._read(np.array([feature]))
        self._columns.append((values, mismatch))
        if self._keeps:
            if not self._distances:  # allocated at first use, so that they are not pickled
                self._distances = [np.zeros((len(f.test), len(f.train))) for f in self.folds]
            for fold, distances in zip(self.folds, self._distances, strict=True):
                pair = values[fold.test], values[fold.train], mismatch
                add_distances(pair, distances, self._threads)

    def scores(self, candidates: IntArray, target: FloatArray | None = None) -> FloatArray:
        """Scores with each candidate, (n_candidates, n_folds); NaN for copies of accepted ones."""
        values, mismatch = self._read(candidates)
        known: dict[bytes, list[FloatArray]] = {}  # accepted columns by their first values
        for each, _ in self._columns if target is None else ():
            known.setdefault(_first(each), []).append(each)

        def has(column: FloatArray) -> bool:
            """Whether an accepted feature has the same values."""
            return any(np.array_equal(each, column) for each in known.get(_first(column), ()))

        again = np.isin(candidates, self.features)  # the accepted themselves may count twice
        pairs = enumerate(zip(values, mismatch, strict=True))
        tried = [
            c for c, (x, apart) in pairs if again[c] or not (has(x) or (apart == 0.0 and has(-x)))
        ]
        out = np.full((len(candidates), len(self.folds)), np.nan)
        for t in range(len(self.folds) if tried else 0):
            out[tried, t] = self._fold_scores(t, values[tried], mismatch[tried], target)
        return out

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        zero = np.zeros((1, len(self.target))), np.zeros(1)
        return np.array([self._fold_scores(t, *zero, None)[0] for t in range(len(self.folds))])

    def held_out(self, features: IntArray, t: int, target: AnyArray) -> FloatArray:  # noqa: ARG002  # the accepted
        """Predictions of the test rows of fold t from the accepted features."""
        zero = np.zeros((1, len(target))), np.zeros(1)
        return next(self._predictions(t, *zero, target, is_alone=False))

    def model(self) -> NeighbourModel:
        """A model on the accepted features, with all rows."""
        columns = tuple(values for values, _ in self._columns)
        return NeighbourModel(self._targets, self._table.scaling(self.features), columns)

    def _read(self, features: IntArray) -> tuple[FloatArray, FloatArray]:
        """Values of shape (n_features, n_rows), and mismatches."""
        scaling = self._table.scaling(features)
        return scaling.apply(self._table.table), scaling.mismatch

    def _fold_scores(
        self, t: int, values: FloatArray, mismatch: FloatArray, target: FloatArray | None
    ) -> list[float]:
        """With each column added to the accepted features, or alone for another target."""
        is_alone, test = target is not None, self.folds[t].test
        target = self.target if target is None else target
        predictions = self._predictions(t, values, mismatch, target, is_alone=is_alone)
        return [self._fold_scorer(t, prediction, target[test]) for prediction in predictions]

    def _predictions(
        self, t: int, values: FloatArray, mismatch: FloatArray, target: AnyArray, *, is_alone: bool
    ) -> Iterator[FloatArray]:
        """Predictions of the test rows of a fold, for each column."""
        fold, targets = self.folds[t], replace(self._targets, target=target)
        blocks: Iterable[tuple[int, FloatArray]]
        if self._distances and not is_alone:
            blocks = [(0, self._distances[t])]
        else:
            accepted = [] if is_alone else self._columns
            pairs = [(each[fold.test], each[fold.train], apart) for each, apart in accepted]
            blocks = distance_blocks(pairs, len(fold.test), len(fold.train), self._threads)
        train, test = (np.take(values, rows, axis=1) for rows in fold)
        n_neighbours = self._targets.n_neighbours
        found = find_nearest(blocks, test, train, mismatch, n_neighbours, self._threads)
        return (targets.vote(fold.train[each]) for each in found)

"""Nearest neighbours as evaluator: distances on the accepted features are kept, and only added to.

Per fold there is one state: the squared distances between its test rows and its training rows.

    distances[t][i, j] = sum over accepted f of (x_if - x_jf)^2        test row i, training row j

A candidate needs one pass over the pairs. Where the states of all folds together would have more
than ``MOST_PAIRS`` cells nothing is kept: distances are made anew for a block of test rows at a
time, which costs a pass for each accepted feature more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from secateur._kernels.neighbours import add_column, nearest
from secateur._kernels.threads import Threads
from secateur.data.folds import Fold
from secateur.engines.featboost.candidates import Judge
from secateur.engines.featboost.neighbour_model import NeighbourModel, ScaledTable, Voters
from secateur.path.step import Score
from secateur.typing import AnyArray, FloatArray, IntArray

MOST_PAIRS = 8_000 * 8_000
"""Cells of distances that are kept from round to round: half a GiB."""

BLOCK_PAIRS = 4_000_000
"""Cells of distances in a block of test rows where none are kept."""

GLANCE = 16
"""Values that are compared first: two columns seldom agree in so many."""

GRAIN = 16
"""Test rows that are worth a thread."""


class Column(NamedTuple):
    """Values of one feature, and what a difference of category adds (0 for numbers)."""

    values: FloatArray
    mismatch: float


class NeighbourEvaluator:
    """The k nearest neighbours vote, each with its weight.

    Parameters
    ----------
    table : ScaledTable
    voters : Voters
        Target and weight of all rows, and how many neighbours vote.
    folds : sequence of Fold
    judge : Judge
    threads : Threads
    """

    def __init__(
        self,
        table: ScaledTable,
        voters: Voters,
        folds: Sequence[Fold],
        judge: Judge,
        threads: Threads,
    ) -> None:
        self._table = table
        self._voters = voters
        self._folds = folds
        self._judge = judge
        self._threads = threads
        self._columns: list[Column] = []
        self._features: list[int] = []
        n_pairs = sum(len(fold.train) * len(fold.test) for fold in folds)
        self._keeps = n_pairs <= MOST_PAIRS
        self._states: list[FloatArray] = []

    def _kept(self) -> list[FloatArray]:
        """The states; made when they are first asked for, so that a copy can travel without."""
        if not self._states:
            self._states = [np.zeros((len(f.test), len(f.train))) for f in self._folds]
        return self._states

    def accept(self, feature: int) -> None:
        """Add the feature to the distances."""
        column = self._columns_of(np.array([feature]))[0]
        self._columns.append(column)
        self._features.append(feature)
        if self._keeps:
            for fold, state in zip(self._folds, self._kept(), strict=True):
                self._add(column, fold, state)

    def scores(self, candidates: IntArray) -> FloatArray:
        """Scores with each candidate, shape (n_candidates, n_folds).

        NaN for a copy of an accepted feature: it would only make that feature count twice.
        """
        columns = self._columns_of(candidates)
        fresh = np.flatnonzero([not self._is_copy(column) for column in columns])
        out = np.full((len(candidates), len(self._folds)), np.nan)
        if len(fresh) == 0:
            return out
        for t, fold in enumerate(self._folds):
            found = self._neighbours(t, fold, [columns[c] for c in fresh])
            out[fresh, t] = [self._judge.value(t, self._vote(fold, each)) for each in found]
        return out

    def _is_copy(self, column: Column) -> bool:
        """Whether an accepted feature has the same values, or their mirror image."""
        some, mirrored = column.values[:GLANCE], column.mismatch == 0.0
        for known in self._columns:
            if (known.values[:GLANCE] == some).all() and (known.values == column.values).all():
                return True
            if mirrored and (known.values[:GLANCE] == -some).all():
                return bool((known.values == -column.values).all())
        return False

    def current(self) -> FloatArray:
        """Scores of the accepted features alone."""
        return np.array([self._judge.value(t, self._own(t)) for t in range(len(self._folds))])

    def alone(self, candidates: IntArray, target: FloatArray) -> FloatArray:
        """Scores of each candidate by itself for another target."""
        columns = self._columns_of(candidates)
        voters = self._voters.of(target)
        out = np.empty((len(candidates), len(self._folds)))
        for t, fold in enumerate(self._folds):
            blocks = self._blocks(t, fold, keep=False, accepted=())
            found = self._search(fold, columns, blocks)
            for c, each in enumerate(found):
                predicted = voters.vote(fold.train[each])
                out[c, t] = self._judge.value_for(t, predicted, target[fold.test])
        return out

    def predicted(self, target: FloatArray) -> FloatArray:
        """Another target, predicted for the test rows of each fold; rows never tested stay."""
        voters = self._voters.of(target)
        total, times = np.zeros(len(target)), np.zeros(len(target))
        for t, fold in enumerate(self._folds):
            found = self._neighbours(t, fold, [_nothing(len(target))])[0]
            total[fold.test] += voters.vote(fold.train[found])
            times[fold.test] += 1.0
        return np.divide(total, times, out=np.zeros(len(target)), where=times > 0.0)

    def score(self, folds: FloatArray) -> Score:
        """The scores under their name."""
        return self._judge.score(folds)

    def model(self) -> NeighbourModel:
        """All rows as neighbours, by the features accepted so far."""
        return NeighbourModel(self._table.scaling(self._features), self._voters, self._columns)

    def _own(self, t: int) -> FloatArray:
        """Predictions of a fold from the accepted features alone."""
        fold = self._folds[t]
        nothing = [_nothing(self._table.n_rows)]
        return self._vote(fold, self._neighbours(t, fold, nothing)[0])

    def _vote(self, fold: Fold, found: AnyArray) -> FloatArray:
        return self._voters.vote(fold.train[found])

    def _columns_of(self, features: IntArray) -> list[Column]:
        values = self._table.columns(features)
        return [Column(v, s) for v, s in zip(values, self._table.mismatch(features), strict=True)]

    def _neighbours(self, t: int, fold: Fold, columns: Sequence[Column]) -> AnyArray:
        """Places of the nearest training rows, shape (n_columns, n_test, k)."""
        blocks = self._blocks(t, fold, keep=True, accepted=self._columns)
        return self._search(fold, columns, blocks)

    def _search(
        self, fold: Fold, columns: Sequence[Column], blocks: Iterator[tuple[int, FloatArray]]
    ) -> AnyArray:
        test = np.stack([column.values[fold.test] for column in columns])
        train = np.stack([column.values[fold.train] for column in columns])
        mismatch = np.array([column.mismatch for column in columns])
        k = min(self._voters.n_neighbours, len(fold.train))
        out = np.empty((len(columns), len(fold.test), k), np.int32)
        for first, distances in blocks:

            def part(start: int, stop: int, first: int = first, d: FloatArray = distances) -> None:
                nearest(d, test, train, mismatch, first, start, stop, out)

            self._threads.run(part, len(distances), GRAIN)
        return out

    def _blocks(
        self, t: int, fold: Fold, *, keep: bool, accepted: Sequence[Column]
    ) -> Iterator[tuple[int, FloatArray]]:
        """The distances of the test rows, block by block: the first row, and the distances."""
        if keep and self._keeps:
            yield 0, self._kept()[t]
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
            GRAIN,
        )


def _nothing(n_rows: int) -> Column:
    """A column that adds nothing to any distance."""
    return Column(np.zeros(n_rows), 0.0)

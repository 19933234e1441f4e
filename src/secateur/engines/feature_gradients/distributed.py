"""Batches of one update estimated by the workers of a cluster, each of which has the rows.

A chain goes through a batch row after row, and batches are drawn from all rows anew in each epoch:
what can be parted is an update, into its batches. Their slopes are added here, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.centred import Centred
from secateur.engines.feature_gradients.estimate import Batch, Estimator, estimator_of
from secateur.engines.feature_gradients.targets import Curve
from secateur.execution.dask import DaskExecutor
from secateur.execution.worker import CopyHolding
from secateur.typing import FloatArray

Answer = tuple[FloatArray, FloatArray]
"""Signals and slopes of a batch."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What an estimator is made of."""

    columns: Centred
    order: int
    scale: float

    def estimator(self, threads: Threads) -> Estimator:
        """An estimator on these rows."""
        return estimator_of(self.columns, self.order, self.scale, threads)


@dataclass(slots=True, eq=False)
class Copy:
    """The rows on a worker: one copy of several, each with batches of its own."""

    number: int
    n_copies: int
    estimator: Estimator


def make_copy(which: tuple[int, int], rows: Rows, threads: Threads) -> Copy:
    """A copy on a worker."""
    return Copy(*which, rows.estimator(threads))


def slopes_of_some(
    copy: Copy, s: FloatArray, batches: Sequence[Batch], curve: Curve
) -> dict[int, Answer]:
    """What the batches of a copy say, by their number; runs on a worker."""
    copy.estimator.see(s)
    found = {}
    for number in range(copy.number, len(batches), copy.n_copies):
        z = copy.estimator.slopes(batches[number], curve)
        found[number] = z, copy.estimator.collect()
    return found


def _nothing(_: Copy) -> None:
    """A copy keeps nothing of what it was asked."""


class SpreadEstimator:
    """An estimator whose batches go to a cluster.

    Parameters
    ----------
    here : Estimator
        Asked for single batches.
    rows : Rows
        What it was made of.
    executor : DaskExecutor
    """

    def __init__(self, here: Estimator, rows: Rows, executor: DaskExecutor) -> None:
        n_columns = rows.columns.n_columns
        self._here = here
        holding = CopyHolding(make_copy, rows, len(executor.workers.there()))
        self._copies = executor.spread(holding).over_codes()
        self._s: FloatArray = np.ones(n_columns)
        self._slope: FloatArray = np.zeros(n_columns)

    def see(self, s: FloatArray) -> None:
        """Ask at this s from now on."""
        self._s = s
        self._here.see(s)

    def signals(self, batch: Batch) -> FloatArray:
        """The z of each target."""
        return self._here.signals(batch)

    def slopes(self, batch: Batch, curve: Curve) -> FloatArray:
        """The z of each target of one batch, which is not worth a trip."""
        z = self._here.slopes(batch, curve)
        self._slope += self._here.collect()
        return z

    def all_slopes(self, batches: Sequence[Batch], curve: Curve) -> list[FloatArray]:
        """The z of each target of several batches; their slopes wait to be collected."""
        answers: dict[int, Answer] = {}
        for part in self._copies.each(slopes_of_some, self._s, batches, curve):
            answers.update(part)
        self._copies.settle(_nothing)
        found = [answers[number] for number in range(len(batches))]
        for _, slope in found:
            self._slope += slope
        return [z for z, _ in found]

    def collect(self) -> FloatArray:
        """The slopes of all batches since they were last collected."""
        collected, self._slope = self._slope, np.zeros_like(self._slope)
        return collected

"""Batches of one update estimated by the workers of a cluster, each with a copy of the rows.

Batches are drawn from all rows in each epoch, so every worker needs all rows; the batches of one
update are divided among the workers, and their gradients are added here in batch order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.centred import Centred
from secateur.engines.feature_gradients.estimator import Batch, Estimator, Objective, make_estimator
from secateur.execution.dask import DaskExecutor
from secateur.execution.worker import CopyBlockSource
from secateur.typing import FloatArray

BatchResult = tuple[FloatArray, FloatArray]  # signals and gradient of a batch


@dataclass(frozen=True, slots=True)
class EstimatorRows:
    """The arguments of an estimator."""

    columns: Centred
    order: int
    scale: float

    def estimator(self, threads: Threads) -> Estimator:
        """An estimator on these rows."""
        return make_estimator(self.columns, self.order, self.scale, threads)


@dataclass(slots=True, eq=False)
class WorkerCopy:
    """The estimator of one worker; copy k computes the batches k, k + n_copies, ..."""

    number: int
    n_copies: int
    estimator: Estimator


def make_copy(which: tuple[int, int], rows: EstimatorRows, threads: Threads) -> WorkerCopy:
    """Make the copy of a worker."""
    return WorkerCopy(*which, rows.estimator(threads))


def worker_gradients(
    copy: WorkerCopy, s: FloatArray, batches: Sequence[Batch], objective: Objective
) -> dict[int, BatchResult]:
    """Signals and gradients of the batches of a copy, by number; runs on a worker."""
    copy.estimator.set_inclusion(s)
    found = {}
    for number in range(copy.number, len(batches), copy.n_copies):
        z = copy.estimator.add_gradient(batches[number], objective)
        found[number] = z, copy.estimator.collect()
    return found


def _no_checkpoint(_: WorkerCopy) -> None:
    """A copy has no state that must be restored."""


class DistributedEstimator(Estimator):
    """An estimator whose batches are computed on a cluster; ``local`` computes single ones here."""

    def __init__(self, local: Estimator, rows: EstimatorRows, executor: DaskExecutor) -> None:
        self._local = local
        source = CopyBlockSource(make_copy, rows, len(executor.workers.there()))
        self._copies = executor.distribute(source).code_executor()
        self._s: FloatArray = np.ones(rows.columns.n_columns)
        self._gradient = np.zeros(rows.columns.n_columns)

    def set_inclusion(self, s: FloatArray) -> None:
        """Set the inclusion of each column for the batches that follow."""
        self._s = s
        self._local.set_inclusion(s)

    def signals(self, batch: Batch) -> FloatArray:
        """The z of each target on one batch."""
        return self._local.signals(batch)

    def add_gradient(self, batch: Batch, objective: Objective) -> FloatArray:
        """The z of each target of one batch, computed here."""
        z = self._local.add_gradient(batch, objective)
        self._gradient += self._local.collect()
        return z

    def add_gradients(self, batches: Sequence[Batch], objective: Objective) -> list[FloatArray]:
        """`add_gradient` of each batch of an update, on the workers if there are several."""
        if len(batches) < 2:
            return super().add_gradients(batches, objective)
        results: dict[int, BatchResult] = {}
        for part in self._copies.each(worker_gradients, self._s, batches, objective):
            results.update(part)
        self._copies.checkpoint(_no_checkpoint)
        found = [results[number] for number in range(len(batches))]
        for _, gradient in found:
            self._gradient += gradient
        return [z for z, _ in found]

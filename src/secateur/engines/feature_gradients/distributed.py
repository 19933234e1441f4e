"""Batches of one update estimated by the workers of a cluster, each with a copy of the rows.

Batches are drawn from all rows in each epoch, so every worker needs all rows; the batches of one
update are divided among the workers, and their gradients are added here in batch order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from secateur._kernels.threads import Threads
from secateur.data.centred import Centred
from secateur.engines.feature_gradients.estimator import Batch, Estimator, Objective, make_estimator
from secateur.execution.dask import DaskExecutor
from secateur.execution.worker import BlockSource
from secateur.typing import FloatArray

Arguments = tuple[Centred, int, float]  # of `make_estimator`, but for the threads


@dataclass(frozen=True, slots=True, eq=False)
class WorkerCopy:
    """The estimator of one worker; copy k computes the batches k, k + n_copies, ..."""

    number: int
    n_copies: int
    estimator: Estimator


def make_copy(which: tuple[int, int], arguments: Arguments, threads: Threads) -> WorkerCopy:
    """Make the copy of a worker."""
    return WorkerCopy(*which, make_estimator(*arguments, threads))


def worker_gradients(
    copy: WorkerCopy, s: FloatArray, batches: Sequence[Batch], objective: Objective
) -> dict[int, tuple[list[FloatArray], FloatArray]]:
    """Signals and gradients of the batches of a copy, by number; runs on a worker."""
    numbers = range(copy.number, len(batches), copy.n_copies)
    return {k: copy.estimator.gradients(s, [batches[k]], objective) for k in numbers}


def _no_checkpoint(_: WorkerCopy) -> None:
    """A copy has no state that must be restored."""


class DistributedGradients:
    """`Estimator.gradients` on a cluster; ``local`` computes single batches here."""

    def __init__(self, local: Estimator, arguments: Arguments, executor: DaskExecutor) -> None:
        self._local = local
        n = executor.n_workers
        source = BlockSource("copies", [1] * n, lambda number: (number, n), make_copy, arguments)
        self._copies = executor.distribute(source).code_executor()

    def gradients(
        self, s: FloatArray, batches: Sequence[Batch], objective: Objective
    ) -> tuple[list[FloatArray], FloatArray]:
        """As those of the estimator, on the workers if there are several batches."""
        if len(batches) < 2:
            return self._local.gradients(s, batches, objective)
        found: dict[int, tuple[list[FloatArray], FloatArray]] = {}
        for part in self._copies.each(worker_gradients, s, batches, objective):
            found.update(part)
        self._copies.checkpoint(_no_checkpoint)
        in_order = [found[number] for number in range(len(batches))]
        gradient = 0.0 * in_order[0][1]
        for _, one in in_order:
            gradient += one
        return [z for signals, _ in in_order for z in signals], gradient

"""Batches of one update estimated by the workers of a cluster, each of which has the rows.

A chain goes through a batch row after row, and batches are drawn from all rows anew in each epoch:
what can be parted is an update, into its batches. Their slopes are added here, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import Any, NamedTuple

import numpy as np

from secateur._data.centred import Centred
from secateur._engines.feature_gradients.batches import Batch
from secateur._engines.feature_gradients.curves import Curve
from secateur._engines.feature_gradients.estimate import Estimator, estimator_of
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray, TaskExecutor


class Question(NamedTuple):
    """A batch, how much each column is in, and what is minimised."""

    batch: Batch
    s: FloatArray
    curve: Curve


class Copies:
    """The rows on a worker, with an estimator for each of its threads: an estimator is not shared.

    Parameters
    ----------
    columns : Centred
    order : int
    scale : float
    """

    def __init__(self, columns: Centred, order: int, scale: float) -> None:
        self._told = columns, order, scale
        self._own = local()

    def __reduce__(self) -> tuple[type[Copies], tuple[Centred, int, float]]:
        return Copies, self._told

    def estimator(self) -> Estimator:
        """The estimator of this thread."""
        if not hasattr(self._own, "estimator"):
            self._own.estimator = estimator_of(*self._told, Threads(1))
        found: Estimator = self._own.estimator
        return found


def slopes_of(copies: Copies, question: Question) -> tuple[FloatArray, FloatArray]:
    """Signals and slopes of one batch; runs on a worker."""
    estimator = copies.estimator()
    estimator.see(question.s)
    return estimator.slopes(question.batch, question.curve), estimator.collect()


class SpreadEstimator:
    """An estimator whose batches go to a cluster.

    Parameters
    ----------
    here : Estimator
        Asked for single batches.
    columns, order, scale
        What it was made of.
    executor : TaskExecutor
    """

    def __init__(
        self, here: Estimator, columns: Centred, order: int, scale: float, executor: TaskExecutor
    ) -> None:
        self._here = here
        self._executor = executor
        self._copies: Any = executor.share(Copies(columns, order, scale), "rows")
        self._s: FloatArray = np.ones(columns.n_columns)
        self._slope: FloatArray = np.zeros(columns.n_columns)

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
        questions = [Question(batch, self._s, curve) for batch in batches]
        found = self._executor.map(slopes_of, questions, self._copies, "gradient of a batch")
        for _, slope in found:
            self._slope += slope
        return [z for z, _ in found]

    def collect(self) -> FloatArray:
        """The slopes of all batches since they were last collected."""
        collected, self._slope = self._slope, np.zeros_like(self._slope)
        return collected

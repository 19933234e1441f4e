"""The estimator of learnability, whatever the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from secateur._data.centred import Centred, DenseRows
from secateur._engines.feature_gradients.batches import Batch
from secateur._engines.feature_gradients.curves import Curve
from secateur._engines.feature_gradients.dense_estimate import DenseEstimator
from secateur._engines.feature_gradients.sparse_estimate import SparseEstimator
from secateur._kernels.threads import Threads
from secateur.typing import FloatArray


class Estimator(Protocol):
    """Signals and slopes of batches; both kinds of rows have one.

    ``see`` tells how much each column is in; batches after it are asked at that. Slopes of batches
    add up until they are collected, so what takes a pass over all columns is done once an update.
    """

    def see(self, s: FloatArray) -> None: ...

    def signals(self, batch: Batch) -> FloatArray: ...

    def slopes(self, batch: Batch, curve: Curve) -> FloatArray: ...

    def collect(self) -> FloatArray: ...


@runtime_checkable
class ManyBatches(Protocol):
    """An estimator that takes the batches of an update all at once."""

    def all_slopes(self, batches: Sequence[Batch], curve: Curve) -> list[FloatArray]: ...


def slopes_of_all(estimator: Estimator, batches: Sequence[Batch], curve: Curve) -> list[FloatArray]:
    """The z of each target of every batch; side by side, where the estimator can."""
    if len(batches) > 1 and isinstance(estimator, ManyBatches):
        return estimator.all_slopes(batches, curve)
    return [estimator.slopes(batch, curve) for batch in batches]


def estimator_of(columns: Centred, order: int, scale: float, threads: Threads) -> Estimator:
    """The estimator for dense or sparse rows.

    Parameters
    ----------
    columns : Centred
    order : int
    scale : float
        The top eigenvalue of the covariance: the spectrum of what the polynomial sees is then
        between 0 and 1.
    threads : Threads
    """
    if isinstance(columns.rows, DenseRows):
        return DenseEstimator(columns.rows, order, scale, threads)
    return SparseEstimator(columns.rows, order, scale, threads)

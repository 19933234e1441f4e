"""Losses and gradients by query, computed in one place from the predictions of all blocks."""

from __future__ import annotations

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.sampling import shares_of
from secateur.data.table import Fold
from secateur.data.target import are_counts
from secateur.engines.boosted import rows
from secateur.engines.fold_losses import FoldLosses
from secateur.execution.blocks import Executor
from secateur.losses import fixed_point_sum
from secateur.losses.ranking import Queries, RankingLoss
from secateur.typing import FloatArray, IntArray


def query_losses(
    loss: RankingLoss, queries: Queries, raw: FloatArray, weight: FloatArray
) -> FoldLosses:
    """The losses of queries, each with the mean weight of its rows."""
    weights = queries.weights(weight)
    losses = loss.query_scores(queries, raw)
    return FoldLosses(losses, weights, counts=are_counts(weights))


class QueryFit:
    """The queries of a fit on one fold: no block needs to have all rows of a query."""

    def __init__(
        self,
        executor: Executor,
        loss: RankingLoss,
        number: IntArray,
        target: FloatArray,
        weight: FloatArray,
        fold: Fold,
        threads: Threads,
    ) -> None:
        self._executor, self._loss, self._threads = executor, loss, threads
        self._weight, self._rows = weight, np.arange(len(target))
        self._train = Queries.of(number, target, fold.train)
        self._test = Queries.of(number, target, fold.test)
        n_rows = len(self._train.order)
        self._objective = self._train.every(max(1, -(-n_rows // rows.OBJECTIVE_ROWS)))
        self._gradients = (np.zeros(len(target)), np.ones(len(target)))

    def _raw(self) -> FloatArray:
        parts = self._executor.each(rows.raw_predictions)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def begin_round(self, seed: int, weight_scale: float) -> None:
        """Set the gradients at the current predictions; the seed is that of sampled gains.

        Splits weigh rows by their hessians, so that the gain is that of a Newton step.
        """
        sample = shares_of(self._rows, seed) if self._loss.has_sample else self._weight
        self._loss.query_gradients(self._train, self._raw(), sample, self._threads, self._gradients)
        weight = self._split_weights() * weight_scale
        rounded = np.maximum(np.rint(weight), 1.0).astype(np.uint32)
        self._executor.apply(rows.set_gradients, *self._gradients, rounded)

    def _split_weights(self) -> FloatArray:
        """The weight of each row times its hessian as a multiple of the mean."""
        weight, hessian, train = self._weight, self._gradients[1], self._train.order
        total = fixed_point_sum(weight[train] * hessian[train])
        if not total > 0.0:
            return weight
        mean = total / fixed_point_sum(weight[train])
        return weight * np.minimum(hessian / mean, rows.MAX_CURVATURE)

    def objective(self) -> float:
        """The mean loss of some of the training queries, at the moment of the call."""
        return query_losses(self._loss, self._objective, self._raw(), self._weight).mean

    def test_losses(self) -> FoldLosses:
        """The losses of the queries that are held out, at the moment of the call."""
        return query_losses(self._loss, self._test, self._raw(), self._weight)

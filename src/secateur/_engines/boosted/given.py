"""Rows of the user's own that judge a fit: predicted round after round from their raw values."""

from __future__ import annotations

import numpy as np

from secateur._data.table import Table
from secateur._data.weights import are_counts
from secateur._engines.boosted.ensemble import BoostedModel, Ensemble
from secateur._kernels.threads import Threads
from secateur.evaluation.cross_trace import Verdict
from secateur.path.step import Step
from secateur.typing import FloatArray, Loss


class GivenRows:
    """Validation rows beside the training table.

    Parameters
    ----------
    table : Table
    target : array of shape (n_rows,)
    weight : array of shape (n_rows,)
    """

    def __init__(self, table: Table, target: FloatArray, weight: FloatArray) -> None:
        self._table = table
        self._target = target
        self._weight = weight
        self._counts = are_counts(weight)
        self._ensemble: Ensemble | None = None
        self._n_rounds = 0
        self._raw: FloatArray = np.empty((0, 0))

    def verdict(self, step: Step, loss: Loss, threads: Threads) -> Verdict:
        """What these rows say of a step; trees that were added before are not added again."""
        model: BoostedModel = step.model
        if model.ensemble is not self._ensemble:
            self._ensemble = model.ensemble
            self._n_rounds = 0
            self._raw = np.repeat(model.ensemble.baseline[:, None], self._table.n_rows, axis=1)
        fresh = model.ensemble.rounds[self._n_rounds : model.n_rounds]
        newest = Ensemble(loss, np.zeros(len(self._raw)), fresh)
        self._raw += newest.at(len(fresh)).raw(self._table, threads)
        self._n_rounds = model.n_rounds
        losses = loss.pointwise(self._target, self._raw)
        return Verdict(losses, self._weight, counts=self._counts)

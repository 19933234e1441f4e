"""How rows are re-weighted by what the features so far make of them (Eq. 4.2 and 4.4).

Only ratios of consecutive losses count, so weights go on changing when losses no longer do much.
A loss that vanishes would make the ratios 0 / 0: losses are held above a floor, and the ratios
then multiply to the loss of the moment over that of the start, whatever came between.
"""

from __future__ import annotations

import math

import numpy as np

from secateur.engines.featboost.candidates import Ranker
from secateur.typing import FloatArray, IntArray

FLOOR = 1e-10
"""Losses below this count as this: a row that is fitted perfectly keeps a trace of weight."""

MOST_EXPONENT = 20.0
"""A weight grows by at most the exponential of this in one round of AdaBoost."""


class Weighting:
    """Weights that stay as they are."""

    changes = False

    def __init__(self, initial: FloatArray) -> None:
        self._initial = initial
        self._total = float(initial.sum())
        self.weight: FloatArray = initial

    @property
    def is_initial(self) -> bool:
        """Whether the weights are those of the start: the ranking is then the first one."""
        return bool(np.array_equal(self.weight, self._initial))

    def update(self, ranker: Ranker, features: IntArray) -> None:
        """Nothing to do."""

    def reset(self) -> None:
        """Back to the weights of the start (line 18)."""
        self.weight = self._initial

    def _multiply(self, factor: FloatArray) -> None:
        """Change the weights, not their sum: a weight of one stays what one row counts."""
        changed = self.weight * factor
        self.weight = changed * (self._total / float(changed.sum()))


class LossWeighting(Weighting):
    """Each row by the ratio of its losses before and now (Eq. 4.2, lines 10 to 14)."""

    changes = True

    def __init__(self, initial: FloatArray) -> None:
        super().__init__(initial)
        self._before = np.ones(len(initial))

    def update(self, ranker: Ranker, features: IntArray) -> None:
        """W <- w * loss / loss before, to the same sum as ever."""
        loss = np.maximum(ranker.losses(features), FLOOR)
        self._multiply(loss / self._before)
        self._before = loss


class AdaBoostWeighting(Weighting):
    """All rows that are wrong by the same factor (Eq. 4.4).

    alpha = log((1 - err) / err) + log(n_classes - 1); w <- w * exp(alpha / alpha before) for the
    rows that are wrong. The paper writes this for all rows, which would change nothing.
    """

    changes = True

    def __init__(self, initial: FloatArray, n_classes: int) -> None:
        super().__init__(initial)
        self._n_classes = n_classes
        self._before = 1.0

    def update(self, ranker: Ranker, features: IntArray) -> None:
        """Raise the rows that are wrong; where none is, nothing is left to raise."""
        wrong = ranker.errors(features)
        error = float(wrong @ self._initial) / self._total
        if not 0.0 < error < 1.0:
            return
        alpha = math.log((1.0 - error) / error) + math.log(self._n_classes - 1)
        alpha = max(alpha, FLOOR)  # worse than chance: AdaBoost itself would stop here
        exponent = min(alpha / self._before, MOST_EXPONENT)
        self._multiply(np.where(wrong > 0.0, math.exp(exponent), 1.0))
        self._before = alpha


def weight_facts(weight: FloatArray) -> dict[str, float]:
    """Weights in two numbers: how many equal rows would say as much (Kish), the largest share.

    >>> weight_facts(np.array([1.0, 1.0, 0.0]))
    {'effective_rows': 2.0, 'largest_weight': 0.5}
    """
    total = float(weight.sum())
    return {
        "effective_rows": total * total / float(weight @ weight),
        "largest_weight": float(weight.max()) / total,
    }

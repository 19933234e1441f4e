"""Re-weighting of rows by their losses (Eq. 4.2 and 4.4).

Only ratios of consecutive losses count. Losses are held above a floor, as a vanishing loss would
make ratios 0 / 0; the ratios then multiply to the last loss over the first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.engines.featboost.forward import Ranker

MIN_LOSS = 1e-10  # lower bound of losses, so that a row that is fitted perfectly keeps some weight
MAX_EXPONENT = 20.0  # bound of the logarithm of a weight's growth in one round of AdaBoost


class Weighting:
    """Constant weights."""

    def __init__(self, initial: FloatArray) -> None:
        self._initial = initial
        self._total = float(initial.sum())
        self.weight: FloatArray = initial

    @property
    def is_initial(self) -> bool:
        """Whether the weights are the initial ones; the ranking is then the first one."""
        return bool(np.array_equal(self.weight, self._initial))

    def update(self, ranker: Ranker, features: IntArray) -> None:
        """Leave the weights as they are."""

    def reset(self) -> None:
        """Restore the initial weights (line 18)."""
        self.weight = self._initial

    def _multiply(self, factor: FloatArray) -> None:
        """Multiply the weights and restore their sum."""
        changed = self.weight * factor
        self.weight = changed * (self._total / float(changed.sum()))


class LossWeighting(Weighting):
    """Each row by the ratio of its losses before and now (Eq. 4.2, lines 10 to 14)."""

    def __init__(self, initial: FloatArray) -> None:
        super().__init__(initial)
        self._previous = np.ones(len(initial))

    def update(self, ranker: Ranker, features: IntArray) -> None:
        """W <- w * loss / previous loss, with the same sum."""
        loss = np.maximum(ranker.losses(features), MIN_LOSS)
        self._multiply(loss / self._previous)
        self._previous = loss


class AdaBoostWeighting(Weighting):
    """All misclassified rows by the same factor (Eq. 4.4).

    alpha = log((1 - err) / err) + log(n_classes - 1); w <- w * exp(alpha / previous alpha) for
    misclassified rows. The paper writes this for all rows, which would change nothing.
    """

    def __init__(self, initial: FloatArray, n_classes: int) -> None:
        super().__init__(initial)
        self._n_classes = n_classes
        self._previous = 1.0

    def update(self, ranker: Ranker, features: IntArray) -> None:
        """Increase the weights of misclassified rows, if there are any."""
        wrong = ranker.errors(features)
        error = float(wrong @ self._initial) / self._total
        if not 0.0 < error < 1.0:
            return
        alpha = math.log((1.0 - error) / error) + math.log(self._n_classes - 1)
        alpha = max(alpha, MIN_LOSS)  # worse than chance: AdaBoost would stop
        exponent = min(alpha / self._previous, MAX_EXPONENT)
        self._multiply(np.where(wrong > 0.0, math.exp(exponent), 1.0))
        self._previous = alpha


def weight_summary(weight: FloatArray) -> dict[str, float]:
    """Effective number of rows (Kish), and the largest share of a row.

    >>> weight_summary(np.array([1.0, 1.0, 0.0]))
    {'effective_rows': 2.0, 'largest_weight': 0.5}
    """
    total = float(weight.sum())
    return {
        "effective_rows": total * total / float(weight @ weight),
        "largest_weight": float(weight.max()) / total,
    }

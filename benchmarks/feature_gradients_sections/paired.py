"""Paired differences, one per draw, and what a t-test says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Differences of one method to another, one per draw; above 0 it is ahead.

    >>> Paired(np.array([1.0, 2.0, 3.0])).n_ahead
    3
    """

    difference: Any

    @property
    def n(self) -> int:
        return len(self.difference)

    @property
    def mean(self) -> float:
        return float(np.mean(self.difference))

    @property
    def n_ahead(self) -> int:
        return int((self.difference > 0).sum())

    @property
    def p(self) -> float:
        """Of the two-sided paired t-test; 1 where the method is behind."""
        return self._p(1.0 / self.n)

    def p_shared(self, test_per_train: float) -> float:
        """The same where draws are new splits of the same rows, after Nadeau and Bengio.

        The variance of the mean is (1 / n + n_test / n_train) times that of a difference.
        """
        return self._p(1.0 / self.n + test_per_train)

    def _p(self, factor: float) -> float:
        spread = float(np.std(self.difference, ddof=1)) * factor**0.5 if self.n > 1 else np.inf
        if self.mean <= 0.0:
            return 1.0
        return float(2.0 * t.sf(self.mean / spread, self.n - 1)) if spread > 0.0 else 0.0

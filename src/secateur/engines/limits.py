"""The largest number of features and the largest cost of a support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur.data.costs import CostModel
from secateur.path.stopping import within_budget
from secateur.typing import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Limits of a support, whose features are given in order of entry, the kept ones included.

    >>> from secateur.data.costs import FeatureCosts
    >>> limits = Limits(FeatureCosts([1.0, 5.0, 2.0]).bind("abc"), cost_budget=3.0)
    >>> limits.filled(np.array([0]), np.array([1, 2])).tolist()
    [0, 2]
    """

    cost_model: CostModel
    max_features: int | None = None
    cost_budget: float | None = None

    @property
    def are_none(self) -> bool:
        """Whether everything is allowed."""
        return self.max_features is None and self.cost_budget is None

    def allow(self, order: IntArray) -> bool:
        """Whether a support is within the limits."""
        if self.max_features is not None and len(order) > self.max_features:
            return False
        return self.cost_budget is None or bool(
            within_budget(self.cost_model.total(order), self.cost_budget)
        )

    def open(self, order: IntArray) -> BoolArray:
        """Which features are in the support, or may be the next one."""
        used = self.cost_model.keep.copy()
        used[order] = True
        if self.max_features is not None and used.sum() >= self.max_features:
            return used
        if self.cost_budget is None:
            return np.ones_like(used)
        cost = self.cost_model.total(order) + self.cost_model.costs(used)
        return used | within_budget(cost, self.cost_budget)

    def filled(
        self, order: IntArray, candidates: IntArray, together: IntArray | None = None
    ) -> IntArray:
        """The support with those candidates, one after another, that are still within the limits.

        Candidates with the same number in ``together`` are added together or not at all.
        """
        if self.are_none:
            return np.concatenate([order, candidates])
        number = np.arange(len(candidates)) if together is None else together
        _, first = np.unique(number, return_index=True)
        for place in np.sort(first):
            if len(order) == self.max_features:
                break
            larger = np.concatenate([order, candidates[number == number[place]]])
            if self.allow(larger):
                order = larger
        return order

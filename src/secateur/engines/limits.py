"""The features in use, what others cost, and what is allowed by limits of number and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.data.costs import CostModel
from secateur.path.stopping import highest_cost, within_budget
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray


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
        if self.max_features is not None and self.cost_model.count(order) > self.max_features:
            return False
        return self.cost_budget is None or bool(
            within_budget(self.cost_model.total(order), self.cost_budget)
        )

    def open(self, order: IntArray) -> BoolArray:
        """Which features are in the support, or may be the next one."""
        used = self.cost_model.keep.copy()
        used[order] = True
        n_used = self.cost_model.count(np.flatnonzero(used))
        used = self.cost_model.with_siblings(used)
        if self.max_features is not None and n_used >= self.max_features:
            return used
        if self.cost_budget is None:
            return np.ones_like(used)
        cost = self.cost_model.total(order) + self.cost_model.costs(used)
        return used | within_budget(cost, self.cost_budget)

    def filled(
        self, order: IntArray, candidates: IntArray, together: IntArray | None = None
    ) -> IntArray:
        """The support with those candidates that fit, in turn; those of a number ``together``.

        By default those of one column are together.
        """
        if self.are_none:
            return np.concatenate([order, candidates])
        sources = self.cost_model.sources
        if together is None:
            together = np.arange(len(candidates)) if sources is None else sources[candidates]
        _, first = np.unique(together, return_index=True)
        for place in np.sort(first):
            if sources is None and len(order) == self.max_features:
                break
            larger = np.concatenate([order, candidates[together == together[place]]])
            if self.allow(larger):
                order = larger
        return order


class FeatureUse:
    """The features in use; a feature costs nothing after its first use (F_ft of GBFS is binary)."""

    def __init__(
        self,
        cost_model: CostModel,
        max_features: int | None = None,
        cost_budget: float | None = None,
    ) -> None:
        self._cost_model = cost_model
        self._max_features = np.inf if max_features is None else max_features
        self._budget = np.inf if cost_budget is None else cost_budget
        self.is_limited = bool(min(self._max_features, self._budget) < np.inf)
        self.has_separate_costs = cost_model.is_plain
        self.used: BoolArray = cost_model.keep.copy()
        self.order: list[int] = np.flatnonzero(cost_model.keep).tolist()
        self.total_cost = 0.0
        self._had_cost: BoolArray = cost_model.costs(self.used) > 0.0
        self._refresh()

    def _refresh(self) -> None:
        self.costs: FloatArray = self._cost_model.costs(self.used)
        # those in use, and those that others have made free
        self.free: BoolArray = self.used | (self._had_cost & (self.costs == 0.0))
        affordable: BoolArray = within_budget(self.total_cost + self.costs, self._budget)
        has_room = len(self.order) < self._max_features
        self.allowed: BoolArray = self.used | affordable if has_room else self.used.copy()

    @property
    def limits(self) -> tuple[float, float, float]:
        """How many features may still be added, the total cost, and its limit."""
        return self._max_features - len(self.order), self.total_cost, highest_cost(self._budget)

    def add(self, feature: int) -> bool:
        """Add a feature; returns whether it is new."""
        if self.used[feature]:
            return False
        self.total_cost += float(self.costs[feature])
        self.used[feature] = True
        self.order.append(feature)
        self._refresh()
        return True

    def begin_tree(self) -> None:
        """Forget the nodes of the last tree."""

    def at_node(self, node: int) -> tuple[BoolArray, FloatArray]:  # noqa: ARG002  # common trees
        """The features that cost nothing in a node of the tree, and the cost of each."""
        return self.used, self.costs

    def add_at(self, node: int, feature: int) -> None:  # noqa: ARG002  # common trees
        """Add the feature that a node is split on."""
        self.add(feature)

    def note_split(self, node: int, left: int, feature: int, words: AnyArray) -> None:
        """Node ``node`` was split into ``left`` and ``left + 1``; ``words`` are the codes left."""

    def state(self) -> tuple[Any, ...]:
        """The current state, for ``restore``."""
        return self.used.copy(), len(self.order), self.total_cost

    def restore(self, state: tuple[Any, ...]) -> None:
        """Undo everything since the state was taken."""
        used, n_features, total_cost = state
        if len(self.order) > n_features:
            self.used, self.total_cost = used.copy(), total_cost
            del self.order[n_features:]
            self._refresh()

    @property
    def entered(self) -> IntArray:
        """The features in use, in the order of their first use."""
        return np.array(self.order, dtype=np.int64)

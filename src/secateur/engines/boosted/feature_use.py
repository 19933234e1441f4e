"""Which features several tasks use, each of them and together, and what the others cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from secateur.data.costs import CostModel
from secateur.engines.boosted.trees import WordArray
from secateur.engines.limits import FeatureUse
from secateur.typing import BoolArray, FloatArray, IntArray

# Nodes whose costs are cached while no feature is added: those of a few trees.
MAX_CACHED_NODES = 64
ABOVE_GAINS = 2.0  # a cost that no split is worth: gains are shares, at most 1


class TaskFeatureUse(FeatureUse):
    """The features in use by one task, which also adds them to those of all tasks.

    A feature costs the task (Eq. 2 of Han, Rao, Sorokina and Subbian, AISTATS 2020)

        group_penalty * cost_j(used by any task) + task_penalty * cost_j(used by this task)

    so a gain is compared with ``costs`` at a penalty of 1. Limits are those of ``common``.
    """

    def __init__(
        self, cost_model: CostModel, common: FeatureUse, group_penalty: float, task_penalty: float
    ) -> None:
        self._common = common
        self._group_penalty, self._task_penalty = group_penalty, task_penalty
        super().__init__(cost_model)
        # With limits, trees are grown level by level.
        self.has_separate_costs = common.has_separate_costs and not common.is_limited

    def _refresh(self) -> None:
        self._n_seen = len(self._common.order)
        own = self._cost_model.costs(self.used)
        self.costs = self._group_penalty * self._common.costs + self._task_penalty * own
        self.allowed = self.used | self._common.allowed
        self.free = self.used | self._common.free  # but for what the task itself pays

    def begin_tree(self) -> None:
        """Compute costs again if another task has added a feature."""
        if self._n_seen != len(self._common.order):
            self._refresh()

    def add(self, feature: int) -> bool:
        """Add a feature; returns whether it is new to this task."""
        self._common.add(feature)
        return super().add(feature)

    def state(self) -> tuple[Any, ...]:
        """The current state of this task and of all together."""
        return super().state(), self._common.state()

    def restore(self, state: tuple[Any, ...]) -> None:
        """Undo everything since the state was taken."""
        own, common = state
        self._common.restore(common)
        super().restore(own)

    @property
    def entered(self) -> IntArray:
        """The features of this task in the order of their first use; without a task penalty all."""
        return self._common.entered if self._task_penalty == 0.0 else super().entered


class TaskSupport(NamedTuple):
    """The features in use by some tasks, as a mask and as a list, and what the others cost them."""

    used: BoolArray
    costs: FloatArray
    features: IntArray


class NodeFeatureUse(FeatureUse):
    """The features in use in common trees, by all tasks and by each of them.

    The task is one more column, after the features. A split of a node v on feature j costs

        group_penalty * cost_j(used by any task) + sum_t own_t * cost_j(used by task t)

    over the tasks t that the splits by task above v let through (as in `TaskFeatureUse`); ``own_t``
    is the task's penalty times its share of the rows. A split by task costs ``task_split_penalty``,
    and ``first_penalty`` more the first time. Tasks with equal ``codes`` share a category.
    """

    def __init__(
        self,
        cost_model: CostModel,
        limits: tuple[int | None, float | None],
        group_penalty: float,
        own: FloatArray,
        codes: IntArray,
        task_split_penalty: float,
        first_penalty: float = 0.0,
    ) -> None:
        self._group_penalty = group_penalty
        self._own = own
        self._code = codes.astype(np.uint64)
        self._task_split_penalty, self._first_penalty = task_split_penalty, first_penalty
        self._column = cost_model.n_features
        self._supports: list[TaskSupport] = []
        self._numbers: dict[bytes, int] = {}
        self._cached_costs: dict[bytes, tuple[BoolArray, FloatArray]] = {}
        super().__init__(cost_model, *limits)
        self.has_separate_costs = False  # costs depend on the node
        self.used = np.append(self.used, False)
        self._support_of: IntArray = np.full(len(own), self._number_of(cost_model.keep))
        self.begin_tree()

    def _refresh(self) -> None:
        with_task, self.used = self.used, self.used[: self._column]
        super()._refresh()
        self.used = with_task
        self.allowed = np.append(self.allowed, self._task_split_penalty < 1.0)
        self.free = np.append(self.free, False)
        self._cached_costs.clear()

    def begin_tree(self) -> None:
        """All tasks are in the root."""
        self._here: dict[int, BoolArray] = {0: np.ones(len(self._own), np.bool_)}

    def note_split(self, node: int, left: int, feature: int, words: WordArray) -> None:
        """Tasks go to both sides, at a split by task to one."""
        to_left = to_right = self._here[node]
        if feature == self._column:
            bit = words[self._code // np.uint64(64)] >> (self._code % np.uint64(64))
            is_left = (bit & np.uint64(1)) == 1
            to_left, to_right = to_left & is_left, to_right & ~is_left
        self._here[left], self._here[left + 1] = to_left, to_right

    def at_node(self, node: int) -> tuple[BoolArray, FloatArray]:
        """The features that cost nothing in a node of the tree, and the cost of each."""
        here = self._here[node]
        key = here.tobytes()
        found = self._cached_costs.get(key)
        if found is None:
            if len(self._cached_costs) >= MAX_CACHED_NODES:
                self._cached_costs.clear()
            found = self._cached_costs[key] = self._costs_at(here)
        return found

    def _costs_at(self, here: BoolArray) -> tuple[BoolArray, FloatArray]:
        shares = np.bincount(self._support_of[here], self._own[here], len(self._supports))
        costs, used = self._group_penalty * self.costs, np.ones(self._column, np.bool_)
        for number in np.unique(self._support_of[here]):
            costs = costs + shares[number] * self._supports[number].costs
            used &= self._supports[number].used
        by_task = self._task_split_penalty + (0.0 if self.used[-1] else self._first_penalty)
        return np.append(used, False), np.append(costs, by_task)

    def add_at(self, node: int, feature: int) -> None:
        """Add the feature that a node is split on, for the tasks of the node."""
        here = self._here[node]
        if feature == self._column:
            if self._first_penalty > 0.0 and not self.used[-1]:
                self.used[-1] = True
                self._cached_costs.clear()
            return
        for number in np.unique(self._support_of[here]):
            used = self._supports[number].used.copy()
            used[feature] = True
            self._support_of[here & (self._support_of == number)] = self._number_of(used)
        if not self.add(feature):
            self._cached_costs.clear()

    def fix(self, supports: Sequence[IntArray]) -> None:
        """Give each task these features at no cost, and no others."""
        self._group_penalty, self._own = 0.0, np.ones(len(supports))
        for t, features in enumerate(supports):
            used = np.zeros(self._column, np.bool_)
            used[features] = True
            self._support_of[t] = self._number_of(used)
        self._supports = [
            support._replace(costs=np.where(support.used, 0.0, ABOVE_GAINS))
            for support in self._supports
        ]

    def _number_of(self, used: BoolArray) -> int:
        """The number of the support with these features."""
        key = used.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._supports)
            features = np.flatnonzero(used).copy()  # its own array, so steps need not copy it
            features.flags.writeable = False
            self._supports.append(TaskSupport(used, self._cost_model.costs(used), features))
        return self._numbers[key]

    def state(self) -> tuple[Any, ...]:
        """The current state, with the support of each task."""
        return super().state(), self._support_of.copy()

    def restore(self, state: tuple[Any, ...]) -> None:
        """Undo everything since the state was taken."""
        common, support_of = state
        super().restore(common)
        self.used[-1] = common[0][-1]
        self._support_of = support_of.copy()
        self._cached_costs.clear()

    def supports(self, names: Sequence[str]) -> dict[str, IntArray]:
        """The features of each task, sorted; of a task without a penalty of its own, all."""
        everything = np.sort(self.entered)
        return {
            name: self._supports[number].features if own > 0.0 else everything
            for name, number, own in zip(names, self._support_of, self._own, strict=True)
        }

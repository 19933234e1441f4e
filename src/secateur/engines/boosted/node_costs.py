"""The account of trees that several tasks have in common: a node pays for the tasks in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from secateur.data.costs import CostModel
from secateur.engines.boosted.feature_use import FeatureUse, FeatureUseState, NodeCosts
from secateur.engines.boosted.trees import WordArray
from secateur.typing import BoolArray, FloatArray, IntArray

MAX_CACHED_NODES = 64
"""Nodes whose costs are remembered while nothing is bought: those of a few trees."""


class TaskSupport(NamedTuple):
    """The features of some tasks, and what the others cost these."""

    used: BoolArray
    costs: FloatArray
    features: IntArray


class NodeFeatureUse(FeatureUse):
    """Books the purchases of all tasks, and of each task those of the nodes that it can come to.

    The task is one more column of the table, after the features. A split of a node v on feature j
    costs

        group_penalty * cost_j(used by any task) + sum_t own_t * cost_j(used by task t)

    over the tasks t that the splits by task above v let through: Eq. 2 of Han, Rao, Sorokina and
    Subbian (AISTATS 2020), for a node with rows of several tasks. ``own_t`` is the task's own
    penalty times its share of the rows, for a share of the squared error of all rows. A split by
    task costs ``task_split_penalty`` each time, and ``first_penalty`` more the first time.

    Parameters
    ----------
    cost_model : CostModel
    limits : (int or None, float or None)
        The most features, and the most that may be spent, of all tasks together.
    group_penalty : float
    own : array of shape (n_tasks,)
    codes : array of int of shape (n_tasks,)
        The category of each task; several may have one.
    task_split_penalty, first_penalty : float
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
        self._cached_costs: dict[bytes, NodeCosts] = {}
        super().__init__(cost_model, *limits)
        self.used = np.append(self.used, False)
        self._support: IntArray = np.full(len(own), self._support_number(cost_model.keep))
        self.begin_tree()

    def _refresh(self) -> None:
        """What is for sale, as ever; and the column of the task, which may be asked for."""
        everything, self.used = self.used, self.used[: self._column]
        super()._refresh()
        self.used = everything
        self.allowed = np.append(self.allowed, self._task_split_penalty < 1.0)
        self._cached_costs.clear()

    @property
    def has_fixed_costs(self) -> bool:
        """What a purchase changes depends on the node."""
        return False

    # ---- nodes --------------------------------------------------------------------------------

    def begin_tree(self) -> None:
        """All tasks are in the root."""
        self._here: dict[int, BoolArray] = {0: np.ones(len(self._own), np.bool_)}

    def note_split(self, node: int, left: int, feature: int, words: WordArray) -> None:
        """Tasks go on to both sides, but at a split by task to one."""
        to_left = to_right = self._here[node]
        if feature == self._column:
            bit = words[self._code // np.uint64(64)] >> (self._code % np.uint64(64))
            is_left = (bit & np.uint64(1)) == 1
            to_left, to_right = to_left & is_left, to_right & ~is_left
        self._here[left], self._here[left + 1] = to_left, to_right

    def at(self, node: int) -> NodeCosts:
        """What a node pays from."""
        here = self._here[node]
        key = here.tobytes()
        node_costs = self._cached_costs.get(key)
        if node_costs is None:
            if len(self._cached_costs) >= MAX_CACHED_NODES:
                self._cached_costs.clear()
            node_costs = self._cached_costs[key] = self._node_costs(here)
        return node_costs

    def _node_costs(self, here: BoolArray) -> NodeCosts:
        counts = np.bincount(self._support[here], self._own[here], len(self._supports))
        cost, used = self._group_penalty * self.costs, np.ones(self._column, np.bool_)
        for number in np.unique(self._support[here]):
            cost = cost + counts[number] * self._supports[number].costs
            used &= self._supports[number].used
        asked = self._task_split_penalty + (0.0 if self.used[-1] else self._first_penalty)
        return TaskNodeCosts(self, here, np.append(used, False), np.append(cost, asked))

    # ---- purchases ----------------------------------------------------------------------------

    def buy(self, feature: int, here: BoolArray) -> bool:
        """TaskSupport a feature with the tasks of a node; returns whether it was new to any."""
        if feature == self._column:
            return self._add_task()
        for number in np.unique(self._support[here]):
            used = self._supports[number].used.copy()
            used[feature] = True
            self._support[here & (self._support == number)] = self._support_number(used)
        if not self.use(feature):
            self._cached_costs.clear()
        return True

    def _add_task(self) -> bool:
        """Note the first split by task, where it costs more than the later ones."""
        if self._first_penalty > 0.0 and not self.used[-1]:
            self.used[-1] = True
            self._cached_costs.clear()
        return False

    def _support_number(self, used: BoolArray) -> int:
        """The number of the book with these features."""
        key = used.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._supports)
            features = np.flatnonzero(used).copy()  # its own, so that steps need not copy it
            features.flags.writeable = False
            self._supports.append(TaskSupport(used, self._cost_model.costs(used), features))
        return self._numbers[key]

    def mark(self) -> FeatureUseState:
        """The state of the account, and which book each task has."""
        return super().mark()._replace(supports=self._support.copy())

    def rewind(self, account: FeatureUseState) -> None:
        """Take back all purchases since the mark."""
        super().rewind(account)
        self.used[-1] = account.used[-1]
        if account.supports is not None:
            self._support = account.supports.copy()
        self._cached_costs.clear()

    def supports(self, names: Sequence[str]) -> dict[str, IntArray]:
        """The features of each task, sorted; of one that pays nothing of its own, those of all."""
        everyone = np.sort(self.entered)
        return {
            name: self._supports[number].features if own > 0.0 else everyone
            for name, number, own in zip(names, self._support, self._own, strict=True)
        }


class TaskNodeCosts(NamedTuple):
    """What the tasks of one node have, what the rest costs them, and how they buy."""

    feature_use: NodeFeatureUse
    here: BoolArray
    used: BoolArray
    costs: FloatArray

    def use(self, feature: int) -> bool:
        """Buy the feature for all tasks of the node."""
        return self.feature_use.buy(feature, self.here)

"""The account of one task among several: a cost for what is new to all, and one for itself."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from secateur.data.costs import CostModel
from secateur.engines.boosted.trees import WordArray
from secateur.path.limits import highest_cost, within_budget
from secateur.typing import BoolArray, FloatArray, IntArray


class FeatureUseState(NamedTuple):
    """What a feature_use held at some moment; ``common`` that of an account shared with others.

    ``supports`` says which book each task had, where a feature_use keeps several.
    """

    used: BoolArray
    n_bought: int
    spent: float
    common: FeatureUseState | None = None
    supports: IntArray | None = None


class NodeCosts(Protocol):
    """What a node pays from: what is free there, what the rest costs, and how it is bought."""

    @property
    def used(self) -> BoolArray:
        """The features that are free."""

    @property
    def costs(self) -> FloatArray:
        """What each feature costs now."""

    def use(self, feature: int) -> bool:
        """Buy the feature if it is new; returns whether it was."""


class FeatureUse:
    """Books purchases; a feature is free from the moment it is bought (F_ft of GBFS is binary)."""

    def __init__(
        self,
        cost_model: CostModel,
        max_features: int | None = None,
        cost_budget: float | None = None,
    ) -> None:
        self._cost_model = cost_model
        self._max_features = np.inf if max_features is None else max_features
        self._budget = np.inf if cost_budget is None else cost_budget
        self.used: BoolArray = cost_model.keep.copy()
        self.order: list[int] = [int(j) for j in np.flatnonzero(cost_model.keep)]
        self.spent = 0.0
        self._refresh()

    def _refresh(self) -> None:
        self.costs: FloatArray = self._cost_model.costs(self.used)
        self.allowed: BoolArray = self._allowed()

    def _allowed(self) -> BoolArray:
        """Features that a split may use: those that are in, and those that can be paid for."""
        if len(self.order) >= self._max_features:
            return self.used.copy()
        affordable: BoolArray = within_budget(self.spent + self.costs, self._budget)
        return self.used | affordable

    @property
    def has_fixed_costs(self) -> bool:
        """Whether a purchase changes no cost but its own."""
        return self._cost_model.is_plain

    @property
    def is_limited(self) -> bool:
        """Whether there is a most that may be bought or spent."""
        return bool(min(self._max_features, self._budget) < np.inf)

    @property
    def limits(self) -> tuple[float, float, float]:
        """How many features may still be bought, what was spent, and what may be spent in all."""
        return self._max_features - len(self.order), self.spent, highest_cost(self._budget)

    def use(self, feature: int) -> bool:
        """Buy the feature if it is new; returns whether it was."""
        if self.used[feature]:
            return False
        self.spent += float(self.costs[feature])
        self.used[feature] = True
        self.order.append(feature)
        self._refresh()
        return True

    def begin_tree(self) -> None:
        """A tree is begun; who tells its nodes apart, forgets those of the last."""

    def at(self, node: int) -> NodeCosts:  # noqa: ARG002  # others tell nodes apart
        """What a node of the tree pays from: the same for all of them."""
        return self

    def note_split(self, node: int, left: int, feature: int, words: WordArray) -> None:
        """A node was parted into ``left`` and the next number, by codes that go left."""

    def mark(self) -> FeatureUseState:
        """The state of the account, to come back to."""
        return FeatureUseState(self.used.copy(), len(self.order), self.spent)

    def rewind(self, account: FeatureUseState) -> None:
        """Take back all purchases since the mark."""
        if len(self.order) > account.n_bought:
            self.used = account.used.copy()
            del self.order[account.n_bought :]
            self.spent = account.spent
            self._refresh()

    @property
    def entered(self) -> IntArray:
        """The features that are in, in the order of their entry."""
        return np.array(self.order, dtype=np.int64)


class TaskFeatureUse(FeatureUse):
    """Books the purchases of one task, and through it those of all tasks together.

    A feature costs the task (Eq. 2 of Han, Rao, Sorokina and Subbian, AISTATS 2020)

        group_penalty * cost_j(used by any task) + task_penalty * cost_j(used by this task)

    so a gain is compared with ``costs`` as they are, at a penalty of 1. Budgets are those of all
    tasks together.

    Parameters
    ----------
    cost_model : CostModel
    common : FeatureUse
        The account of all tasks.
    group_penalty, task_penalty : float
    """

    def __init__(
        self,
        cost_model: CostModel,
        common: FeatureUse,
        group_penalty: float,
        task_penalty: float,
    ) -> None:
        self._common = common
        self._group_penalty = group_penalty
        self._task_penalty = task_penalty
        self._n_seen = -1
        super().__init__(cost_model)

    def _refresh(self) -> None:
        self._own_costs = self._cost_model.costs(self.used)
        self._n_seen = -1

    def _look(self) -> None:
        """Reckon anew where this task or another one has bought something."""
        if self._n_seen == len(self._common.order):
            return
        self._n_seen = len(self._common.order)
        group, own = self._group_penalty, self._task_penalty
        self._both = group * self._common.costs + own * self._own_costs
        self._may = self.used | self._common.allowed

    @property
    def costs(self) -> FloatArray:  # type: ignore[override]  # reckoned when asked for
        """What each feature costs this task now, penalties included."""
        self._look()
        return self._both

    @property
    def allowed(self) -> BoolArray:  # type: ignore[override]  # likewise
        """Features that a split may use: those of this task, and those that all can pay for."""
        self._look()
        return self._may

    @property
    def has_fixed_costs(self) -> bool:
        """Whether a purchase changes no other cost, nor what this task may buy.

        Others buy between its trees only; but limits count what is new to all.
        """
        return self._common.has_fixed_costs and not self._common.is_limited

    @property
    def limits(self) -> tuple[float, float, float]:
        """None; where there are some, trees are not grown in one go."""
        return np.inf, 0.0, np.inf

    def use(self, feature: int) -> bool:
        """Buy the feature if it is new to this task; returns whether it was."""
        if self.used[feature]:
            return False
        self._common.use(feature)
        self.spent += float(self._own_costs[feature])
        self.used[feature] = True
        self.order.append(feature)
        self._refresh()
        return True

    def mark(self) -> FeatureUseState:
        """The state of this account and the common one, to come back to."""
        return super().mark()._replace(common=self._common.mark())

    def rewind(self, account: FeatureUseState) -> None:
        """Take back all purchases since the mark."""
        super().rewind(account)
        if account.common is not None:
            self._common.rewind(account.common)

    @property
    def entered(self) -> IntArray:
        """The features of this task in the order of their entry.

        A task that pays nothing of its own has all features that any task bought.
        """
        if self._task_penalty == 0.0:
            return self._common.entered
        return np.array(self.order, dtype=np.int64)

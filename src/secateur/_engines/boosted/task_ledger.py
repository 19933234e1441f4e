"""The account of one task among several: a price for what is new to all, and one for itself."""

from __future__ import annotations

import numpy as np

from secateur._data.prices import Prices
from secateur._engines.boosted.ledger import Account, Ledger
from secateur.typing import BoolArray, FloatArray, IntArray


class TaskLedger(Ledger):
    """Books the purchases of one task, and through it those of all tasks together.

    A feature costs the task (Eq. 2 of Han, Rao, Sorokina and Subbian, AISTATS 2020)

        group_penalty * price_j(used by any task) + task_penalty * price_j(used by this task)

    so a gain is compared with ``prices`` as they are, at a penalty of 1. Budgets are those of all
    tasks together.

    Parameters
    ----------
    prices : Prices
    common : Ledger
        The account of all tasks.
    group_penalty, task_penalty : float
    """

    def __init__(
        self,
        prices: Prices,
        common: Ledger,
        group_penalty: float,
        task_penalty: float,
    ) -> None:
        self._common = common
        self._group_penalty = group_penalty
        self._task_penalty = task_penalty
        self._n_seen = -1
        super().__init__(prices)

    def _refresh(self) -> None:
        self._own_prices = self._prices.prices(self.used)
        self._n_seen = -1

    def _look(self) -> None:
        """Reckon anew where this task or another one has bought something."""
        if self._n_seen == len(self._common.order):
            return
        self._n_seen = len(self._common.order)
        group, own = self._group_penalty, self._task_penalty
        self._both = group * self._common.prices + own * self._own_prices
        self._may = self.used | self._common.allowed

    @property
    def prices(self) -> FloatArray:  # type: ignore[override]  # reckoned when asked for
        """What each feature costs this task now, penalties included."""
        self._look()
        return self._both

    @property
    def allowed(self) -> BoolArray:  # type: ignore[override]  # likewise
        """Features that a split may use: those of this task, and those that all can pay for."""
        self._look()
        return self._may

    @property
    def has_own_prices(self) -> bool:
        """Whether a purchase changes no other price, nor what this task may buy.

        Others buy between its trees only; but limits count what is new to all.
        """
        return self._common.has_own_prices and not self._common.is_limited

    @property
    def limits(self) -> tuple[float, float, float]:
        """None; where there are some, trees are not grown in one go."""
        return np.inf, 0.0, np.inf

    def use(self, feature: int) -> bool:
        """Buy the feature if it is new to this task; returns whether it was."""
        if self.used[feature]:
            return False
        self._common.use(feature)
        self.spent += float(self._own_prices[feature])
        self.used[feature] = True
        self.order.append(feature)
        self._refresh()
        return True

    def mark(self) -> Account:
        """The state of this account and the common one, to come back to."""
        return super().mark()._replace(common=self._common.mark())

    def rewind(self, account: Account) -> None:
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

"""Which features are tried, and which of them wins; ties go to the cheaper one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur._data.prices import Prices
from secateur.typing import BoolArray, FloatArray, IntArray

ROUNDING = 1e-12
"""A purchase may pass the budget by the rounding of a sum of prices."""

SAME = 1e-12
"""Scores that differ by less are the same: folds are averaged in floating point."""


@dataclass(frozen=True, slots=True, eq=False)
class Shop:
    """What features cost, how much may be spent, and whether the gain is set against the price."""

    prices: Prices
    budget: float | None = None
    per_cost: bool = False

    def affordable(self, used: BoolArray, spent: float) -> BoolArray:
        """The features that are used already, or can still be paid for."""
        if self.budget is None:
            return np.ones(len(used), np.bool_)
        allowed: BoolArray = used | (spent + self.prices.prices(used) <= self.budget + ROUNDING)
        return allowed


def top_ranked(
    importance: FloatArray, price: FloatArray, allowed: BoolArray, n_candidates: int
) -> IntArray:
    """The most important features that are allowed; ties by price, then by position.

    None where nothing is important: then there is nothing to learn from these rows.

    >>> top_ranked(np.array([1.0, 3.0, 1.0]), np.array([2.0, 1.0, 1.0]), np.ones(3, bool), 2)
    array([1, 2])
    """
    if not (importance > 0.0).any():
        return np.empty(0, np.int64)
    order = np.lexsort((price, -importance))
    return order[allowed[order]][:n_candidates]


def winner(score: FloatArray, price: FloatArray) -> int:
    """The place of the best score; ties go to the cheaper one, then to the better ranked.

    >>> winner(np.array([0.5, 0.7, 0.7]), np.array([1.0, 5.0, 2.0]))
    2
    """
    usable = np.where(np.isnan(score), -np.inf, score)
    best = np.flatnonzero(usable >= usable.max() - SAME)
    return int(best[np.argmin(price[best])])


def gain_per_cost(score: FloatArray, before: float, price: FloatArray) -> FloatArray:
    """What each candidate adds, by what it costs; what is free is worth any gain.

    >>> gain_per_cost(np.array([0.6, 0.7, 0.5]), 0.5, np.array([1.0, 4.0, 0.0]))
    array([0.1 , 0.05, 0.  ])
    """
    gain = score - before
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cost = np.where(gain > 0.0, gain / price, gain)
    return np.where(np.isnan(by_cost), gain, by_cost)

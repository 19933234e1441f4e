"""The budget rule: whether a sum of costs is within a budget."""

from __future__ import annotations

from typing import Any

TOLERANCE = 1e-12
"""Relative. Costs are sums of floats: three features at 0.1 cost 0.30000000000000004, and a budget
of 0.3 must allow them."""


def within_budget(cost: Any, budget: float) -> Any:
    """Return whether costs, a number or an array of them, are within a budget."""
    return cost <= highest_cost(budget)


def highest_cost(budget: float) -> float:
    """The highest cost that is within a budget."""
    return budget * (1.0 + TOLERANCE)

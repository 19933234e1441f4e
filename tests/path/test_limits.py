"""One budget rule: costs are sums of floats, and a budget that equals the sum in writing holds."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.data.costs import FeatureCosts
from secateur.engines.limits import FeatureUse, Limits
from secateur.path.cutting import WithinBudget
from secateur.path.path import SelectionPath
from secateur.path.step import Step
from secateur.path.stopping import CostBudget, History, StopReason, within_budget

COST, BUDGET = 100000.1, 300000.3  # 3 * COST is a little more than BUDGET in floating point
NAMES = ("a", "b", "c", "d")


def spent_by_boosting():
    use = FeatureUse(FeatureCosts(COST).bind(NAMES), None, BUDGET)
    for feature in range(4):
        if use.allowed[feature]:
            use.add(feature)
    return len(use.order)


def spent_by_grafting():
    limits = Limits(FeatureCosts(COST).bind(NAMES), None, BUDGET)
    return len(limits.filled(np.empty(0, np.int64), np.arange(4)))


def steps():
    return [Step.of(range(n), cost=float(np.full(n, COST).sum())) for n in range(1, 5)]


def spent_by_cutting():
    path = SelectionPath(tuple(steps()), StopReason.FINISHED, NAMES, "any")
    return len(path.cut(WithinBudget(BUDGET)).support)


def spent_by_stopping():
    rule = CostBudget(BUDGET)
    return sum(rule.reason(History(step, 1, 0.0, [])) is None for step in steps())


@pytest.mark.parametrize(
    "count", [spent_by_boosting, spent_by_grafting, spent_by_cutting, spent_by_stopping]
)
def test_three_features_fit_into_three_times_their_cost(count):
    assert count() == 3


def test_the_tolerance_is_relative():
    assert within_budget(3e9 + 1e-4, 3e9)
    assert not within_budget(3e9 + 1.0, 3e9)
    assert within_budget(0.1 + 0.2, 0.3)
    assert not within_budget(1e-9, 0.0)
    assert within_budget(np.array([1.0, 2.0]), 1.5).tolist() == [True, False]

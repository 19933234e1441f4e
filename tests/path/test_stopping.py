"""When each stopping rule ends a run."""

from __future__ import annotations

import math

import pytest

from secateur.exceptions import ParameterError
from secateur.path import CostBudget, History, MaxFeatures, Patience, Step, StopReason, TimeLimit


def seen(n_features=1, *, cost=math.nan, elapsed=0.0, best=()):
    return History(Step.of(range(n_features), cost=cost), max(len(best), 1), elapsed, best)


def test_max_features_lets_the_full_support_live():
    rule = MaxFeatures(3)
    assert rule.reason(seen(3)) is None
    assert rule.reason(seen(4)) is StopReason.MAX_FEATURES


def test_cost_budget_lets_the_exact_sum_live():
    rule = CostBudget(0.3)
    assert rule.reason(seen(cost=0.1 + 0.1 + 0.1)) is None
    assert rule.reason(seen(cost=0.31)) is StopReason.COST_BUDGET


def test_cost_budget_does_not_spend_without_counting():
    with pytest.raises(ParameterError, match="needs steps with costs"):
        CostBudget(1.0).reason(seen())


def test_time_limit():
    assert TimeLimit(2).reason(seen(elapsed=1.9)) is None
    assert TimeLimit(2).reason(seen(elapsed=2.0)) is StopReason.TIME_LIMIT


@pytest.mark.parametrize(
    ("best", "stops"),
    [
        ([], False),
        ([0.5, 0.5], False),
        ([0.5, 0.5, 0.5], True),
        ([0.4, 0.5, 0.5], False),
        ([0.4, 0.5, 0.5, 0.5], True),
        ([0.4, 0.5, 0.5, 0.5001], False),
        ([-math.inf] * 5, False),
        ([-math.inf, -math.inf, 0.5, 0.5], False),
        ([-math.inf, -math.inf, 0.5, 0.5, 0.5], True),
    ],
)
def test_patience_counts_raw_steps_since_the_best(best, stops):
    assert (Patience(2).reason(seen(best=best)) is StopReason.PATIENCE) == stops
    scored = bool(best) and math.isfinite(best[-1])
    assert (scored and seen(best=best).n_since_best >= 2) == stops


def test_patience_counts_small_progress_as_none():
    creeping = [0.5, 0.501, 0.502]
    assert Patience(2).reason(seen(best=creeping)) is None
    assert Patience(2, tolerance=0.01).reason(seen(best=creeping)) is StopReason.PATIENCE
    assert Patience(2, tolerance=0.0015).reason(seen(best=creeping)) is None


def test_since_best_before_any_step_is_none():
    assert seen(best=[]).n_since_best == 0
    assert seen(best=[0.1, 0.3, 0.3]).n_since_best == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: MaxFeatures(0),
        lambda: MaxFeatures(2.5),
        lambda: MaxFeatures(True),
        lambda: CostBudget(-1.0),
        lambda: CostBudget(math.nan),
        lambda: CostBudget(None),
        lambda: Patience(0),
        lambda: Patience(3, tolerance=-0.1),
        lambda: TimeLimit(0),
        lambda: TimeLimit("long"),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(ParameterError, match=r"must be a .*number >=? \d\. Got .*\. (Leave|Use)"):
        make()


def test_rules_are_values():
    assert MaxFeatures(3) == MaxFeatures(3) != MaxFeatures(4)
    assert repr(Patience(5)) == "Patience(n_steps=5, tolerance=0.0)"
    assert len({TimeLimit(1), TimeLimit(1.0)}) == 1

"""Where two paths differ."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from path_differences import explain_difference, paths_equal

from secateur.path import Score, SelectionPath, Step, StopReason


def make(*steps, **changes):
    facts = {"stop_reason": StopReason.FINISHED, "feature_names": list("abc"), "algorithm": "demo"}
    return SelectionPath(steps, **{**facts, **changes})


def one(mean=0.5, **changes):
    score = Score(mean, 0.1, (0.4, 0.6), "held_out", "log_loss")
    values = {"penalty": 0.1, "objective": 0.3, "cost": 1.0, "score": score}
    return Step.of([2, 0], [1.0, 0.0, 2.0], **{**values, **changes})


def test_a_path_equals_its_twin():
    assert paths_equal(make(one()), make(one()))
    assert explain_difference(make(), make()) == ""


def test_seconds_models_and_versions_do_not_count():
    a = make(replace(one(model=1), seconds=1.0), versions={"numpy": "1"})
    b = make(replace(one(model=2), seconds=2.0), versions={"numpy": "2"})
    assert paths_equal(a, b)


def test_nan_equals_nan_and_the_order_of_keys_does_not_count():
    a = make(one(cost=math.nan, details={"x": math.nan, "y": 1}), parameters={"p": 1, "q": 2})
    b = make(one(cost=math.nan, details={"y": 1, "x": math.nan}), parameters={"q": 2, "p": 1})
    assert explain_difference(a, b) == ""


@pytest.mark.parametrize(
    ("b", "difference"),
    [
        (make(one(), algorithm="other"), "algorithm: 'demo' against 'other'"),
        (make(one(), penalty_name="alpha"), "penalty_name: 'penalty' against 'alpha'"),
        (make(one(), cost_unit="ms"), "cost_unit: '' against 'ms'"),
        (make(one(), feature_names="abcd"), "feature_names length: 3 against 4"),
        (make(one(), feature_names="aXc"), "feature_names[1]: 'b' against 'X'"),
        (make(one(), parameters={"p": 1}), "parameters: {} against"),
        (make(one(), stop_reason="patience"), "stop_reason: <StopReason.FINISHED: 'finished'>"),
        (make(one(), one()), "steps length: 1 against 2"),
        (make(Step.of([2])), "steps[0].order length: 2 against 1"),
        (make(Step.of([0, 2])), "steps[0].order[0]: 2 against 0"),
        (make(Step.of([2, 0], [1, 0, 3])), "steps[0].weight[1]: 2.0 against 3.0"),
        (make(one(penalty=0.2)), "steps[0].penalty: 0.1 against 0.2"),
        (make(one(objective=math.nan)), "steps[0].objective: 0.3 against nan"),
        (make(one(cost=2.0)), "steps[0].cost: 1.0 against 2.0"),
        (make(one(0.25)), "steps[0].score.mean: 0.5 against 0.25"),
        (make(one(details={"round": 1})), "steps[0].details: {} against"),
    ],
)
def test_the_first_difference_is_named(b, difference):
    a = make(one())
    assert explain_difference(a, b).startswith(difference)
    assert not paths_equal(a, b)
    assert not paths_equal(b, a)


def test_scores_differ_in_each_part():
    a = make(one())
    assert "score: Score(" in explain_difference(a, make(one(score=None)))
    origin = Score(0.5, 0.1, (0.4, 0.6), "inner", "log_loss")
    assert "score.origin" in explain_difference(a, make(one(score=origin)))
    folds = Score(0.5, 0.1, (0.4,), "held_out", "log_loss")
    assert explain_difference(a, make(one(score=folds))) == (
        "steps[0].score.folds length: 2 against 1"
    )


def test_floats_are_compared_bit_for_bit_by_default():
    a, b = make(one(objective=0.3)), make(one(objective=math.nextafter(0.3, 1)))
    assert explain_difference(a, b) == "steps[0].objective: 0.3 against 0.30000000000000004"
    assert paths_equal(a, b, rtol=1e-12)
    assert not paths_equal(make(one(objective=0.0)), make(one(objective=-0.0)))
    assert not paths_equal(a, make(one(objective=0.31)), rtol=1e-3)

from __future__ import annotations

import math

import pytest
from report.examples import make_path, score

from secateur.path import Score
from secateur.report import Evidence
from secateur.report.sentences import answer, has_costs


def known(**values):
    """Evidence with a few values."""
    return Evidence(n_rows=1, n_sampled=1, target_type="classification", **values)


def test_against_all_features_where_their_score_is_known():
    path = make_path([0.50, 0.36])
    assert answer(path, 1, known(all_features=score(0.355))) == (
        "2 of 4 features: held-out log loss 0.3600, 0.0050 worse than all 4 features (0.3550), "
        "which is within one standard error (0.0100)."
    )


def test_a_difference_beyond_the_error_is_reported_as_such():
    assert answer(make_path([0.50, 0.36]), 0, known(all_features=score(0.355))).endswith(
        "0.1450 worse than all 4 features (0.3550), which is more than one standard error (0.0100)."
    )


def test_fewer_features_may_be_better_than_all():
    assert "0.0100 better than all 3 features (0.5100)" in answer(
        make_path([0.5]), 0, known(all_features=score(0.51))
    )


def test_equal_scores_are_as_good():
    assert answer(make_path([0.5]), 0, known(all_features=score(0.5))) == (
        "1 of 3 features: held-out log loss 0.5000, as good as all 3 features (0.5000)."
    )


def test_a_difference_of_rounding_is_none():
    said = answer(make_path([0.5]), 0, known(all_features=score(0.5 + 1.2e-16)))
    assert "as good as all 3 features" in said
    said = answer(make_path([0.3]), 0, known(all_features=score(0.1 + 0.2)))
    assert "as good as all 3 features" in said


def test_without_all_features_the_best_step_is_the_measure():
    path = make_path([0.50, 0.36, 0.37])
    assert answer(path, 1) == "2 of 5 features: held-out log loss 0.3600, the best on the path."
    assert answer(path, 0) == (
        "1 of 5 features: held-out log loss 0.5000, 0.1400 worse than the best on the path "
        "(2 features, 0.3600), which is more than one standard error (0.0100)."
    )


@pytest.mark.parametrize(
    "other",
    [
        score(0.3, origin="inner"),
        Score(0.9, 0.01, (), "held_out", "accuracy", True),
        Score(math.nan, 0.01, (), "held_out", "log_loss"),
    ],
)
def test_scores_of_another_kind_are_not_set_side_by_side(other):
    assert "all 3 features" not in answer(make_path([0.5]), 0, known(all_features=other))


def test_where_more_is_better_less_is_worse():
    accuracy = [Score(value, 0.01, (), "held_out", "accuracy", True) for value in (0.8, 0.9)]
    path = make_path([0.5, 0.4])
    steps = [
        type(step)(step.support, step.order, step.weight, 0.1, 0.2, score=each)
        for step, each in zip(path, accuracy, strict=True)
    ]
    path = type(path)(steps, path.stop_reason, path.feature_names, "demo")
    assert "0.1000 worse than the best on the path (2 features, 0.9000)" in answer(path, 0)


def test_optimistic_scores_say_so():
    path = make_path([0.5])
    steps = [type(path[0])([0], [0], [1.0], 0.1, 0.2, score=score(0.5, origin="inner"))]
    path = type(path)(steps, path.stop_reason, path.feature_names, "demo")
    assert "optimistic" in answer(path, 0)


@pytest.mark.parametrize("loss", [None, math.nan])
def test_nothing_is_said_of_a_score_that_is_not_there(loss):
    assert answer(make_path([loss]), 0) == "1 of 3 features: no score."


def test_an_unknown_error_is_not_reported():
    path = make_path([0.5, 0.4])
    result = answer(path, 0, known(all_features=score(0.3, standard_error=math.nan)))
    assert result.endswith("which is more than one standard error (0.0100).")
    steps = [type(path[0])([0], [0], [1.0], 0.1, 0.2, score=score(0.5, standard_error=math.nan))]
    path = type(path)(steps, path.stop_reason, path.feature_names, "demo")
    result = answer(path, 0, known(all_features=score(0.3, standard_error=math.nan)))
    assert result.endswith("0.2000 worse than all 4 features (0.3000).")


def test_costs_are_reported_with_their_unit():
    path = make_path([0.5, 0.4], costs=[2.0, 5.0], unit="euro")
    assert answer(path, 1, known(cost_of_all=9.5)).startswith(
        "2 of 4 features for 5 euro instead of 9.5:"
    )
    path = make_path([0.5, 0.4], costs=[2.0, 5.0])
    assert answer(path, 1).startswith("2 of 4 features at a cost of 5:")


def test_costs_that_only_count_features_are_not_reported():
    path = make_path([0.5, 0.4], costs=[1.0, 2.0])
    assert not has_costs(path)
    assert answer(path, 1).startswith("2 of 4 features: ")


def test_kinds():
    assert score(0.1).key == score(0.2).key
    assert score(0.1).key != score(0.1, origin="inner").key

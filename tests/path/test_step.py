"""Steps and scores: frozen, checked, and signed the right way."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from secateur.exceptions import ParameterError
from secateur.path import Score, Step


def make_step(**changes):
    values = {"support": [1, 4], "order": [4, 1], "weight": [0.5, 2.0]}
    return Step(**{**values, "penalty": 0.1, "objective": 0.7, **changes})


def test_step_holds_typed_read_only_arrays():
    step = make_step()
    assert step.support.dtype == step.order.dtype == np.int64
    assert step.weight.dtype == np.float64
    for array in (step.support, step.order, step.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9


def test_the_engines_own_array_stays_writable_and_apart():
    weight = np.array([0.5, 2.0])
    step = make_step(weight=weight)
    weight[0] = 99.0
    assert step.weight[0] == 0.5


def test_a_read_only_view_of_a_writable_array_is_copied():
    weight = np.array([0.5, 2.0])
    view = weight[:]
    view.flags.writeable = False
    step = make_step(weight=view)
    weight[0] = 99.0
    assert step.weight[0] == 0.5


def test_replacing_a_field_does_not_copy_frozen_arrays():
    step = make_step()
    assert replace(step, cost=3.0).support is step.support


def test_measured_values_are_those_of_a_checked_copy():
    step, score = make_step(details={"round": 3}), Score(0.6, 0.1, (), "inner", "log_loss")
    found = step.measured(cost=3.0, score=score, seconds=2.0)
    assert repr(found) == repr(replace(step, cost=3.0, score=score, seconds=2.0))
    assert (found.cost, found.score, found.seconds) == (3.0, score, 2.0)
    assert found.support is step.support
    assert found.details is step.details
    assert (step.score, step.seconds) == (None, 0.0)


def test_step_cannot_be_changed():
    step = make_step(details={"round": 1})
    with pytest.raises(FrozenInstanceError):
        step.cost = 1.0
    with pytest.raises(TypeError):
        step.details["round"] = 2


def test_details_take_numpy_scalars_as_plain_ones():
    step = make_step(details={"round": np.int64(3), "gain": np.float64(0.5), "done": np.True_})
    assert dict(step.details) == {"round": 3, "gain": 0.5, "done": True}
    assert [type(value) for value in step.details.values()] == [int, float, bool]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": [4, 2]}, "same features"),
        ({"order": [4]}, "same features"),
        ({"order": [4, 1, 1]}, "same features"),
        ({"support": [4, 1]}, "sorted"),
        ({"support": [1, 1], "order": [1, 1]}, "without repeats"),
        ({"support": [-1, 1], "order": [1, -1]}, "not negative"),
        ({"weight": [1.0]}, "one value for each feature"),
        ({"support": [1.5, 4.0]}, "whole numbers"),
        ({"support": [[1, 4]]}, "one dimension"),
        ({"details": {"bins": [1, 2]}}, "JSON scalars"),
        ({"details": {"model": object()}}, "JSON value"),
        ({"details": {3: 1}}, "keys of 'details' must be strings"),
        ({"details": [1]}, "must be a mapping"),
    ],
)
def test_bad_steps_are_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        make_step(**changes)


def test_of_sorts_the_order_and_picks_the_weights():
    step = Step.of(np.array([3, 0]), np.array([10.0, 11.0, 12.0, 13.0]), penalty=0.2)
    assert step.order.tolist() == [3, 0]
    assert step.support.tolist() == [0, 3]
    assert step.weight.tolist() == [10.0, 13.0]
    assert step.n_features == 2
    assert step.penalty == 0.2


def test_of_without_weights_weighs_all_alike():
    assert Step.of([5, 2]).weight.tolist() == [1.0, 1.0]


def test_a_step_may_use_no_feature():
    step = Step.of([])
    assert step.n_features == 0
    assert step.support.dtype == np.int64


@pytest.mark.parametrize("through", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])  # noqa: S301
def test_steps_survive_copying_and_stay_frozen(through):
    step = make_step(model={"trees": [1]}, details={"round": 2}, cost=4.0)
    again = through(step)
    assert again.order.tolist() == [4, 1]
    assert again.model == {"trees": [1]}
    assert dict(again.details) == {"round": 2}
    assert not again.weight.flags.writeable


def test_repr_is_short_and_leaves_the_arrays_out():
    score = Score(0.25, 0.1, (), "inner", "log_loss")
    step = Step.of(range(500), penalty=0.5, score=score)
    assert repr(step) == "Step(n_features=500, penalty=0.5, log_loss=0.25)"


def test_score_of_folds_has_the_standard_error_of_the_mean():
    folds = [0.2, 0.4, 0.9]
    score = Score.of(folds, origin="held_out", metric="log_loss")
    assert score.mean == pytest.approx(0.5)
    assert score.standard_error == pytest.approx(np.std(folds, ddof=1) / math.sqrt(3))
    assert score.folds == (0.2, 0.4, 0.9)


def test_one_fold_gives_no_standard_error():
    assert math.isnan(Score.of([0.2], origin="inner").standard_error)


def test_utility_is_larger_for_the_better_score():
    low, high = (Score(mean, 0.0, (), "inner") for mean in (0.1, 0.9))
    assert low.utility > high.utility
    low, high = (Score(mean, 0.0, (), "inner", "accuracy", True) for mean in (0.1, 0.9))
    assert high.utility > low.utility


def test_nan_is_no_usable_score():
    assert not Score(math.nan, 0.0, (), "inner").is_usable
    assert not Score(math.inf, 0.0, (), "inner").is_usable
    assert Score(0.0, math.nan, (), "inner").is_usable


def test_bad_scores_are_refused():
    with pytest.raises(ParameterError, match=r"'origin' must be one of .* Got 'test'"):
        Score(0.1, 0.0, (), "test")
    with pytest.raises(ParameterError, match="must not be empty"):
        Score.of([], origin="inner")


def test_supports_of_tasks_are_frozen_and_kept():
    step = Step.of([7, 2, 5], supports={"a": np.array([2, 7]), "b": np.array([5])})
    assert list(step.supports) == ["a", "b"]
    with pytest.raises(ValueError, match="read-only"):
        step.supports["a"][0] = 5
    with pytest.raises(TypeError):
        step.supports["c"] = np.array([2])
    again = pickle.loads(pickle.dumps(step))  # noqa: S301
    np.testing.assert_array_equal(again.supports["a"], [2, 7])


@pytest.mark.parametrize("features", [[3], [7, 2], [2, 2]])
def test_supports_of_tasks_lie_in_the_support(features):
    with pytest.raises(ParameterError, match="'supports' must hold sorted features of 'support'"):
        Step.of([7, 2], supports={"a": np.array(features)})


def test_a_negative_standard_error_is_refused():
    with pytest.raises(ParameterError, match=r"standard_error.*-0\.5"):
        Score(1.0, -0.5, (1.0,), "held_out")

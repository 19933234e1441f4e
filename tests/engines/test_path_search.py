"""The search along penalties: sizes that a grid leaves out are searched between its penalties."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from secateur.engines.drive import drive
from secateur.engines.path_search import FoldLosses, search_penalties
from secateur.path import AtMost, Step, StopReason


class Thresholds:
    """An engine whose features enter at given penalties; each lowers the loss a little."""

    metric = "loss"

    def __init__(self, *entries):
        self.entries, self.fitted = np.array(entries), []

    def fit(self, penalty):
        self.fitted.append(penalty)
        return Step.of(np.flatnonzero(self.entries > penalty), penalty=penalty)

    def fold_losses(self, step):
        assert step.penalty == self.fitted[-1]
        return [FoldLosses(np.full(10, 1.0 - 0.1 * step.n_features), np.ones(10))]


def path_of(engine, penalties, **more):
    steps = search_penalties(engine, penalties, **more).steps
    return drive(steps, feature_names=list("abcdef"), algorithm="test")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_size_between_two_penalties_is_found_and_the_search_goes_on(size):
    engine = Thresholds(0.9, 0.5, 0.45, 0.4)
    path = path_of(engine, [1.0, 0.1, 0.01], size=size)
    assert path.cut(AtMost(size)).n_features == size
    assert path.n_features[-2:].tolist() == [4, 4]
    assert path.scores[-1] == pytest.approx(0.6)
    assert all(one.penalty > other.penalty for one, other in pairwise(path))
    assert path.stop_reason is StopReason.FINISHED


def test_a_limit_ends_the_search():
    engine = Thresholds(0.9, 0.5, 0.45, 0.4)
    path = path_of(engine, [1.0, 0.1, 0.01], size=2, is_too_large=lambda step: step.n_features > 2)
    assert path.n_features.max() == 2
    assert path.stop_reason is StopReason.MAX_FEATURES


def test_one_feature_is_searched_for_longer():
    engine = Thresholds(0.99999, 0.9999, 0.9)
    assert path_of(engine, [1.0, 0.1], size=1).cut(AtMost(1)).n_features == 1
    assert 8 < len(engine.fitted) <= 26


def test_a_size_that_no_penalty_has_is_given_up():
    engine = Thresholds(0.9, 0.5, 0.5, 0.4)
    assert path_of(engine, [1.0, 0.1], size=2).cut(AtMost(2)).n_features == 1
    assert len(engine.fitted) <= 26


def test_a_size_of_the_grid_is_not_searched():
    engine = Thresholds(0.9, 0.5)
    path_of(engine, [1.0, 0.7, 0.1], size=1)
    assert engine.fitted == [1.0, 0.7, 0.1]


def test_steps_that_are_done_are_not_fitted_again():
    penalties, entries = [1.0, 0.1, 0.01], (0.9, 0.5, 0.45, 0.4)
    whole = path_of(Thresholds(*entries), penalties, size=2)
    for n_done in range(len(whole)):
        engine = Thresholds(*entries)
        done = {step.penalty: step for step in whole[:n_done]}
        again = path_of(engine, penalties, size=2, done=done)
        assert [step.penalty for step in again] == [step.penalty for step in whole]
        assert not set(done) & set(engine.fitted)
        np.testing.assert_array_equal(again.scores, whole.scores)

"""The search along penalties: sizes that a grid leaves out are searched between its penalties."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from secateur.engines.drive import drive
from secateur.engines.fold_losses import FoldLosses
from secateur.engines.path_search import search_penalties
from secateur.path import AtMost, Step, StopReason


class Thresholds:
    """An engine whose features enter at given penalties; each lowers the loss a little."""

    metric = "loss"

    def __init__(self, *entries):
        self.entries, self.fitted = np.array(entries), []

    def fit(self, penalty, max_features=None):
        self.fitted.append(penalty)
        return Step.of(np.flatnonzero(self.entries > penalty)[:max_features], penalty=penalty)

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


@pytest.mark.parametrize("entries", [(0.9, 0.5, 0.5, 0.4), (0.5, 0.5, 0.5, 0.4)])
def test_a_size_that_no_penalty_has_is_a_limit_of_one_fit(entries):
    engine = Thresholds(*entries)
    path = path_of(engine, [1.0, 0.1], size=2)
    assert path.cut(AtMost(2)).n_features == 2
    assert all(one.penalty > other.penalty for one, other in pairwise(path))
    assert len(engine.fitted) <= 27


def test_the_search_uses_the_given_count_of_features():
    engine = Thresholds(0.9, 0.8, 0.5, 0.4)
    column = np.array([0, 0, 1, 2])
    path = path_of(
        engine, [1.0, 0.7, 0.01], size=2, count=lambda each: len(np.unique(column[each]))
    )
    assert 3 in path.n_features


class Noise(Thresholds):
    """The same, but features gain nothing."""

    def fold_losses(self, step):
        rows = np.random.default_rng(step.n_features).normal(size=10)
        return [FoldLosses(rows * (step.n_features > 0) + 1.0, np.ones(10))]


@pytest.mark.parametrize("kind", [Noise, Thresholds])
def test_penalties_that_all_have_features_are_compared_with_none(kind):
    path = path_of(kind(0.9, 0.5), [0.8, 0.1], none=2.0)
    assert path.n_features.tolist() == ([1, 2, 0] if kind is Noise else [1, 2])
    assert path.cut().n_features == (0 if kind is Noise else 2)


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

"""The lazy search is the full search, bit for bit, over many rounds and under every rule."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from equivalence.fitting import Task, assert_equals_twin, assert_same_fit, fit_engine, fit_twin
from equivalence.problems import LOSSES, higher_by_number, lower_by_number, tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.costs import FeatureCosts
from secateur.engines.boosted import lazy
from secateur.losses import SquaredError

N_FEATURES = 30

COSTS = {
    "one": FeatureCosts(),
    "each": FeatureCosts(np.linspace(0.2, 3.0, N_FEATURES)),
    "bags": FeatureCosts(
        feature_groups=[("abc"[j % 3] if j % 5 else None) for j in range(N_FEATURES)]
    ),
    "grid": FeatureCosts(neighbours=(5, 6), discount=0.25),
    "higher": FeatureCosts(rule=higher_by_number),
    "lower": FeatureCosts(rule=lower_by_number),
    "kept": FeatureCosts(keep=[1, 7]),
}


def always_tried():
    """Draft trees whenever anything is left out, however little it saves."""
    return mock.patch.multiple(lazy, MIN_LEFT_OUT=1, N_PROMISING=1, MIN_PASSES=0.0)


class Verdicts:
    """Notes whether every draft held."""

    def __init__(self):
        self.seen = []

    def __enter__(self):
        original = lazy.LazySearch.better_than

        def noted(search, draft):
            better = original(search, draft)
            self.seen.append(len(better) == 0)
            return better

        self._patch = mock.patch.object(lazy.LazySearch, "better_than", noted)
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()


def compare(loss="log_loss", *, sparse=False, **settings):
    settings = {"n_rounds": 25, "n_rows": 800, "n_features": N_FEATURES, **settings}
    return compare_task(make_task(loss, **settings), sparse=sparse)


def compare_task(task, *, sparse=False):
    """The lazy fit, and whether each of its tries held, after comparing it with the full fit."""
    task = task.with_params(whole=False)  # trees that are grown in one call need no drafts
    with always_tried(), Verdicts() as verdicts:
        fit = fit_engine(task.with_params(lazy=True), sparse=sparse)
    with Verdicts() as none:
        assert_same_fit(fit, fit_engine(task.with_params(lazy=False), sparse=sparse))
    assert none.seen == []
    return fit, verdicts.seen


@examples(60)
@given(tasks(), st.sampled_from([1.0, 1.0, 0.7]))
def test_any_small_task(task, subsample):
    compare_task(task.with_params(n_rounds=8, subsample=subsample))


@examples(25)
@given(tasks())
def test_lazy_trees_equal_the_twin(task):
    task = task.with_params(n_rounds=6, lazy=True, whole=False, max_features=None)
    with always_tried():
        assert_equals_twin(fit_engine(task), fit_twin(task), task)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("criterion", "penalty"), [("agbm", 0.02), ("gbfs", 1.0)])
def test_every_loss(loss, criterion, penalty):
    fit, held = compare(loss, criterion=criterion, penalty=penalty)
    assert 1 < len(fit.order) < N_FEATURES
    assert held  # it was tried


def test_trees_that_hold_and_trees_that_do_not_both_occur():
    _, held = compare("squared_error", penalty=0.006)
    assert set(held) == {True, False}


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_of_price(costs, sparse):
    compare(costs=COSTS[costs], penalty=0.004, sparse=sparse, sparse_share=0.5)


@pytest.mark.parametrize("penalty", [0.0, 1e-4, 0.02, 0.1, 1e9])
@pytest.mark.parametrize("max_depth", [1, 2, 5, 6])
def test_every_penalty_and_depth(penalty, max_depth):
    compare(penalty=penalty, max_depth=max_depth)


@pytest.mark.parametrize(
    "settings",
    [
        {"subsample": 0.5, "seed": 3},
        {"learning_rate": 1.0},
        {"leaf": "mean"},
        {"weights": "floats", "missing_share": 0.1},
        {"weights": "whole", "n_categorical": 4},
        {"max_features": 5, "penalty": 1e-4},
        {"cost_budget": 6.5, "penalty": 1e-4},
        {"min_samples_leaf": 60},
    ],
    ids=str,
)
def test_every_limit(settings):
    compare(**{"penalty": 0.004, **settings})


@pytest.mark.parametrize("cuts", [(100,), (0, 1, 500, 500)])
def test_blocks_of_rows(cuts):
    task = make_task(n_rows=800, n_features=N_FEATURES, penalty=0.01, n_rounds=15, subsample=0.8)
    held = np.arange(0, 800, 9)
    task = task.with_params(whole=False)
    with always_tried(), Verdicts() as verdicts:
        one = fit_engine(task, held=held)
        assert_same_fit(one, fit_engine(task, held=held, cuts=cuts, n_threads=2))
    assert any(verdicts.seen)


class FarBaseline(SquaredError):
    """Begins so far away that all gradients are nearly one constant."""

    def __init__(self, distance):
        self.distance = distance

    def baseline(self, target, weight):
        return np.array([-self.distance])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("distance", [800.0, 4000.0, 20_000.0])
def test_even_gains_that_are_rounding_are_seen_alike(seed, distance):
    # Free features and gains of about 1e-16 of the sum of squares: every rounding decides.
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.choice([2, 3, 6]), (60, 12)).astype(float)
    target = X[:, 0] * rng.choice([0.0, 1.0]) + rng.choice([0.1, 1.0]) * rng.normal(size=60)
    params = {"penalty": 0.0, "learning_rate": 1e-9, "leaf": "mean", "max_depth": 3, "n_rounds": 8}
    costs = FeatureCosts(keep=[0])
    task = Task(X, target, np.ones(60), FarBaseline(distance), costs, params=params)
    compare_task(task.with_params(min_samples_leaf=1))

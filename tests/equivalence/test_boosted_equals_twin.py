"""The fast boosted trees are the naive ones, split for split and bit for bit."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from equivalence.fitting import Task, assert_equals_twin, fit_engine, fit_twin
from equivalence.problems import LOSSES, make_loss, tasks
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.costs import FeatureCosts
from secateur.engines.boosted import nodes


@examples(120)
@given(tasks())
def test_engine_equals_twin(task):
    assert_equals_twin(fit_engine(task), fit_twin(task), task)


@examples(60)
@given(tasks(categories=False))
def test_engine_on_sparse_columns_equals_twin(task):
    assert_equals_twin(fit_engine(task, sparse=True), fit_twin(task), task)


@examples(20)
@given(tasks(), st.integers(1, 39))
def test_engine_on_two_blocks_equals_twin(task, cut):
    cuts = (min(cut, len(task.target) - 1),)
    assert_equals_twin(fit_engine(task, cuts=cuts), fit_twin(task), task)


@examples(25)
@given(tasks())
def test_engine_without_room_for_histograms_equals_twin(task):
    with mock.patch.multiple(nodes, MIN_STORE_BYTES=0, STORE_SHARE=0.0):
        assert_equals_twin(fit_engine(task), fit_twin(task), task)


def test_deep_trees_equal_the_twin():
    # More nodes on a level than histograms that are kept.
    rng = np.random.default_rng(11)
    X = rng.integers(0, 25, (1200, 2)).astype(float)
    params = {"max_depth": 10, "n_rounds": 1, "min_samples_leaf": 1}
    task = Task(X, rng.normal(size=1200), np.ones(1200), params=params)
    fit = fit_engine(task)
    assert len(fit.rounds[0][0].left) > 500
    assert_equals_twin(fit, fit_twin(task), task)


@examples(10)
@given(tasks(), st.sampled_from([1e9, 1e300]))
def test_with_a_huge_penalty_no_feature_is_used(task, penalty):
    high = replace(task, costs=type(task.costs)()).with_params(penalty=penalty)
    fit = fit_engine(high)
    assert fit.order == []
    assert all(len(tree.left) == 1 for round_ in fit.rounds for tree in round_)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("max_depth", [2, 3, 4])
def test_a_first_use_makes_a_feature_affordable_for_the_next_node_of_the_level(max_depth, sparse):
    # The left half wants feature 1, the right half wants feature 2, which is too expensive until
    # feature 1 opens the bag they share.
    cells = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 6, dtype=float)
    a, b, c = cells.T
    target = 10.0 * a + np.where(a == 0, b, 2.0 * c) + np.arange(len(a)) / 1000
    task = Task(
        cells,
        target,
        np.ones(len(a)),
        costs=FeatureCosts([1.0, 0.5, 50.0], feature_groups=[None, "bag", "bag"]),
        params={"cost_budget": 2.0, "penalty": 1e-6, "n_rounds": 2, "max_depth": max_depth},
    ).with_params(min_samples_leaf=1)
    fit = fit_engine(task, sparse=sparse)
    assert fit.order == [0, 1, 2]
    assert fit.steps[-1].cost == 1.5
    assert fit.rounds[0][0].feature[:3].tolist() == [0, 1, 2]
    assert_equals_twin(fit, fit_twin(task), task)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("criterion", ["agbm", "gbfs"])
def test_every_loss_with_both_criteria(loss, criterion):
    task = larger_task(loss, criterion)
    fit = fit_engine(task)
    assert any(len(tree.left) > 9 for round_ in fit.rounds for tree in round_)
    assert_equals_twin(fit, fit_twin(task), task)


def larger_task(loss, criterion, n_rows=60):
    rng = np.random.default_rng(LOSSES.index(loss))
    X = np.column_stack([rng.integers(0, 12, (n_rows, 3)), rng.normal(size=n_rows)])
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0], nan=9.0) / 4 + (np.nan_to_num(X[:, 3]) > 0)
    noisy = signal + 0.3 * rng.normal(size=n_rows)
    target = {
        "log_loss": (noisy > 2).astype(float),
        "multinomial": np.clip(np.floor(noisy), 0, 2),
        "poisson": rng.poisson(signal).astype(float),
    }.get(loss, noisy)
    params = {
        "criterion": criterion,
        "penalty": 1e-4,
        "max_depth": 5,
        "n_rounds": 2,
        "min_samples_leaf": 1,
        "learning_rate": 0.3,
    }
    return Task(X, target, rng.uniform(0.5, 2.0, n_rows), make_loss(loss), params=params)

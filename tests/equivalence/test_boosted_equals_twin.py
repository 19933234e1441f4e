"""The fast boosted trees are the naive ones, split for split and bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from equivalence.fitting import Task, assert_equals_twin, assert_same_fit, fit_engine, fit_twin
from equivalence.problems import LOSSES, make_loss, tasks
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=150)
@given(tasks())
def test_engine_equals_twin(task):
    assert_equals_twin(fit_engine(task), fit_twin(task), task)


@settings(max_examples=80)
@given(tasks(categories=False))
def test_engine_on_sparse_columns_equals_twin(task):
    assert_equals_twin(fit_engine(task, sparse=True), fit_twin(task), task)


@settings(max_examples=30)
@given(tasks(), st.integers(1, 39))
def test_engine_on_two_blocks_equals_twin(task, cut):
    cuts = (min(cut, len(task.target) - 1),)
    assert_equals_twin(fit_engine(task, cuts=cuts), fit_twin(task), task)


@settings(max_examples=40)
@given(tasks())
def test_lazy_search_chooses_what_the_full_search_chooses(task):
    lazy, full = (fit_engine(task.with_params(lazy=lazy)) for lazy in (True, False))
    assert_same_fit(lazy, full)


@settings(max_examples=20)
@given(tasks(), st.sampled_from([1e9, 1e300]))
def test_a_huge_price_buys_nothing(task, penalty):
    dear = replace(task, costs=type(task.costs)()).with_params(penalty=penalty)
    fit = fit_engine(dear)
    assert fit.order == []
    assert all(len(tree.left) == 1 for round_ in fit.rounds for tree in round_)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("criterion", ["agbm", "gbfs"])
def test_every_loss_with_both_criteria(loss, criterion):
    task = larger_task(loss, criterion)
    fit = fit_engine(task)
    assert any(len(tree.left) > 15 for round_ in fit.rounds for tree in round_)
    assert_equals_twin(fit, fit_twin(task), task)


def larger_task(loss, criterion):
    rng = np.random.default_rng(LOSSES.index(loss))
    X = np.column_stack([rng.integers(0, 12, (150, 3)), rng.normal(size=150)])
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0], nan=9.0) / 4 + (np.nan_to_num(X[:, 3]) > 0)
    noisy = signal + 0.3 * rng.normal(size=150)
    target = {
        "log_loss": (noisy > 2).astype(float),
        "multinomial": np.clip(np.floor(noisy), 0, 2),
        "poisson": rng.poisson(signal).astype(float),
    }.get(loss, noisy)
    params = {
        "criterion": criterion,
        "penalty": 1e-4,
        "max_depth": 5,
        "n_rounds": 4,
        "min_samples_leaf": 2,
        "learning_rate": 0.3,
    }
    return Task(X, target, rng.uniform(0.5, 2.0, 150), make_loss(loss), params=params)

"""What must not matter does not: prices of zero, doubled rows, order of rows and columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from equivalence.fitting import (
    assert_equals_twin,
    assert_same_fit,
    fit_engine,
    fit_twin,
    splits,
)
from equivalence.problems import LOSSES, tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.costs import FeatureCosts


def uses_some_features(fit):
    return len(fit.order) > 1


@examples(25)
@given(tasks())
def test_a_price_of_zero_is_a_plain_booster(task):
    free = replace(task, costs=FeatureCosts(0.0)).with_params(penalty=3.0)
    plain = free.with_params(penalty=0.0, cost_budget=None)
    assert_equals_twin(fit_engine(free), fit_twin(plain), free)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_penalty_of_zero_is_a_plain_booster(loss):
    costs = FeatureCosts(np.linspace(1.0, 100.0, 12))
    one = fit_engine(make_task(loss, penalty=0.0, costs=costs))
    other = fit_engine(make_task(loss, penalty=5.0, costs=FeatureCosts(0.0)))
    assert splits(one) == splits(other)
    np.testing.assert_array_equal(one.raw, other.raw)


@examples(20)
@given(tasks(), st.sampled_from([2, 3]))
def test_whole_weights_all_times_a_number_change_no_split(task, factor):
    # All weights alike: the rounding to 15 bits is the same, so even ties fall the same way.
    one = replace(task, weight=np.ones(len(task.target))).with_params(min_samples_leaf=1, l2=0.0)
    agbm = one.with_params(criterion="agbm")
    heavy = replace(agbm, weight=np.full(len(task.target), float(factor)))
    twice = agbm.take(np.repeat(np.arange(len(task.target)), factor))
    first = fit_engine(heavy.with_params(n_rounds=1))
    second = fit_engine(twice.with_params(n_rounds=1))
    assert splits(first) == splits(second)
    assert first.order == second.order


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_of_weight_two_is_two_rows(loss):
    # Rounding to 15 bits breaks exact ties by weight: enough rows that no two splits tie.
    task = make_task(loss, n_rows=4000, weights="whole", penalty=0.002, min_samples_leaf=200)
    rows = np.repeat(np.arange(len(task.target)), task.weight.astype(int))
    repeated = replace(task.take(rows), weight=np.ones(len(rows)))
    one, other = fit_engine(task), fit_engine(repeated)
    assert uses_some_features(one)
    assert splits(one) == splits(other)
    assert one.order == other.order
    # The scale of the exact sums depends on the number of rows, so the last bits may differ.
    np.testing.assert_allclose(one.raw[:, rows], other.raw, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(one.steps[-1].objective, other.steps[-1].objective, rtol=1e-11)


@examples(25)
@given(tasks(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_bit(task, random):
    order = list(range(len(task.target)))
    random.shuffle(order)
    one, other = fit_engine(task), fit_engine(task.take(order))
    assert_same_fit(one, replace_raw(other, np.argsort(order)))


def replace_raw(fit, order):
    """The fit with its rows (one block) in another order."""
    fit.blocks[0].raw = fit.blocks[0].raw[:, order]
    return fit


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weights", ["ones", "whole", "floats"])
def test_the_order_of_many_rows_changes_no_bit(sparse, weights):
    task = make_task(n_rows=3000, weights=weights, sparse_share=0.6, penalty=0.001)
    order = np.random.default_rng(5).permutation(3000)
    one = fit_engine(task, sparse=sparse)
    other = fit_engine(task.take(order), sparse=sparse)
    assert uses_some_features(one)
    assert_same_fit(one, replace_raw(other, np.argsort(order)))


@pytest.mark.parametrize("loss", LOSSES)
def test_permuted_columns_give_the_permuted_path(loss):
    own = np.random.default_rng(2).uniform(0.5, 2.0, 12)
    # Enough rows that no two splits tie, also where gradients have few values.
    task = make_task(loss, n_rows=4000, penalty=0.002, min_samples_leaf=200, missing_share=0.05)
    task = replace(task, costs=FeatureCosts(own))
    order = np.random.default_rng(3).permutation(12)
    moved = replace(task, X=task.X[:, order], costs=FeatureCosts(own[order]))
    one, other = fit_engine(task), fit_engine(moved)
    assert uses_some_features(one)
    assert one.order == order[other.order].tolist()
    np.testing.assert_array_equal(one.raw, other.raw)
    assert one.steps[-1].cost == pytest.approx(other.steps[-1].cost, rel=1e-15)


@examples(25)
@given(tasks(categories=False))
def test_dense_and_sparse_tables_give_the_same_fit(task):
    assert_same_fit(fit_engine(task), fit_engine(task, sparse=True))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", ["ones", "whole"])
def test_many_dense_and_sparse_rows_give_the_same_fit(loss, weights):
    # More distinct values than bins, so the cuts have to be the same too.
    task = make_task(loss, n_rows=2000, sparse_share=0.7, missing_share=0.02, weights=weights)
    task = task.with_params(penalty=0.001, subsample=0.8)
    one = fit_engine(task)
    assert uses_some_features(one)
    assert_same_fit(one, fit_engine(task, sparse=True))


@pytest.mark.parametrize("unit", [1024.0, 2.0**-20])
def test_the_unit_of_the_target_changes_no_split_of_agbm(unit):
    task = make_task("squared_error", penalty=0.003)
    one, other = fit_engine(task), fit_engine(replace(task, target=task.target * unit))
    assert splits(one) == splits(other)
    np.testing.assert_array_equal(one.raw * unit, other.raw)


def test_constant_gradients_make_a_single_leaf():
    task = make_task("squared_error")
    for target in (np.full(600, 0.1), np.full(600, 1e300)):
        fit = fit_engine(replace(task, target=target))
        assert fit.order == []
        np.testing.assert_array_equal(fit.raw, target[None])

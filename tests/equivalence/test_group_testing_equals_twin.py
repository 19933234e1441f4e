"""The fast search by group tests is the naive one, split for split and bit for bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from equivalence.fitting import Task, assert_equals_twin, assert_same_fit, fit_engine, fit_twin
from equivalence.problems import tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st
from reference.group_testing import GroupTestedTree, Subsets

from secateur.data.costs import FeatureCosts
from secateur.engines.boosted.group_design import GroupTesting
from secateur.engines.boosted.groups import make_plan

TESTING = st.builds(
    GroupTesting,
    expected_features=st.integers(1, 5),
    delta=st.sampled_from([0.1, 0.9]),
    leaf_size=st.sampled_from([1, 1, 2]),
    group_size=st.sampled_from([None, 1, 2, 3]),
    seed=st.integers(0, 99),
)


def subsets_of(fit, testing):
    """The plan of the engine's groups, as the twin gets it: subsets only."""
    plan = make_plan(fit.columns, testing)
    design = plan.design
    d = design.n_features
    orders = plan.members.reshape(design.n_orders, d)
    bounds = np.arange(design.n_parts + 1) * d // design.n_parts
    parts = [[order[a:b].tolist() for a, b in pairwise(bounds)] for order in orders]
    turns = [
        [part for partition in parts[t : t + design.n_partitions] for part in partition]
        for t in range(0, design.n_orders, design.n_partitions)
    ]
    return Subsets(turns, design.entry, design.leaf, design.n_kept, design.n_turns > 1)


def assert_grouped_twin(task, testing, **how):
    fit = fit_engine(task, testing=testing, **how)
    subsets = subsets_of(fit, testing)

    def make_tree(*args):
        tree = GroupTestedTree(*args)
        tree.testing = subsets
        return tree

    assert_equals_twin(fit, fit_twin(task, make_tree=make_tree), task)
    return fit


@examples(25)
@given(tasks(), TESTING)
def test_search_equals_twin(task, testing):
    assert_grouped_twin(task, testing)


@examples(15)
@given(tasks(categories=False), TESTING)
def test_search_on_sparse_columns_equals_twin(task, testing):
    assert_grouped_twin(task, testing, sparse=True)


@examples(8)
@given(tasks(), TESTING, st.integers(1, 39))
def test_search_on_two_blocks_equals_twin(task, testing, cut):
    assert_grouped_twin(task, testing, cuts=(min(cut, len(task.target) - 1),))


@pytest.mark.parametrize("group_size", [None, 4, 2])
def test_many_features_equal_the_twin(group_size):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (120, 48)).astype(float)
    target = X[:, 5] - 2.0 * (X[:, 17] > 4) + 0.5 * rng.normal(size=120)
    params = {"n_rounds": 4, "max_depth": 3, "min_samples_leaf": 5, "penalty": 0.01}
    testing = GroupTesting(3, 0.1, 2, group_size, seed=1)
    fit = assert_grouped_twin(Task(X, target, np.ones(120), params=params), testing)
    assert {5, 17} <= set(fit.order)


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_and_blocks_do_not_matter(sparse):
    task = make_task(n_rows=600, n_features=150, sparse_share=0.6, penalty=0.003)
    testing = GroupTesting(4, 0.1, 8, 16, seed=5)
    one = fit_engine(task, sparse=sparse, testing=testing)
    assert len(one.order) > 2
    assert_same_fit(fit_engine(task, sparse=sparse, n_threads=2, testing=testing), one)
    assert_same_fit(fit_engine(task, sparse=sparse, cuts=(100, 350), testing=testing), one)
    assert_same_fit(fit_engine(task, sparse=not sparse, testing=testing), one)


def test_free_features_need_not_win_a_test():
    """Where one of a group is used, the others are searched as A-GBM does."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (400, 64)).astype(float)
    y = 3.0 * X[:, 0] + 0.4 * X[:, 1] + 0.1 * rng.normal(size=400)
    costs = FeatureCosts(feature_groups={"pair": [0, 1]})
    params = {"n_rounds": 6, "max_depth": 3, "min_samples_leaf": 5, "penalty": 0.02}
    task = Task(X, y, np.ones(400), costs=costs, params=params)
    fit = assert_grouped_twin(task, GroupTesting(1, 0.9, 1, None, seed=0))
    assert fit.order == [0, 1] == fit_engine(task).order


def test_without_tests_the_search_is_exact():
    task = make_task(n_rows=400, n_features=30, penalty=0.003)
    testing = GroupTesting(expected_features=30, leaf_size=4)
    with_tests = fit_engine(task, testing=testing)
    assert not make_plan(with_tests.columns, testing).design.has_tests
    assert with_tests.order == fit_engine(task).order


def test_features_with_no_order_are_in_no_group():
    task = make_task(n_rows=200, n_features=40, n_categorical=3)
    columns = fit_engine(task).columns
    plan = make_plan(columns, GroupTesting(expected_features=2, leaf_size=4))
    assert np.flatnonzero(plan.alone).tolist() == [37, 38, 39]
    assert np.unique(plan.members).tolist() == list(range(37))

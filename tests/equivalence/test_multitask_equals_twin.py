"""Several tasks with one price between them: the engine is the naive twin, bit for bit."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import pairwise

import numpy as np
from equivalence.fitting import Task, describe, describe_twin, make_table, naive_codes
from equivalence.problems import WEIGHTS, make_loss
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st
from reference.multitask import boost_tasks

from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import FeatureCosts
from secateur.data.table import Fold
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.multitask import TaskData, TasksData
from secateur.engines.boosted.trees import BoostingParams

COSTS = (
    {},
    {"costs": [0.5, 1.0, 2.0, 1.0]},
    {"feature_groups": ["a", "b", "a", None]},
    {"keep": [1]},
)


@st.composite
def several(draw, *, is_whole=False):
    """Two to four tasks of a few rows on the same four columns, and the penalties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tasks = []
    for _ in range(draw(st.integers(1, 4))):
        n = int(rng.choice([8, 15, 30]))
        X = rng.integers(0, 4, (n, 4)).astype(float)
        X[rng.random(X.shape) < 0.1] = np.nan
        signal = np.nan_to_num(X) @ rng.integers(-1, 3, 4) + 0.5 * rng.normal(size=n)
        name = ["squared_error", "log_loss", "absolute_error"][rng.integers(2 if is_whole else 3)]
        target = (signal > np.median(signal)).astype(float) if name == "log_loss" else signal
        weight = WEIGHTS[rng.integers(len(WEIGHTS))](rng, n)
        tasks.append(Task(X, target, weight, make_loss(name)))
    all_params = {
        "max_depth": draw(st.sampled_from([1, 2, 4])),
        "min_samples_leaf": draw(st.sampled_from([1, 3])),
        "l2": 0.0,
        "leaf": draw(st.sampled_from(["newton", "mean"])),
        "max_features": None if is_whole else draw(st.sampled_from([None, None, 2])),
        "cost_budget": None if is_whole else draw(st.sampled_from([None, None, 1.5])),
    }
    group = draw(st.sampled_from([0.0, 0.01, 0.05, 0.3]))
    own = [draw(st.sampled_from([0.0, 0.01, 0.05, 0.3])) for _ in tasks]
    return tasks, FeatureCosts(**draw(st.sampled_from(COSTS))), group, own, all_params


def fit_tasks(tasks, costs, group, own, all_params, n_rounds=3, rate=0.5):
    cost_model = costs.bind(tasks[0].names)
    starts = np.cumsum([0, *(len(task.target) for task in tasks)])
    with Threads(1) as threads:
        held = []
        for t, task in enumerate(tasks):
            columns = bin_table(make_table(task), task.weight, threads=threads)
            data = BoostedData(columns, task.target, task.weight, task.loss, cost_model, threads)
            place = np.arange(len(task.target))
            least = all_params["min_samples_leaf"]
            held.append(TaskData(str(t), data, starts[t] + place, place, own[t], least))
        data = TasksData(held, cost_model, int(starts[-1]), "loss", 0.5)
        params = BoostingParams(
            criterion="agbm", penalty=group, n_rounds=n_rounds, learning_rate=rate, **all_params
        )
        return list(data.run(data.everything, params).steps)


@examples(40)
@given(several())
def test_tasks_equal_twin(case):
    tasks, costs, group, own, all_params = case
    steps = fit_tasks(*case)
    cost_model = costs.bind(tasks[0].names)
    tables = [(*naive_codes(task), np.zeros(4, bool), task.target, task.weight) for task in tasks]
    rounds, common, each = boost_tasks(
        tables,
        [task.loss for task in tasks],
        cost_model.costs,
        cost_model.keep,
        group,
        own,
        n_rounds=3,
        learning_rate=0.5,
        tree_params=dict(all_params),
    )
    kept = np.flatnonzero(cost_model.keep).tolist()
    assert steps[-1].order.tolist() == kept + common
    for t, model in enumerate(steps[-1].model.models):
        used = kept + (common if own[t] == 0.0 else each[t])
        assert steps[-1].supports[str(t)].tolist() == sorted(used)
        for trees, its_trees in zip(model.ensemble.rounds, rounds, strict=True):
            for tree, nodes in zip(trees, its_trees[t], strict=True):
                assert describe(tree) == describe_twin(nodes, np.zeros(4, bool))
                np.testing.assert_array_equal(tree.value, [0.5 * node.value for node in nodes])


@examples(12)
@given(several())
def test_supports_lie_in_the_common_one_and_never_shrink(case):
    steps = fit_tasks(*case)
    for before, after in pairwise(steps):
        for name, features in before.supports.items():
            assert set(features) <= set(after.supports[name]) <= set(after.support)


def stacked_tasks(case):
    """The data and the parameters of a case; a fold holds out every fourth row."""
    tasks, costs, group, own, all_params = case
    cost_model = costs.bind(tasks[0].names)
    starts = np.cumsum([0, *(len(task.target) for task in tasks)])
    held = []
    for t, task in enumerate(tasks):
        columns = bin_table(make_table(task), task.weight, threads=Threads(1))
        data = BoostedData(columns, task.target, task.weight, task.loss, cost_model, Threads(1))
        place = np.arange(len(task.target))
        least = all_params["min_samples_leaf"]
        held.append(TaskData(str(t), data, starts[t] + place, place, own[t], least, 1.0 + t))
    rows = np.arange(starts[-1])
    params = BoostingParams(criterion="agbm", penalty=group, n_rounds=4, learning_rate=0.5)
    fold = Fold(rows[rows % 4 > 0], rows[rows % 4 == 0])
    return TasksData(held, cost_model, len(rows), "loss", 0.5), replace(params, **all_params), fold


@examples(30)
@given(several(is_whole=True))
def test_trees_grown_in_one_call_each_are_the_same(case):
    data, params, fold = stacked_tasks(case)
    whole = data.whole_fit(fold, params)
    assert (whole is None) == (not data.cost_model.is_plain)
    assert data.whole_fit(fold, replace(params, max_features=2)) is None
    if whole is None:
        return
    run = data.run(fold, params)
    buffers = whole.buffers()
    for last in (1, 4):  # at once and by and by
        deque(whole.grow(last, buffers), 0)
    for n_rounds, step in enumerate(run.steps, start=1):
        same = whole.step(n_rounds)
        assert_same_step(step, same)
        np.testing.assert_array_equal(
            run.fold_losses(step).losses, whole.losses_after(n_rounds).losses
        )
    whole.begin(replace(params, penalty=0.5 * params.penalty))
    deque(whole.grow(4, buffers), 0)
    *_, last = data.run(fold, replace(params, penalty=0.5 * params.penalty)).steps
    assert_same_step(last, whole.step(4))


def assert_same_step(step, same):
    assert same.order.tolist() == step.order.tolist()
    np.testing.assert_array_equal(same.weight, step.weight)
    assert (same.objective, same.cost, same.details) == (step.objective, step.cost, step.details)
    assert {name: its.tolist() for name, its in same.supports.items()} == {
        name: its.tolist() for name, its in step.supports.items()
    }
    for model, its in zip(step.model.models, same.model.models, strict=True):
        for trees, others in zip(model._rounds, its._rounds, strict=True):
            for tree, other in zip(trees, others, strict=True):
                assert describe(tree) == describe(other)
                np.testing.assert_array_equal(tree.value, other.value)

"""Trees that tasks have in common, and the choice between the ways: the twins decide alike."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pandas as pd
from equivalence.fitting import Task, describe, describe_twin, make_table, naive_codes
from equivalence.problems import WEIGHTS, make_loss
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st
from reference.common_trees import boost_common, categories
from reference.multitask import boost_tasks
from reference.multitask_default import Tasks, best_gain, choose, default, penalties
from scipy.sparse import csr_array

from secateur import MultitaskAGBMClassifier, MultitaskAGBMRegressor
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import FeatureCosts
from secateur.data.table import Fold
from secateur.data.target import Target
from secateur.engines.boosted import lazy
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.feature_use import NodeFeatureUse
from secateur.engines.boosted.multitask import CommonData, TaskData
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.fold_losses import FoldLosses, first_near_best
from secateur.model_selection.folds import draw_folds, read_seed

COSTS = (
    {},
    {"costs": [0.5, 1.0, 2.0, 1.0]},
    {"feature_groups": ["a", "b", "a", None]},
    {"costs": [0.5, 1.0, 2.0, 1.0], "keep": [1]},
)
N_ROUNDS, RATE = 3, 0.5


@st.composite
def together(draw):
    """Rows of one to five tasks of different sizes, on four columns with missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.choice([3, 8, 20], draw(st.integers(1, 5)))
    number = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.integers(-1, 3, (len(number), 4)) * rng.integers(0, 2, (len(number), 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    effects = rng.integers(-2, 3, (len(sizes), 4))
    signal = (np.nan_to_num(X) * effects[number]).sum(axis=1) + rng.integers(0, 3, len(sizes))[
        number
    ]
    signal = signal + 0.5 * rng.normal(size=len(X))
    name = ["squared_error", "log_loss", "absolute_error"][rng.integers(3)]
    target = (signal > np.median(signal)).astype(float) if name == "log_loss" else signal
    weight = WEIGHTS[rng.integers(len(WEIGHTS))](rng, len(X))
    rows_of = [np.flatnonzero(number == t) for t in range(len(sizes))]
    held = rng.random(len(X)) < draw(st.sampled_from([0.0, 0.2]))
    held[[rows[0] for rows in rows_of]] = False  # a task has rows that train
    all_params = {
        "max_depth": draw(st.sampled_from([1, 2, 4])),
        "min_samples_leaf": draw(st.sampled_from([1, 3])),
        "l2": draw(st.sampled_from([0.0, 1.0])),
        "leaf": draw(st.sampled_from(["newton", "mean"])),
        "max_features": draw(st.sampled_from([None, None, 2])),
        "cost_budget": draw(st.sampled_from([None, None, 1.5])),
    }
    group = draw(st.sampled_from([0.0, 0.01, 0.05]))
    own = [draw(st.sampled_from([0.0, 0.01, 0.05, 0.3])) for _ in sizes]
    costs = FeatureCosts(**draw(st.sampled_from(COSTS)))
    task = Task(X, target, weight, make_loss(name), costs)
    return task, rows_of, Fold(np.flatnonzero(~held), np.flatnonzero(held)), group, own, all_params


def fit_common(case, task_split_penalty, *, sparse=False, is_lazy=True):
    task, rows_of, fold, group, own, all_params = case
    cost_model = task.costs.bind(task.names)
    with Threads(1) as threads:
        columns = bin_table(make_table(task, sparse=sparse), task.weight, threads=threads)
        plain = BoostedData(columns, task.target, task.weight, task.loss, cost_model, threads)
        tasks = [
            TaskData(str(t), plain, rows, rows, own[t], unit=1.0 + t)
            for t, rows in enumerate(rows_of)
        ]
        data = CommonData.of(plain, tasks, "loss", 1.0)
        params = BoostingParams(
            penalty=group, n_rounds=N_ROUNDS, learning_rate=RATE, lazy=is_lazy, **all_params
        )
        run = replace(data, task_split_penalty=task_split_penalty).run(fold, params)
        steps = list(run.steps)
        found_losses = run.fold_losses(steps[-1]) if len(fold.test) else None
    return steps, found_losses


@examples(40)
@given(together(), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_common_trees_equal_twin(case, task_split_penalty, sparse):
    task, rows_of, fold, group, own, all_params = case
    cost_model = task.costs.bind(task.names)
    table = (*naive_codes(task), np.zeros(4, bool), task.target, task.weight)
    steps, _ = fit_common(case, task_split_penalty, sparse=sparse)
    twin, sets = boost_common(
        table,
        rows_of,
        task.loss,
        cost_model.costs,
        cost_model.keep,
        group,
        own,
        fold.train,
        task_split_penalty=task_split_penalty,
        params={"n_rounds": N_ROUNDS, "learning_rate": RATE, **all_params},
    )
    last = steps[-1]
    assert last.order.tolist() == np.flatnonzero(cost_model.keep).tolist() + twin.first_uses
    assert last.cost == twin.spent
    assert [set(last.supports[str(t)].tolist()) for t in range(len(rows_of))] == sets
    assert [model.code for model in last.model.models] == categories(rows_of)
    is_categorical = np.array([False] * 4 + [True])
    for trees, its_trees in zip(last.model.models[0].ensemble.rounds, twin.rounds, strict=True):
        for tree, nodes in zip(trees, its_trees, strict=True):
            assert describe(tree) == describe_twin(nodes, is_categorical)
            np.testing.assert_array_equal(tree.value, [RATE * node.value for node in nodes])


@examples(20)
@given(together(), st.sampled_from([0.0, 1.0]))
def test_drafts_of_common_trees_are_the_full_search(case, task_split_penalty):
    with mock.patch.multiple(lazy, MIN_LEFT_OUT=1, N_PROMISING=1, MIN_PASSES=0.0):
        drafted, _ = fit_common(case, task_split_penalty)
    full, _ = fit_common(case, task_split_penalty, is_lazy=False)
    for step, same in zip(drafted, full, strict=True):
        assert step.order.tolist() == same.order.tolist()
        rounds = [each.model.models[0].ensemble.rounds for each in (step, same)]
        for trees, its_trees in zip(*rounds, strict=True):
            for tree, its in zip(trees, its_trees, strict=True):
                assert describe(tree) == describe(its)
                np.testing.assert_array_equal(tree.value, its.value)


def test_the_first_split_by_task_costs_once_and_can_be_undone():
    cost_model = FeatureCosts().bind(["a", "b"])
    own, codes, column = np.array([0.05, 0.05]), np.arange(2), 2
    feature_use = NodeFeatureUse(cost_model, (None, None), 0.1, own, codes, 0.0, 0.1)
    np.testing.assert_allclose(feature_use.at_node(0)[1], [0.2, 0.2, 0.1])
    state = feature_use.state()
    feature_use.add_at(0, column)
    np.testing.assert_allclose(feature_use.at_node(0)[1], [0.2, 0.2, 0.0])
    assert feature_use.entered.tolist() == []  # it is no feature
    assert feature_use.total_cost == 0.0
    feature_use.restore(state)
    np.testing.assert_allclose(feature_use.at_node(0)[1], [0.2, 0.2, 0.1])


@examples(15)
@given(together(), st.sampled_from([0.0, 1.0]))
def test_supports_grow_and_are_what_the_trees_ask_of_a_task(case, task_split_penalty):
    task = case[0]
    steps, _ = fit_common(case, task_split_penalty)
    for before, after in pairwise(steps):
        for name, features in before.supports.items():
            assert set(features) <= set(after.supports[name]) <= set(after.support)
    for t, model in enumerate(steps[-1].model.models):
        table = make_table(task)
        spoilt = task.X.copy()
        unasked = np.setdiff1d(np.arange(4), steps[-1].supports[str(t)])
        spoilt[:, unasked] = 1e6
        other = make_table(Task(spoilt, task.target, task.weight))
        np.testing.assert_array_equal(model.raw(table), model.raw(other))


@examples(15)
@given(together())
def test_held_out_losses_come_task_after_task(case):
    task, rows_of, fold, *_ = case
    steps, found_losses = fit_common(case, 1.0)
    if found_losses is None:
        return
    expected = []
    for t, model in enumerate(steps[-1].model.models):
        rows = np.intersect1d(rows_of[t], fold.test)
        raw = model.raw(make_table(task.take(rows))) if len(rows) else np.zeros((1, 0))
        expected.append(task.loss.scores(task.target[rows], raw) / (1.0 + t))
    np.testing.assert_allclose(
        found_losses.losses, np.concatenate(expected), rtol=1e-12, atol=1e-12
    )


# ---- the choice between the ways -----------------------------------------------------------------


@examples(80)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([1, 2, 9, 40]),
    st.sampled_from([0.0, 0.1, 1.0]),
)
def test_the_choice_equals_twin(seed, n_ways, n_rows, noise):
    rng = np.random.default_rng(seed)
    hard = rng.exponential(size=n_rows)
    candidates = [
        hard + noise * rng.normal(size=n_rows) + 0.2 * rng.normal() for _ in range(n_ways)
    ]
    weight = WEIGHTS[rng.integers(3)](rng, n_rows)
    counts = bool(np.all(weight == np.floor(weight)))
    cuts = np.sort(rng.integers(0, n_rows + 1, 2))
    parts = [part for part in np.split(np.arange(n_rows), cuts) if len(part)]
    verdicts = [
        [FoldLosses(losses[part], weight[part], counts=counts) for part in parts]
        for losses in candidates
    ]
    assert first_near_best(verdicts) == choose(candidates, weight)


def stacked(seed, *, is_classes, whole_weights):
    """Three tasks of different sizes, with missing values; nothing, something or all in common."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(np.repeat(np.arange(3), [14, 20, 26]))
    X = rng.integers(-1, 3, (60, 4)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    effects = np.outer(np.ones(3), [1, 1, 0, 0]) if seed % 3 == 0 else rng.integers(-2, 3, (3, 4))
    signal = (np.nan_to_num(X) * effects[number]).sum(axis=1) + (seed % 2) * number
    signal = signal + 0.5 * rng.normal(size=60)
    weight = rng.integers(1, 3, 60).astype(float) if whole_weights else rng.uniform(0.5, 2.0, 60)
    if not is_classes:
        return X, signal, number, weight
    middle = np.array([np.median(signal[number == t]) for t in range(3)])
    return X, (signal > middle[number]).astype(float), number, weight


def twin_tasks(X, y, number, weight, loss, cost_model, fold, all_params, **more):
    whole = Task(X, y, weight, loss)
    rows_of = [np.flatnonzero(number == t) for t in range(3)]
    tables = [
        (*naive_codes(whole.take(rows)), np.zeros(4, bool), y[rows], weight[rows])
        for rows in rows_of
    ]
    unit = [1.0] * 3
    if loss.name == "squared_error":
        for t, rows in enumerate(rows_of):
            raw = np.full((1, len(rows)), loss.baseline(y[rows], weight[rows])[0])
            unit[t] = np.average(loss.pointwise(y[rows], raw), weights=weight[rows])
    table = (*naive_codes(whole), np.zeros(4, bool), y, weight)
    limits = {"max_features": None, "cost_budget": None}
    return Tasks(
        tables, table, rows_of, loss, unit, cost_model.costs, cost_model.keep, fold.train,
        fold.test,
        params=all_params, limits=limits, **more,
    )  # fmt: skip


@examples(3)
@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans(), st.sampled_from(COSTS))
def test_the_default_equals_twin(seed, is_classes, whole_weights, sparse, costs):
    X, y, number, weight = stacked(seed, is_classes=is_classes, whole_weights=whole_weights)
    cls = MultitaskAGBMClassifier if is_classes else MultitaskAGBMRegressor
    all_params = {"max_depth": 2, "min_samples_leaf": 2, "l2": 0.0, "leaf": "newton"}
    model = cls(
        cv=1, cut="best", max_iter=3, learning_rate=RATE, max_depth=2, min_samples_leaf=2,
        n_iter_no_change=2, random_state=0, **costs,
    )  # fmt: skip
    table = csr_array(np.nan_to_num(X)) if sparse else X
    X = np.nan_to_num(X) if sparse else X
    model.fit(table, y, sample_weight=weight, task=number)
    loss = make_loss("log_loss" if is_classes else "squared_error")
    mixed = 2 * number + y if is_classes else number
    seed = read_seed(0)
    (fold,) = draw_folds(Target(mixed.astype(float), np.arange(6)), 1, random_state=seed)
    cost_model = FeatureCosts(**costs).bind([f"x{j}" for j in range(4)])
    more = {"n_rounds": 3, "rate": RATE, "patience": 2}
    tasks = twin_tasks(X, y, number, weight, loss, cost_model, fold, all_params, **more)
    way, paths = default(tasks)
    assert model.common_trees_ == (way > 0)
    steps = paths[way]
    np.testing.assert_allclose([step.penalty for step in model.path_], [s[0] for s in steps])
    for step, (_, n_rounds, losses, sets) in zip(model.path_, steps, strict=True):
        if any(sets):  # without features all rounds are alike, but for rounding
            assert step.details["round"] == n_rounds
        np.testing.assert_allclose(step.score.mean, np.average(losses, weights=tasks.weight))
        assert [set(step.supports[str(t)].tolist()) for t in range(3)] == sets


@examples(10)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(COSTS))
def test_missing_labels_equal_twin(seed, sparse, costs):
    """Columns of labels with gaps: a task is its labelled rows, in bins of all."""
    X, y, _, _ = stacked(seed, is_classes=False, whole_weights=True)
    X = np.nan_to_num(X) if sparse else X
    rng = np.random.default_rng(seed)
    Y = np.column_stack([y, np.nan_to_num(X) @ [1.0, 0.0, -1.0, 0.0] + 0.1 * rng.normal(size=60)])
    Y[rng.random(Y.shape) < 0.3] = np.nan
    own = {"a": 0.02, "b": 0.05}
    all_params = {"max_depth": 2, "min_samples_leaf": 2}
    model = MultitaskAGBMRegressor(
        group_penalty=0.03, task_penalty=own, max_iter=N_ROUNDS, learning_rate=RATE,
        cut=None, **all_params, **costs,
    )  # fmt: skip
    model.fit(csr_array(X) if sparse else X, pd.DataFrame(Y, columns=["a", "b"]))
    codes, n_bins = naive_codes(Task(X, y, np.ones(60)))
    cost_model = FeatureCosts(**costs).bind([f"x{j}" for j in range(4)])
    numbers = np.zeros(4, bool)
    labelled = [np.flatnonzero(~np.isnan(Y[:, t])) for t in range(2)]
    rounds, common, each = boost_tasks(
        [(codes[r], n_bins, numbers, Y[r, t], np.ones(len(r))) for t, r in enumerate(labelled)],
        [make_loss("squared_error")] * 2,
        cost_model.costs,
        cost_model.keep,
        0.03,
        list(own.values()),
        n_rounds=N_ROUNDS,
        learning_rate=RATE,
        tree_params={
            **all_params, "l2": 0.0, "leaf": "newton", "max_features": None, "cost_budget": None
        },
    )  # fmt: skip
    last = model.path_[len(model.path_) - 1]
    kept = set(np.flatnonzero(cost_model.keep).tolist())
    assert set(last.support.tolist()) == kept | set(common)
    for t, name in enumerate(own):
        assert set(last.supports[name].tolist()) == kept | set(each[t])
        ours = last.model.models[t].ensemble.rounds
        for trees, its_trees in zip(ours, rounds, strict=True):
            for tree, nodes in zip(trees, its_trees[t], strict=True):
                assert describe(tree) == describe_twin(nodes, numbers)


@examples(10)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(COSTS))
def test_the_grid_with_missing_labels_equals_twin(seed, sparse, costs):
    X, y, number, weight = stacked(seed, is_classes=False, whole_weights=seed % 2 == 0)
    X = np.nan_to_num(X) if sparse else X
    Y = np.where(number[:, None] == np.arange(3), np.nan, y[:, None] + [0.0, 50.0, -3.0])
    all_params = {"max_depth": 2, "min_samples_leaf": 2}
    model = MultitaskAGBMRegressor(cv=1, cut=None, max_iter=1, **all_params, **costs)
    model.fit(csr_array(X) if sparse else X, Y, sample_weight=weight)
    codes, n_bins = naive_codes(Task(X, y, weight))
    cost_model = FeatureCosts(**costs).bind([f"x{j}" for j in range(4)])
    tables = []
    for t in range(3):
        rows = np.flatnonzero(number != t)
        tables.append((codes[rows], n_bins, np.zeros(4, bool), Y[rows, t], weight[rows]))
    tasks = Tasks(
        tables, (), [], make_loss("squared_error"), [], cost_model.costs, cost_model.keep, (), (),
        1, RATE, 1, params={**all_params, "l2": 0.0, "leaf": "newton"}, limits={},
    )  # fmt: skip
    expected = penalties(tasks, np.median([best_gain(table, tasks) for table in tables]))
    found = [step.penalty for step in model.path_]
    np.testing.assert_allclose(found, expected[: len(found)])

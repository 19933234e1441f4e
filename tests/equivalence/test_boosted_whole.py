"""Trees and rounds grown in one call are those grown step by step, bit for bit."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from equivalence.fitting import assert_same_fit, fit_engine, fit_whole
from equivalence.problems import tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur import AGBMClassifier, open_table
from secateur._kernels import boosting
from secateur._kernels.threads import Threads
from secateur.data.costs import FeatureCosts
from secateur.engines.boosted import engine, grower, whole_fit
from secateur.engines.boosted.grower import WholeTrees
from secateur.engines.boosted.trees import BoostingParams


class Counted(WholeTrees):
    """Counts the trees that are grown whole."""

    n_grown = 0

    def grow(self, *args):
        Counted.n_grown += 1
        return super().grow(*args)


def fit_both(task, monkeypatch, *, sparse):
    with monkeypatch.context() as patch:
        patch.setattr(grower, "WholeTrees", Counted)
        Counted.n_grown = 0
        whole = fit_engine(task.with_params(whole=True), sparse=sparse)
        levels = fit_engine(task.with_params(whole=False), sparse=sparse)
    return whole, levels, Counted.n_grown


@examples(50)
@given(tasks(), st.booleans())
def test_whole_trees_are_trees_level_by_level(task, sparse):
    with pytest.MonkeyPatch.context() as monkeypatch:
        whole, levels, _ = fit_both(task, monkeypatch, sparse=sparse and not task.categories)
    assert_same_fit(whole, levels)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 0.002])
@pytest.mark.parametrize("loss", ["log_loss", "multinomial"])
def test_they_are_what_a_small_fit_uses(loss, penalty, sparse, monkeypatch):
    task = make_task(
        loss, n_rows=900, n_features=60, sparse_share=0.8, missing_share=0.02, weights="floats",
        penalty=penalty, n_rounds=6, max_depth=5, subsample=0.8,
    )  # fmt: skip
    whole, levels, n_grown = fit_both(task, monkeypatch, sparse=sparse)
    assert n_grown == 6 * len(np.atleast_2d(whole.raw))
    assert len(whole.order) > 2
    assert_same_fit(whole, levels)


@pytest.mark.parametrize("penalty", [0.0, 0.002])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial"])
def test_histograms_that_are_not_stored(loss, penalty, monkeypatch):
    monkeypatch.setattr(grower, "MIN_BINS", 100)
    task = make_task(loss, n_rows=90, n_features=40, penalty=penalty, n_rounds=6, weights="floats")
    whole, _ = fit_whole(task)
    assert len(whole.order) > 2
    assert_same_fit(whole, fit_engine(task.with_params(whole=False)))


@pytest.mark.parametrize("limit", [{"max_features": 3}, {"cost_budget": 2.6}])
@pytest.mark.parametrize("penalty", [0.0, 0.001])
def test_limits_hold(limit, penalty, monkeypatch):
    costs = FeatureCosts(np.linspace(0.2, 3.0, 20))
    task = make_task(n_rows=400, n_features=20, penalty=penalty, n_rounds=10, costs=costs)
    whole, levels, n_grown = fit_both(task.with_params(**limit), monkeypatch, sparse=False)
    assert n_grown == 10
    assert len(whole.order) > 1
    assert len(whole.order) < len(fit_engine(task).order)
    assert_same_fit(whole, levels)


def test_other_prices_are_left_to_levels(monkeypatch):
    costs = FeatureCosts(feature_groups=list("abcd" * 5))
    task = make_task(n_rows=400, n_features=20, costs=costs)
    assert fit_both(task, monkeypatch, sparse=False)[2] == 0


@given(tasks(losses=("squared_error", "log_loss", "multinomial")), st.booleans(), st.integers(0, 6))
def test_rounds_in_one_call_are_rounds_one_by_one(task, sparse, n_held):
    task, n_held = task.with_params(subsample=1.0, whole=True), min(n_held, len(task.X) // 3)
    if not task.costs.bind(task.names).is_plain:
        task = replace(task, costs=FeatureCosts())
    held, sparse = range(n_held), sparse and not task.categories
    stepwise = fit_engine(task, sparse=sparse, held=held)
    whole, fit = fit_whole(task, sparse=sparse, held=held)
    assert_same_fit(whole, stepwise)
    for one, other in zip(whole.steps, stepwise.steps, strict=True):
        assert one.order.tolist() == other.order.tolist()
        assert (one.objective, one.cost) == (other.objective, other.cost)
    if n_held:
        block = stepwise.blocks[0]
        losses = task.loss.scores(task.target[:n_held], block.raw[:, :n_held])
        assert fit.losses_after(len(whole.steps)).losses.tolist() == losses.tolist()


@pytest.mark.parametrize("limit", [{"max_features": 3}, {"cost_budget": 2.6}])
@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "squared_error"])
def test_limits_hold_in_rounds_of_one_call(limit, loss):
    costs = FeatureCosts(np.linspace(0.2, 3.0, 20))
    task = make_task(loss, n_rows=300, n_features=20, penalty=0.001, n_rounds=8, costs=costs)
    task = task.with_params(**limit)
    whole, fit = fit_whole(task, held=range(0, 300, 7))
    assert_same_fit(whole, fit_engine(task, held=range(0, 300, 7)))
    supports = [step.n_features for step in fit.steps()]
    assert supports == sorted(set(supports))
    assert supports[-1] == len(whole.order) > 1


def test_a_fit_can_be_begun_again_at_another_penalty():
    task = make_task("log_loss", n_rows=300, n_features=20, penalty=0.05, n_rounds=6)
    _, fit = fit_whole(task)
    fit.begin(BoostingParams(**{**task.params, "penalty": 0.001}))
    deque(fit.grow(2, fit.buffers()), 0)
    deque(fit.grow(6, fit.buffers()), 0)
    other = fit_engine(task.with_params(penalty=0.001)).steps[-1]
    assert fit.step(6).order.tolist() == other.order.tolist()
    assert fit.step(6).objective == other.objective


def test_folds_with_different_bins_share_buffers():
    """A column that only some folds can split on makes their histograms wider."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    X[:100, 1:] = 0.0  # the last rows alone differ
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    folds = [(np.arange(100), np.arange(100, 120)), (np.arange(20, 120), np.arange(20))]
    params = {"cv": folds, "max_iter": 8, "n_jobs": 1, "min_samples_leaf": 5, "random_state": 0}
    whole = AGBMClassifier(**params).fit(X, y)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(engine, "suits", lambda *_, **__: False)
        stepwise = AGBMClassifier(**params).fit(X, y)
    for one, other in zip(whole.path_, stepwise.path_, strict=True):
        assert one.support.tolist() == other.support.tolist()
        assert (one.objective, one.score.mean) == (other.objective, other.score.mean)


@pytest.mark.parametrize("limit", [{}, {"max_features": 3}])
@pytest.mark.parametrize("n_threads", [2, 3])
def test_outputs_grown_side_by_side_are_those_one_after_the_other(limit, n_threads, monkeypatch):
    task = make_task("multinomial", n_rows=300, n_features=25, penalty=1e-4, n_rounds=8)
    task = task.with_params(**limit)
    held, calls = range(0, 300, 7), []
    one, _ = fit_whole(task, held=held)
    original = boosting.grow_outputs
    monkeypatch.setattr(whole_fit, "MIN_SHARED", 1)
    monkeypatch.setattr(boosting, "grow_outputs", lambda *args: calls.append(1) or original(*args))
    with Threads(n_threads) as threads:
        _, fit = fit_whole(task, held=held)
        fit._block.threads = threads
        fit.begin(BoostingParams(**task.params))
        steps = list(fit.steps())
    assert len(calls) > 8  # trees of features that others used first were grown again
    assert len(steps) >= 1 + (not limit)
    for step in steps:
        same = one.steps[step.details["round"] - 1]
        assert step.order.tolist() == same.order.tolist()
        assert step.objective == same.objective
    assert fit._block.raw.tolist() == one.blocks[0].raw.tolist()


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("max_cells", [0, 10**6])
def test_large_tables_are_not_grown_in_one_call(on_disk, max_cells, monkeypatch):
    """Those on disk neither, whose columns have no codes."""
    calls = []
    original = whole_fit.boost_rounds
    monkeypatch.setattr(grower, "MAX_DENSE", max_cells)
    monkeypatch.setattr(whole_fit, "boost_rounds", lambda *args: calls.append(1) or original(*args))
    X = np.random.default_rng(0).normal(size=(200, 5))
    given = (open_table(X, X[:, 0] > 0),) if on_disk else (X, X[:, 0] > 0)
    AGBMClassifier(penalty=0.01, max_iter=3, early_stopping=False).fit(*given)
    assert bool(calls) == (max_cells > 0)

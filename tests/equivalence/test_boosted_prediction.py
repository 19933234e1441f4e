"""Predictions: of any round, of rows that did not train, from raw values and from codes."""

from __future__ import annotations

import numpy as np
import pytest
from equivalence.fitting import fit_engine, make_table
from equivalence.problems import LOSSES, tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur._kernels.threads import Threads


@examples(40)
@given(tasks(), st.sampled_from([1.0, 0.5]))
def test_raw_values_lead_to_the_leaves_that_codes_lead_to(task, subsample):
    fit = fit_engine(task.with_params(subsample=subsample))
    np.testing.assert_array_equal(fit.steps[-1].model.raw(make_table(task)), fit.raw)


@examples(25)
@given(tasks(categories=False))
def test_sparse_tables_predict_what_dense_ones_do(task):
    fit = fit_engine(task, sparse=True)
    model = fit.steps[-1].model
    np.testing.assert_array_equal(model.raw(make_table(task, sparse=True)), fit.raw)
    np.testing.assert_array_equal(model.raw(make_table(task)), fit.raw)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_a_step_predicts_what_a_shorter_fit_predicts(loss, subsample):
    task = make_task(loss, n_categorical=2, missing_share=0.1, penalty=0.001, subsample=subsample)
    table = make_table(task)
    long = fit_engine(task)
    for n_rounds in (1, 3, 8):
        short = fit_engine(task.with_params(n_rounds=n_rounds))
        step = long.steps[n_rounds - 1]
        assert step.details["round"] == n_rounds
        np.testing.assert_array_equal(step.model.raw(table), short.raw)
        np.testing.assert_array_equal(step.order, short.steps[-1].order)
        assert step.objective == short.steps[-1].objective
        np.testing.assert_array_equal(step.model.response(table), task.loss.response(short.raw))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "multinomial", "absolute_error"])
def test_held_rows_get_the_predictions_of_rows_never_seen(loss, sparse):
    task = make_task(loss, sparse_share=0.5, missing_share=0.1, weights="floats", penalty=0.001)
    held = np.arange(1, 600, 3)
    train = np.setdiff1d(np.arange(600), held)
    fit = fit_engine(task, sparse=sparse, held=held)
    raw = fit.steps[-1].model.raw(make_table(task, sparse=sparse))
    np.testing.assert_array_equal(raw, fit.raw)
    # Their targets and weights have no say (a weight moves cuts, so only beyond the binning).
    other = task.target.copy()
    other[held] = task.target[held][::-1]
    same = fit_engine(type(task)(**{**vars(task), "target": other}), sparse=sparse, held=held)
    np.testing.assert_array_equal(same.raw, fit.raw)
    assert [step.objective for step in same.steps] == [step.objective for step in fit.steps]
    assert len(train) == 400


def test_the_objective_is_the_weighted_mean_loss_of_the_training_rows():
    task = make_task("poisson", weights="floats")
    held = np.arange(100)
    fit = fit_engine(task, held=held)
    losses = task.loss.pointwise(task.target, fit.raw)[100:]
    expected = np.average(losses, weights=task.weight[100:])
    assert fit.steps[-1].objective == pytest.approx(expected, rel=1e-12)
    objectives = [step.objective for step in fit.steps]
    assert objectives == sorted(objectives, reverse=True)


def test_threads_share_the_rows_of_a_prediction():
    task = make_task(n_rows=5000)
    model = fit_engine(task).steps[-1].model
    one = model.raw(make_table(task))
    with Threads(3) as threads:
        np.testing.assert_array_equal(model.raw(make_table(task), threads), one)


def test_weights_of_a_step_are_the_gains_of_its_splits():
    fit = fit_engine(make_task(penalty=0.001, n_rounds=4))
    total = np.zeros(12)
    for (tree,) in fit.rounds:
        for feature, left, gain in zip(tree.feature, tree.left, tree.gain, strict=True):
            if left >= 0:
                total[feature] += gain
    last = fit.steps[-1]
    np.testing.assert_allclose(last.weight, total[last.support], rtol=1e-12)
    np.testing.assert_array_equal(last.model.importances(12), total)
    np.testing.assert_array_equal(last.model.features, np.flatnonzero(total))

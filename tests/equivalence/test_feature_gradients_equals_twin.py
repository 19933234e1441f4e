"""The search follows the twin step by step, and finds what is there to be found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import feature_gradients as twin

from secateur import FeatureGradientsSelector
from secateur._kernels.threads import Threads
from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.data.table import Problem
from secateur.data.target import read_target
from secateur.engines.feature_gradients.batches import (
    SearchParams,
    contrasts,
    make_batches,
    standardize_contrasts,
)
from secateur.engines.feature_gradients.objective import Objective
from secateur.engines.feature_gradients.search import Adam, updates

ONE = Threads(1)


def make_problem(X, y, target_type, **costs):
    table = read_table(X)
    kind = "regression" if target_type == "regression" else "classification"
    cost_model = as_costs(**costs).bind(table.names)
    return Problem(table, read_target(y, target_type=kind), np.ones(len(y)), cost_model, kind)


def table_and_target(target_type, n=60):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, 7)) * (rng.random((n, 7)) < 0.6)
    signal = X[:, 1] - X[:, 4] + 0.3 * rng.normal(size=n)
    y = signal if target_type == "regression" else np.digitize(signal, [-0.7, 0.7])
    return X, y


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("target_type", ["regression", "classification", "ordinal"])
@pytest.mark.parametrize("order", [1, 3, 8])
def test_search_follows_the_twin(kind, target_type, order):
    X, y = table_and_target(target_type)
    price = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0])
    problem = make_problem(kind(X), y, target_type, value=price)
    params = SearchParams(target_type, order=order, batch_size=30, seed=3)
    batches = make_batches(problem, params, ONE)
    adam = Adam(batches.units.initial_v(0.0))
    rng = np.random.default_rng(5)
    for _ in range(2):
        list(updates(batches, params, lambda: 0.7, adam, rng))

    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    standard /= np.sqrt(batches.estimator._scale)
    targets = standardize_contrasts(contrasts(problem.target, target_type), np.ones(len(y)))
    again = np.random.default_rng(5)
    drawn = [batch.rows for _ in range(2) for batch in batches.draw(params, again)]
    curve = twin.residual_variance if target_type == "regression" else twin.error_rate
    *_, expected = twin.search(standard, targets, order, 0.7, price, drawn, curve)
    np.testing.assert_allclose(adam.v, expected, atol=2e-3 if order < 7 else 1e-4)


def test_batches_are_even_and_hold_all_rows():
    X, y = table_and_target("regression", n=107)
    params = SearchParams("regression", batch_size=30)
    problem = make_problem(X, y, "regression")
    batches = make_batches(problem, params, ONE)
    drawn = list(batches.draw(params, np.random.default_rng(0)))
    assert [len(batch.rows) for batch in drawn] == [27, 27, 27, 26]
    assert sorted(np.concatenate([batch.rows for batch in drawn])) == list(range(107))


def test_objectives_are_the_twins():
    z = np.array([-0.5, 0.0, 0.005, 0.01, 0.3, 1.0, 1.2])
    for kind, other in (("residual variance", twin.residual_variance),
                        ("error rate", twin.error_rate)):  # fmt: skip
        objective = Objective(kind)
        np.testing.assert_allclose(objective.value(z), [other(value)[0] for value in z])
        np.testing.assert_allclose(objective.derivative(z), [other(value)[1] for value in z])


def test_the_soft_maximum_of_classes_and_its_slopes():
    z = np.array([0.1, 0.4, 0.9])
    soft, mean = Objective("error rate", is_soft_maximum=True), Objective("error rate")
    losses = (1.0 - np.sqrt(z)) / 2.0
    expected = 0.1 * np.log(np.mean(np.exp(losses / 0.1)))
    assert soft.over_targets(z) == pytest.approx(expected)
    assert mean.over_targets(z) < soft.over_targets(z) < losses.max()
    for k in range(3):
        step = np.eye(3)[k] * 1e-6
        slope = (soft.over_targets(z + step) - soft.over_targets(z - step)) / 2e-6
        assert soft.by_target(z)[k] / 3 == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(mean.by_target(z), mean.derivative(z))
    np.testing.assert_allclose(soft.by_target(z[:1]), mean.derivative(z[:1]))  # two classes


def test_the_softmax_favours_the_class_that_is_hard_to_tell():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(900, 10))
    X[:, 0] += 3.0 * (y == 0)  # class 0 is easy, 1 against 2 is hard
    X[:, 1] += 0.8 * (y == 1)
    scores = {
        kind: FeatureGradientsSelector(penalty=0.5, multiclass=kind, random_state=0)
        .fit(X, y)
        .scores_
        for kind in ("mean", "softmax")
    }
    assert scores["softmax"][1] - scores["softmax"][0] > scores["mean"][1] - scores["mean"][0]


def test_the_error_rate_is_that_of_two_normal_classes():
    z, share = np.array([-0.5, 0.0, 0.2, 0.5, 1.0, 1.2]), np.array([0.2])
    found = Objective("error rate").estimate(z, share)
    assert found[[0, 1]] == pytest.approx(0.2)  # nothing to learn: the smaller class is wrong
    assert found[[4, 5]] == pytest.approx(0.0, abs=1e-9)
    assert (np.diff(found) <= 0.0).all()
    # z = .5 of equal classes: their means are two standard deviations apart
    assert Objective("error rate").estimate(z[[3]], np.array([0.5])) == pytest.approx(
        0.1587, abs=1e-4
    )
    np.testing.assert_allclose(Objective("residual variance").estimate(z, share), 1.0 - z)


def test_accumulated_batches_give_one_update_of_their_mean():
    X, y = table_and_target("regression")
    problem = make_problem(X, y, "regression")
    moved = []
    for accumulate in (1, 2, 9):
        params = SearchParams("regression", order=2, batch_size=30, accumulate=accumulate, seed=1)
        batches = make_batches(problem, params, ONE)
        adam = Adam(batches.units.initial_v(0.0))
        list(updates(batches, params, lambda: 0.1, adam, np.random.default_rng(0)))
        moved.append(adam.n_steps)
    assert moved == [2, 1, 1]

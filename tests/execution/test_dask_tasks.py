"""Comparisons and candidates on worker processes give the same results as in this process."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from execution.clusters import addresses, kill_one, start
from model_selection.odd_methods import Odd
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Comparison, DaskExecutor, FeatBoostClassifier, FeatBoostRegressor, compare
from secateur.engines.feature_gradients import batches
from secateur.exceptions import ClusterError, InterruptedWarning, ParameterError
from secateur.execution import dask as dask_executor
from secateur.model_selection.comparison import TrialStatus

pytestmark = pytest.mark.xdist_group("dask")
SLOW = pytest.mark.slow
OPTIONS = {"validators": "logistic", "cv": 2, "sizes": [1, 3], "random_state": 0}


@pytest.fixture(autouse=True)
def _ready(client):
    """All workers are there."""
    client.wait_for_workers(3)


def problem(n_rows=120, n_features=10):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, n_features)).round(2)
    signal = X[:, 1] - X[:, 4] + 0.5 * X[:, 7]
    y = np.where(signal + 0.4 * rng.normal(size=n_rows) > 0, "yes", "no")
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(n_features)]), y, signal


def results_of(comparison):
    """All that a comparison found, but for the time that it took."""
    return [
        (
            trial.method,
            trial.fold,
            trial.status,
            trial.message,
            [(s.size, s.order.tolist(), dict(s.scores)) for s in trial.subsets],
        )
        for trial in comparison.trials
    ]


# ---- comparisons ----------------------------------------------------------------------------


METHODS = {
    "secateur": secateur.GraftingClassifier(),
    "forward": FeatBoostClassifier(max_features=2),
    "fails": Odd("raises"),
    "first two": Odd(),
}


@pytest.mark.parametrize("n_workers", [2, *(pytest.param(n, marks=SLOW) for n in (1, 3))])
def test_a_comparison_on_a_cluster_equals_a_local_one(client, n_workers):
    X, y, _ = problem()
    executor = DaskExecutor(client, workers=addresses(client)[:n_workers])
    local = compare(X, y, METHODS, **OPTIONS)
    seen = []
    found = compare(
        X, y, METHODS, executor=executor, on_trial=lambda *params: seen.append(params), **OPTIONS
    )
    assert results_of(found) == results_of(local)
    assert [trial.status for trial in found.trials_of("fails")] == [TrialStatus.FAILED] * 2
    assert [(number, total) for _, number, total in seen] == [(k, 8) for k in range(1, 9)]
    assert str(found.ranks()) == str(local.ranks())
    if n_workers == 1:  # with more, a trial may be done before one that began earlier
        tried = [(trial.method, trial.fold) for trial, _, _ in seen]
        assert tried == [(name, fold) for fold in range(2) for name in METHODS]


@SLOW
def test_a_worker_killed_during_a_comparison_costs_nothing_but_time(client):
    X, y, _ = problem()
    methods = {"slow": Odd(seconds=0.5), "slower": Odd(seconds=1.0)}
    local = compare(X, y, methods, **OPTIONS)
    victims = []

    def kill(_, number, __):
        if number == 1:
            victims.append(kill_one(client))

    found = compare(X, y, methods, executor=DaskExecutor(client), on_trial=kill, **OPTIONS)
    assert len(victims) == 1
    assert results_of(found) == results_of(local)


@SLOW
def test_what_takes_too_long_or_dies_is_reported_as_locally(client):
    X, y, _ = problem()
    methods = {"late": Odd(seconds=60.0), "dies": Odd("dies"), "well": Odd()}
    executor = DaskExecutor(client, workers=addresses(client)[:2])
    found = compare(X, y, methods, executor=executor, time_limit=3.0, **OPTIONS)
    local = compare(X, y, methods, time_limit=3.0, **OPTIONS)
    assert results_of(found) == results_of(local)
    assert found.trials_of("late")[0].status is TrialStatus.TIMED_OUT
    assert "ended by itself" in found.trials_of("dies")[0].message


@SLOW
def test_a_method_that_takes_its_workers_with_it_has_failed():
    X, y, _ = problem()
    with start(2) as cluster, Client(cluster) as client:
        found = compare(X, y, {"dies": Odd("dies")}, executor=DaskExecutor(client), **OPTIONS)
    assert {trial.status for trial in found.trials} == {TrialStatus.FAILED}
    assert "must leave its worker alive" in found.trials[0].message


@SLOW
def test_an_interrupted_comparison_goes_on_from_its_file(client, tmp_path):
    X, y, _ = problem()
    executor = DaskExecutor(client, workers=addresses(client)[:2])

    def interrupt(_, number, __):
        if number == 3:
            raise KeyboardInterrupt

    file = tmp_path / "comparison.json"
    with pytest.warns(InterruptedWarning, match="keeps the 3 trials"):
        compare(X, y, METHODS, executor=executor, resume=file, on_trial=interrupt, **OPTIONS)
    assert len(Comparison.load(file).trials) == 3
    seen = []
    found = compare(
        X, y, METHODS, resume=file, on_trial=lambda *params: seen.append(params[1]), **OPTIONS
    )
    # those that failed are tried again
    assert len(seen) >= 5
    assert seen[-1] == 8
    local = compare(X, y, METHODS, **OPTIONS)
    assert sorted(map(str, results_of(found))) == sorted(map(str, results_of(local)))


def test_a_method_that_cannot_travel_has_failed_and_others_have_not(client):
    X, y, _ = problem()
    methods = {"stuck": Odd(seconds=0.0), "well": Odd()}
    methods["stuck"].how = threading.Lock()
    executor = DaskExecutor(client, workers=addresses(client)[:1])
    found = compare(X, y, methods, executor=executor, **OPTIONS)
    assert [t.status for t in found.trials_of("stuck")] == [TrialStatus.FAILED] * 2
    assert "pickle" in found.trials_of("stuck")[0].message
    assert [t.status for t in found.trials_of("well")] == [TrialStatus.DONE] * 2


@SLOW
def test_a_cluster_that_is_lost_leaves_the_trials_that_were_done(monkeypatch):
    monkeypatch.setattr(dask_executor, "PULSE", 0.5)
    X, y, _ = problem()
    with start(1) as cluster, Client(cluster) as client:

        def leave(_, number, __):
            if number == 2:
                cluster.scale(0)

        with pytest.raises(ClusterError, match="must have a worker") as caught:
            compare(
                X,
                y,
                {"slow": Odd(seconds=1.0)},
                executor=DaskExecutor(client, patience=1.0),
                on_trial=leave,
                **{**OPTIONS, "cv": 3},
            )
    assert 2 <= len(caught.value.path.trials) < 3


def test_what_is_no_executor_is_refused():
    X, y, _ = problem()
    with pytest.raises(ParameterError, match=r"'executor' must be None or a DaskExecutor. Got str"):
        compare(X, y, "random", executor="tcp://somewhere", **OPTIONS)


# ---- candidates ----------------------------------------------------------------------------------


def steps_of(selector):
    return [
        (
            step.order.tolist(),
            step.weight.tolist(),
            step.score.mean,
            list(step.score.folds),
            dict(step.details),
        )
        for step in selector.path_
    ]


def assert_same_steps(one, other):
    assert str(steps_of(one)) == str(steps_of(other))
    assert one.stop_reason_ is other.stop_reason_
    assert len(one.path_) > 1


EVALUATORS = ["nearest", "knn", "trees", DecisionTreeClassifier(max_depth=3)]


@pytest.mark.parametrize(
    ("evaluator", "n_workers"),
    [
        ("nearest", 2),
        *(pytest.param(each, 2, marks=SLOW) for each in EVALUATORS[1:]),
        *(pytest.param("knn", n, marks=SLOW) for n in (1, 3)),
    ],
)
def test_candidates_tried_on_a_cluster_have_the_same_scores(client, evaluator, n_workers):
    X, y, _ = problem(200, 12)
    params = {"evaluator": evaluator, "n_candidates": 7, "random_state": 0}
    executor = DaskExecutor(client, workers=addresses(client)[:n_workers])
    local = FeatBoostClassifier(**params).fit(X, y)
    assert_same_steps(local, FeatBoostClassifier(executor=executor, **params).fit(X, y))


@SLOW
@pytest.mark.parametrize("cls", [FeatBoostRegressor, secateur.IISRegressor])
def test_candidates_for_numbers(client, cls):
    X, _, y = problem(200, 12)
    executor = DaskExecutor(client)
    params = {"evaluator": "trees", "random_state": 0, "keep": ["c2"], "costs": 2.0}
    assert_same_steps(cls(**params).fit(X, y), cls(executor=executor, **params).fit(X, y))


@SLOW
def test_a_worker_killed_between_rounds_costs_nothing_but_time(client):
    X, y, _ = problem(200, 12)
    params = {"n_candidates": 8, "random_state": 0, "max_features": 5}
    local = FeatBoostClassifier(**params).fit(X, y)
    victims = []
    executor = DaskExecutor(client)
    plain = executor.map

    def deadly(*given):
        if len(victims) == 0 and plain.__self__.client is executor.client:
            victims.append(kill_one(client))
        return plain(*given)

    executor.map = deadly
    assert_same_steps(local, FeatBoostClassifier(executor=executor, **params).fit(X, y))
    assert len(victims) == 1


def test_an_executor_is_cloned_as_itself_and_not_saved(client):
    executor = DaskExecutor(client)
    selector = FeatBoostClassifier(executor=executor, random_state=0)
    assert clone(selector).executor is executor
    assert copy.deepcopy(selector).executor is executor
    saved = pickle.dumps(selector)
    assert pickle.loads(saved).executor is None  # noqa: S301 - our own
    assert repr(executor).startswith("DaskExecutor('tcp://")


@SLOW
def test_a_validator_of_a_notebook_travels(client):
    X, y, _ = problem()

    class Mine(LogisticRegression):
        """A class that no worker can import."""

    options = {**OPTIONS, "validators": {"mine": Mine(C=0.5)}}
    executor = DaskExecutor(client, workers=addresses(client)[:2])
    found = compare(X, y, "f_classif", executor=executor, **options)
    assert results_of(found) == results_of(compare(X, y, "f_classif", **options))
    assert not found.failures


# ---- batches of Feature Gradients ----------------------------------------------------------------


def test_batches_of_an_update_are_shared_by_the_workers(client):
    X, y, _ = problem(400, 12)
    params = {"penalty": 1.0, "batch_size": 50, "accumulate": 4, "random_state": 0}
    local = secateur.FeatureGradientsSelector(max_epochs=3, **params).fit(X, y)
    for n_workers in (1, 2):
        executor = DaskExecutor(client, workers=addresses(client)[:n_workers])
        selector = secateur.FeatureGradientsSelector(max_epochs=3, executor=executor, **params)
        np.testing.assert_array_equal(selector.fit(X, y).scores_, local.scores_)
    with pytest.raises(ParameterError, match="'accumulate' must be at least 2"):
        selector.set_params(accumulate=1).fit(X, y)
    with pytest.raises(ParameterError, match="'executor' must be None for a stream"):
        selector.fit(iter([(X, y)]))


@SLOW
def test_a_worker_killed_between_updates_is_survived(client, monkeypatch):
    X, y, _ = problem(400, 12)
    params = {"penalty": 1.0, "batch_size": 50, "accumulate": 4, "random_state": 0, "max_epochs": 9}
    local = secateur.FeatureGradientsSelector(**params).fit(X, y)
    victims, plain = [], batches.distributed_gradients

    def deadly(*given):
        gradients = plain(*given)

        def deadly_gradients(*given):
            victims.append(kill_one(client) if len(victims) == 5 else None)
            return gradients(*given)

        return deadly_gradients

    monkeypatch.setattr(batches, "distributed_gradients", deadly)
    found = secateur.FeatureGradientsSelector(executor=DaskExecutor(client), **params).fit(X, y)
    assert len(victims) > 8
    assert victims[5] not in addresses(client)
    np.testing.assert_array_equal(found.scores_, local.scores_)


@SLOW
def test_batches_of_sparse_rows_give_the_same_bits_for_any_number_of_workers(client):
    X, y, _ = problem(400, 30)
    X = csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    params = {"n_features": 3, "batch_size": 50, "accumulate": 4, "random_state": 0}
    found = [
        secateur.FeatureGradientsSelector(
            max_epochs=3, executor=DaskExecutor(client, workers=addresses(client)[:n]), **params
        ).fit(X, y)
        for n in (1, 2, 3)
    ]
    local = secateur.FeatureGradientsSelector(max_epochs=3, **params).fit(X, y)
    for each in found:
        np.testing.assert_array_equal(each.scores_, found[0].scores_)
        np.testing.assert_array_equal(each.support_, local.support_)
        finite = np.isfinite(local.scores_)
        np.testing.assert_allclose(each.scores_[finite], local.scores_[finite], atol=1e-6)


@SLOW
def test_dask_collections_are_streams(client):
    import dask.array as da

    X, y, _ = problem(900, 12)
    params = {"n_features": 3, "random_state": 0}
    blocks = ((X[i : i + 300], y[i : i + 300]) for i in range(0, 900, 300))
    streamed = secateur.FeatureGradientsSelector(**params).fit(blocks)
    lazy = da.from_array(X.to_numpy(), chunks=(300, 12)), da.from_array(y, chunks=300)
    found = secateur.FeatureGradientsSelector(**params).fit(*lazy)
    np.testing.assert_array_equal(found.scores_, streamed.scores_)

"""Fits on real worker processes: the same bits, and faults that are survived or reported."""

from __future__ import annotations

import dask
import numpy as np
import pytest
from distributed import Client
from equivalence.models import assert_same_selector
from execution.clusters import addresses, kill_one, start

import secateur
from secateur.datasets import make_wide
from secateur.engines.boosted import grower
from secateur.exceptions import ClusterError, InputError, ParameterError
from secateur.execution.worker import code_blocks
from secateur.storage import open_table as opening

pytestmark = pytest.mark.xdist_group("dask")
N_ROWS = 4_000
PARAMS = {"penalty": 0.002, "max_iter": 8, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N_ROWS, 40)).round(3)
    X[rng.random(X.shape) < 0.03] = np.nan
    y = np.nan_to_num(X[:, 2]) + np.nan_to_num(X[:, 5] * X[:, 9]) + rng.normal(size=N_ROWS)
    return X, y


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(opening, "BLOCK_ROWS", 600)
    patch.setattr(opening, "MIN_BLOCK_ROWS", 600)
    table = secateur.open_table(*rows, cache=tmp_path_factory.mktemp("cache"))
    patch.undo()
    assert len(table.blocks) == 7
    return table.folder


@pytest.fixture(scope="module")
def local(folder):
    return secateur.AGBMRegressor(**PARAMS).fit(secateur.open_table(folder))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("n_workers", "fan_in"),
    [(2, 8), *(pytest.param(*params, marks=SLOW) for params in [(1, 8), (3, 8), (3, 2)])],
)
def test_any_number_of_workers_gives_the_same_bits(client, folder, rows, local, n_workers, fan_in):
    workers = addresses(client)[:n_workers]
    executor = secateur.DaskExecutor(client, workers=workers, fan_in=fan_in)
    table = secateur.open_table(folder, executor=executor)
    assert_same_selector(local, secateur.AGBMRegressor(**PARAMS).fit(table))
    assert_same_selector(local, secateur.AGBMRegressor(**PARAMS).fit(*rows))


@pytest.mark.slow
def test_folds_classes_samples_and_group_tests(client, tmp_path, rows, monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 1_000)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 1_000)
    X, y = rows
    labels = np.digitize(y, [-1.0, 1.0])
    executor = secateur.DaskExecutor(client)
    table = secateur.open_table(X, labels, cache=tmp_path, executor=executor)
    params = {"max_iter": 4, "random_state": 0, "subsample": 0.8}
    grid = secateur.AGBMClassifier(penalty=[0.01, 0.002], cv=2, **params)
    assert_same_selector(
        grid.fit(X, labels), secateur.AGBMClassifier(**grid.get_params()).fit(table)
    )
    sizes = {"expected_features": 2, "leaf_size": 4, "group_size": 8}
    groups = secateur.GTGBMClassifier(penalty=0.002, **sizes, **params)
    one = groups.fit(X, labels)
    assert_same_selector(one, secateur.GTGBMClassifier(**groups.get_params()).fit(table))


@pytest.mark.slow
def test_several_tasks(client, tmp_path, rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    both = frame.assign(y=y, z=np.where(y > 2, np.nan, np.nan_to_num(X[:, 2]) - y / 2))
    params = {"group_penalty": 0.002, "max_iter": 3, "random_state": 0}
    executor = secateur.DaskExecutor(client, workers=addresses(client)[:2])
    table = secateur.open_table(both, ["y", "z"], cache=tmp_path, executor=executor)
    one = secateur.MultitaskAGBMRegressor(**params).fit(frame, both[["y", "z"]])
    assert_same_selector(one, secateur.MultitaskAGBMRegressor(**params).fit(table))


@pytest.fixture(scope="module")
def stacked(rows, tmp_path_factory):
    """Rows of two tasks on disk, and the common trees that they have in memory."""
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    task = np.where(np.arange(N_ROWS) % 3, "one", "other")
    y = np.where(task == "one", y, 1.0 - y)
    patch = pytest.MonkeyPatch()
    patch.setattr(opening, "BLOCK_ROWS", 600)
    patch.setattr(opening, "MIN_BLOCK_ROWS", 600)
    cache = tmp_path_factory.mktemp("tasks")
    table = secateur.open_table(frame.assign(y=y, t=task), "y", task="t", cache=cache)
    patch.undo()
    assert len(table.blocks) == 7
    one = secateur.MultitaskAGBMRegressor(**TASKS).fit(X, y, task=task)
    return table.folder, one


TASKS = {"group_penalty": 0.002, "common_trees": True, "max_iter": 8, "random_state": 0}


@pytest.mark.parametrize("n_workers", [2, *(pytest.param(n, marks=SLOW) for n in (1, 3))])
def test_common_trees_of_several_tasks(client, stacked, n_workers):
    folder, one = stacked
    executor = secateur.DaskExecutor(client, workers=addresses(client)[:n_workers])
    table = secateur.open_table(folder, executor=executor)
    assert_same_selector(one, secateur.MultitaskAGBMRegressor(**TASKS).fit(table))


@pytest.mark.slow
def test_a_worker_killed_while_common_trees_grow_is_survived(client, stacked, monkeypatch):
    client.wait_for_workers(3)
    folder, one = stacked
    table = secateur.open_table(folder, executor=secateur.DaskExecutor(client, fan_in=2))
    victims = []
    when = _At(monkeypatch, 4, lambda: victims.append(kill_one(client)))
    selector = secateur.MultitaskAGBMRegressor(**TASKS).fit(table)
    assert when.n_trees == 8
    assert victims[0] not in addresses(client)
    assert_same_selector(one, selector)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_the_ways_of_several_tasks_and_group_tests(client, tmp_path, monkeypatch, n_workers):
    """The choice of classes' ways, and group tests, as this process does them on the same table."""
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr(opening, "BLOCK_ROWS", 500)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 500)
    made = make_wide(2_000, 120, 3, 0)
    rng = np.random.default_rng(0)
    task = rng.choice(["a", "b", "c"], len(made.y), p=[0.2, 0.5, 0.3])
    frame = pd.DataFrame(made.X, columns=[f"x{j}" for j in range(120)])
    frame = frame.assign(y=np.where(task == "c", 1 - made.y, made.y), t=task)
    frame["w"] = rng.integers(1, 4, len(frame))
    home = secateur.open_table(frame, "y", task="t", weight="w", cache=tmp_path)
    executor = secateur.DaskExecutor(client, workers=addresses(client)[:n_workers])
    away = secateur.open_table(home.folder, executor=executor)
    groups = {"search": "group_testing", "expected_features": 3, "leaf_size": 4, "group_size": 16}
    more = {"max_iter": 3, "random_state": 0, "subsample": 0.8}
    for params in (
        {"cv": 1, "max_depth": 2},
        {"group_penalty": 0.005, "common_trees": True, **groups},
    ):
        one = secateur.MultitaskAGBMClassifier(**params, **more).fit(home)
        assert_same_selector(one, secateur.MultitaskAGBMClassifier(**params, **more).fit(away))


class _At:
    """Does something before the tree of a certain round is grown."""

    def __init__(self, monkeypatch, number, act):
        self.n_trees = 0
        plain = grower.TreeGrower.grow

        def grow(its, *given):
            self.n_trees += 1
            if self.n_trees == number:
                act()
            return plain(its, *given)

        monkeypatch.setattr(grower.TreeGrower, "grow", grow)


@pytest.mark.parametrize("fan_in", [2, pytest.param(8, marks=SLOW)])
def test_a_worker_killed_in_the_middle_is_survived(client, folder, local, monkeypatch, fan_in):
    client.wait_for_workers(3)
    executor = secateur.DaskExecutor(client, fan_in=fan_in)
    table = secateur.open_table(folder, executor=executor)
    victims = []
    when = _At(monkeypatch, 4, lambda: victims.append(kill_one(client)))
    selector = secateur.AGBMRegressor(**PARAMS).fit(table)
    assert when.n_trees == 8
    assert victims[0] not in addresses(client)
    assert_same_selector(local, selector)


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_on_the_workers(client, folder, monkeypatch):
    client.wait_for_workers(3)
    executor = secateur.DaskExecutor(client)
    store = executor.distribute(code_blocks(secateur.open_table(folder)))
    monkeypatch.setattr(executor, "distribute", lambda _: store)
    table = secateur.open_table(folder, executor=executor)

    def interrupt():
        raise KeyboardInterrupt

    _At(monkeypatch, 3, interrupt)
    with pytest.warns(secateur.exceptions.InterruptedWarning):
        selector = secateur.AGBMRegressor(**PARAMS, on_interrupt="keep").fit(table)
    assert len(selector.path_[-1].model.ensemble.rounds) == 2
    n_fits = [store._ask(address, "n_fits") for address in store.actors]
    assert n_fits == [0] * len(addresses(client))


@pytest.mark.slow
def test_a_lost_cluster_is_reported_and_the_fit_can_go_on(folder, local, monkeypatch):
    dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    cluster = start(2)
    client = Client(cluster)
    executor = secateur.DaskExecutor(client, patience=1.0)
    table = secateur.open_table(folder, executor=executor)
    when = _At(monkeypatch, 5, cluster.close)
    selector = secateur.AGBMRegressor(**PARAMS)
    with pytest.raises(ClusterError, match="go on with resume=") as caught:
        selector.fit(table)
    assert "is kept in 'path_'" in caught.value.__notes__[0]
    assert len(selector.path_[-1].model.ensemble.rounds) == 4
    when.n_trees = 0
    home = secateur.open_table(folder)
    assert_same_selector(local, selector.fit(home, resume=selector.path_))
    assert when.n_trees == 4
    client.close()
    dask.config.refresh()


@pytest.mark.slow
def test_dask_collections_are_fitted_where_the_client_is(client, rows, local, monkeypatch):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    monkeypatch.setattr(opening, "BLOCK_ROWS", 1_000)
    X, y = rows
    lazy = da.from_array(X, chunks=(1_500, 40)), da.from_array(y, chunks=1_000)
    assert_same_selector(local, secateur.AGBMRegressor(**PARAMS).fit(*lazy))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frames = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    assert_same_selector(local, secateur.AGBMRegressor(**PARAMS).fit(*frames))
    with pytest.raises(InputError, match="open_table"):
        secateur.AGBMRegressor(**PARAMS).fit(*lazy, sample_weight=np.ones(len(y)))


def test_workers_in_this_process_are_refused(folder):
    workers = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with Client(processes=False, **workers) as here:
        table = secateur.open_table(folder, executor=secateur.DaskExecutor(here))
        with pytest.raises(ParameterError, match=r"Got Client\(processes=False\)"):
            secateur.AGBMRegressor(**PARAMS).fit(table)


def test_bad_input_is_refused(client):
    with pytest.raises(ParameterError, match=r"must be a dask.distributed.Client. Got str"):
        secateur.DaskExecutor("tcp://somewhere")
    with pytest.raises(ParameterError, match="fan_in"):
        secateur.DaskExecutor(client, fan_in=1)


def test_resume_refuses_other_fits(folder, local):
    table = secateur.open_table(folder)
    for selector, what in (
        (secateur.AGBMRegressor(**{**PARAMS, "learning_rate": 0.2}), "learning_rate"),
        (secateur.GBFSRegressor(**PARAMS), "the selector"),
    ):
        with pytest.raises(InputError, match=what):
            selector.fit(table, resume=local.path_)
    with pytest.raises(InputError, match="Got str"):
        secateur.AGBMRegressor(**PARAMS).fit(table, resume="path.json")

"""What dask may be given as, and how its connection ends: our messages, not those of dask."""

from __future__ import annotations

import logging

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import secateur
from secateur.exceptions import ClusterError, InputError, InputTypeError
from secateur.execution import dask_rows
from secateur.execution.dask_rows import DaskFit, DaskRowStore
from secateur.storage.sources import computed

N_ROWS = 200
SELECTORS = {
    "boosted": secateur.AGBMRegressor(penalty=0.1, max_iter=2, random_state=0),
    "grafting": secateur.GraftingRegressor(l1=0.1, random_state=0),
    "feature gradients": secateur.FeatureGradientsSelector(
        target_type="regression", random_state=0
    ),
}
each_selector = pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)


def frame():
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": X[:, 0] + X[:, 1]})


def unknown_chunks():
    lazy = dd.from_pandas(frame(), npartitions=3)
    return lazy[["a", "b", "c"]].to_dask_array(), lazy["y"].to_dask_array()


@each_selector
def test_chunks_of_unknown_size_are_read(selector):
    X, y = unknown_chunks()
    assert np.isnan(X.shape[0])
    expected = selector.fit(*map(dask.array.from_array, dask.compute(X, y))).support_
    np.testing.assert_array_equal(selector.fit(X, y).support_, expected)


@each_selector
@pytest.mark.parametrize("length", [50, 150, 205])
def test_y_of_another_length_is_counted_as_a_whole(selector, length):
    X = da.from_array(frame()[["a", "b", "c"]].to_numpy(), chunks=(70, 3))
    y = np.resize(frame()["y"].to_numpy(), length)
    for given in (y, da.from_array(y, chunks=60)):
        with pytest.raises(InputError, match=f"{N_ROWS} rows and y of {length} values"):
            selector.fit(X, given)


@each_selector
@pytest.mark.parametrize("kind", ["delayed", "bag"])
def test_other_objects_of_dask_are_refused(selector, kind):
    X = dask.delayed(frame()) if kind == "delayed" else dask.bag.from_sequence([1, 2])
    with pytest.raises(InputTypeError, match=r"dask (Delayed|Bag).*from_delayed"):
        selector.fit(X, frame()["y"])


@pytest.mark.parametrize("kind", ["series", "array", "numpy", "cut otherwise"])
def test_y_beside_a_data_frame(kind):
    X, y = frame()[["a", "b", "c"]], frame()["y"]
    lazy = {
        "series": dd.from_pandas(y, npartitions=3),
        "array": da.from_array(y.to_numpy(), chunks=70),
        "numpy": y.to_numpy(),
        "cut otherwise": dd.from_pandas(y, npartitions=2),
    }[kind]
    table = secateur.open_table(dd.from_pandas(X, npartitions=3), lazy)
    np.testing.assert_array_equal(table.target(), y)


def test_workers_that_end_while_a_partition_is_computed():
    class Killed(Exception):
        allowed_failures = 3

    class Collection:
        def compute(self):
            raise Killed("task")

    with pytest.raises(ClusterError, match="smaller partitions"):
        computed(Collection())


class _Losing:
    """A store whose workers end in every call, as where memory is short."""

    def send(self, _):
        raise RuntimeError("Worker holding Actor was lost")

    def repair(self):
        return True

    def end(self, _):
        pass


def test_workers_that_end_again_and_again(monkeypatch):
    fit = DaskFit(_Losing(), 1, None)
    with pytest.raises(ClusterError, match="memory"):
        fit.sum(len)

    def lose(*_):
        raise RuntimeError("Worker holding Actor was lost")

    monkeypatch.setattr(DaskRowStore, "_give_out", lose)

    class Source:
        n_rows = (1,)

    with pytest.raises(ClusterError, match=f"{dask_rows.MAX_LOST} times"):
        DaskRowStore(None, Source())


@pytest.mark.slow
def test_an_executor_is_closed_once_and_without_a_word(caplog):
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    )
    client = Client(cluster.scheduler_address)
    with secateur.DaskExecutor(client) as executor:
        assert executor.n_workers == 1
    assert client.status == "running"
    with pytest.raises(ClusterError, match="closed"):
        executor.workers()
    other = secateur.DaskExecutor(client)
    assert other.n_workers == 1
    with caplog.at_level(logging.ERROR):
        client.close()
        cluster.close()
        other.close()
        other.close()
    assert not [each for each in caplog.records if each.name == "distributed.client"]

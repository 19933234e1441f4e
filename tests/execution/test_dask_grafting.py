"""Grafting with its table on real worker processes: the same bits for any number of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from execution.clusters import addresses, kill_one

import secateur
from secateur import DaskExecutor, GraftingClassifier, GraftingRegressor
from secateur.exceptions import InputError
from secateur.execution import dask_rows as dask_fit
from secateur.execution import worker as worker_module

pytestmark = pytest.mark.xdist_group("dask")
SLOW = pytest.mark.slow
PARAMS = {"random_state": 0, "cv": 2}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(worker_module, "BLOCK_CELLS", 100 * 20)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(700, 20)) * rng.uniform(0.1, 9.0, 20)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = np.nan_to_num(X[:, 2] - X[:, 5] + X[:, 11]) + rng.normal(size=700)
    return X, y


def steps_of(selector):
    """Everything of a path, to the last bit."""
    return [
        (
            step.order.tolist(),
            step.weight.tolist(),
            step.objective,
            step.score.mean if step.score else None,
            step.model.coef.tolist() if hasattr(step.model, "coef") else None,
        )
        for step in selector.path_
    ]


@pytest.fixture(scope="module")
def with_one(client, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_module, "BLOCK_CELLS", 100 * 20)
        executor = DaskExecutor(client, workers=addresses(client)[:1])
        return GraftingRegressor(executor=executor, **PARAMS).fit(*rows)


@pytest.mark.parametrize("n_workers", [2, pytest.param(3, marks=SLOW)])
def test_any_number_of_workers_gives_the_same_bits(client, rows, with_one, n_workers):
    client.wait_for_workers(3)
    executor = DaskExecutor(client, workers=addresses(client)[:n_workers], fan_in=2)
    found = GraftingRegressor(executor=executor, **PARAMS).fit(*rows)
    assert steps_of(found) == steps_of(with_one)
    local = GraftingRegressor(**PARAMS).fit(*rows)
    np.testing.assert_array_equal(found.support_, local.support_)
    np.testing.assert_allclose(found.coef_, local.coef_, atol=1e-6)
    assert [s.order.tolist() for s in found.path_] == [s.order.tolist() for s in local.path_]


@SLOW
@pytest.mark.parametrize("params", [{"model": "mlp", "max_iter": 4}, {"l0": 0.01, "l1": 0.01}, {}])
def test_classes_networks_prices_and_sparse_tables(client, rows, params):
    client.wait_for_workers(3)
    X, y = np.nan_to_num(rows[0]), np.digitize(rows[1], [-2.0, 2.0])
    X = sp.csr_matrix(np.where(np.abs(X) > 2.0, X, 0.0)) if not params else X
    one, many = (
        GraftingClassifier(executor=DaskExecutor(client, workers=some), **params, **PARAMS).fit(
            X, y
        )
        for some in (addresses(client)[:1], addresses(client))
    )
    assert steps_of(one) == steps_of(many)
    local = GraftingClassifier(**params, **PARAMS).fit(X, y)
    np.testing.assert_array_equal(many.support_, local.support_)


class _At:
    """Does something before a certain order is sent to the hosts."""

    def __init__(self, monkeypatch, number, act):
        self.n_orders = 0
        plain = dask_fit.DaskFit._ask

        def ask(its, call):
            self.n_orders += 1
            if self.n_orders == number:
                act()
            return plain(its, call)

        monkeypatch.setattr(dask_fit.DaskFit, "_ask", ask)


@SLOW
@pytest.mark.parametrize("number", [2, 40])
def test_a_worker_killed_in_the_middle_is_survived(client, rows, with_one, monkeypatch, number):
    client.wait_for_workers(3)
    victims = []
    when = _At(monkeypatch, number, lambda: victims.append(kill_one(client)))
    found = GraftingRegressor(executor=DaskExecutor(client), **PARAMS).fit(*rows)
    assert when.n_orders > number
    assert victims[0] not in addresses(client)
    assert steps_of(found) == steps_of(with_one)


@SLOW
def test_dask_collections_are_fitted_where_the_client_is(client, rows):
    import dask.array as da
    import dask.dataframe as dd

    client.wait_for_workers(3)
    X, y = rows
    local = GraftingRegressor(**PARAMS).fit(X, y)
    lazy = da.from_array(X, chunks=(150, 7)), da.from_array(y, chunks=200)
    found = GraftingRegressor(**PARAMS).fit(*lazy)
    np.testing.assert_array_equal(found.support_, local.support_)
    np.testing.assert_allclose(found.predict(X), local.predict(X), atol=1e-5)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]).assign(y=y)
    named = GraftingRegressor(**PARAMS).fit(dd.from_pandas(frame, npartitions=5), "y")
    assert named.feature_names_in_.tolist() == [f"x{j}" for j in range(20)]
    np.testing.assert_array_equal(named.support_, local.support_)
    executor = DaskExecutor(client, workers=addresses(client)[:2])
    params = GraftingRegressor(executor=executor, **PARAMS).fit(*lazy)
    assert steps_of(params) == steps_of(found)


def test_dask_collections_without_a_cluster(rows):
    da = pytest.importorskip("dask.array")
    X, y = rows
    lazy = da.from_array(X, chunks=(150, 20)), da.from_array(y, chunks=150)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secateur.selectors.grafting_input.current_executor", lambda: None)
        found = GraftingRegressor(**PARAMS).fit(*lazy)
        weight = np.arange(len(y)) % 5  # rows of weight 0 are left out
        weighted = GraftingRegressor(**PARAMS).fit(*lazy, sample_weight=weight)
        with pytest.raises(InputError, match=f"{len(y)}, {len(y) + 1}"):
            GraftingRegressor(**PARAMS).fit(lazy[0], np.append(y, 0.0))
    np.testing.assert_array_equal(found.support_, GraftingRegressor(**PARAMS).fit(X, y).support_)
    local = GraftingRegressor(**PARAMS).fit(X, y, weight)
    np.testing.assert_allclose(weighted.predict(X), local.predict(X), atol=1e-5)


def test_categories_of_a_dask_frame_are_refused():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": np.arange(50.0), "b": pd.Categorical(list("xy") * 25)})
    with pytest.raises(InputError, match="must hold numbers for grafting"):
        GraftingRegressor().fit(dd.from_pandas(frame, npartitions=2), np.arange(50.0))
    with pytest.raises(InputError, match=r"'c'.*'a', 'b'"):
        GraftingRegressor().fit(dd.from_pandas(frame, npartitions=2), "c")


@SLOW
def test_ctrl_c_keeps_the_path(client, rows, monkeypatch):
    client.wait_for_workers(3)

    def interrupt():
        raise KeyboardInterrupt

    _At(monkeypatch, 40, interrupt)
    found = GraftingRegressor(executor=DaskExecutor(client), on_interrupt="keep", **PARAMS)
    with pytest.warns(secateur.exceptions.InterruptedWarning):
        found.fit(*rows)
    assert found.path_.stop_reason is secateur.StopReason.INTERRUPTED
    assert len(found.path_) >= 1

"""Columns in blocks: the sums that a whole table gives, whoever holds the rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from execution.clusters import blocks_here
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur import GraftingClassifier, GraftingRegressor
from secateur._kernels.columns import present_moments
from secateur._kernels.threads import Threads
from secateur.data.frames import read_table
from secateur.data.standardize import standardize_table
from secateur.execution import worker
from secateur.execution.distributed_columns import DistributedColumns
from secateur.execution.worker import number_blocks
from secateur.selectors import grafting


def draw(seed, *, sparse):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 60)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 20.0, p) + 3.0
    X[:, 0] = 5.0
    if sparse:
        X = np.where(rng.random((n, p)) < 0.3, X, 0.0)
    X[rng.random((n, p)) < 0.1] = np.nan
    return X, rng.uniform(0.1, 2.0, n), rng


def both(X, weight, rows, monkeypatch, **parameters):
    """The columns of a table here, and in blocks of so many rows."""
    table = read_table(sp.csr_matrix(X) if parameters.pop("sparse") else X)
    monkeypatch.setattr(worker, "BLOCK_CELLS", rows * X.shape[1])
    source = number_blocks(table)
    over = blocks_here(source, Threads(1))
    spread = DistributedColumns(over, weight, **parameters)
    return standardize_table(table, weight, **parameters), spread


@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**20),
    rows=st.integers(1, 40),
    centre=st.booleans(),
    scale=st.booleans(),
)
def test_blocks_give_the_sums_of_the_whole(sparse, seed, rows, centre, scale):
    X, weight, rng = draw(seed, sparse=sparse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "MAX_BLOCKS", 10_000)
        whole, spread = both(X, weight, rows, patch, sparse=sparse, centre=centre, scale=scale)
    close = {"atol": 1e-9, "rtol": 1e-9}
    np.testing.assert_allclose(spread.shift, whole.shift, **close)
    np.testing.assert_allclose(spread.factor, whole.factor, **close)
    threads, v = Threads(1), rng.normal(size=(2, len(X)))
    np.testing.assert_allclose(spread.dots(v, threads), whole.dots(v, threads), **close)
    shares = np.where(rng.random(len(X)) < 0.6, weight, 0.0)
    shares[0] = 1.0
    shares /= shares.sum()
    for mine, its in zip(
        spread.moments(shares, threads), whole.moments(shares, threads), strict=True
    ):
        np.testing.assert_allclose(mine, its, atol=1e-7)
    mean, inverse = rng.normal(size=X.shape[1]), rng.uniform(0.5, 2.0, X.shape[1])
    for features in (rng.permutation(X.shape[1])[:3], np.arange(X.shape[1])):
        some = np.sort(rng.permutation(len(X))[: len(X) // 2 + 1])
        np.testing.assert_allclose(
            spread.gather(features, some, mean, inverse),
            whole.gather(features, some, mean, inverse),
            **close,
        )
        step = rng.normal(size=len(features))
        np.testing.assert_allclose(
            spread.combine(features, step, mean, inverse),
            whole.combine(features, step, mean, inverse),
            **close,
        )


@settings(max_examples=25)
@given(seed=st.integers(0, 2**20))
def test_moments_of_what_is_there(seed):
    X, weight, _ = draw(seed, sparse=False)
    out = np.empty((4, X.shape[1]))
    present_moments(np.ascontiguousarray(X.T), weight, 0, X.shape[1], *out)
    for j, column in enumerate(X.T):
        there = ~np.isnan(column)
        if not there.any():
            assert not out[:, j].any()
            continue
        w, x = weight[there], column[there]
        mean = (w @ x) / w.sum()
        expected = [w.sum(), mean, w @ (x - mean) ** 2, np.abs(x).max()]
        np.testing.assert_allclose(out[:, j], expected, atol=1e-9)


def in_blocks(selector, X, y, monkeypatch, rows=37):
    """The same fit on blocks in this process."""
    monkeypatch.setattr(worker, "BLOCK_CELLS", rows * X.shape[1])

    def columns(problem, _, threads, params):
        source = number_blocks(problem.table)
        assert len(source.n_rows) > 3
        parameters = {"centre": params.fit_intercept, "scale": params.standardize}
        over = blocks_here(source, threads)
        return DistributedColumns(over, problem.weight, **parameters)

    monkeypatch.setattr(grafting, "make_columns", columns)
    found = selector.fit(X, y)
    monkeypatch.undo()
    return found


@pytest.mark.parametrize("kind", ["dense", "sparse", "holes", "classes", "one by one", "network"])
def test_grafting_on_blocks_selects_what_it_selects_on_the_whole(kind, monkeypatch):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(240, 15))
    X[:, 9] = -2.0 * X[:, 3]  # a mirror image never enters
    y = X[:, 3] - 0.7 * X[:, 6] + 0.3 * rng.normal(size=240)
    cls, parameters = GraftingRegressor, {"random_state": 0, "cv": 3}
    if kind == "sparse":
        X = sp.csr_matrix(np.where(rng.random(X.shape) < 0.4, X, 0.0))
    if kind == "holes":
        X[rng.random(X.shape) < 0.05] = np.nan
    if kind == "classes":
        cls, y = GraftingClassifier, np.digitize(y, [-0.5, 0.5])
    if kind == "one by one":
        parameters |= {"l0": 0.01, "l1": 0.01}
    if kind == "network":
        parameters |= {"model": "mlp", "max_iter": 4, "cv": 2}
    whole = cls(**parameters).fit(X, y)
    blocks = in_blocks(cls(**parameters), X, y, monkeypatch)
    assert [s.order.tolist() for s in blocks.path_] == [s.order.tolist() for s in whole.path_]
    assert blocks.support_.any()
    for mine, its in zip(blocks.path_, whole.path_, strict=True):
        assert mine.objective == pytest.approx(its.objective, rel=1e-6)
        assert (mine.score is None) == (its.score is None) == (kind == "one by one")
        if its.score is not None:  # given penalties are fitted without folds
            assert mine.score.mean == pytest.approx(its.score.mean, rel=1e-5)
    np.testing.assert_allclose(blocks.feature_importances_, whole.feature_importances_, atol=1e-4)


def test_many_free_weights_are_swept_column_by_column(monkeypatch):
    from secateur.engines.grafting import columns as grafting_columns

    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 30))
    y = X @ rng.normal(size=30)
    monkeypatch.setattr(grafting_columns, "MAX_COLUMNS", 5)
    whole = GraftingRegressor(l1=0.01).fit(X, y)
    patch = pytest.MonkeyPatch()
    blocks = in_blocks(GraftingRegressor(l1=0.01), X, y, patch)
    assert whole.support_.sum() > 5
    np.testing.assert_allclose(blocks.coef_, whole.coef_, atol=1e-5)

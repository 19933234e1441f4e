"""Signals and slopes equal the matrix formula of the paper, for all orders, dense and sparse."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import feature_gradients as twin

from secateur._kernels.threads import Threads
from secateur.data.centred import Centred, DenseRows, SparseRows
from secateur.engines.feature_gradients.batches import Batches, best_single_gain, top_eigenvalue
from secateur.engines.feature_gradients.estimator import Batch, make_estimator
from secateur.engines.feature_gradients.objective import Objective

ONE = Threads(1)
ORDERS = range(1, 13)


def dense(X):
    """Rows as they are: nothing is centred here."""
    n = X.shape[1]
    return Centred(DenseRows(X.astype(np.float32)), np.arange(n), X.std(axis=0))


def sparse(Z):
    """Sparse rows, centred implicitly."""
    csr = sp.csr_array(Z.astype(np.float32))
    mean = Z.astype(np.float32).astype(float).mean(axis=0)
    n = Z.shape[1]
    rows = SparseRows(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data, mean)
    return Centred(rows, np.arange(n), Z.std(axis=0))


def value_and_slopes(columns, y, s, order, weight=None, threads=ONE, scale=1.0, rows=None):
    y = np.atleast_2d(y)
    weight = np.ones(y.shape[1]) if weight is None else weight
    rows = np.arange(y.shape[1]) if rows is None else rows
    estimator = make_estimator(columns, order, scale, threads)
    batch = Batch(rows, y, weight)
    estimator.set_inclusion(s)
    z = estimator.add_gradient(batch, Objective("residual variance"))
    slope = estimator.collect()
    np.testing.assert_array_equal(estimator.signals(batch), z)
    return z, -slope  # the objective is 1 - z, the mean over targets


problems = st.tuples(
    st.sampled_from(ORDERS), st.integers(14, 40), st.integers(1, 9), st.integers(0, 10**6)
)


@given(problems)
@settings(max_examples=60)
def test_dense_equals_the_matrix_formula(problem):
    order, n, n_features, seed = problem
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, n_features)) / 2).astype(np.float32).astype(float)
    y, s = rng.normal(size=n), rng.random(n_features)
    z, slopes = value_and_slopes(dense(X), y, s, order)
    size = np.abs(twin.signal_slopes(X, y, s, order)).max() + 1e-6
    rounding = 5e-5 if order < 7 else 1e-9  # carries are float32 up to order 6
    assert z[0] == pytest.approx(twin.signal(X, y, s, order), abs=rounding * (1 + size))
    expected = twin.signal_slopes(X, y, s, order)
    np.testing.assert_allclose(slopes, expected, atol=rounding * size, rtol=0)


@given(problems, st.floats(0.05, 0.9))
@settings(max_examples=60)
def test_sparse_equals_the_matrix_formula_of_centred_rows(problem, density):
    order, n, n_features, seed = problem
    rng = np.random.default_rng(seed)
    Z = np.where(rng.random((n, n_features)) < density, rng.normal(size=(n, n_features)), 0.0)
    Z = Z.astype(np.float32).astype(float)
    X = Z - Z.mean(axis=0)
    y, s = rng.normal(size=n), rng.random(n_features)
    z, slopes = value_and_slopes(sparse(Z), y, s, order)
    expected = twin.signal_slopes(X, y, s, order)
    rounding = (2e-5 if order < 7 else 1e-9) * (1 + np.abs(expected).max())
    assert z[0] == pytest.approx(twin.signal(X, y, s, order), abs=rounding)
    np.testing.assert_allclose(slopes, expected, atol=rounding, rtol=0)


@pytest.mark.parametrize("order", [4, 8])
def test_what_earlier_batches_left_does_not_matter(order):
    rng = np.random.default_rng(12)
    Z = rng.normal(size=(120, 500)) * (rng.random((120, 500)) < 0.02)
    y, s = rng.normal(size=(1, 120)), rng.random(500)
    estimator = make_estimator(sparse(Z), order, 9.0, ONE)
    batches = [Batch(rows, y[:, rows], np.ones(40)) for rows in np.split(rng.permutation(120), 3)]
    found = []
    for base in (0, 7, np.iinfo(np.int32).max - 3):  # the last has no room for more numbers
        estimator._base = max(base, estimator._base)
        estimator.set_inclusion(s)
        z = [estimator.add_gradient(batch, Objective("residual variance")) for batch in batches]
        found.append((z, estimator.collect()))
    assert estimator._base < 10_000
    for z, slopes in found[1:]:
        np.testing.assert_array_equal(z, found[0][0])
        np.testing.assert_array_equal(slopes, found[0][1])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("make", [dense, sparse])
def test_weights_multiply_along_chains(order, make):
    rng = np.random.default_rng(order)
    X = rng.normal(size=(9, 4))
    X -= X.mean(axis=0)
    X = X.astype(np.float32).astype(float)
    y, s, weight = rng.normal(size=9), rng.random(4), rng.random(9) * 3
    z, _ = value_and_slopes(make(X), y, s, order, weight)
    centred = X - X.mean(axis=0) if make is sparse else X
    assert z[0] == pytest.approx(twin.weighted_signal(centred, y, s, order, weight), abs=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("make", [dense, sparse])
def test_slopes_are_finite_differences(order, make):
    rng = np.random.default_rng(order)
    X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.7)
    y, s = rng.normal(size=30), rng.random(5)
    weight = rng.random(30) + 0.5
    columns = make(X)
    _, slopes = value_and_slopes(columns, y, s, order, weight)
    h = 1e-5 if order >= 7 else 1e-2
    for j in range(5):
        step = h * np.eye(5)[j]
        up = value_and_slopes(columns, y, s + step, order, weight)[0]
        down = value_and_slopes(columns, y, s - step, order, weight)[0]
        found = (up - down) / (2 * h)
        assert found[0] == pytest.approx(slopes[j], rel=2e-2, abs=2e-3 * (1 + abs(slopes).max()))


@pytest.mark.parametrize("make", [dense, sparse])
@pytest.mark.parametrize("order", [1, 4, 8])
def test_targets_side_by_side_are_targets_alone(make, order):
    rng = np.random.default_rng(3)
    X, s = rng.normal(size=(50, 600)) / 20, rng.random(600)
    y = rng.normal(size=(3, 50))
    columns = make(X)
    z, slopes = value_and_slopes(columns, y, s, order)
    alone = [value_and_slopes(columns, row, s, order) for row in y]
    np.testing.assert_allclose(z, [value[0] for value, _ in alone], rtol=1e-12)
    mean = np.mean([slope for _, slope in alone], axis=0)
    np.testing.assert_allclose(slopes, mean, rtol=1e-4, atol=1e-6 * np.abs(mean).max())


@pytest.mark.parametrize("make", [dense, sparse])
def test_threads_change_nothing(make):
    rng = np.random.default_rng(4)
    n_rows = 43 if numba.config.DISABLE_JIT else 203  # plain Python is slow
    X = rng.normal(size=(n_rows, 1300)) * (rng.random((n_rows, 1300)) < 0.3)
    y, s = rng.normal(size=(2, n_rows)), rng.random(1300)
    columns = make(X)
    z, slopes = value_and_slopes(columns, y, s, 5, scale=30.0)
    for n_threads in (2, 3):
        with Threads(n_threads) as threads:
            again = value_and_slopes(columns, y, s, 5, scale=30.0, threads=threads)
        np.testing.assert_array_equal(again[0], z)
        np.testing.assert_array_equal(again[1], slopes)


@pytest.mark.parametrize("make", [dense, sparse])
def test_rows_come_in_the_order_that_is_asked_for(make):
    rng = np.random.default_rng(5)
    X, s = rng.normal(size=(40, 6)), rng.random(6)
    X = (X - X.mean(axis=0)).astype(np.float32).astype(float)
    y, rows = rng.normal(size=40), rng.permutation(40)[:25]
    z, slopes = value_and_slopes(make(X), y[rows], s, 3, rows=rows)
    assert z[0] == pytest.approx(twin.signal(X[rows], y[rows], s, 3), abs=1e-5)
    expected = twin.signal_slopes(X[rows], y[rows], s, 3)
    np.testing.assert_allclose(slopes, expected, atol=1e-5 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("order", [4, 6, 7, 12])
def test_high_orders_stay_finite_in_long_batches(order):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6000, 40))
    y = X @ rng.normal(size=40)
    y /= y.std()
    z, slopes = value_and_slopes(dense(X), y, np.ones(40), order, scale=1.1)
    assert np.isfinite(z).all()
    assert np.isfinite(slopes).all()
    assert 0.9 < z[0] < 1.1  # 40 columns explain all of y


def test_the_signal_of_noise_is_nothing_and_of_half_is_half():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 20)).astype(np.float32).astype(float)
    signal = X[:, :4].sum(axis=1) / 2
    for share in (0.0, 0.5, 1.0):
        y = np.sqrt(share) * signal + np.sqrt(1 - share) * rng.normal(size=4000)
        z, _ = value_and_slopes(dense(X), y / y.std(), np.ones(20), 6, scale=1.15)
        assert z[0] == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize("make", [dense, sparse])
def test_power_iteration_finds_the_top_eigenvalue(make):
    rng = np.random.default_rng(8)
    Z = rng.normal(size=(300, 30)) * np.r_[4.0, 2.0, np.ones(28)] * (rng.random((300, 30)) < 0.5)
    columns = make(Z - Z.mean(axis=0) if make is dense else Z)
    found, vector = top_eigenvalue(columns, np.arange(300), ONE)
    assert found == pytest.approx(twin.top_eigenvalue(Z - Z.mean(axis=0)), rel=5e-3)
    assert np.linalg.norm(vector) == pytest.approx(1.0)


@pytest.mark.parametrize("make", [dense, sparse])
def test_shares_of_single_columns_are_squared_correlations(make):
    rng = np.random.default_rng(9)
    Z = rng.normal(size=(100, 5))
    Z -= Z.mean(axis=0)
    y = rng.normal(size=100) + Z[:, 2]
    y = (y - y.mean()) / y.std()
    fixed = (
        None,
        np.arange(100),
        y[None],
        np.ones(100),
        Objective("residual variance"),
        None,
        None,
    )
    shares = [best_single_gain(Batches(make(Z[:, [j]]), *fixed), ONE) for j in range(5)]
    expected = [np.corrcoef(Z[:, j], y)[0, 1] ** 2 for j in range(5)]
    np.testing.assert_allclose(shares, expected, atol=1e-5)


def test_twin_by_cumulative_sums_is_the_twin_by_matrices():
    rng = np.random.default_rng(10)
    X, y, s = rng.normal(size=(20, 4)), rng.normal(size=20), rng.random(4)
    expected = twin.triud(X @ np.diag(s) @ X.T) @ y
    np.testing.assert_allclose(twin.apply_triud(X, s, y), expected)

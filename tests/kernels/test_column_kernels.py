"""Loops over columns and the inner problem, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur._kernels.coordinate_descent import descend_dense, descend_gram, descend_sparse, factor
from secateur._kernels.threads import Threads
from secateur.data.frames import read_table
from secateur.data.standardize import standardize_table

SEEDS = st.integers(0, 2**20)


def draw(seed, *, sparse):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 60)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, p)) + 3.0
    if sparse:
        X = np.where(rng.random((n, p)) < 0.4, X, 0.0)
        X[:, 0] = 0.0
    weight = rng.uniform(0.1, 2.0, n)
    return X, weight, rng


def columns_of(X, weight, sparse, **options):
    return standardize_table(read_table(sp.csr_matrix(X) if sparse else X), weight, **options)


@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=25)
@given(seed=SEEDS)
def test_sums_over_columns(sparse, seed):
    X, weight, rng = draw(seed, sparse=sparse)
    columns = columns_of(X, weight, sparse)
    shares, v = weight / weight.sum(), rng.normal(size=len(X))
    stored = X if columns.is_sparse else (X - columns.shift) / columns.factor
    threads = Threads(1)
    np.testing.assert_allclose(columns.dots(v[None], threads)[0], v @ stored, atol=1e-12)
    mean, spread = columns.moments(shares, threads)
    np.testing.assert_allclose(mean, shares @ stored, atol=1e-12)
    expected = np.sqrt(shares @ (stored - shares @ stored) ** 2)
    np.testing.assert_allclose(spread, np.where(expected > 1e-9, expected, 0), atol=1e-9)
    features = rng.permutation(X.shape[1])[:3]
    rows = np.sort(rng.permutation(len(X))[: len(X) // 2 + 1])
    inverse = rng.uniform(0.5, 2.0, X.shape[1])
    cells = (stored - mean) * inverse
    found = columns.gather(features, rows, mean, inverse)
    np.testing.assert_allclose(found, cells[np.ix_(rows, features)].T, atol=1e-12)
    step = rng.normal(size=len(features))
    found = columns.combine(features, step, mean, inverse)
    np.testing.assert_allclose(found, cells[:, features] @ step, atol=1e-11)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_missing_cells_take_the_mean_of_the_others(seed):
    X, weight, rng = draw(seed, sparse=False)
    gone = rng.random(X.shape) < 0.3
    gone[0] = False
    holes = np.where(gone, np.nan, X)
    mean = np.array(
        [np.average(c[~m], weights=weight[~m]) for c, m in zip(X.T, gone.T, strict=True)]
    )
    filled = np.where(gone, mean, X)
    dense = standardize_table(read_table(holes), weight, scale=False)
    np.testing.assert_allclose(dense.columns.values.T, filled - mean, atol=1e-11)
    np.testing.assert_allclose(dense.fill, mean)


def test_missing_cells_of_sparse_columns():
    X = np.array([[0.0, 2.0, 0.0], [np.nan, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, np.nan, 0.0]])
    columns = standardize_table(read_table(sp.csc_matrix(X)), np.ones(4))
    assert columns.is_sparse
    np.testing.assert_allclose(columns.fill, [4 / 3, 2 / 3, 0.0])
    assert np.isfinite(columns.columns.values).all()


def test_crowded_sparse_tables_are_held_dense():
    assert not columns_of(np.ones((3, 3)), np.ones(3), sparse=True).is_sparse
    assert columns_of(np.eye(3), np.ones(3), sparse=True).is_sparse


def test_flat_columns_far_from_zero_are_flat():
    X = np.column_stack([np.full(50, 1e9 + 1 / 3), np.linspace(0, 1, 50)])
    columns = standardize_table(read_table(X), np.full(50, 0.1))
    assert not columns.columns.values[0].any()


# ---- the inner problem ------------------------------------------------------------------------


def inner_problem(seed):
    X, _, rng = draw(seed, sparse=True)
    d = rng.uniform(0.1, 1.0, len(X)) / len(X)
    r = rng.normal(size=len(X)) / len(X)
    w = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.5)
    t = rng.uniform(0.0, 0.1, X.shape[1])
    ridge = rng.uniform(0.01, 0.1, X.shape[1])
    return X, d, r, w, t, ridge


def minimum(X, d, r, w, t, ridge, fit_intercept):
    """Coordinate descent, as plain as can be."""
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    start = np.append(w, 0.0) if fit_intercept else w.copy()
    t, ridge = (np.append(v, 0.0)[: len(start)] for v in (t, ridge))
    H = Z.T @ (d[:, None] * Z)
    v = start.copy()
    for _ in range(20_000):
        before = v.copy()
        for j in range(len(v)):
            q = Z[:, j] @ r + H[j] @ (v - start) + ridge[j] * v[j]
            a = H[j, j] + ridge[j]
            if a > 0:
                u = v[j] - q / a
                v[j] = np.sign(u) * max(abs(u) - t[j] / a, 0.0)
        if np.abs(v - before).max() < 1e-14:
            break
    return v


def settle(descend, X, d, r, w):
    """Call again until it is done: a call may leave a tenth of what it found to the next."""
    start, intercept = w.copy(), 0.0
    for _ in range(60):
        moved, worst = descend(r + d * (X @ (w - start) + intercept), w)
        intercept += moved
        if worst <= 1e-13:
            break


@pytest.mark.parametrize("fit_intercept", [False, True])
@settings(max_examples=15)
@given(seed=SEEDS)
def test_three_ways_down_meet(fit_intercept, seed):
    X, d, r, w, t, ridge = inner_problem(seed)
    expected = minimum(X, d, r, w, t, ridge, fit_intercept)[: len(w)]
    p = X.shape[1]
    features, mean, inverse = np.arange(p), np.zeros(p), np.ones(p)
    csc = sp.csc_matrix(X)
    fixed = (features, mean, inverse, d, ridge, t, fit_intercept, 1e-13, 20_000)
    dense, sparse = w.copy(), w.copy()
    values = np.ascontiguousarray(X.T)
    settle(lambda r, w: descend_dense(values, *fixed, r, w), X, d, r, dense)
    cells = (csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data)
    settle(lambda r, w: descend_sparse(*cells, *fixed, r, w), X, d, r, sparse)
    np.testing.assert_allclose(dense, expected, atol=1e-7)
    np.testing.assert_allclose(sparse, expected, atol=1e-7)
    centre = (d @ X) / d.sum() if fit_intercept else np.zeros(p)
    Z = X - centre
    H = Z.T @ (d[:, None] * Z) + np.diag(ridge)
    gram, q = w.copy(), Z.T @ r + ridge * w
    descend_gram(np.ascontiguousarray(H), q, t, gram, 1e-13, 20_000)
    np.testing.assert_allclose(gram, expected, atol=1e-7)


def test_sparse_descent_centres_implicitly():
    X, d, r, w, t, ridge = inner_problem(5)
    mean = X.mean(axis=0)
    csc = sp.csc_matrix(X)
    cells = (csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data)
    features, inverse = np.arange(X.shape[1]), np.full(X.shape[1], 0.7)
    found = w.copy()
    fixed = (features, mean, inverse, d, ridge, t, True, 1e-13, 20_000)
    settle(lambda r, w: descend_sparse(*cells, *fixed, r, w), (X - mean) * 0.7, d, r, found)
    expected = minimum((X - mean) * 0.7, d, r, w, t, ridge, True)[: len(w)]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_a_weight_leaves_zero_for_more_than_rounding_only():
    H, t = np.eye(2), np.full(2, 0.1)
    w, q = np.zeros(2), np.array([0.1 * (1 + 1e-14), -0.1 * (1 + 1e-9)])
    descend_gram(H, q, t, w, 1e-15, 10)
    assert w[0] == 0.0
    assert w[1] > 0.0


def test_a_singular_matrix_is_reported():
    assert factor(np.array([[2.0, 0.0], [1.0, 2.0]]))
    assert not factor(np.array([[1.0, 0.0], [1.0, 1.0]]))

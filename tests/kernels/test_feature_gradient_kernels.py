"""Adam on relaxed features, products of power iteration, and chains of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from secateur._kernels.feature_gradients import (
    BETA_1,
    BETA_2,
    EPSILON,
    TILE,
    adam_step,
    rows_times,
    sigmoid,
    sparse_rows_times,
    squash,
    times_rows,
    times_sparse_rows,
)
from secateur._kernels.learnability import slopes_by_feature, symmetric_sums, walk_chains
from secateur._kernels.sparse_learnability import (
    FOUR,
    INCLUSION,
    MEAN,
    add_alone,
    copy_cells,
    fill_cards,
    join_halves,
    renumber,
    set_apart,
    sparse_slopes,
    take_slopes,
    walk_sparse_chains,
)


def test_relaxed_values_are_sigmoids():
    v = np.array([-np.inf, -1.5, 0.0, 0.3, np.inf])
    s = np.empty(5)
    squash(v, s)
    np.testing.assert_allclose(s, 1 / (1 + np.exp(-2 * v)), rtol=1e-14)


def test_sigmoids_are_exact_but_for_the_last_digits():
    x = np.concatenate([np.linspace(-40.0, 40.0, 500), [0.0, 1e-9, -1e-9, -690.0, 800.0]])
    found = [sigmoid(each) for each in x]
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-x)), rtol=1e-15 * 4)


@pytest.mark.parametrize("n", [6, TILE + 3])
def test_steps_are_those_of_adam(n):
    rng = np.random.default_rng(0)
    rate, bound = 0.1, 0.4
    v = rng.normal(size=n) * 0.3
    penalty, s = rng.random(n), 1 / (1 + np.exp(-2 * v))
    first, second = np.zeros(n), np.zeros(n)
    mine, m, u = v.copy(), np.zeros(n), np.zeros(n)
    for step in range(1, 5):
        slope = rng.normal(size=n)
        relaxed = 1 / (1 + np.exp(-2 * mine))
        adam_step(slope, penalty, (0.5, 3.0), rate, step, bound, v, first, second, s)
        g = (0.5 * slope + 3.0 * penalty) * 2 * relaxed * (1 - relaxed)
        m, u = BETA_1 * m + (1 - BETA_1) * g, BETA_2 * u + (1 - BETA_2) * g * g
        moved = rate * m / (1 - BETA_1**step) / (np.sqrt(u / (1 - BETA_2**step)) + EPSILON)
        mine = np.clip(mine - moved, -bound, bound)
        np.testing.assert_allclose(v, mine, rtol=1e-10)
        np.testing.assert_allclose(s, 1 / (1 + np.exp(-2 * mine)), rtol=1e-10)


def test_features_that_are_fixed_do_not_move():
    v, s = np.array([np.inf, -np.inf]), np.array([1.0, 0.0])
    adam_step(np.ones(2), np.ones(2), (1.0, 1.0), 0.1, 1, 5.0, v, np.zeros(2), np.zeros(2), s)
    assert v.tolist() == [np.inf, -np.inf]
    assert s.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_some_rows(sparse):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.6)
    rows, w, t = np.array([8, 0, 3, 3]), rng.normal(size=5), rng.normal(size=4)
    forth, back = np.zeros(4), np.zeros(5)
    if sparse:
        csr = sp.csr_array(X)
        m = X.mean(axis=0)
        cells = (csr.indptr, csr.indices, csr.data, rows)
        sparse_rows_times(*cells, w, float(m @ w), 0, 4, forth)
        times_sparse_rows(*cells, t, back)
        np.testing.assert_allclose(forth, (X - m)[rows] @ w, atol=1e-12)
    else:
        rows_times(X, rows, w, 0, 2, forth)
        rows_times(X, rows, w, 2, 4, forth)
        times_rows(X, rows, t, 0, 3, back)
        times_rows(X, rows, t, 3, 5, back)
        np.testing.assert_allclose(forth, X[rows] @ w, atol=1e-12)
    np.testing.assert_allclose(back, t @ X[rows], atol=1e-12)


def batch_of(Z, s):
    """A batch of all rows: its shared columns, and the cells alone in their column."""
    csr = sp.csr_array(Z)
    n, d = Z.shape
    m = Z.mean(axis=0)
    card = np.zeros((d, 3))
    number = card.view(np.int64)
    number[:, 0] = -1
    M = fill_cards(s, m, card)
    u, ptr, alone_ptr = np.empty(n), *np.empty((2, n + 1), np.int64)
    cells = np.empty(csr.nnz, np.int32), np.empty(csr.nnz), np.empty(csr.nnz)
    met, mean, zm = np.empty(d, np.int32), np.empty(d), np.empty(csr.nnz)
    rows, indptr, alone = np.arange(n), csr.indptr.astype(np.int64), np.empty(csr.nnz, np.int32)
    copy_cells(indptr, csr.indices.astype(np.int32), csr.data, rows, card, cells, zm, u)
    n_met = renumber(cells[0], card, number, 0, met, mean)
    set_apart(indptr, rows, cells, zm, ptr, alone_ptr, alone)
    assert card[0, INCLUSION] == s[0]
    assert card[0, MEAN] == m[0]
    return M, ptr, *cells, u, met[:n_met], mean[:n_met], alone_ptr, alone, zm


def sparse_problem(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(8, 9)) * (rng.random((8, 9)) < 0.3)
    return Z, rng.random(9), rng.normal(size=8)


@pytest.mark.parametrize("seed", range(4))
def test_columns_of_several_cells_are_renumbered_and_others_set_apart(seed):
    Z, s, _ = sparse_problem(seed)
    M, ptr, index, z, zs, u, met, mean, alone_ptr, alone, zm = batch_of(Z, s)
    m, several = Z.mean(axis=0), (Z != 0).sum(axis=0) > 1
    rows, columns = np.nonzero(Z * several)
    met_twice = [j for k, j in enumerate(columns) if j in columns[:k]]
    assert met.tolist() == list(dict.fromkeys(met_twice))
    assert met[index[: ptr[-1]]].tolist() == columns.tolist()
    assert np.repeat(np.arange(8), np.diff(ptr)).tolist() == rows.tolist()
    np.testing.assert_allclose(mean, m[met])
    np.testing.assert_allclose(z[: ptr[-1]], Z[rows, columns])
    np.testing.assert_allclose(zs[: ptr[-1]], (Z * s)[rows, columns])
    rows, columns = np.nonzero(Z * ~several)
    assert alone[: alone_ptr[-1]].tolist() == columns.tolist()
    assert np.repeat(np.arange(8), np.diff(alone_ptr)).tolist() == rows.tolist()
    np.testing.assert_allclose(zm[: alone_ptr[-1]], (Z * m)[rows, columns])
    np.testing.assert_allclose(u, (Z * s) @ m)
    assert pytest.approx((s * m * m).sum()) == M


def test_slopes_of_cells_alone_in_their_column_and_of_the_means():
    Z, s, _ = sparse_problem(2)
    *_, alone_ptr, alone, zm = batch_of(Z, s)
    m, centre, slope, taken = Z.mean(axis=0), np.arange(8.0), np.zeros(9), np.full(9, np.nan)
    add_alone(alone_ptr, alone, zm, centre, slope)
    expected = -centre @ Z * m * ((Z != 0).sum(axis=0) == 1)
    np.testing.assert_allclose(slope, expected, atol=1e-14)
    take_slopes(slope, 2.0, m, taken)
    np.testing.assert_allclose(taken, expected + 2.0 * m**2, atol=1e-14)
    assert not slope.any()


@pytest.mark.parametrize("backward", [True, False])
def test_chains_are_powers_of_the_triangle(backward):
    Z, s, y = sparse_problem(5)
    M, ptr, index, z, zs, u, met, *_ = batch_of(Z, s)
    order = 3
    r = np.zeros((1, order + 1, 8))
    r[0, 0] = y
    carry = np.zeros((1, len(met), FOUR))
    step = np.array([1.0, 2.0, 4.0])
    walk_sparse_chains(ptr, index, z, zs, u, M, y[None], np.ones(8), step, backward, carry, r)
    X = Z - Z.mean(axis=0)
    T = np.triu((X * s) @ X.T, 1)
    T = T if backward else T.T
    expected = y
    for q in range(order):
        expected = T @ expected / step[q]
        np.testing.assert_allclose(r[0, q + 1], expected, atol=1e-12)


def test_slopes_are_sums_over_pairs_of_rows():
    Z, s, _ = sparse_problem(6)
    _, ptr, index, z, _, _, met, mean, *_ = batch_of(Z, s)
    rng = np.random.default_rng(7)
    give, keep = rng.normal(size=(2, 8, FOUR))
    parts, kept = np.zeros((2, len(met))), np.zeros((2, len(met), FOUR))
    none = np.zeros(8)
    sparse_slopes(ptr, index, z, mean, 0, 4, 1, give, keep, none, kept[0], parts[0])
    # the upper half is walked downward, so that what it keeps meets what the lower half keeps
    sparse_slopes(ptr, index, z, mean, 7, 3, -1, keep, give, none, kept[1], parts[1])
    slope = np.zeros(9)
    join_halves(met, kept[:1], kept[1:], parts, slope)
    expected = np.zeros(9)
    for n in range(8):
        for before in range(n):
            expected += Z[n] * Z[before] * (give[n] @ keep[before])
    np.testing.assert_allclose(slope, expected, atol=1e-12)


@pytest.mark.parametrize("n", [3, 4, 9])
def test_dense_chains_are_powers_of_the_triangle(n):
    rng = np.random.default_rng(n)
    X, s, y = rng.normal(size=(n, 7)).astype(np.float32), rng.random(7), rng.normal(size=(2, n))
    order, weight = 2, rng.random(n)
    r = np.zeros((2, order + 1, n))
    r[:, 0] = y
    walk_chains(X, np.arange(n), s, y, weight, np.array([1.0, 3.0]), np.zeros((4, 7)), r)
    T = np.tril((X * s) @ X.T, -1) * weight
    for target in range(2):
        np.testing.assert_allclose(r[target, 1], T @ y[target], atol=1e-6)
        np.testing.assert_allclose(r[target, 2], T @ T @ y[target] / 3.0, atol=1e-6)


def test_dense_slopes_are_sums_over_pairs_of_rows():
    rng = np.random.default_rng(8)
    X, (W, L) = rng.normal(size=(9, 5)).astype(np.float32), rng.normal(size=(2, 3, 9))
    slope = np.full(5, np.nan)
    for start, stop in ((0, 2), (2, 5)):
        slopes_by_feature(X, np.arange(9), W, L, start, stop, np.zeros((3, 512)), slope)
    expected = sum(
        X[n] * X[before] * (W[:, n] @ L[:, before]) for n in range(9) for before in range(n)
    )
    np.testing.assert_allclose(slope, expected, atol=1e-5)


def test_symmetric_sums_are_coefficients_of_a_polynomial():
    weight = np.array([0.5, 2.0, -1.0, 3.0])
    sums = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    symmetric_sums(weight, sums)
    np.testing.assert_allclose(sums, np.abs(np.poly(weight)) * np.sign(np.poly(-weight)))

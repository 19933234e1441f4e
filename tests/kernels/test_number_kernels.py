"""Loops over columns of numbers, dense and sparse, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from secateur._kernels import columns as kernels

N, D = 11, 6


def table(seed=0, missing=0.0):
    """Columns, feature-major, and weights of sum one; the last column is constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(D, N)) * (rng.random((D, N)) < 0.6)
    X[-1] = 2.0
    X[rng.random((D, N)) < missing] = np.nan
    w = rng.random(N)
    return X, w / w.sum(), rng


def stored(X):
    csc = sp.csc_array(X.T)
    return csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data


def moments(X, w):
    mean = X @ w
    return mean, np.sqrt((w * (X - mean[:, None]) ** 2).sum(axis=1))


@pytest.mark.parametrize("sparse", [False, True])
def test_dots_and_moments(sparse):
    X, w, rng = table()
    v, dots = rng.normal(size=N), np.zeros(D)
    mean, deviation = np.zeros(D), np.zeros(D)
    for start, stop in ((0, 2), (2, D)):
        if sparse:
            kernels.sparse_dots(*stored(X), v, start, stop, dots)
            kernels.sparse_moments(*stored(X), w, start, stop, mean, deviation)
        else:
            kernels.dense_dots(X, v, start, stop, dots)
            kernels.dense_moments(X, w, start, stop, mean, deviation)
    np.testing.assert_allclose(dots, X @ v, atol=1e-14)
    expected = moments(X, w)
    np.testing.assert_allclose(mean, expected[0], atol=1e-14)
    np.testing.assert_allclose(deviation[:-1], expected[1][:-1])
    # of stored cells alone the rounding of the sum of weights remains
    assert deviation[-1] <= (1e-7 if sparse else 0.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_standardised_cells_and_sums_of_columns(sparse):
    X, w, rng = table(1)
    mean, inverse = moments(X, w)[0], rng.random(D)
    features, rows, step = np.array([4, 0]), np.array([7, 2, 9]), np.array([0.5, -2.0])
    Z = (X - mean[:, None]) * inverse[:, None]
    cells, change = np.empty((2, 3)), np.ones(N)
    if sparse:
        place = np.full(N, -1)
        place[rows] = np.arange(3)
        kernels.gather_sparse(*stored(X), features, place, mean, inverse, cells)
        kernels.add_sparse(*stored(X), features, mean, inverse, step, change)
    else:
        kernels.gather_dense(X, features, rows, mean, inverse, cells)
        kernels.add_dense(X, features, mean, inverse, step, change)
    np.testing.assert_allclose(cells, Z[np.ix_(features, rows)], atol=1e-14)
    np.testing.assert_allclose(change, 1.0 + step @ Z[features], atol=1e-13)


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_missing_cells_are_filled_and_columns_scaled(centre, scale):
    X, _, _ = table(2, missing=0.2)
    X[0] = np.nan
    w = np.full(N, 1.0 / N)
    found = X.copy()
    fill, shift, factor = np.empty((3, D))
    kernels.fill_and_scale(found, w, centre, scale, 0, D, fill, shift, factor)
    for j in range(D):
        is_there = ~np.isnan(X[j])
        mean = X[j, is_there].mean() if is_there.any() else 0.0
        filled = np.where(is_there, X[j], mean)
        spread = filled.std()
        divisor = spread if scale and spread > 1e-12 else 1.0
        np.testing.assert_allclose(fill[j], mean, atol=1e-14)
        np.testing.assert_allclose(found[j], (filled - centre * mean) / divisor, atol=1e-12)
    again = X.copy()
    is_zero = np.isclose(np.nanstd(np.nan_to_num(X), axis=1), 0.0) & centre
    kernels.scale_by(again, fill, shift, factor, is_zero, 0, D)
    np.testing.assert_allclose(again, found, atol=1e-12)


def test_moments_of_the_cells_that_are_there():
    X, _, rng = table(3, missing=0.3)
    w = rng.random(N)
    weight, mean, square, top = np.empty((4, D))
    kernels.present_moments(X, w, 0, D, weight, mean, square, top)
    for j in range(D):
        x, its = X[j][~np.isnan(X[j])], w[~np.isnan(X[j])]
        m = np.average(x, weights=its)
        np.testing.assert_allclose(
            [weight[j], mean[j], square[j], top[j]],
            [its.sum(), m, (its * (x - m) ** 2).sum(), np.abs(x).max()],
            atol=1e-13,
        )


def test_transpose():
    X = np.random.default_rng(4).normal(size=(70, 45))
    out = np.empty((45, 70))
    kernels.transpose_block(X, 0, 40, out)
    kernels.transpose_block(X, 40, 45, out)
    np.testing.assert_array_equal(out, X.T)

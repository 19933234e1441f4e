"""Columns are centred, scaled and apart; dense and sparse tables give the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from secateur.data.centred import DenseRows, centre, centre_by, moments_of
from secateur.data.frames import read_table


def as_dense(found, n_rows):
    if isinstance(found.rows, DenseRows):
        return found.rows.X
    shape = (n_rows, len(found.features))
    rows = sp.csr_array((found.rows.data, found.rows.indices, found.rows.indptr), shape=shape)
    return rows.toarray() - found.rows.mean


def table(n_rows=50):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n_rows, 6)) < 0.5, rng.normal(size=(n_rows, 6)) * 3, 0.0)
    X[:, 2] = 7.0
    X[:, 4] = X[:, 1]
    return X, rng.random(n_rows) + 0.1


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_columns_are_centred_and_scaled_with_weights(kind, standardize):
    X, weight = table()
    found = centre(read_table(kind(X)), weight, standardize=standardize)
    np.testing.assert_array_equal(found.features, [0, 1, 3, 5])
    mean = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    expected = (X - mean)[:, found.features]
    if standardize:
        expected /= spread[found.features]
    np.testing.assert_allclose(as_dense(found, 50), expected, atol=1e-6)
    left = 1.0 if standardize else spread[found.features]
    np.testing.assert_allclose(found.spread, left)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_of_equal_columns_the_one_of_lowest_cost_stays(kind):
    X, weight = table()
    cost = np.array([1.0, 3.0, 1.0, 1.0, 2.0, 1.0])
    found = centre(read_table(kind(X)), weight, standardize=True, cost=cost)
    np.testing.assert_array_equal(found.features, [0, 3, 4, 5])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_missing_cells_are_zero_after_centring(kind):
    X, weight = table()
    X[3, 0] = X[8, 5] = np.nan
    found = centre(read_table(kind(X)), weight, standardize=False)
    centred = as_dense(found, 50)
    assert centred[3, 0] == pytest.approx(0.0, abs=1e-6)
    assert centred[8, 3] == pytest.approx(0.0, abs=1e-6)
    seen = ~np.isnan(X[:, 0])
    mean = np.average(X[seen, 0], weights=weight[seen])
    np.testing.assert_allclose(centred[seen, 0], X[seen, 0] - mean, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_large_offset_does_not_make_noise_of_a_constant(kind):
    X = np.column_stack([np.full(100, 1e9), 1e6 + np.random.default_rng(0).normal(size=100)])
    found = centre(read_table(kind(X)), np.ones(100), standardize=True)
    np.testing.assert_array_equal(found.features, [1])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_moments_of_blocks_join_to_those_of_all_rows(kind):
    X, weight = table(90)
    joined = None
    for part in np.array_split(np.arange(90), 4):
        block = moments_of(read_table(kind(X[part])), weight[part])
        joined = block if joined is None else joined.joined(block)
    whole = moments_of(read_table(kind(X)), weight)
    for a, b in zip(joined[:3], whole[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    by = centre_by(read_table(kind(X)), whole, standardize=True)
    expected = centre(read_table(kind(X)), weight, standardize=True)
    np.testing.assert_allclose(
        as_dense(by, 90)[:, expected.features], as_dense(expected, 90), atol=1e-5
    )
    np.testing.assert_allclose(as_dense(by, 90)[:, 2], 0.0, atol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("spoilt", [(), (2,), (4,), (2, 4)])
def test_rows_lie_one_after_another_whatever_was_left_out(order, spoilt):
    """Kernels walk along rows: with columns one after another they take thirty times as long."""
    X, weight = table()
    whole = np.random.default_rng(1).normal(size=X.shape)
    whole[:, list(spoilt)] = X[:, list(spoilt)]
    whole[:, 1] = X[:, 1]
    found = centre(read_table(np.asarray(whole, order=order)), weight, standardize=True)
    assert len(found.features) == 6 - len(spoilt)
    assert found.rows.X.flags.c_contiguous
    assert found.rows.X.dtype == np.float32

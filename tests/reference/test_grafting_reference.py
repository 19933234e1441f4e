"""The twin of grafting against what can be known without it."""

from __future__ import annotations

import numpy as np
import pytest
from reference.grafting import best_subset, criterion, g, graft_l0, graft_l1, standardised
from reference.peers import l1_logistic_regression
from sklearn.linear_model import Lasso


def problem(seed=0, n=80, p=6):
    rng = np.random.default_rng(seed)
    X = standardised(rng.normal(size=(n, p)), np.full(n, 1 / n))
    signal = X @ np.array([1.5, -1.0, 0.5, 0, 0, 0]) + 0.5 * rng.normal(size=n)
    return X, signal, np.full(n, 1 / n)


def test_reaches_the_lasso():
    X, y, W = problem()
    w, b, _ = graft_l1("squared", X, y, W, l1=0.2)
    lasso = Lasso(alpha=0.2, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(w, lasso.coef_, atol=1e-6)
    assert b == pytest.approx(lasso.intercept_)


def test_reaches_sparse_logistic_regression():
    X, signal, W = problem()
    y = (signal > 0).astype(float)
    w, b, _ = graft_l1("logistic", X, y, W, l1=0.05)
    peer = l1_logistic_regression(C=1 / (0.05 * 80)).fit(X, y)
    at_peer = criterion("logistic", X, y, W, peer.coef_[0], peer.intercept_[0], l1=0.05)
    assert criterion("logistic", X, y, W, w, b, l1=0.05) == pytest.approx(at_peer, rel=1e-8)


def test_l0_states_fall_and_end_at_the_best_subset_of_an_easy_problem():
    X, y, W = problem()
    price = np.ones(6)
    _, _, states = graft_l0("squared", X, y, W, l1=1e-4, l0=0.05, price=price)
    values = [value for _, value in states]
    assert values == sorted(values, reverse=True)
    best, F = best_subset("squared", X, y, W, 1e-4, 0.05, price)
    assert sorted(states[-1][0]) == sorted(F) == [0, 1, 2]
    assert values[-1] == pytest.approx(best)


def test_transfer_function():
    assert g(0.0) == 0.0
    np.testing.assert_allclose(g(np.array([-50.0, 50.0])), [-1.0, 1.0])

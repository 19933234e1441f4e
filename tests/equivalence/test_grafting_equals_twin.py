"""Grafting against its naive twin and against other libraries: the same optimum, step for step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st
from reference import grafting as twin
from reference.peers import l1_logistic_regression
from sklearn.linear_model import ElasticNet, Lasso

from secateur import GraftingClassifier, GraftingRegressor

SEEDS = st.integers(0, 2**20)


def draw(seed, kind, *, sparse=False):
    """A random problem: X, y, row weights, costs."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(20, 90)), int(rng.integers(2, 25))
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 30, p) + rng.normal(size=p) * 10
    if sparse:
        X = np.where(rng.random((n, p)) < 0.3, rng.normal(size=(n, p)), 0.0)
    signal = (X - X.mean(0)) / (X.std(0) + 1e-9) @ rng.normal(size=p) * (rng.random() + 0.2)
    signal = signal + rng.normal(size=n)
    y = signal
    if kind == "logistic":
        y = (signal > np.median(signal)).astype(float)
    elif kind == "multinomial":
        y = np.digitize(signal, np.quantile(signal, [0.3, 0.7])).astype(float)
    weight = rng.uniform(0.2, 3.0, n)
    return X, y, weight, rng.uniform(0.3, 3.0, p)


def estimator(kind, **params):
    cls = GraftingRegressor if kind == "squared" else GraftingClassifier
    return cls(tol=1e-10, **params)


def value_of(kind, selector, X, y, W, **penalty):
    """Eq. 7 at the coefficients of a selector, in the user's units."""
    Z = twin.standardised(X, W)
    spread = np.sqrt(W @ (X - W @ X) ** 2)
    coef = np.atleast_2d(selector.coef_).T * spread[:, None]
    bias = np.atleast_1d(selector.intercept_) + np.atleast_2d(selector.coef_) @ (W @ X)
    if kind != "multinomial":
        coef, bias = coef[:, 0], bias[0]
    return twin.criterion(kind, Z, y, W, coef, bias, **penalty)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["squared", "logistic"])
@examples(5)
@given(seed=SEEDS, share=st.floats(0.02, 0.9), ridge=st.sampled_from([0.0, 0.05]))
def test_l1_reaches_the_optimum_of_the_twin(kind, sparse, seed, share, ridge):
    X, y, weight, costs = draw(seed, kind, sparse=sparse)
    W = weight / weight.sum()
    Z = twin.standardised(X, W)
    slope = twin.loss_slope(kind, y, np.full(len(y), _constant(kind, y, W)))
    l1 = share * np.max(np.abs(Z.T @ (W * slope)) / costs)
    w, b, _ = twin.graft_l1(kind, Z, y, W, l1, ridge, costs)
    expected = twin.criterion(kind, Z, y, W, w, b, l1, ridge, a=costs)
    given_X = sp.csr_matrix(X) if sparse else X
    found = estimator(kind, l1=l1, l2=ridge, costs=costs).fit(given_X, y, sample_weight=weight)
    value = value_of(kind, found, X, y, W, l1=l1, l2=ridge, a=costs)
    assert value <= expected + 1e-8 * max(1.0, abs(expected))
    assert value == pytest.approx(expected, rel=1e-7)  # the twin is the less exact of the two
    assert found.path_[0].objective == pytest.approx(value, rel=1e-9)
    assert found.kkt_violation_ <= 1e-10
    assert found.dual_gap_ <= 1e-10


def _constant(kind, y, W):
    mean = W @ y
    return mean if kind == "squared" else np.log(mean / (1 - mean))


@pytest.mark.parametrize("sparse", [False, True])
@examples(5)
@given(seed=SEEDS, share=st.floats(0.02, 0.8))
def test_equal_to_lasso_and_elastic_net(sparse, seed, share):
    X, y, weight, _ = draw(seed, "squared", sparse=sparse)
    W = weight / weight.sum()
    l1 = share * np.max(np.abs((X - W @ X).T @ (W * (y - W @ y))))
    given_X = sp.csc_matrix(X) if sparse else X
    for l2, peer in (
        (0.0, Lasso(alpha=l1, tol=1e-13, max_iter=100_000)),
        (0.3 * l1, ElasticNet(alpha=1.6 * l1, l1_ratio=1 / 1.6, tol=1e-13, max_iter=100_000)),
    ):
        found = estimator("squared", l1=l1, l2=l2, standardize=False)
        found.fit(given_X, y, sample_weight=weight)
        peer.fit(X, y, sample_weight=weight)
        ours, theirs = (
            twin.criterion("squared", X, y, W, m.coef_, m.intercept_, l1, l2) for m in (found, peer)
        )
        assert ours <= theirs + 1e-8 * max(1.0, abs(theirs))
        assert ours == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@examples(4)
@given(seed=SEEDS, share=st.floats(0.05, 0.8), ridge=st.sampled_from([0.0, 0.05]))
def test_several_classes_reach_the_optimum_of_the_twin(sparse, seed, share, ridge):
    X, y, weight, costs = draw(seed, "multinomial", sparse=sparse)
    W = weight / weight.sum()
    Z = twin.standardised(X, W)
    shares = np.array([W @ (y == k) for k in range(3)])
    slopes = (y[:, None] == np.arange(3)) - shares
    l1 = share * np.max(np.abs(Z.T @ (W[:, None] * slopes)) / costs[:, None])
    w, b = twin.optimise("multinomial", Z, y, W, range(Z.shape[1]), l1, ridge, costs)
    expected = twin.criterion("multinomial", Z, y, W, w, b, l1, ridge, a=costs)
    given_X = sp.csr_matrix(X) if sparse else X
    found = estimator("multinomial", l1=l1, l2=ridge, costs=costs)
    found.fit(given_X, y, sample_weight=weight)
    value = value_of("multinomial", found, X, y, W, l1=l1, l2=ridge, a=costs)
    assert value == pytest.approx(expected, abs=1e-8)
    assert found.kkt_violation_ <= 1e-10
    assert found.dual_gap_ <= 1e-10


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_to_sparse_logistic_regression(n_classes):
    rng = np.random.default_rng(4)
    Z = twin.standardised(rng.normal(size=(120, 10)), np.full(120, 1 / 120))
    signal = Z[:, :3] @ [1.0, -1.0, 0.5] + rng.normal(size=120)
    y = np.digitize(signal, [0.0] if n_classes == 2 else [-0.5, 0.5])
    l1 = 0.03
    found = GraftingClassifier(l1=l1, tol=1e-10).fit(Z, y)
    peer = l1_logistic_regression(C=1 / (l1 * 120)).fit(Z, y)
    losses = [-m.predict_log_proba(Z)[np.arange(120), y].mean() for m in (_Proba(found), peer)]
    ours, theirs = (
        loss + l1 * np.abs(m.coef_).sum() for loss, m in zip(losses, (found, peer), strict=True)
    )
    assert ours == pytest.approx(theirs, abs=1e-8)
    np.testing.assert_allclose(found.coef_, peer.coef_, atol=1e-4)


class _Proba:
    def __init__(self, selector):
        self.selector = selector

    def predict_log_proba(self, X):
        return np.log(self.selector.predict_proba(X))


@pytest.mark.parametrize("retries", [0, 3])
@pytest.mark.parametrize("kind", ["squared", "logistic"])
@examples(5)
@given(seed=SEEDS, share=st.floats(0.01, 0.2), price=st.floats(0.001, 0.1))
def test_l0_grafts_the_same_features_as_the_twin(kind, retries, seed, share, price):
    X, y, weight, costs = draw(seed, kind)
    X, costs = X[:, :8], costs[:8]
    W = weight / weight.sum()
    Z = twin.standardised(X, W)
    scale = y.std() ** 2
    l1, l0 = share * 0.1 * np.sqrt(scale), price * scale
    _, _, states = twin.graft_l0(kind, Z, y, W, l1, l0, costs, retries)
    found = estimator(kind, l1=l1, l0=l0, costs=costs, retries=retries, cv=0)
    found.fit(X, y, sample_weight=weight)
    assert len(found.path_) == len(states)
    for step, (features, value) in zip(found.path_, states, strict=True):
        assert set(step.support) <= set(features)  # a free weight may be fitted to zero
        assert step.objective == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_l0_is_often_the_best_subset(capsys):
    """How often the greedy answer is the best of all subsets, and how far off it is else."""
    n_best, worst, n_problems = 0, 0.0, 20
    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        X = twin.standardised(rng.normal(size=(60, 5)), np.full(60, 1 / 60))
        y = X @ (rng.normal(size=5) * (rng.random(5) < 0.6)) + rng.normal(size=60)
        W = np.full(60, 1 / 60)
        best, _ = twin.best_subset("squared", X, y, W, 1e-3, 0.05, np.ones(5))
        found = GraftingRegressor(l1=1e-3, l0=0.05, cv=0, tol=1e-9).fit(X, y)
        excess = found.path_[-1].objective / best - 1.0
        assert excess > -1e-6
        n_best += excess < 1e-6
        worst = max(worst, excess)
    result = (
        f" greedy L0 was the best subset in {n_best} of {n_problems}, at worst {worst:.1%} off "
    )
    with capsys.disabled():
        print(result, end="")  # noqa: T201
    assert n_best >= 15
    assert worst < 0.1


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["squared", "logistic", "multinomial"])
def test_columns_and_gram_matrix_lead_to_the_same_optimum(kind, sparse, monkeypatch):
    X, y, weight, costs = draw(7, kind, sparse=sparse)
    given_X = sp.csr_matrix(X) if sparse else X
    l1 = 0.02 * y.std()
    plain = estimator(kind, l1=l1, l2=0.01, costs=costs).fit(given_X, y, sample_weight=weight)
    monkeypatch.setattr("secateur.engines.grafting.columns.MAX_COLUMNS", 0)
    other = estimator(kind, l1=l1, l2=0.01, costs=costs).fit(given_X, y, sample_weight=weight)
    assert other.path_[0].objective == pytest.approx(plain.path_[0].objective, abs=1e-9)
    assert other.kkt_violation_ <= 1e-10
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-6)

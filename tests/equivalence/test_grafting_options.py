"""The options of grafting against the paper's formulas: alphas apart, limits, losses, pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import grafting as twin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import HuberRegressor

from secateur import FeatureCosts, GraftingClassifier, GraftingRegressor
from secateur.exceptions import ParameterError


def draw(seed, n=80, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 5.0, d)
    signal = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n)
    return X, signal, (signal > np.median(signal)).astype(int)


def standard(X):
    W = np.full(len(X), 1.0 / len(X))
    return twin.standardised(X, W), W


def weights_of(selector, X):
    """The weights of standardised columns, and the intercept that goes with them."""
    coef = selector.coef_.ravel()
    return coef * X.std(0), float(np.ravel(selector.intercept_)[0] + coef @ X.mean(0))


# ---- alphas apart -----------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_a_cost_of_l0_alone_does_not_shrink(sparse):
    X, y, _ = draw(0)
    given = sp.csr_matrix(X) if sparse else X
    plain = GraftingRegressor(l1=0.3).fit(given, y)
    largest = int(plain.feature_importances_.argmax())
    costs = {largest: 50.0}
    dear = GraftingRegressor(l1=0.3, costs=costs).fit(given, y)
    apart = GraftingRegressor(l1=0.3, costs=costs, l1_costs=1, l2_costs=1).fit(given, y)
    assert abs(dear.coef_[largest]) < abs(plain.coef_[largest])
    np.testing.assert_array_equal(apart.coef_, plain.coef_)
    assert apart.selection_.cost == plain.selection_.cost + 49.0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_each_penalty_has_its_own_alphas(loss):
    X, y, labels = draw(1)
    Z, W = standard(X)
    a1, a2 = np.random.default_rng(2).uniform(0.2, 4.0, (2, 8))
    target, kind = (y, GraftingRegressor) if loss == "squared" else (labels, GraftingClassifier)
    l1, l2 = (0.3, 0.2) if loss == "squared" else (0.02, 0.03)
    found = kind(l1=l1, l2=l2, l1_costs=a1, l2_costs=dict(enumerate(a2)), tol=1e-10).fit(X, target)
    w, b = weights_of(found, X)
    pull = Z.T @ (W * twin.loss_slope(loss, target, Z @ w + b)) + 2.0 * l2 * a2 * w
    used = w != 0.0
    assert used.any()
    np.testing.assert_allclose(pull[used], -l1 * a1[used] * np.sign(w[used]), atol=1e-7)
    assert (np.abs(pull[~used]) <= l1 * a1[~used] + 1e-7).all()


def test_l0_alone_has_the_costs_one_by_one():
    X, _, y = draw(3)
    price = np.array([6.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    Z, W = standard(X)
    found = GraftingClassifier(
        l1=0.01, l0=0.01, costs=price, l1_costs=1, l2_costs=1, tol=1e-10
    ).fit(X, y)
    ones = np.ones(8)
    _, _, states = twin.graft_l0("logistic", Z, y, W, 0.01, 0.01, price, a=ones)
    assert [tuple(step.order) for step in found.path_] == [F for F, _ in states]
    values = [C for _, C in states]
    np.testing.assert_allclose([step.objective for step in found.path_], values, rtol=1e-6)


def test_kept_features_have_no_alpha_and_groups_go_with_own_alphas():
    X, y, _ = draw(4)
    costs = FeatureCosts(feature_groups={"a": [0, 1, 2]}, keep=[3])
    found = GraftingRegressor(l1=0.5, costs=costs, l1_costs=2.0).fit(X, y)
    w, b = weights_of(found, X)
    Z, W = standard(X)
    assert Z[:, 3] @ (W * (Z @ w + b - y)) == pytest.approx(0.0, abs=1e-5)


# ---- Eq. 5 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_limit_gives_the_solution_of_eq_5(loss, q):
    X, y, labels = draw(5)
    target, kind = (y, GraftingRegressor) if loss == "squared" else (labels, GraftingClassifier)
    Z, W = standard(X)
    found = kind(**{f"l{q}_limit": 0.8}, tol=1e-9).fit(X, target)
    w, b = weights_of(found, X)
    assert (np.abs(w) ** q).sum() == pytest.approx(0.8, rel=1e-4)
    ours = W @ twin.loss_value(loss, target, Z @ w + b)
    _, value = twin.limited(loss, Z, target, W, q, 0.8)
    assert ours == pytest.approx(value, rel=1e-4)


def test_a_limit_that_does_not_bind_gives_the_unpenalised_optimum():
    X, y, _ = draw(6)
    found = GraftingRegressor(l1_limit=1e6).fit(X, y)
    coef = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(found.coef_, coef, rtol=1e-5)


@pytest.mark.parametrize(
    "params", [{"l1": 0.1}, {"model": "mlp"}, {"l0": 0.1}, {"adjust": "newest"}, {"l2_limit": 1.0}]
)
def test_a_limit_takes_the_place_of_its_penalty(params):
    X, y, _ = draw(7)
    with pytest.raises(ParameterError, match="'l1_limit' must be the only limit"):
        GraftingRegressor(l1_limit=1.0, **params).fit(X, y)


# ---- losses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_hinge_is_the_linear_program_but_for_its_rounded_corner(sparse):
    X, _, y = draw(8)
    Z, W = standard(X)
    given = sp.csr_matrix(X) if sparse else X
    found = GraftingClassifier(loss="hinge", l1=0.03).fit(given, y)
    w, b = weights_of(found, X)
    sign = 2.0 * y - 1.0
    ours = W @ np.maximum(0.0, 1.0 - sign * (Z @ w + b)) + 0.03 * np.abs(w).sum()
    best = twin.hinge_program(Z, y, W, 0.03)
    assert best - 1e-9 <= ours <= best + 0.01  # half the width of the corner
    assert found.kkt_violation_ <= 1e-6
    assert found.dual_gap_ <= 1e-6
    assert not hasattr(found, "predict_proba")
    assert found.score(X, y) > 0.7


def test_epsilon_insensitive_is_the_linear_program_but_for_its_rounded_corners():
    X, y, _ = draw(9)
    Z, W = standard(X)
    found = GraftingRegressor(loss="epsilon_insensitive", epsilon=0.5, l1=0.05).fit(X, y)
    w, b = weights_of(found, X)
    ours = W @ np.maximum(0.0, np.abs(y - Z @ w - b) - 0.5) + 0.05 * np.abs(w).sum()
    best = twin.epsilon_program(Z, y, W, 0.05, 0.5)
    assert best - 1e-9 <= ours <= best + 0.01 * y.std()
    assert found.kkt_violation_ <= 1e-6
    assert found.dual_gap_ <= 1e-6


def test_huber_equals_scikit_learn_with_a_ridge():
    X, y, _ = draw(10)
    y = y + 40.0 * (np.arange(80) % 11 == 0)
    peer = HuberRegressor(epsilon=1.35, alpha=1e-8, tol=1e-9, max_iter=2000).fit(X, y)
    found = GraftingRegressor(loss="huber", huber_delta=1.35 * peer.scale_, l1=1e-9, tol=1e-9)
    np.testing.assert_allclose(found.fit(X, y).coef_, peer.coef_, rtol=1e-3, atol=1e-3)
    assert GraftingRegressor(loss="huber", l1=0.05).fit(X, y).dual_gap_ <= 1e-6
    assert (
        np.abs(found.coef_ - peer.coef_).max()
        < np.abs(GraftingRegressor(l1=1e-9).fit(X, y).coef_ - peer.coef_).max()
    )


def test_losses_go_along_the_path_and_with_l0():
    X, y, labels = draw(11)
    path = GraftingClassifier(loss="hinge", random_state=0).fit(X, labels).path_
    assert path.has_scores
    assert path[0].score.metric == "hinge_loss"
    assert GraftingClassifier(loss="hinge", l0=0.02, l1=0.01).fit(X, labels).support_.any()
    assert GraftingRegressor(loss="huber", random_state=0).fit(X, y).support_.any()


def test_losses_refuse_what_they_cannot_do():
    X, y, _ = draw(12)
    with pytest.raises(ParameterError, match="more than two classes"):
        GraftingClassifier(loss="hinge").fit(X, np.arange(80) % 3)
    with pytest.raises(ParameterError, match="for networks"):
        GraftingRegressor(loss="huber", model="mlp").fit(X, y)


# ---- pairs of penalties -----------------------------------------------------------------------


def test_both_penalties_are_searched_together():
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"l1": [0.02, 0.005], "l0": [0.02, 0.002]}
    found = GraftingClassifier(**grid, cv=3, random_state=0).fit(X[:150], y[:150])
    pairs = [(step.penalty, step.details["l0"]) for step in found.path_]
    assert pairs == [(0.02, 0.02), (0.02, 0.002), (0.005, 0.02), (0.005, 0.002)]
    assert all(step.score.origin == "held_out" for step in found.path_)
    for step, (l1, l0) in zip(found.path_, pairs, strict=True):
        alone = GraftingClassifier(l1=l1, l0=l0).fit(X[:150], y[:150]).path_[-1]
        np.testing.assert_array_equal(alone.order, step.order)
        assert alone.objective == step.objective


def test_automatic_pairs_begin_where_hardly_anything_is_in():
    X, _, y = draw(13)
    found = GraftingClassifier(l1="auto", l0="auto", cv=3, random_state=0).fit(X, y)
    assert 10 < len(found.path_) <= 25  # the same support at the same l1 is one step
    assert found.path_.n_features[0] <= 1
    assert found.path_.n_features.max() >= 3
    few = GraftingClassifier(l0="auto", cv=0).fit(X, y)
    assert len(few.path_) == 1

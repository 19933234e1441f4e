"""What a user sees of grafting: units, limits, costs, hard cases, networks."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from secateur import FeatureCosts, GraftingClassifier, GraftingRegressor, StopReason
from secateur.datasets import make_grafting_a, make_threshold_max
from secateur.exceptions import (
    EmptySelectionWarning,
    InputError,
    InterruptedWarning,
    ParameterError,
)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


# ---- units and attributes ---------------------------------------------------------------------


def test_coefficients_are_in_the_units_of_the_table(cancer):
    X, y = cancer
    plain = GraftingClassifier(l1=0.02).fit(X, y)
    scaled = GraftingClassifier(l1=0.02).fit(X * 1000.0 + 5.0, y)
    np.testing.assert_allclose(plain.coef_, scaled.coef_ * 1000.0, rtol=1e-5, atol=1e-9)
    by_hand = X @ plain.coef_[0] + plain.intercept_[0]
    np.testing.assert_allclose(plain.decision_function(X), by_hand, atol=1e-9)
    assert plain.coef_.shape == (1, 30)
    np.testing.assert_array_equal(plain.coef_[0] != 0, plain.support_)


def test_regression_has_plain_shapes(diabetes):
    X, y = diabetes
    found = GraftingRegressor(l1=5.0).fit(X, y)
    assert found.coef_.shape == (10,)
    assert isinstance(found.intercept_, float)
    np.testing.assert_allclose(found.predict(X), X @ found.coef_ + found.intercept_)


def test_without_intercept_nothing_is_centred(diabetes):
    X, y = diabetes
    found = GraftingRegressor(l1=1.0, fit_intercept=False).fit(X + 1.0, y)
    assert found.intercept_ == 0.0
    np.testing.assert_allclose(found.predict(X + 1.0), (X + 1.0) @ found.coef_)


def test_certificates_are_below_the_tolerance(cancer):
    X, y = cancer
    for tol in (1e-3, 1e-9):
        found = GraftingClassifier(l1=0.01, tol=tol).fit(X, y)
        assert found.kkt_violation_ <= tol
        assert 0.0 <= found.dual_gap_ <= tol
        assert found.n_grafts_ >= found.support_.sum()
        assert found.n_iter_ >= 1


def test_auto_begins_where_everything_is_out(cancer):
    X, y = cancer
    path = GraftingClassifier(random_state=0).fit(X, y).path_
    assert path.n_features[0] == 0
    assert path.n_features[1] >= 1
    assert path[0].score.origin == "held_out"
    penalties = [step.penalty for step in path]
    assert penalties == sorted(penalties, reverse=True)
    assert path.penalty_name == "l1"


def test_own_grid_and_single_price(cancer):
    X, y = cancer
    grid = GraftingClassifier(l1=[0.01, 0.1, 0.03], random_state=0).fit(X, y)
    assert [step.penalty for step in grid.path_] == [0.1, 0.03, 0.01]
    assert grid.path_.has_scores
    single = GraftingClassifier(l1=0.03).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(single.support_), grid.path_[1].support)


def test_coefficients_belong_to_linear_models_and_networks_to_networks(cancer):
    X, y = cancer
    linear = GraftingClassifier(l1=0.1).fit(X, y)
    net = GraftingClassifier(model="mlp", l1=0.01, l0=0.02, cv=0).fit(X, y)
    assert not hasattr(linear, "network_")
    assert not hasattr(net, "coef_")
    assert not hasattr(net, "intercept_")
    with pytest.raises(NotFittedError):
        _ = GraftingClassifier().coef_


# ---- limits and costs -------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"l1": 0.001}, {"l0": 1e-4}, {"model": "mlp", "cv": 0}])
def test_max_features_is_a_hard_budget(cancer, params):
    X, y = cancer
    found = GraftingClassifier(max_features=4, random_state=0, **params).fit(X, y)
    assert (found.path_.n_features <= 4).all()
    assert found.path_.n_features.max() == 4


def test_costs_steer_l1_and_l0(cancer):
    X, y = cancer
    free_choice = GraftingClassifier(l1=0.05).fit(X, y)
    dearest = int(np.argmax(free_choice.feature_importances_))
    for params in ({"l1": 0.05}, {"l0": 0.01, "l1": 0.01, "cv": 0}):
        found = GraftingClassifier(costs={dearest: 20.0}, **params).fit(X, y)
        assert not found.support_[dearest]
        assert found.support_.any()


def test_kept_features_are_in_every_step(cancer):
    X, y = cancer
    for params in ({}, {"l0": 0.01}):
        found = GraftingClassifier(costs=FeatureCosts(keep=[3, 9]), cv=3, **params).fit(X, y)
        assert all({3, 9} <= set(step.support) for step in found.path_)
        assert found.path_[0].cost == 0.0


def test_open_bags_make_their_features_likelier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = X[:, 0] + 0.12 * X[:, 1] + 0.12 * X[:, 10] + 0.3 * rng.normal(size=300)
    bag = {"lab": list(range(10))}
    found = GraftingRegressor(l1=[0.3, 0.1], costs=FeatureCosts(feature_groups=bag), cv=2).fit(X, y)
    last = found.path_[-1]
    assert 1 in last.support
    assert last.cost == 1.0 + sum(j >= 10 for j in last.support)
    plain = GraftingRegressor(l1=[0.3, 0.1], cv=2).fit(X, y)
    assert found.path_[-1].model.coef[0][-1] != 0
    assert plain.path_[-1].n_features <= last.n_features


def test_l0_undoes_what_does_not_pay(cancer):
    X, y = cancer
    found = GraftingClassifier(l1=1e-3, l0=0.01, cv=0).fit(X, y)
    values = [step.objective for step in found.path_]
    assert values == sorted(values, reverse=True)
    assert found.path_.stop_reason is StopReason.FINISHED
    more = GraftingClassifier(l1=1e-3, l0=0.01, cv=0, retries=5).fit(X, y)
    assert more.path_[-1].objective <= values[-1] + 1e-12
    expensive = GraftingClassifier(l1=1e-3, l0=0.6, cv=0).fit(X, y)
    assert len(expensive.path_) <= 2


def test_newest_only_is_worse_than_all_but_falls(cancer):
    X, y = cancer
    newest = GraftingClassifier(l1=0.01, adjust="newest", cv=0).fit(X, y)
    values = [step.objective for step in newest.path_]
    assert values == sorted(values, reverse=True)
    best = GraftingClassifier(l1=0.01).fit(X, y).path_[0].objective
    assert values[-1] >= best
    counts = [step.details["grafts"] for step in newest.path_]
    assert counts == list(range(len(counts)))


def test_given_penalties_end_where_the_paper_ends(cancer):
    X, y = cancer
    given = {"l1": 1e-3, "l0": 0.003, "random_state": 0}
    plain, scored = (
        GraftingClassifier(**given).fit(X, y),
        GraftingClassifier(cv=0, **given).fit(X, y),
    )
    assert plain.selection_.index == len(plain.path_) - 1
    np.testing.assert_array_equal(plain.support_, scored.support_)
    chosen = GraftingClassifier(cut="one_se", **given).fit(X, y)
    assert chosen.path_.has_scores
    assert chosen.support_.sum() < plain.support_.sum()


@pytest.mark.parametrize("params", [{"l0": 1e-5}, {"adjust": "newest"}, {"model": "mlp"}])
def test_grafts_that_end_at_max_iter_draw_a_warning(cancer, params):
    X, y = cancer
    settings = {"l1": 1e-3, "cv": 0, **params}
    with pytest.warns(ConvergenceWarning, match=r"after 3 grafts.*Raise max_iter=3") as result:
        found = GraftingClassifier(max_iter=3, **settings).fit(X, y)
    assert result[0].filename == __file__
    assert found.path_.stop_reason is StopReason.MAX_ITER
    assert found.n_grafts_ == 3


def test_max_iter_that_is_just_enough_is_the_end(cancer):
    X, y = cancer
    whole = GraftingClassifier(l1=1e-3, l0=0.01, cv=0).fit(X, y)
    found = quiet_fit(GraftingClassifier(l1=1e-3, l0=0.01, cv=0, max_iter=whole.n_grafts_), X, y)
    assert found.path_.stop_reason is whole.path_.stop_reason is StopReason.FINISHED


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_discounts_apply_as_features_enter_one_by_one(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + 0.2 * X[:, 1] + 0.2 * X[:, 2] + 0.1 * rng.normal(size=300)
    settings = {"model": model, "l1": 0.12, "cv": 0, "adjust": "newest"}
    together = {"costs": FeatureCosts(feature_groups={"lab": [0, 1]})}
    found = GraftingRegressor(**settings, **together).fit(X, y)
    alone = GraftingRegressor(**settings).fit(X, y)
    assert 1 in found.path_[-1].support
    assert found.feature_importances_[1] > 1.2 * alone.feature_importances_[1]
    values = [step.objective for step in found.path_]
    assert values == sorted(values, reverse=True)


# ---- hard cases -------------------------------------------------------------------------------


def quiet_fit(selector, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return selector.fit(X, y)


@pytest.mark.parametrize("params", [{}, {"l1": 1e-6}, {"l1": 0.0}, {"model": "mlp", "cv": 0}])
def test_separable_classes_end_well(params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = X[:, 0] > 0
    found = quiet_fit(GraftingClassifier(random_state=0, **params), X, y)
    assert found.support_[0]
    assert found.score(X, y) > 0.98
    assert np.isfinite(found.predict_proba(X)).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_more_columns_than_rows(make):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 300)) * (rng.random((30, 300)) < 0.5)
    y = X[:, 5] - X[:, 7] + 0.1 * rng.normal(size=30)
    for l1 in ("auto", 0.05, 1e-4):
        found = quiet_fit(GraftingRegressor(l1=l1), make(X), y)
        assert found.support_[[5, 7]].all()
        assert np.isfinite(found.coef_).all()
    assert found.kkt_violation_ < 1e-4


def test_copies_do_not_share_a_weight(cancer):
    X, y = cancer
    plain = GraftingClassifier(l1=0.02).fit(X, y)
    doubled = GraftingClassifier(l1=0.02).fit(np.hstack([X, X, -X]), y)
    assert doubled.support_.sum() == plain.support_.sum()
    assert doubled.path_[0].objective == pytest.approx(plain.path_[0].objective, rel=1e-6)


def test_nothing_to_learn_selects_nothing():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(EmptySelectionWarning):
        constant = GraftingRegressor().fit(X, np.full(50, 2.0))
    assert not constant.support_.any()
    assert (constant.predict(X) == 2.0).all()
    with pytest.warns(EmptySelectionWarning):
        flat = GraftingRegressor().fit(np.ones((50, 3)), X[:, 0])
    assert not flat.support_.any()
    assert flat.predict(np.ones((2, 3))) == pytest.approx(X[:, 0].mean())


def test_missing_values_count_as_the_mean(diabetes):
    X, y = diabetes
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    found = GraftingRegressor(l1=1.0).fit(holes, y)
    mean = np.nanmean(holes, axis=0)
    filled = np.where(np.isnan(holes), mean, holes)
    np.testing.assert_allclose(found.predict(holes), found.predict(filled))
    sparse = GraftingRegressor(l1=1.0).fit(sp.csr_matrix(filled), y)
    np.testing.assert_allclose(sparse.coef_, found.coef_, rtol=1e-4)


def test_categories_are_refused_with_advice():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": pd.Categorical(["x", "y", "x"])})
    with pytest.raises(InputError, match=r"category column.*'c'.*OneHotEncoder"):
        GraftingRegressor().fit(frame, [1.0, 2.0, 3.0])


def test_a_grid_is_refused_one_by_one(cancer):
    X, y = cancer
    for params in ({"l0": 0.1}, {"model": "mlp"}, {"adjust": "newest"}):
        with pytest.raises(ParameterError, match=r"'l1' must be one number.*Got 2 values"):
            GraftingClassifier(l1=[0.1, 0.2], **params).fit(X, y)


def test_few_rows_take_a_middling_price():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6))
    found = GraftingRegressor().fit(X, X[:, 2] * 3)
    assert not found.path_.has_scores
    assert len(found.path_) == 1
    assert found.support_.tolist() == [False, False, True, False, False, False]


# ---- interruption -----------------------------------------------------------------------------


class StopAt:
    def __init__(self, at):
        self.at, self.n_ended = at, 0

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.n_ended += 1
        if self.n_ended == self.at:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize("params", [{}, {"l0": 1e-3}, {"model": "mlp"}])
def test_an_interrupted_fit_keeps_its_steps(cancer, params):
    pytest.importorskip("sklearn.callback")
    X, y = cancer
    selector = GraftingClassifier(cv=2, random_state=0, on_interrupt="keep", **params)
    selector.set_callbacks(StopAt(14))
    with pytest.warns(InterruptedWarning, match="keeps the"):
        selector.fit(X, y)
    assert selector.path_.stop_reason is StopReason.INTERRUPTED
    assert 3 <= len(selector.path_) <= 4  # two grafts may share a support
    assert selector.predict(X).shape == y.shape


# ---- networks ---------------------------------------------------------------------------------


def test_a_network_finds_the_few_features_of_a_bent_border():
    train = make_grafting_a(random_state=1)
    test = make_grafting_a(random_state=2)
    found = GraftingClassifier(model="mlp", l1=1e-6, l0=0.005, cv=0).fit(train.X, train.y)
    n_found = np.isin(train.relevant, np.flatnonzero(found.support_)).sum()
    assert n_found / len(train.relevant) + n_found / found.support_.sum() - 1 > 0.8
    assert found.score(test.X, test.y) > 0.85
    linear = GraftingClassifier(l1=3e-4, l0=0.005, cv=0).fit(train.X, train.y)
    assert found.score(test.X, test.y) > linear.score(test.X, test.y) + 0.1


def test_the_table_of_a_network_predicts(cancer):
    X, y = cancer
    names = [f"f{j}" for j in range(30)]
    frame = pd.DataFrame(X, columns=names)
    found = GraftingClassifier(model="mlp", l1=0.005, l0=0.005, cv=0).fit(frame, y)
    net = found.network_
    raw = np.full(len(X), net.output_bias[0])
    for unit in range(len(net.hidden_bias)):
        inner = np.full(len(X), net.hidden_bias[unit])
        for row in net.to_rows():
            if row["unit"] == unit:
                inner += row["weight"] * frame[row["feature"]].to_numpy()
        raw += 2 / (1 + np.exp(-inner)) - 1
    np.testing.assert_allclose(found.decision_function(frame), raw, rtol=1e-6, atol=1e-6)
    assert str(net).splitlines()[0].split() == ["unit", "output", "feature", "weight", "bias"]
    assert len(str(net).splitlines()) == len(net) + 1
    assert f"{len(net)} connections" in repr(net)


def test_networks_take_sparse_tables_numbers_and_classes(diabetes):
    X, y = diabetes
    found = GraftingRegressor(model="mlp", l1=0.02, max_iter=6, cv=0).fit(X, y)
    assert found.score(X, y) > 0.45
    problem = make_threshold_max(300, 3, 0, 7, random_state=0)
    X = np.where(np.abs(problem.X) < 0.5, 0.0, problem.X)
    dense = GraftingClassifier(model="mlp", l1=1e-3, max_iter=6, cv=0).fit(X, problem.y)
    sparse = GraftingClassifier(model="mlp", l1=1e-3, max_iter=6, cv=0)
    sparse.fit(sp.csr_matrix(X), problem.y)
    np.testing.assert_array_equal(sparse.support_, dense.support_)
    three = np.digitize(problem.X[:, 0], [-0.3, 0.3])
    found = GraftingClassifier(model="mlp", l1=1e-3, max_iter=8, cv=0).fit(problem.X, three)
    assert found.score(problem.X, three) > 0.9
    assert found.predict_proba(problem.X).shape == (300, 3)


def test_max_hidden_holds(cancer):
    X, y = cancer
    found = GraftingClassifier(model="mlp", l1=1e-3, max_hidden=2, max_iter=8, cv=0).fit(X, y)
    assert len(found.network_.hidden_bias) <= 2
    assert len(found.network_) > 2


def test_rounds_that_end_before_the_optimum_draw_a_warning():
    X, y = make_classification(300, 40, n_informative=10, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter=1") as result:
        GraftingClassifier(l1=1e-4, max_iter=1).fit(X, y)
    assert result[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraftingClassifier(l1=1e-4).fit(X, y)


def test_many_classes_reach_the_optimum_of_few(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4))
    y = (X @ rng.normal(size=(4, 8)) + rng.gumbel(size=(160, 8))).argmax(axis=1)
    settings = {"l1": [0.05, 0.01], "cv": 2, "random_state": 0}
    coupled = GraftingClassifier(**settings).fit(X, y)
    monkeypatch.setattr("secateur.engines.grafting.solver.MAX_COUPLED", 3)
    each = GraftingClassifier(**settings).fit(X, y)
    assert each.path_.n_features.tolist() == coupled.path_.n_features.tolist()
    one, other = ([step.objective for step in fit.path_] for fit in (each, coupled))
    np.testing.assert_allclose(one, other, rtol=1e-5)
    np.testing.assert_allclose(each.coef_, coupled.coef_, atol=0.01)


def test_products_of_outputs_are_not_made_for_many_classes(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("secateur.engines.grafting.columns.FreeColumns.products", refuse)
    X = np.random.default_rng(0).normal(size=(60, 3))
    GraftingClassifier(l1=0.01).fit(X, np.arange(60) % 30)

"""Few rows and many columns: the order of features by correlations, and the steps made of it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference import ordered as naive

from secateur import AGBMClassifier, AGBMRegressor, GBFSRegressor, NearBest
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import FeatureCosts
from secateur.data.frames import read_table
from secateur.engines.boosted import ordered
from secateur.engines.boosted.closeness import N_PERMUTATIONS, closeness, p_value
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.ordered import order_features
from secateur.engines.boosted.search import has_few_rows
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import EmptySelectionWarning
from secateur.losses import get_loss

PARAMS = BoostingParams(min_samples_leaf=1)
N_ROWS, N_FEATURES = 60, 150


def rows(seed=0, n_classes=2):
    """Three informative features, a noisy copy of each, and noise; classes, or numbers for 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    X[:, 3:6] = X[:, :3] + 0.2 * rng.normal(size=(N_ROWS, 3))
    raw = X[:, 0] - X[:, 1] + X[:, 2] + 0.2 * rng.normal(size=N_ROWS)
    if not n_classes:
        return X, raw
    return X, np.searchsorted(np.quantile(raw, np.arange(1, n_classes) / n_classes), raw)


def data_of(X, y, *, loss=None, costs=None, n_threads=1):
    table = read_table(X)
    loss = loss or get_loss("log_loss", n_classes=int(y.max()) + 1)
    bound = (costs or FeatureCosts()).bind(table.names)
    columns, weight = bin_table(table, np.ones(len(y))), np.ones(len(y))
    return BoostedData(columns, y.astype(float), weight, loss, bound, Threads(n_threads))


@pytest.fixture(scope="module")
def fitted():
    return AGBMClassifier(random_state=0, n_jobs=2).fit(*rows())


def test_closeness_is_that_of_the_naive_loop():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, size=(8, 30)).astype(np.uint8)
    codes[0] = 3  # constant
    gradient, weight = rng.normal(size=(3, 30)), rng.uniform(0.5, 2.0, size=30)
    found = closeness(codes, gradient, weight)
    np.testing.assert_allclose(found, naive.closeness(codes, gradient, weight), atol=1e-9)
    assert found[0] == 0.0


def test_missing_cells_count_as_the_mean():
    codes = np.array([[0, 4, 255, 4, 0]], np.uint8)
    filled = np.array([[0, 4, 2, 4, 0]], np.uint8)
    gradient, weight = np.array([[-1.0, 1.0, 0.5, 1.0, -1.5]]), np.ones(5)
    assert closeness(codes, gradient, weight) == closeness(filled, gradient, weight)


def test_a_relation_that_is_not_monotone_is_close():
    value = np.linspace(-1.0, 1.0, 41)
    codes = np.stack([np.arange(41), np.arange(41) % 3]).astype(np.uint8)
    near, far = closeness(codes, (value**2)[None], np.ones(41))
    assert near > 0.9 > 0.2 > far


@pytest.mark.parametrize("n_columns", [8, 530])
def test_the_p_value_is_that_of_the_naive_loop(monkeypatch, n_columns):
    monkeypatch.setattr("secateur.engines.boosted.closeness.N_PERMUTATIONS", 5)
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 9, size=(n_columns, 12)).astype(np.uint8)
    gradient, weight = rng.normal(size=(2, 12)), rng.uniform(0.5, 2.0, size=12)
    for seed in range(2):
        draw = np.random.default_rng(seed).permutation  # in the order of the draws
        orders = [np.arange(12), *(draw(12) for _ in range(5))]
        fold_of = draw(12) % 5
        expected = naive.p_value(codes, gradient, weight, orders, fold_of, 20, 50)
        assert p_value(codes, gradient, weight, seed) == pytest.approx(expected)


def test_p_values_of_noise_are_uniform_and_those_of_weak_relations_small():
    rng = np.random.default_rng(2)
    target = np.where(np.arange(40) % 2 == 0, -1.0, 1.0)
    noise, weak = [], []
    for seed in range(40):
        codes = rng.integers(0, 9, size=(300, 40)).astype(np.uint8)
        noise.append(p_value(codes, target[None], np.ones(40), seed))
        codes[:40] += (target > 0.0).astype(np.uint8) * 2
        weak.append(p_value(codes, target[None], np.ones(40), seed))
    noise = np.array(noise)
    assert noise.min() >= 1.0 / (N_PERMUTATIONS + 1)
    assert np.mean(noise <= 0.02) <= 0.05
    assert 0.3 < np.mean(noise <= 0.5) < 0.7
    assert np.mean(np.array(weak) <= 0.02) > 0.9


@pytest.mark.parametrize("cost", [None, 5.0])
def test_the_order_is_that_of_the_naive_loop(cost):
    X, y = rows()
    costs = None if cost is None else FeatureCosts({"x0": cost})
    data = data_of(X, y, costs=costs)
    train, weight = np.arange(0, N_ROWS, 2), np.ones(N_ROWS // 2)
    found = order_features(data, train)
    codes = data.codes(train, np.arange(N_FEATURES))
    close = naive.closeness(codes, (y[train] - y[train].mean())[None], weight)
    paid = data.cost_model.costs(data.cost_model.keep)
    expected, values = naive.entries(close, paid, codes, weight)
    assert found.features[:30].tolist() == expected[:30]
    np.testing.assert_allclose(found.worth[:30], values[:30])
    assert (np.diff(found.worth) <= 0.0).all()
    np.testing.assert_allclose(found.closeness, close[found.features])


def test_candidates_are_the_closest_columns_and_those_that_are_kept():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 700)), np.arange(40) % 2
    data = data_of(X, y, costs=FeatureCosts(keep=["x3"]))
    order = order_features(data, np.arange(40))
    codes = data.codes(np.arange(40), np.arange(700))
    close = naive.closeness(codes, (y - 0.5)[None], np.ones(40))
    closest = set(np.argsort(-close)[: ordered.MAX_CANDIDATES])
    assert set(order.features) == closest | {3}
    assert order.features[0] == 3


def test_few_rows_and_many_columns_are_a_fact_of_the_table():
    X, y = rows()
    folds = [data_of(X, y).everything]
    assert has_few_rows(data_of(X, y), PARAMS, folds)
    assert not has_few_rows(data_of(X[:, :119], y), PARAMS, folds)
    assert not has_few_rows(data_of(X, y), PARAMS, [])
    by_group = FeatureCosts(feature_groups={"a": ["x0", "x1"]})
    assert not has_few_rows(data_of(X, y, costs=by_group), PARAMS, folds)


def test_the_path_has_steps_of_growing_sizes_and_ends_beyond_the_row_limit(fitted):
    sizes = fitted.path_.n_features
    limit = fitted.path_[0].details["row_limit"]
    assert limit == np.ceil(ordered.LIMIT_FACTOR * np.sqrt(2 * N_ROWS))
    assert (np.diff(sizes) > 0).all()
    assert sizes[0] == 0
    assert limit in sizes
    assert sizes[-1] == 2 * limit
    assert (np.diff([step.penalty for step in fitted.path_]) < 0.0).all()
    nested = [set(step.support) for step in fitted.path_]
    assert all(few <= more for few, more in pairwise(nested))


@pytest.mark.parametrize("cls", [AGBMRegressor, GBFSRegressor])
def test_regression_chooses_informative_features_up_to_the_row_limit(cls):
    model = cls(random_state=0).fit(*rows(n_classes=0))
    chosen = set(np.flatnonzero(model.support_))
    assert all(chosen & {j, j + 3} for j in range(3))
    assert 3 <= len(chosen) <= model.path_[0].details["row_limit"]


def test_the_sentence_names_the_limit_or_the_best(fitted):
    step = fitted.path_[fitted.selection_.index]
    sentence = fitted.selection_.sentence
    assert "that so few rows support" in sentence or "the best" in sentence
    assert step.n_features == fitted.selection_.n_features


def test_selected_columns_are_enough_to_predict(fitted):
    X, _ = rows()
    np.testing.assert_array_equal(fitted.predict(fitted.transform(X)), fitted.predict(X))


@pytest.mark.parametrize("limit", [{"max_features": 3}, {"cut": 3}, {"cost_budget": 3.0}])
def test_limits_hold(limit):
    model = AGBMRegressor(random_state=0, **limit).fit(*rows(n_classes=0))
    assert model.support_.sum() <= 3
    assert model.with_cut("best").support_.any()
    if "cut" not in limit:
        assert model.path_.n_features.max() == 3


def test_kept_features_are_in_every_step():
    X, y = rows()
    model = AGBMClassifier(random_state=0, keep=[149]).fit(X, y)
    assert all(149 in step.support for step in model.path_)
    assert model.support_[149]
    assert model.path_.n_features[0] == 1


def weak_rows():
    """Many features that are each related to the class a little."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 400)), np.arange(40) % 2
    X[:, :80] += 0.5 * y[:, None]
    return X, y


def test_a_permutation_test_shows_what_a_gain_on_few_held_out_rows_does_not():
    X, y = weak_rows()
    model = AGBMClassifier(random_state=0).fit(X, y)
    details = [step.details for step in model.path_ if step.n_features]
    assert max(each["gain_over_none"] for each in details) <= 3.5
    assert {each["p_value"] for each in details} == {details[0]["p_value"]}
    assert details[0]["p_value"] <= 0.02
    assert np.mean(np.flatnonzero(model.support_) < 80) > 0.6
    grouped = AGBMClassifier(random_state=0)
    with pytest.warns(EmptySelectionWarning):  # rows of a group are not independent
        grouped.fit(X, y, groups=np.arange(40) // 2)
    assert not any("p_value" in step.details for step in grouped.path_)


def test_a_step_without_features_is_left_out_where_the_test_denies_it(fitted):
    none, *others = fitted.path_.steps
    best = replace(none.score, mean=min(step.score.mean for step in others) - 0.1)
    one = [FoldLosses(np.full(3, step.score.mean), np.ones(3)) for step in others]
    others = [replace(step, losses=[its]) for step, its in zip(others, one, strict=True)]
    denied = replace(fitted.path_, steps=(replace(none, score=best), *others))
    left = ordered.with_test(denied, lambda: 0.02)
    assert left.n_features.tolist() == fitted.path_.n_features[1:].tolist()
    assert 0.0 in [step.details["difference_error"] for step in left]
    assert {step.details["p_value"] for step in left} == {0.02}
    unsure = ordered.with_test(denied, lambda: 0.03)
    assert unsure.n_features.tolist() == fitted.path_.n_features.tolist()
    assert {step.details["p_value"] for step in unsure} == {0.03}
    assert ordered.with_test(fitted.path_, lambda: 0.5) is fitted.path_  # the gain is large enough


def test_twenty_rows_with_many_columns_have_folds():
    X, y = rows()
    model = AGBMRegressor(random_state=0).fit(X[:24], X[:24, 0] + 0.1 * X[:24, 1])
    assert all(step.score is not None for step in model.path_)
    assert model.support_[[0, 3]].any()
    assert AGBMClassifier(random_state=0).fit(X[:24, :40], y[:24]).path_[0].score is None


@pytest.mark.parametrize("seed", range(2))
def test_noise_has_no_features(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N_ROWS, N_FEATURES)), rng.integers(2 + seed % 2, size=N_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptySelectionWarning)
        assert not AGBMClassifier(random_state=0).fit(X, y).support_.any()


def test_few_rows_allow_four_times_as_many_standard_errors(fitted):
    """The rule by its definition: the largest step within reach and within the limit."""
    path = fitted.path_
    best = path[int(np.nanargmax(path.utilities))]
    errors = np.array([step.details["difference_error"] for step in path])
    none = path[0].score.mean
    gain = min(none - best.score.mean, 5.0 * best.score.mean)
    slack = 4.0 * 0.5 * errors + 0.02 * gain
    if none - best.score.mean <= slack[0]:  # then half of the gain is kept
        slack = np.minimum(slack, 0.5 * (none - best.score.mean))
    near = path.scores - best.score.mean <= slack
    sizes = path.n_features[near & (path.n_features <= best.details["row_limit"])]
    assert path[NearBest().choose(path)].n_features == sizes.max()

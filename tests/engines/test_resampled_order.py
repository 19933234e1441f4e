"""Few rows and many columns: the order of features by resamples, and the steps made of it."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from reference import resampled as naive

from secateur import AGBMClassifier, AGBMRegressor, GBFSRegressor, NearBest
from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import FeatureCosts
from secateur.data.frames import read_table
from secateur.engines.boosted import resampled
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.resampled import FeatureOrder, closeness, draw_rows
from secateur.engines.boosted.search import has_few_rows
from secateur.engines.boosted.trees import BoostingParams
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


@pytest.mark.parametrize("cost", [None, 5.0])
def test_the_order_is_that_of_the_naive_loop(cost):
    X, y = rows()
    costs = None if cost is None else FeatureCosts({"x0": cost})
    data = data_of(X, y, costs=costs)
    order = FeatureOrder(data, PARAMS, np.arange(0, N_ROWS, 2))
    found, worth, share = order.entries()
    train = np.arange(0, N_ROWS, 2)
    codes = data.codes(train, np.arange(N_FEATURES))
    paid = data.cost_model.costs(data.cost_model.keep)
    expected, values = naive.entries(order.shares(), paid, codes, np.ones(len(train)))
    assert found[:30].tolist() == expected[:30]
    np.testing.assert_allclose(worth[:30], values[:30])
    assert (np.diff(worth) <= 0.0).all()
    np.testing.assert_array_equal(share, order.shares()[found])


def test_rows_that_are_drawn_have_all_classes():
    X, y = rows(n_classes=4)
    y[y == 3] = 2
    y[:2] = 3  # of one class there are two rows
    data = data_of(X, y)
    for seed in range(20):
        drawn = draw_rows(data, np.arange(N_ROWS), np.random.default_rng(seed))
        assert set(y[drawn]) == {0, 1, 2, 3}
        assert 40 <= len(drawn) <= 44


def test_threads_do_not_change_the_order():
    found = [FeatureOrder(data_of(*rows(), n_threads=n), PARAMS, np.arange(50)) for n in (1, 2)]
    for one, two in zip(found[0].entries(), found[1].entries(), strict=True):
        np.testing.assert_array_equal(one, two)


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
    assert limit == np.ceil(resampled.LIMIT_FACTOR * np.sqrt(2 * N_ROWS))
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

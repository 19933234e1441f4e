"""scikit-learn's tools and Python's own: clone, pickle, pipelines, searches."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from contract.registry import (
    estimator_classes,
    fitted,
    having,
    in_frame,
    predictions,
    quick,
    rounds,
    small_problem,
)
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from secateur import OneStandardError, SelectionPath

CLASSES = estimator_classes()


@pytest.mark.parametrize("cls", CLASSES)
def test_clone_has_the_parameters_and_nothing_else(cls):
    small = small_problem(cls)
    rule = OneStandardError(0.5)
    selector = quick(cls, cut=rule).fit(small.X, small.y)
    fresh = clone(selector)
    assert fresh.get_params().keys() == selector.get_params().keys()
    assert fresh.cut == rule
    assert not hasattr(fresh, "selection_")
    again = fresh.fit(small.X, small.y)
    np.testing.assert_array_equal(again.support_, selector.support_)


@pytest.mark.parametrize("cls", CLASSES)
def test_pickle_keeps_predictions_and_path(cls):
    X_new = in_frame(small_problem(cls).X_new)
    selector = fitted(cls, in_frame)
    loaded = pickle.loads(pickle.dumps(selector))  # noqa: S301
    np.testing.assert_array_equal(predictions(loaded, X_new), predictions(selector, X_new))
    assert loaded.path_.to_json() == selector.path_.to_json()
    assert str(loaded.selection_) == str(selector.selection_)
    np.testing.assert_array_equal(
        loaded.with_cut("best").support_, selector.with_cut("best").support_
    )


@pytest.mark.parametrize("cls", CLASSES)
def test_joblib_keeps_predictions(cls, tmp_path):
    small = small_problem(cls)
    selector = fitted(cls)
    joblib.dump(selector, tmp_path / "selector.joblib")
    loaded = joblib.load(tmp_path / "selector.joblib", mmap_mode="r")
    expected = predictions(selector, small.X_new)
    np.testing.assert_array_equal(predictions(loaded, small.X_new), expected)


@pytest.mark.parametrize("cls", CLASSES)
def test_path_saved_and_cut_again(cls, tmp_path):
    selector = fitted(cls)
    selector.path_.save(tmp_path / "path.json")
    loaded = SelectionPath.load(tmp_path / "path.json")
    for rule in ("best", "one_se"):
        again = loaded.cut(rule)
        np.testing.assert_array_equal(again.mask, selector.with_cut(rule).support_)
        assert str(again) == str(selector.with_cut(rule).selection_)


@pytest.mark.parametrize("cls", CLASSES)
def test_selects_in_a_pipeline(cls):
    small = small_problem(cls)
    last = LogisticRegression() if is_classifier(cls()) else Ridge()
    model = make_pipeline(StandardScaler(), quick(cls), last).fit(small.X, small.y)
    assert model.score(small.X_new, small.y_new) > 0.6
    assert model[-1].n_features_in_ == model[1].support_.sum()
    assert list(model[:-1].get_feature_names_out()) == list(model[1].get_feature_names_out())


@pytest.mark.parametrize("cls", having("predict"))
def test_predicts_at_the_end_of_a_pipeline(cls):
    small = small_problem(cls)
    model = make_pipeline(StandardScaler(), quick(cls, **rounds(cls, 30))).fit(small.X, small.y)
    assert model.score(small.X_new, small.y_new) > 0.6


@pytest.mark.parametrize("cls", having("predict", "penalty"))
def test_grid_search_alone_and_with_threads(cls):
    small = small_problem(cls)
    grid = {"penalty": [0.3, 0.001], "max_depth": [1, 2]}
    alone = GridSearchCV(quick(cls), grid, cv=3, n_jobs=1).fit(small.X, small.y)
    with joblib.parallel_backend("threading"):
        threads = GridSearchCV(quick(cls), grid, cv=3, n_jobs=2).fit(small.X, small.y)
    assert alone.best_estimator_.support_.any()
    assert alone.best_params_ == threads.best_params_
    np.testing.assert_array_equal(
        alone.cv_results_["mean_test_score"], threads.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("cls", having("predict"))
def test_cross_validation_of_the_whole_selection(cls):
    small = small_problem(cls)
    assert cross_val_score(quick(cls, **rounds(cls, 30)), small.X, small.y, cv=3).mean() > 0.6


@pytest.mark.parametrize("cls", CLASSES)
def test_parameters_are_stored_untouched(cls):
    given = {name: object() for name in cls().get_params()}
    stored = cls(**given).get_params(deep=False)
    assert all(stored[name] is given[name] for name in given)


@pytest.mark.parametrize("cls", CLASSES)
def test_fit_leaves_the_parameters_alone(cls):
    small = small_problem(cls)
    selector = quick(cls)
    before = dict(selector.get_params())
    selector.fit(small.X, small.y)
    after = selector.get_params()
    assert all(after[name] is before[name] for name in before)

"""Nothing is selected from noise, and something from a signal, by the forward selectors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from secateur import FeatBoostClassifier, FeatBoostRegressor, IISRegressor, MaxFeatures
from secateur.engines.featboost.forward import ForwardSelection
from secateur.exceptions import EmptySelectionWarning, InterruptedWarning
from secateur.selectors import featboost_check

SELECTORS = [FeatBoostClassifier, FeatBoostRegressor, IISRegressor]
QUICK = {"max_iter": 5, "n_candidates": 10, "random_state": 0}


def quick(cls, **params):
    """A selector; IIS with the trees of this library, which take a tenth of the time."""
    trees = {"ranker": "trees", "evaluator": "trees"} if cls is IISRegressor else {}
    return cls(**QUICK, **trees, **params)


def noise(cls, n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    is_number = cls is not FeatBoostClassifier
    return X, rng.normal(size=n_rows) if is_number else rng.integers(0, 2, n_rows)


def signal(cls, n_rows=150, seed=0):
    X, _ = noise(cls, n_rows, seed)
    y = 2 * X[:, 3] + X[:, 7] + 0.5 * np.random.default_rng(seed + 1).normal(size=n_rows)
    return X, y if cls is not FeatBoostClassifier else (y > 0).astype(int)


def fit_on_noise(selector, n_rows=150, seed=0):
    with pytest.warns(EmptySelectionWarning, match="0 of 20 features"):
        return selector.fit(*noise(type(selector), n_rows, seed))


@pytest.mark.parametrize("cls", SELECTORS)
def test_nothing_is_selected_from_noise(cls):
    selector = fit_on_noise(quick(cls))
    X, y = noise(cls)
    assert not selector.support_.any()
    assert selector.path_.n_features.max() >= 1
    assert selector.path_.n_features[-1] == 0
    assert max(step.details.get("gain_over_none", -np.inf) for step in selector.path_) <= 1.0
    assert len(set(selector.predict(X))) == 1
    assert not selector.feature_importances_.any()
    assert len(list(selector.staged_predict(X))) == len(selector.path_)
    assert "constant" in selector.selection_.sentence
    assert not selector.with_cut(None).support_.any()
    assert selector.score(X, y) >= -1e-9


@pytest.mark.parametrize("cls", SELECTORS)
def test_a_signal_keeps_its_features(cls):
    X, y = signal(cls)
    names = [f"column {j}" for j in range(20)]
    selector = quick(cls).fit(pd.DataFrame(X, columns=names), y)
    assert selector.support_[[3, 7]].all()
    assert selector.path_.n_features.min() == 1
    assert selector.selection_.rule == "Best()"


def test_a_gain_beyond_doubt_is_not_checked_again(monkeypatch):
    X, _ = noise(FeatBoostClassifier, 200)
    n_traced = []
    trace = ForwardSelection.trace
    monkeypatch.setattr(ForwardSelection, "trace", lambda self: n_traced.append(1) or trace(self))
    selector = FeatBoostClassifier(**QUICK).fit(X, (X[:, 3] > 0).astype(int))
    assert selector.support_[3]
    assert len(n_traced) == 1
    monkeypatch.setattr(featboost_check, "chance_gain", lambda *_: np.inf)
    again = FeatBoostClassifier(**QUICK).fit(X, (X[:, 3] > 0).astype(int))
    assert len(n_traced) == 1 + 1 + featboost_check.N_FOLDS
    assert again.path_[-1].details["gain_over_none"] > 1.0
    np.testing.assert_array_equal(again.support_, selector.support_)


def test_a_cut_chooses_what_it_asks_for():
    selector = fit_on_noise(FeatBoostClassifier(**QUICK), seed=3)
    best = int(np.argmax(selector.path_.utilities))
    assert selector.path_[best].n_features
    assert selector.with_cut("best").selection_.index == best
    assert selector.with_cut(1).support_.sum() == 1
    assert not selector.with_cut("one_se").support_.any()
    given = FeatBoostClassifier(**QUICK, cut="best").fit(*noise(FeatBoostClassifier, seed=3))
    assert given.support_.any()


@pytest.mark.parametrize(
    "more",
    [
        {"cv": KFold(4)},
        {"cv": [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(100, 150))]},
        {"cv": 1},
        {"max_features": 1},
        {"costs": {5: 5.0}, "cost_budget": 3.0},
        {"stopping": [MaxFeatures(2)]},
        {"scoring": "roc_auc", "max_features": 2},
        {"scoring": "balanced_accuracy", "evaluator": "trees", "max_features": 1},
        {"evaluator": LogisticRegression(), "n_candidates": 2, "max_features": 1},
        {"weighting": "adaboost"},
    ],
    ids=str,
)
def test_folds_limits_and_scores_of_the_user(more):
    given = {**QUICK, "n_candidates": 4, **more}
    assert not fit_on_noise(FeatBoostClassifier(**given)).support_.any()
    assert FeatBoostClassifier(**given).fit(*signal(FeatBoostClassifier)).support_[[3, 7]].any()


def test_groups_of_rows_stay_together():
    """Each row is there three times: folds that part the copies would find a signal."""
    X, y = noise(FeatBoostClassifier, 60)
    X, y, groups = (np.repeat(each, 3, axis=0) for each in (X, y, np.arange(60)))
    with pytest.warns(EmptySelectionWarning):
        FeatBoostClassifier(**QUICK).fit(X, y, groups=groups)
    assert FeatBoostClassifier(**QUICK).fit(X, y).support_.any()


def test_weights_count_rows():
    X, y = noise(FeatBoostClassifier, 60)
    with pytest.warns(EmptySelectionWarning):
        FeatBoostClassifier(**QUICK).fit(X, y, sample_weight=np.full(60, 3.0))


def test_kept_features_and_few_rows_are_not_checked():
    X, y = noise(FeatBoostClassifier)
    kept = FeatBoostClassifier(**QUICK, keep=[2]).fit(X, y)
    assert kept.support_[2]
    assert FeatBoostClassifier(**QUICK).fit(X[:30], y[:30]).support_.any()


def test_an_interruption_of_the_check_keeps_the_path(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(featboost_check, "drive", interrupted)
    selector = FeatBoostClassifier(**QUICK, on_interrupt="keep")
    with pytest.warns(InterruptedWarning):
        selector.fit(*noise(FeatBoostClassifier))
    assert selector.path_.n_features.min() == 1
    assert selector.support_.any()


@pytest.mark.slow
@pytest.mark.parametrize("cls", SELECTORS)
def test_seldom_is_something_selected_from_noise(cls):
    n_kept = 0
    for seed in range(20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptySelectionWarning)
            selector = cls(random_state=seed).fit(*noise(cls, (100, 200, 300)[seed % 3], seed))
        n_kept += selector.support_.any()
    assert n_kept <= 2

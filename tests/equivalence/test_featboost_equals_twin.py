"""FeatBoost and IIS select what the pseudocode selects."""

from __future__ import annotations

import numpy as np
import pytest
from examples_of_hypothesis import examples
from hypothesis import example, given
from hypothesis import strategies as st
from reference.featboost import featboost, iis, nearest_neighbours, vote
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from secateur import (
    AGBMClassifier,
    FeatBoostClassifier,
    FeatBoostRegressor,
    IISRegressor,
    StopReason,
)
from secateur.engines.featboost import neighbours
from secateur.selectors.featboost_check import ConstantCheck


def problem(seed, n_rows=90, n_features=9, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    score = X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3] + 0.4 * rng.normal(size=n_rows)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)), score


RANKER = DecisionTreeClassifier(max_depth=4, random_state=3)
EVALUATORS = {
    "1-NN": KNeighborsClassifier(1, algorithm="kd_tree"),
    "naive Bayes": GaussianNB(),
    "a tree": DecisionTreeClassifier(max_depth=5, random_state=1),
}


def twin_of_classifier(X, y, evaluator, folds, *, weighting, reset, m=5, p=6, epsilon=1e-9):
    def fitted(features):
        return clone(RANKER).fit(X[:, features], y)

    def losses(features):
        shares = fitted(features).predict_proba(X[:, features])
        return -np.log(np.clip(shares[np.arange(len(y)), y], 1e-30, 1))

    return featboost(
        lambda w: clone(RANKER).fit(X, y, sample_weight=w).feature_importances_,
        losses,
        lambda features: fitted(features).predict(X[:, features]) != y,
        lambda features: cross_val_score(evaluator, X[:, features], y, cv=folds).mean(),
        np.ones(len(y)),
        m=m,
        p=p,
        epsilon=epsilon,
        weighting=weighting,
        n_classes=len(np.unique(y)),
        reset=reset,
    )


@pytest.fixture(autouse=True)
def only_the_pseudocode(monkeypatch):
    """The pseudocode does not compare with a constant."""
    monkeypatch.setattr(ConstantCheck, "finish", lambda _, path: path)


def check_same(selector, expected):
    order, scores, after_reset = expected
    assert selector.path_[-1].order.tolist() == order
    np.testing.assert_allclose(selector.path_.scores, scores, rtol=0, atol=1e-12)
    assert [step.details["after_reset"] for step in selector.path_] == after_reset


# every pair of values occurs
@pytest.mark.parametrize(
    ("name", "weighting", "reset", "n_classes"),
    [
        ("1-NN", "softmax", False, 2),
        ("1-NN", "adaboost", True, 2),
        ("1-NN", None, True, 3),
        ("naive Bayes", "softmax", True, 2),
        ("naive Bayes", "adaboost", False, 3),
        ("naive Bayes", None, False, 2),
        ("a tree", "softmax", True, 3),
        ("a tree", "adaboost", False, 2),
        ("a tree", None, False, 2),
    ],
)
def test_estimators_of_ones_own_give_the_pseudocode(name, weighting, reset, n_classes):
    X, y, _ = problem(n_classes, n_classes=n_classes)
    folds = list(StratifiedKFold(3).split(X, y))
    evaluator = EVALUATORS[name]
    expected = twin_of_classifier(X, y, evaluator, folds, weighting=weighting, reset=reset)
    selector = FeatBoostClassifier(
        ranker=RANKER,
        evaluator=evaluator,
        cv=folds,
        n_candidates=5,
        max_features=6,
        weighting=weighting,
        reset=reset,
    ).fit(X, y)
    check_same(selector, expected)
    full = len(expected[0]) == 6
    assert selector.stop_reason_ is (StopReason.MAX_FEATURES if full else StopReason.NO_GAIN)


def twin_score(X, y, features, folds, k, n_classes):
    """Cross-validated accuracy of k nearest neighbours, from numpy alone."""
    found = []
    for train, test in folds:
        near = nearest_neighbours(X[np.ix_(test, features)], X[np.ix_(train, features)], k)
        shares = vote(y[train][near], np.ones(near.shape), n_classes)
        found.append((shares.argmax(axis=1) == y[test]).mean())
    return np.mean(found)


@examples(10)
@given(st.integers(0, 10**6), st.sampled_from([1, 4]), st.booleans(), st.booleans())
@example(345, 1, False, True)  # importances of zero tie, also with those of accepted features
def test_neighbours_in_increments_give_the_pseudocode(seed, k, in_blocks, coarse):
    X, y, _ = problem(seed, n_rows=60)
    X = X.round() if coarse else X  # many equal distances
    folds = list(KFold(3).split(X))

    def fitted(features):
        return clone(RANKER).fit(X[:, features], y)

    def losses(features):
        shares = fitted(features).predict_proba(X[:, features])
        return -np.log(np.clip(shares[np.arange(len(y)), y], 1e-30, 1))

    expected = featboost(
        lambda w: clone(RANKER).fit(X, y, sample_weight=w).feature_importances_,
        losses,
        None,
        lambda features: twin_score(X, y, features, folds, k, 3),
        np.ones(len(y)),
        m=5,
        p=6,
        epsilon=1e-9,
        weighting="softmax",
        n_classes=3,
        reset=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        if in_blocks:
            patch.setattr(neighbours, "MAX_PAIRS", 0)
            patch.setattr(neighbours, "BLOCK_PAIRS", 300)
        selector = FeatBoostClassifier(
            ranker=RANKER,
            evaluator="knn",
            n_neighbors=k,
            standardize=False,
            cv=folds,
            n_candidates=5,
            max_features=6,
        ).fit(X, y)
    check_same(selector, expected)


@pytest.mark.parametrize("repeats", ["end", "add"])
def test_selected_features_that_win_again_give_the_pseudocode(repeats):
    n_repeated, ends = 0, set()
    for seed in range(6):
        X, y, _ = problem(seed, n_rows=60)
        folds = list(KFold(3).split(X))
        fixed = {"m": 5, "p": 8, "epsilon": 1e-9, "n_classes": 3, "reset": False}
        order, scores, _ = featboost(
            lambda w, X=X, y=y: clone(RANKER).fit(X, y, sample_weight=w).feature_importances_,
            None,
            None,
            lambda features, X=X, y=y, folds=folds: twin_score(X, y, features, folds, 1, 3),
            np.ones(len(y)),
            weighting=None,
            repeats=repeats,
            **fixed,
        )
        selector = FeatBoostClassifier(
            ranker=RANKER,
            standardize=False,
            weighting=None,
            reset=False,
            cv=folds,
            n_candidates=5,
            max_features=8,
            repeats=repeats,
        ).fit(X, y)
        assert selector._model.features.tolist() == order
        assert selector.path_[-1].order.tolist() == list(dict.fromkeys(order))
        assert selector.path_.scores[-1] == pytest.approx(scores[-1], abs=1e-12)
        assert selector.predict(X).shape == y.shape
        n_repeated += len(order) - len(set(order))
        ends.add(len(order))
    assert (n_repeated > 0) == (repeats == "add")
    assert len(ends) > 1


def test_neighbours_score_as_scikit_learn_does():
    X, y, _ = problem(5, n_rows=300)
    folds = list(StratifiedKFold(4).split(X, y))
    common = {"ranker": RANKER, "cv": folds, "n_candidates": 9, "max_features": 5}
    for k in (1, 5):
        ours = FeatBoostClassifier(evaluator="knn", n_neighbors=k, standardize=False, **common)
        theirs = FeatBoostClassifier(evaluator=KNeighborsClassifier(k), **common)
        ours.fit(X, y)
        theirs.fit(X, y)
        assert ours.path_[-1].order.tolist() == theirs.path_[-1].order.tolist()
        np.testing.assert_allclose(ours.path_.scores, theirs.path_.scores, atol=1e-12)
        expected = KNeighborsClassifier(k).fit(X[:, theirs.path_[-1].order], y)
        np.testing.assert_array_equal(
            ours.predict(X + 0.01), expected.predict(X[:, theirs.path_[-1].order] + 0.01)
        )


@pytest.mark.parametrize("scoring", ["f1_macro", "neg_log_loss", "roc_auc_ovr"])
def test_any_scorer_gives_the_pseudocode(scoring):
    X, y, _ = problem(2)
    folds = list(StratifiedKFold(3).split(X, y))
    selector = FeatBoostClassifier(
        ranker=RANKER, evaluator="knn", standardize=False, cv=folds, scoring=scoring
    ).fit(X, np.array(["u", "v", "w"])[y])
    step = selector.path_[-1]
    model = KNeighborsClassifier(5)
    expected = [
        get_scorer(scoring)(
            model.fit(X[np.ix_(train, step.order)], y[train]), X[np.ix_(test, step.order)], y[test]
        )
        for train, test in folds
    ]
    np.testing.assert_allclose(step.score.folds, expected, atol=1e-12)
    assert step.score.metric == scoring


def twin_of_regressor(X, y, ranker, folds, *, reset):
    def losses(features):
        return np.abs(y - clone(ranker).fit(X[:, features], y).predict(X[:, features]))

    return featboost(
        lambda w: clone(ranker).fit(X, y, sample_weight=w).feature_importances_,
        losses,
        None,
        lambda features: cross_val_score(Ridge(), X[:, features], y, cv=folds).mean(),
        np.ones(len(y)),
        m=4,
        p=6,
        epsilon=1e-9,
        weighting="softmax",
        n_classes=0,
        reset=reset,
    )


@pytest.mark.parametrize("reset", [True, False])
def test_regressor_gives_the_pseudocode(reset):
    ranker = DecisionTreeRegressor(max_depth=4, random_state=0)
    for seed in range(2):
        X, _, y = problem(seed)
        folds = list(KFold(3).split(X))
        expected = twin_of_regressor(X, y, ranker, folds, reset=reset)
        selector = FeatBoostRegressor(
            ranker=ranker,
            evaluator=Ridge(),
            cv=folds,
            n_candidates=4,
            max_features=6,
            reset=reset,
        ).fit(X, y)
        check_same(selector, expected)


def twin_of_iis(X, y, ranker, evaluator, folds):
    def score(features, target):
        return cross_val_score(evaluator, X[:, features], target, cv=folds).mean()

    return iis(
        lambda target: clone(ranker).fit(X, target).feature_importances_,
        lambda j, target: score([j], target),
        lambda features: score(features, y),
        lambda features, target: cross_val_predict(evaluator, X[:, features], target, cv=folds),
        y,
        m=3,
        p=6,
        epsilon=1e-9,
    )


def test_iis_gives_the_pseudocode():
    reasons = set()
    ranker = ExtraTreesRegressor(20, random_state=0)
    evaluator = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    for seed in range(3):
        X, _, y = problem(seed)
        folds = list(KFold(3).split(X))
        order, scores = twin_of_iis(X, y, ranker, evaluator, folds)
        selector = IISRegressor(
            ranker=ranker, evaluator=evaluator, cv=folds, n_candidates=3, max_features=6
        ).fit(X, y)
        assert selector.path_[-1].order.tolist() == order
        np.testing.assert_allclose(selector.path_.scores, scores, atol=1e-12)
        reasons.add(selector.stop_reason_)
    assert reasons & {StopReason.REPEATED, StopReason.NO_GAIN}


def test_iis_has_extra_trees_by_default():
    X, _, y = problem(1)
    folds = list(KFold(3).split(X))
    given = {"cv": folds, "n_candidates": 3, "max_features": 3, "max_iter": 10, "random_state": 0}
    trees = ExtraTreesRegressor(10, min_weight_fraction_leaf=0.01)
    own = dict.fromkeys(("ranker", "evaluator"), trees)
    default, named = IISRegressor(**given).fit(X, y), IISRegressor(**given, **own).fit(X, y)
    np.testing.assert_array_equal(default.path_.scores, named.path_.scores)
    assert default.path_[-1].order.tolist() == named.path_[-1].order.tolist()


def test_mean_gains_are_total_gains_by_split():
    X, y, _ = problem(2, n_rows=150)
    trees = AGBMClassifier(
        penalty=0.0, max_iter=20, learning_rate=0.3, max_bins=64, min_samples_leaf=3
    ).fit(X, y)
    n_splits = np.zeros(X.shape[1])
    for round_ in trees._model.ensemble.rounds:
        for tree in round_:
            np.add.at(n_splits, tree.feature[tree.left >= 0], 1)
    totals = trees._model.importances(X.shape[1])
    by_split = totals / np.maximum(n_splits, 1.0)
    for importance, expected in (("total_gain", totals), ("gain", by_split)):
        selector = FeatBoostClassifier(importance=importance, max_features=1, weighting=None)
        tried, _ = selector.fit(X, y).candidates_of(0)
        assert tried.tolist() == np.argsort(-expected, kind="stable")[: len(tried)].tolist()
    assert np.argsort(-totals).tolist() != np.argsort(-by_split).tolist()


def test_the_callers_estimators_stay_unfitted():
    X, y, _ = problem(0)
    ranker, evaluator = DecisionTreeClassifier(), LogisticRegression()
    FeatBoostClassifier(ranker=ranker, evaluator=evaluator, max_features=2).fit(X, y)
    assert not hasattr(ranker, "tree_")
    assert not hasattr(evaluator, "coef_")
    assert ranker.random_state is None

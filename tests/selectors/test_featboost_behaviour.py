"""What the forward selectors do where the pseudocode says nothing: ends, edges, costs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from secateur import FeatBoostClassifier, FeatBoostRegressor, FeatureCosts, IISRegressor, StopReason
from secateur.engines.featboost.forward import Weighting
from secateur.exceptions import InputError, InterruptedWarning, ParameterError

QUICK = {"max_iter": 5, "random_state": 0}


def xor(n_rows=300, n_noise=8, seed=0):
    """Two columns that say nothing alone and everything together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2 + n_noise))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def largest(selector):
    """The step with the most features."""
    return max(selector.path_, key=lambda step: step.n_features)


def separable(n_rows=120):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 5))
    return X, (X[:, 2] > 0).astype(int) * 2


# ---- losses that vanish -----------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["softmax", "adaboost", None])
@pytest.mark.parametrize("evaluator", ["nearest", "trees", GaussianNB()])
def test_separable_classes_end_in_peace(weighting, evaluator):
    X, y = separable()
    X[:, 2] += np.where(y > 0, 3.0, -3.0)
    with np.errstate(all="raise"):
        selector = FeatBoostClassifier(weighting=weighting, evaluator=evaluator, random_state=0)
        selector.fit(X, y)
    assert selector.support_.tolist() == [False, False, True, False, False]
    assert selector.path_.scores.min() >= 0.99
    assert selector.stop_reason_ is StopReason.NO_GAIN


@pytest.mark.parametrize("weighting", ["softmax", "adaboost"])
def test_a_ranker_that_fits_perfectly_keeps_weights_finite(weighting):
    X, y = xor()
    seen = []

    class Forest(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, y, sample_weight)

    ranker = Forest(10, bootstrap=False, random_state=0)  # remembers every row
    selector = FeatBoostClassifier(ranker=ranker, weighting=weighting, max_features=4).fit(X, y)
    weights = [weight for weight in seen if weight is not None]
    assert len(weights) > (weighting == "softmax")  # AdaBoost has no row to raise
    assert all(np.isfinite(w).all() and (w >= 0).all() for w in weights)
    np.testing.assert_allclose([w.sum() for w in weights], [len(w) for w in weights])
    assert len(selector.path_) >= 1


class WithLosses:
    """A ranker with fixed predictions."""

    def __init__(self, losses):
        self._losses = losses

    def losses(self, features):
        return self._losses

    def errors(self, features):
        return self._losses


def test_weights_follow_the_ratio_of_losses():
    weighting = Weighting(np.ones(4), "loss")
    first = np.array([0.1, 0.2, 0.4, 0.1])
    weighting.update(WithLosses(first), np.array([0]))
    np.testing.assert_allclose(weighting.weight, 4 * first / first.sum())
    weighting.update(WithLosses(np.array([0.0, 0.0, 0.0, 0.0])), np.array([0]))
    np.testing.assert_allclose(weighting.weight, 1.0)  # all floors: all equal again
    weighting.update(WithLosses(np.array([0.5, 0.0, 0.0, 0.0])), np.array([0]))
    assert np.isfinite(weighting.weight).all()
    assert weighting.weight[0] == pytest.approx(4.0)


def test_adaboost_raises_rows_that_are_wrong():
    weighting = Weighting(np.ones(4), "adaboost", 2)
    weighting.update(WithLosses(np.array([1.0, 0.0, 0.0, 0.0])), np.array([0]))
    ratio = weighting.weight[0] / weighting.weight[1]
    assert ratio == pytest.approx(3.0)  # exp(log(.75 / .25) / 1)
    before = weighting.weight.copy()
    for nothing_to_learn in (np.zeros(4), np.ones(4)):
        weighting.update(WithLosses(nothing_to_learn), np.array([0]))
        np.testing.assert_array_equal(weighting.weight, before)


def test_adaboost_leaves_the_weights_after_a_round_worse_than_chance():
    weighting = Weighting(np.ones(100), "adaboost", 2)
    few, most = (np.arange(100) < n for n in (10, 60))
    weighting.update(WithLosses(few.astype(float)), np.array([0]))
    before = weighting.weight.copy()
    weighting.update(WithLosses(most.astype(float)), np.array([0]))
    np.testing.assert_array_equal(weighting.weight, before)
    weighting.update(WithLosses(few.astype(float)), np.array([0]))
    growth = (weighting.weight[0] / weighting.weight[-1]) / (before[0] / before[-1])
    assert growth == pytest.approx(np.e)  # alpha is that of the last round better than chance


# ---- edges ------------------------------------------------------------------------------------


def test_columns_that_say_nothing_alone_are_found_together():
    X, y = xor()
    selector = FeatBoostClassifier(random_state=0, epsilon=0.02).fit(X, y)
    assert selector.support_[:2].all()
    assert selector.path_.scores[-1] > 0.85


def test_fewer_features_than_candidates_and_rows_than_folds():
    X, y = separable(6)
    selector = FeatBoostClassifier(n_candidates=50, **QUICK).fit(X[:, :2], y)
    assert selector.support_.shape == (2,)
    few = FeatBoostRegressor(**QUICK).fit(X[:2], [0.0, 1.0])
    assert len(few.path_) >= 1
    one = IISRegressor(**QUICK).fit(X[:1], [2.5])
    assert one.predict(X[:3]).tolist() == [2.5, 2.5, 2.5]


def test_constant_and_copied_columns_are_not_accepted():
    X, y = xor()
    wide = np.column_stack([np.ones(len(X)), X, X, -2.0 * X[:, :2] + 1.0, np.full(len(X), np.nan)])
    selector = FeatBoostClassifier(random_state=0, epsilon=0.02).fit(wide, y)
    kept = [(j - 1) % 10 if 0 < j <= 20 else j - 21 for j in np.flatnonzero(selector.support_)]
    assert not selector.support_[[0, -1]].any()
    assert len(set(kept)) == len(kept)


def test_every_fold_may_be_drawn_by_a_splitter():
    X, y = xor()
    shuffled = FeatBoostClassifier(cv=ShuffleSplit(4, random_state=0), **QUICK).fit(X, y)
    assert len(shuffled.path_[0].score.folds) == 4
    single = FeatBoostClassifier(cv=1, **QUICK).fit(X, y)
    assert len(single.path_[0].score.folds) == 1
    groups = np.repeat(np.arange(30), 10)
    grouped = FeatBoostClassifier(cv=GroupKFold(5), **QUICK).fit(X, y, groups=groups)
    own = [(train, test) for train, test in GroupKFold(5).split(X, y, groups)]
    same = FeatBoostClassifier(cv=own, **QUICK).fit(X, y)
    np.testing.assert_array_equal(grouped.path_.scores, same.path_.scores)


def test_scores_of_the_path_are_called_inner():
    X, y = xor()
    for selector in (FeatBoostClassifier(**QUICK), FeatBoostClassifier(evaluator="trees", **QUICK)):
        selector.fit(X, y)
        assert {step.score.origin for step in selector.path_} == {"inner"}


def test_candidates_and_weights_are_recorded():
    X, y = xor()
    selector = FeatBoostClassifier(n_candidates=4, **QUICK).fit(X, y)
    step = selector.path_[0]
    features, scores = selector.candidates_of(0)
    assert len(features) == len(scores) == 4
    assert step.order[0] == features[step.details["rank"] - 1]
    assert scores.max() == pytest.approx(step.score.mean, abs=1e-5)
    assert step.details["effective_rows"] == pytest.approx(len(y))
    assert step.penalty == step.details["rank"]
    if len(selector.path_) > 1:
        assert selector.path_[1].details["effective_rows"] < len(y)
        gained = selector.path_.scores[1] - selector.path_.scores[0]
        assert selector.path_[1].details["gain"] == pytest.approx(gained)


def test_a_reset_can_lead_on():
    found = []
    for seed in range(12):
        X, y = xor(150, seed=seed)
        selector = FeatBoostClassifier(n_candidates=3, max_features=8, **QUICK).fit(X, y)
        found += [step.details.get("after_reset", False) for step in selector.path_]
        without = FeatBoostClassifier(n_candidates=3, max_features=8, reset=False, **QUICK)
        without.fit(X, y)
        order = largest(without).order.tolist()
        assert largest(selector).order.tolist()[: len(order)] == order
    assert any(found)


def test_repeated_inputs_end_iis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = np.sin(2 * X[:, 1]) + X[:, 4] + 0.1 * rng.normal(size=200)
    selector = IISRegressor(random_state=0, max_iter=10).fit(X, y)
    assert selector.support_[[1, 4]].all()
    assert selector.stop_reason_ in {StopReason.REPEATED, StopReason.NO_GAIN}
    variances = [step.details["target_variance"] for step in selector.path_]
    assert variances == sorted(variances, reverse=True)
    assert IISRegressor(random_state=0, ranker="trees", evaluator="nearest").fit(X, y).support_[4]


# ---- costs ------------------------------------------------------------------------------------


def test_a_budget_ends_the_path():
    X, y = xor()
    selector = FeatBoostClassifier(costs=2.0, cost_budget=3.0, **QUICK).fit(X, y)
    assert largest(selector).n_features == 1
    assert selector.stop_reason_ is StopReason.COST_BUDGET


def test_gain_per_cost_prefers_columns_of_low_cost():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = (X.sum(axis=1) > 0).astype(int)
    X[:, 2] += rng.normal(size=400)
    expensive = FeatureCosts([1.0, 30.0, 1.0])
    common = {"keep": [0], "costs": expensive, "random_state": 0, "max_features": 2}
    by_gain = FeatBoostClassifier(**common).fit(X, y)
    by_cost = FeatBoostClassifier(gain_per_cost=True, **common).fit(X, y)
    assert by_gain.path_[-1].order.tolist() == [0, 1]
    assert by_cost.path_[-1].order.tolist() == [0, 2]


# ---- what the user brings ---------------------------------------------------------------------


def test_rankers_of_many_kinds():
    X, y = xor()
    labels = np.array(["no", "yes"])[y]
    for ranker in (ExtraTreesClassifier(20), LogisticRegression()):
        selector = FeatBoostClassifier(ranker=ranker, max_features=3, random_state=0)
        first = selector.fit(X, labels).path_.scores
        np.testing.assert_array_equal(selector.fit(X, labels).path_.scores, first)


def test_rankers_that_cannot_do_it_are_refused():
    X, y = xor()
    with pytest.raises(ParameterError, match=r"must take sample_weight in fit"):
        FeatBoostClassifier(ranker=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ParameterError, match=r"must have predict_proba for weighting='softmax'"):
        FeatBoostClassifier(ranker=LinearSVC()).fit(X, y)
    with pytest.raises(ParameterError, match=r"must have feature_importances_ or coef_"):
        FeatBoostClassifier(ranker=GaussianNB()).fit(X, y)
    FeatBoostClassifier(ranker=LinearSVC(), weighting="adaboost", max_features=2).fit(X, y)


def test_distances_do_not_depend_on_units_unless_asked_to():
    X, y = xor()
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    plain = FeatBoostClassifier(**QUICK).fit(X, y)
    scaled = FeatBoostClassifier(**QUICK).fit(X * units, y)
    assert plain.path_[-1].order.tolist() == scaled.path_[-1].order.tolist()
    raw = FeatBoostClassifier(standardize=False, **QUICK).fit(X * units, y)
    assert raw.path_.scores.tolist() != scaled.path_.scores.tolist()


def test_trees_evaluate_sparse_tables():
    X, y = xor()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = FeatBoostClassifier(evaluator="trees", **QUICK).fit(X, y)
    sparse = FeatBoostClassifier(evaluator="trees", **QUICK).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.path_.scores, sparse.path_.scores)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_matrix(X)))


def test_trees_predict_from_the_features_of_each_step():
    X, y = xor()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    selector = FeatBoostClassifier(evaluator="trees", **QUICK).fit(frame, y)
    moved = frame.copy()
    unused = frame.columns[~selector.support_]
    moved[unused] = 0.0
    np.testing.assert_array_equal(selector.predict_proba(moved), selector.predict_proba(frame))
    assert selector.score(frame, y) > 0.7


@pytest.mark.parametrize("cls", [FeatBoostClassifier, FeatBoostRegressor, IISRegressor])
def test_an_interruption_leaves_a_path(cls, monkeypatch):
    X, y = xor()
    y = y if cls is FeatBoostClassifier else X[:, 0] + X[:, 1] + 0.1 * X[:, 2]
    from secateur.selectors.featboost_evaluators import BoostedTrees

    original, calls = BoostedTrees.rank, []

    def interrupted(self, *given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, *given)

    monkeypatch.setattr(BoostedTrees, "rank", interrupted)
    selector = cls(**QUICK, ranker="trees", on_interrupt="keep")
    with pytest.warns(InterruptedWarning, match="keeps the 1 step "):
        selector.fit(X, y)
    assert selector.stop_reason_ is StopReason.INTERRUPTED
    assert selector.support_.sum() == 1
    assert selector.predict(X).shape == (len(X),)


@pytest.mark.parametrize("cls", [FeatBoostClassifier, IISRegressor])
def test_a_callback_may_ask_for_an_end(cls):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")
    from contract.test_progress_and_interruption import Counter

    X, y = xor()
    y = y if cls is FeatBoostClassifier else X[:, 0] + X[:, 1] + X[:, 2]
    selector = cls(**QUICK).set_callbacks(Counter(at=1, stop=True))
    with pytest.warns(InterruptedWarning):
        selector.fit(X, y)
    assert len(selector.path_) == 1
    counter = Counter()
    selector = cls(**QUICK).set_callbacks(counter).fit(X, y)
    assert counter.ended > len(selector.path_)
    assert counter.n_teardowns == 1


def test_a_sparse_table_reaches_the_users_ranker_sparse():
    X, y = xor()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    params = {"ranker": RandomForestClassifier(10), "max_features": 3, "random_state": 0}
    dense = FeatBoostClassifier(**params).fit(X, y)
    sparse = FeatBoostClassifier(**params).fit(sp.csc_matrix(X), y)
    np.testing.assert_array_equal(dense.path_.scores, sparse.path_.scores)


@pytest.mark.data
def test_madelon_as_in_the_paper(load_set):
    data = load_set("madelon")
    selector = FeatBoostClassifier(max_features=5, standardize=False, random_state=0)
    selector.fit(data["X"], data["y"])
    assert selector.path_.scores[-1] >= 0.78
    assert (np.diff(selector.path_.scores) > 0).all()


def test_values_beyond_single_precision_are_refused_by_extra_trees():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0)
    X[3, 1] = 1e39
    with pytest.raises(InputError, match=r"x1.*ranker='trees'"):
        IISRegressor().fit(X, y)
    IISRegressor(ranker="trees", evaluator="trees", max_iter=2).fit(X, y)

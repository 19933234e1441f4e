"""AutoSelector: which method wins and why, limits of time, interruptions, tables of any kind."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from secateur import (
    AGBMClassifier,
    AGBMRegressor,
    AutoSelector,
    FeatureCosts,
    GraftingClassifier,
    GraftingRegressor,
    StopReason,
    compare,
    held_out,
)
from secateur.data.table import Fold
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import InterruptedWarning, ParameterError
from secateur.model_selection import candidates as parts
from secateur.model_selection.candidates import Candidate, Evaluation, compared, winner_of
from secateur.model_selection.methods import read_methods
from secateur.selectors import auto, auto_search

QUICK = {"max_iter": 10, "learning_rate": 0.4, "penalty": [0.1, 0.02], "cv": 2}
GRID = {"l1": [0.25, 0.1, 0.05], "cv": 2}


def numbers(n_rows=150, seed=0):
    """A linear problem: columns 1, 4 and 6 of eight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8))
    return X, 1.5 * X[:, 1] - X[:, 4] + 0.8 * X[:, 6] + 0.3 * rng.normal(size=n_rows)


def quick(**params):
    methods = {"agbm": AGBMRegressor(**QUICK), "grafting": GraftingRegressor(**GRID)}
    return AutoSelector(**{"candidates": methods, "random_state": 0} | params)


def quick_classes(**params):
    methods = {"agbm": AGBMClassifier(**QUICK), "grafting": GraftingClassifier(**GRID)}
    return AutoSelector(**{"candidates": methods, "random_state": 0} | params)


class Failing(GraftingRegressor):
    """A selector whose fit fails."""

    def fit(self, X, y=None, sample_weight=None, groups=None):
        raise RuntimeError("no such thing")


# ---- who wins ---------------------------------------------------------------------------------


def evaluation(method, losses, size):
    done = Evaluation(method, "done", sizes=[size], seconds=[0.1])
    done.losses.append(FoldLosses(np.asarray(losses, float), np.ones(len(losses))))
    return done


@pytest.fixture
def context():
    X, y = numbers(60)
    return quick()._problem(X, y, None).search.context


def test_the_fewest_features_within_half_a_standard_error_win(context):
    rng = np.random.default_rng(0)
    base, noise = rng.random(100), rng.normal(size=100)
    near, far = base + 0.001 + 0.1 * (noise - noise.mean()), base + 0.5
    evaluations = [
        evaluation("many", base, 9),
        evaluation("few", near, 3),
        evaluation("poor", far, 1),
    ]
    found = compared(context, evaluations)
    assert [each.method for each in found if each.worse == 0] == ["many"]
    assert winner_of(found).method == "few"
    differences = near - base
    assert found[1].worse == pytest.approx(differences.mean())
    assert found[1].standard_error == pytest.approx(differences.std() / math.sqrt(100))
    assert not found[2].is_near
    assert winner_of(found[::2]).method == "many"
    less_near = evaluation("less near", base + 0.007 + 0.1 * (noise - noise.mean()), 2)
    found = compared(context, [evaluations[0], less_near])
    assert 0.5 * found[1].standard_error < found[1].worse < found[1].standard_error
    assert winner_of(found).method == "many"


def test_ties_go_to_the_first_and_losses_that_are_no_numbers_lose(context):
    same = [evaluation("a", [0.5, 0.25], 2), evaluation("b", [0.5, 0.25], 2)]
    assert winner_of(compared(context, same)).method == "a"
    broken = [evaluation("a", [np.nan, 0.1], 1), evaluation("b", [0.5, 0.25], 2)]
    found = compared(context, broken)
    assert winner_of(found).method == "b"
    assert found[0].score is None
    assert winner_of(compared(context, broken[:1])) is None


def test_the_winner_is_that_of_a_comparison_by_hand():
    X, y = numbers()
    selector = quick(for_model="linear").fit(X, y)
    trees, linear = selector.candidates_
    assert (trees.method, linear.method) == ("agbm", "grafting")
    assert selector.winner_ == "grafting"
    assert linear.is_winner
    assert not trees.is_winner
    model = selector._scoring_model(selector._problem(X, y, None).search.rows)
    given = selector._problem(X, y, None)
    losses = []
    for fold in selector._folds(given):
        chosen = GraftingRegressor(**GRID, random_state=0).fit(X[fold.train], y[fold.train])
        model.fit(X[fold.train][:, chosen.support_], y[fold.train])
        losses.append((y[fold.test] - model.predict(X[fold.test][:, chosen.support_])) ** 2)
    assert linear.score.mean == pytest.approx(np.mean(np.concatenate(losses)))
    assert linear.score.origin == "held_out"


def test_what_is_left_is_that_of_the_winner_alone():
    X, y = numbers()
    selector = quick(for_model="linear").fit(X, y)
    alone = GraftingRegressor(**GRID, random_state=0).fit(X, y)
    assert [s.support.tolist() for s in selector.path_] == [s.support.tolist() for s in alone.path_]
    assert selector.path_.penalty_name == alone.path_.penalty_name
    assert selector.path_.stop_reason is alone.path_.stop_reason
    np.testing.assert_array_equal(selector.support_, alone.support_)
    np.testing.assert_array_equal(selector.predict(X), alone.predict(X))
    assert type(selector.estimator_) is GraftingRegressor
    assert selector.n_fits_ == 1 + 2 * 3 + 1


def test_the_sentence_says_who_won_by_how_much_and_at_what_cost():
    X, y = numbers()
    selector = quick(for_model="linear").fit(X, y)
    sentence = selector.sentence_
    for words in ("Grafting won against A-GBM for a linear model", "±", "150 rows", "of 8 feat"):
        assert words in sentence
    assert sentence.endswith(" s.")
    rows = [each.row() for each in selector.candidates_]
    assert [row[0] for row in rows] == ["A-GBM", "Grafting (chosen)"]
    own = quick(for_model=Ridge()).fit(X, y)
    assert "for Ridge" in own.sentence_


def test_answers_come_as_they_are_found():
    X, y = numbers()
    seen = []
    quick(for_model="linear", on_answer=lambda *found: seen.append(found)).fit(X, y)
    assert [method for method, _, _ in seen] == ["agbm", "grafting"]
    for _, path, selection in seen:
        assert path[selection.index].support.tolist() == selection.support.tolist()


def test_the_first_candidate_is_not_fitted_again_where_it_wins():
    X, y = numbers()
    seen = []
    selector = quick(on_answer=lambda *found: seen.append(found))
    selector.set_params(candidates=[GraftingRegressor(**GRID), AGBMRegressor(**QUICK)])
    selector.set_params(for_model="linear").fit(X, y)
    assert [method for method, _, _ in seen] == ["grafting"]
    assert selector.n_fits_ == 1 + 2 * 3


# ---- what is passed on ------------------------------------------------------------------------


def test_parameters_reach_the_candidates_that_have_them():
    X, y = numbers()
    costs, keep = FeatureCosts({1: 3.0}, unit="euro"), [0]
    selector = quick(costs=costs, keep=keep, max_features=4, cost_budget=9.0, cut="best", n_jobs=1)
    found = selector._problem(X, y, None).search.candidates
    for method in found.values():
        assert method.costs.unit == "euro"
        assert (method.max_features, method.cost_budget, method.cut) == (4, 9.0, "best")
        assert (method.keep, method.random_state, method.n_jobs) == (keep, 0, 1)
        assert method.cv == 2  # its own, as that of the selector is None
    assert not hasattr(found["grafting"], "categorical_features")


def test_candidates_of_tables_of_any_size():
    assert auto.default_candidates(2000, 500) == ["agbm", "grafting", "featboost", "fg"]
    assert auto.default_candidates(2001, 500) == ["agbm", "grafting", "fg"]
    assert auto.default_candidates(100, 501) == ["agbm", "grafting", "fg"]


def test_many_rows_are_compared_on_a_sample_and_the_winner_is_fitted_to_all(monkeypatch):
    monkeypatch.setattr(auto, "MAX_COMPARED", 60)
    X, y = numbers(200)
    labels = np.where(y > 1.5, "high", "low")
    selector = quick_classes()
    folds = selector._folds(selector._problem(X, labels, None))
    used = np.unique(np.concatenate([np.concatenate(fold) for fold in folds]))
    assert len(used) == 60
    assert (labels[used] == "high").mean() == pytest.approx((labels == "high").mean(), abs=0.03)
    assert "60 rows" in selector.fit(X, labels).sentence_
    alone = AGBMClassifier(**QUICK, random_state=0).fit(X, labels)
    first = [step.objective for step in selector.with_cut(None).estimator_.path_]
    if selector.winner_ == "agbm":
        assert first == [step.objective for step in alone.path_]


def test_lists_of_folds_are_the_outer_ones():
    X, y = numbers()
    rows = np.arange(150)
    folds = [(rows[:100], rows[100:]), (rows[50:], rows[:50])]
    selector = quick(cv=folds).fit(X, y)
    assert all(len(each.score.folds) == 2 for each in selector.candidates_)
    inner = auto_search._in_folds(selector.estimator_, [Fold(*fold) for fold in folds])
    (train, test), *others = inner[0].cv  # of the first 100 rows, those that the second trains on
    assert (train.tolist(), test.tolist(), others) == (list(range(50, 100)), list(range(50)), [])


def test_few_rows_are_not_compared():
    X, y = numbers(30)
    selector = quick().fit(X, y)
    assert selector.winner_ == "agbm"
    assert [each.status for each in selector.candidates_] == ["not_compared"] * 2
    assert "not compared" in selector.sentence_


def test_scores_of_scikit_learn_and_models_without_probabilities():
    X, y = numbers()
    labels = np.where(y > 0, "high", "low")
    by_area = quick_classes(scoring="roc_auc", for_model=LogisticRegression()).fit(X, labels)
    assert all(each.score.metric == "roc_auc" for each in by_area.candidates_)
    assert all(each.worse >= 0 for each in by_area.candidates_)
    plain = quick_classes(for_model=LinearSVC()).fit(X, labels)
    assert all(each.score.metric == "accuracy" for each in plain.candidates_)
    with pytest.raises(ParameterError, match="'for_model' must be a classifier"):
        quick_classes(for_model=Ridge()).fit(X, labels)


# ---- what goes wrong --------------------------------------------------------------------------


def test_a_candidate_that_fails_is_named_and_the_others_go_on():
    X, y = numbers()
    methods = {"broken": Failing(), "grafting": GraftingRegressor(**GRID)}
    selector = AutoSelector(candidates=methods, random_state=0).fit(X, y)
    broken, grafting = selector.candidates_
    assert (broken.status, broken.score) == ("failed", None)
    assert "no such thing" in broken.message
    assert "no such thing" in selector.sentence_
    assert grafting.is_winner
    with pytest.raises(RuntimeError, match="no such thing"):
        AutoSelector(candidates=Failing()).fit(X, y)


def test_a_model_that_fails_leaves_the_first_answer():
    class Broken(Ridge):
        def predict(self, X):
            raise RuntimeError("not today")

    X, y = numbers()
    selector = quick(for_model=Broken()).fit(X, y)
    assert selector.winner_ == "agbm"
    assert all("not today" in each.message for each in selector.candidates_)


def test_a_time_limit_leaves_an_answer_and_names_what_was_not_tried(monkeypatch):
    X, y = numbers()
    selector = quick(time_limit=1e-9).fit(X, y)
    assert selector.winner_ == "agbm"
    assert selector.path_.stop_reason is StopReason.TIME_LIMIT
    assert all(each.status == "timed_out" and each.message for each in selector.candidates_)
    assert "time limit" in selector.sentence_
    monkeypatch.setattr(auto_search, "COMPARISON_SHARE", 0.0)
    selector = quick(time_limit=1e6).fit(X, y)
    whole = AGBMRegressor(**QUICK, random_state=0).fit(X, y)
    assert len(selector.path_) == len(whole.path_)
    assert all(each.message == parts.NOT_TRIED for each in selector.candidates_)


def test_a_winner_whose_own_fit_takes_too_long_leaves_the_first_answer(monkeypatch):
    X, y = numbers()
    monkeypatch.setattr(
        auto_search.Fitted, "is_whole", property(lambda self: self.method == "agbm")
    )
    selector = quick(for_model="linear", time_limit=1e6).fit(X, y)
    assert selector.winner_ == "agbm"
    assert "It won, but" in selector.candidates_[1].message
    assert "It won, but" in selector.sentence_


@pytest.mark.parametrize("how", ["keep", "raise"])
def test_ctrl_c_in_the_comparison_keeps_the_first_answer(monkeypatch, how):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Evaluation, "run", interrupt)
    X, y = numbers()
    selector = quick(on_interrupt=how)
    if how == "raise":
        with pytest.raises(KeyboardInterrupt):
            selector.fit(X, y)
    else:
        with pytest.warns(InterruptedWarning):
            selector.fit(X, y)
    assert selector.path_.stop_reason is StopReason.INTERRUPTED
    whole = AGBMRegressor(**QUICK, random_state=0).fit(X, y)
    np.testing.assert_array_equal(selector.support_, whole.support_)
    assert all("interrupted" in each.message for each in selector.candidates_)


# ---- tables of any kind -----------------------------------------------------------------------


def mixed(n_rows=150):
    rng = np.random.default_rng(1)
    colour = rng.choice(["red", "green", "blue"], n_rows)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    frame.loc[::7, "b"] = np.nan
    frame["colour"] = pd.Categorical(colour)
    y = 2.0 * (colour == "red") + frame["a"] + 0.1 * rng.normal(size=n_rows)
    return frame, y.to_numpy()


def test_a_winner_that_takes_numbers_only_selects_and_predicts_with_categories():
    frame, y = mixed()
    selector = quick(for_model="linear").fit(frame, y)
    assert selector.winner_ == "grafting"
    assert selector.encoder_ is not None
    assert {"a", "colour"} <= set(selector.selection_.names) <= set(frame.columns)
    assert selector.path_.feature_names == tuple(frame.columns)
    predicted = selector.predict(frame)
    assert np.corrcoef(predicted, y)[0, 1] > 0.9
    np.testing.assert_array_equal(selector.predict(selector.transform(frame)), predicted)
    np.testing.assert_array_equal(selector.reduced().predict(selector.transform(frame)), predicted)
    again = pickle.loads(pickle.dumps(selector))  # noqa: S301
    np.testing.assert_array_equal(again.predict(frame), predicted)
    assert len(selector.with_cut("best").predict(frame)) == len(frame)


def test_costs_of_categories_are_those_of_their_columns():
    frame, y = mixed()
    selector = quick(for_model="linear", costs={"colour": 5.0}).fit(frame, y)
    prices = np.array([1.0, 1.0, 1.0, 5.0])
    for step in selector.path_:
        assert step.cost == prices[step.support].sum()


def test_sparse_tables():
    X, y = numbers()
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, sparse = (quick().fit(table, y) for table in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    assert dense.winner_ == sparse.winner_


def test_a_method_without_predictions_can_win():
    X, y = numbers()
    fg = {"penalty": [2.0, 0.1], "max_epochs": 20, "cv": 2, "target_type": "regression"}
    methods = [read_methods("fg", "regression")["fg"].set_params(**fg)]
    selector = AutoSelector(candidates=methods, random_state=0).fit(X, y)
    assert not hasattr(selector, "predict")
    assert selector.transform(X).shape[1] == selector.support_.sum()
    assert selector.feature_importances_.sum() == pytest.approx(1.0)


def test_weights_of_zero_leave_rows_out():
    X, y = numbers()
    weight = (np.arange(150) < 100).astype(float)
    selector = quick().fit(X, y, sample_weight=weight)
    assert sum(len(fold.test) for fold in selector._folds(selector._problem(X, y, weight))) == 100
    assert "100 rows" in selector.sentence_


# ---- around it --------------------------------------------------------------------------------


def test_it_is_no_candidate_of_itself_and_none_of_a_default_comparison():
    assert "auto" not in read_methods(None, "regression")
    assert "auto" in read_methods("auto", "regression")
    X, y = numbers(60)
    found = compare(X, y, [quick()], validators="linear", cv=2, sizes=[2], random_state=0)
    assert found.methods == ("auto",)
    assert not found.failures


def test_nested_cross_validation_of_the_whole_choice():
    X, y = numbers(100)
    held = held_out(quick(), X, y, cv=2, random_state=0)
    assert held.all_features_model == "RidgeCV"
    assert held.selector.selection_.score.origin == "held_out"


def test_tags_follow_the_target():
    X, y = numbers(60)
    assert AutoSelector().__sklearn_tags__().estimator_type is None
    assert quick(target_type="regression").__sklearn_tags__().estimator_type == "regressor"
    labels = np.where(y > 0, 1, 0)
    selector = quick_classes().fit(X, labels)
    assert selector.__sklearn_tags__().estimator_type == "classifier"
    assert selector.target_type_ == "classification"
    assert selector.predict_proba(X).shape == (60, 2)
    assert selector.classes_.tolist() == [0, 1]
    assert selector.score(X, labels) > 0.7


def test_a_candidate_is_shown_in_a_row():
    failed = Candidate("fg", "failed", "It is too small.")
    assert failed.row()[:3] == ["Feature Gradients", "", "failed: It is too small."]

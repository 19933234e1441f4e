from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.svm import LinearSVC

from secateur import (
    AGBMClassifier,
    FeatBoostRegressor,
    FeatureGradientsSelector,
    GraftingClassifier,
    GraftingRegressor,
)
from secateur.exceptions import InputError, InterruptedWarning, ParameterError
from secateur.model_selection import held_out as running
from secateur.model_selection.held_out import held_out

GRID = [0.2, 0.1, 0.05, 0.02]


def problem(n_rows=150, n_features=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = np.where(X[:, 1] - X[:, 4] + 0.7 * rng.normal(size=n_rows) > 0, "yes", "no")
    return X, y


def folds_of(n_rows, n_folds=3):
    numbers = np.arange(n_rows)
    return [(numbers[numbers % n_folds != k], numbers[numbers % n_folds == k]) for k in range(3)]


def test_scores_are_those_of_selections_made_without_the_test_rows():
    X, y = problem()
    cv = folds_of(len(y))
    held = held_out(GraftingClassifier(l1=GRID, cv=0), X, y, cv=cv, random_state=0)
    by_hand = np.zeros((len(GRID), 3))
    for k, (train, test) in enumerate(cv):
        fold = GraftingClassifier(l1=GRID, cv=0).fit(X[train], y[train])
        for i, shares in enumerate(fold.staged_predict_proba(X[test])):
            by_hand[i, k] = log_loss(y[test], shares)
    assert held.path.scores == pytest.approx(by_hand.mean(axis=1))
    assert held.path[2].score.folds == pytest.approx(by_hand[2])
    assert {step.score.origin for step in held.path} == {"held_out"}
    whole = GraftingClassifier(l1=GRID, cv=0).fit(X, y).path_
    assert [s.support.tolist() for s in held.path] == [s.support.tolist() for s in whole]


def test_a_validator_is_fitted_on_the_chosen_columns_of_the_training_rows():
    X, y = problem()
    cv, validator = folds_of(len(y)), LogisticRegression(C=0.1)
    selector = GraftingClassifier(l1=GRID, cv=0)
    held = held_out(selector, X, y, cv=cv, validator=validator, scoring="roc_auc", random_state=0)
    by_hand, by_all = [], []
    for k, (train, test) in enumerate(cv):
        support = held.fold_paths[k][held.matches[k][-1]].support
        model = LogisticRegression(C=0.1).fit(X[train][:, support], y[train])
        by_hand.append(roc_auc_score(y[test], model.predict_proba(X[test][:, support])[:, 1]))
        model = LogisticRegression(C=0.1).fit(X[train], y[train])
        by_all.append(roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]))
    assert held.path[-1].score.folds == pytest.approx(by_hand)
    assert held.path[-1].score.greater_is_better
    assert held.path[-1].score.standard_error == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(3))
    assert held.all_features.folds == pytest.approx(by_all)
    assert held.all_features_model == "LogisticRegression"


def test_noise_has_no_held_out_score_while_choosing_before_the_folds_would_have():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 400)), rng.integers(0, 2, 60)
    held = held_out(
        GraftingClassifier(l1=GRID, cv=0), X, y, cv=5, scoring="accuracy", random_state=0
    )
    assert held.path[-1].n_features > 10
    assert 0.3 < held.path[-1].score.mean < 0.7
    support = held.path[-1].support
    leaky = [
        LogisticRegression()
        .fit(X[f.train][:, support], y[f.train])
        .score(X[f.test][:, support], y[f.test])
        for f in held.folds
    ]
    assert np.mean(leaky) > 0.8


def test_frequency_counts_folds_at_the_steps_that_stand_for_a_selection():
    X, y = problem()
    held = held_out(GraftingClassifier(l1=GRID, cv=0), X, y, cv=4, random_state=0)
    selection = held.path.cut(AtLeastTwo())
    counts = np.zeros(12)
    for path, match in zip(held.fold_paths, held.matches, strict=True):
        counts[path[match[selection.index]].support] += 0.25
    assert held.frequency(selection) == pytest.approx(counts)
    assert held.frequency(selection)[[1, 4]].tolist() == [1.0, 1.0]
    by_size = held.frequency(np.arange(selection.n_features))
    assert by_size.sum() == pytest.approx(selection.n_features, abs=3)
    assert held.frequency().shape == (12,)


class AtLeastTwo:
    def choose(self, path):
        return int(np.flatnonzero(path.n_features >= 2)[0])

    def sentence(self, path, index):
        return "two"


def test_the_selector_that_comes_back_is_cut_by_held_out_scores_and_predicts():
    X, y = problem()
    given = GraftingClassifier(l1=GRID, cv=0)
    held = held_out(given, X, y, cv=3, random_state=0)
    assert not hasattr(given, "path_")
    assert held.selector.selection_.score.origin == "held_out"
    assert "held-out" in str(held.selector.selection_)
    assert held.selector.with_cut("best").predict(X[:3]).shape == (3,)


def test_all_features_are_scored_by_the_same_estimator_without_penalty():
    X, y = problem()
    selector = AGBMClassifier(penalty=[0.1, 0.02], max_iter=10, cv=2, random_state=0)
    held = held_out(selector, X, y, cv=2, random_state=0)
    assert held.all_features_model == "AGBMClassifier"
    assert held.all_features.metric == held.path[0].score.metric == "log_loss"
    assert len(held.all_features.folds) == 2


def test_a_selector_without_predictions_is_scored_by_a_linear_model():
    X, y = problem(n_rows=90, n_features=6)
    selector = FeatureGradientsSelector(penalty=[20.0, 1.0], cv=0, max_epochs=20)
    held = held_out(selector, X, y, cv=2, random_state=0)
    assert held.all_features_model == "LogisticRegression"
    assert {step.score.metric for step in held.path} == {"log_loss"}
    y = X[:, 1] - X[:, 4]
    held = held_out(selector, X, y, cv=2, random_state=0)
    assert held.all_features_model == "RidgeCV"
    assert held.all_features.mean < 0.05


def test_numbers_are_measured_by_their_squared_error():
    X, _ = problem()
    y = X[:, 1] - X[:, 4]
    held = held_out(GraftingRegressor(l1=[0.1, 0.001], cv=0), X, y, cv=3, random_state=0)
    assert held.path[0].score.metric == "squared_error"
    assert held.path[1].score.mean < 0.01
    with_r2 = held_out(
        FeatBoostRegressor(max_features=2, cv=2), X, y, cv=2, scoring="r2", random_state=0,
        validator=LinearRegression(),
    )  # fmt: skip
    assert with_r2.path[-1].score.mean > 0.9


def test_frames_and_sparse_tables_give_what_arrays_give():
    X, y = problem()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    selector, how = GraftingClassifier(l1=GRID, cv=0), {"cv": 3, "random_state": 0}
    of_array = held_out(selector, X, y, **how)
    names = [f"c{j}" for j in range(12)]
    of_frame = held_out(selector, pd.DataFrame(X, columns=names), pd.Series(y), **how)
    assert of_frame.path.scores == pytest.approx(of_array.path.scores)
    assert of_frame.path.feature_names == tuple(names)
    of_sparse = held_out(selector, csr_matrix(X), y, **how)
    assert [len(p) for p in of_sparse.fold_paths] == [4, 4, 4]
    assert of_sparse.all_features.mean == pytest.approx(of_array.all_features.mean, rel=0.05)


def test_categories_and_gaps_reach_the_linear_model_as_numbers():
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    frame["kind"] = pd.Categorical(np.where(y == "yes", "a", "b"))
    frame.loc[::7, "c0"] = None
    selector = AGBMClassifier(penalty=[0.1], max_iter=5, cv=2)
    from secateur.model_selection.validators import linear_model

    validator = linear_model("classification", is_sparse=False)
    held = held_out(selector, frame, y, cv=2, validator=validator, random_state=0)
    assert held.path[-1].score.mean < 0.1


def test_rows_of_weight_zero_are_no_rows():
    X, y = problem()
    weight = np.ones(len(y))
    weight[:30] = 0.0
    selector = GraftingClassifier(l1=GRID, cv=0)
    cv = folds_of(len(y))
    held = held_out(selector, X, y, cv=cv, sample_weight=weight, random_state=0)
    kept = [(t[t >= 30] - 30, j[j >= 30] - 30) for t, j in cv]
    without = held_out(selector, X[30:], y[30:], cv=kept, random_state=0)
    assert held.path.scores == pytest.approx(without.path.scores)
    assert held.path.standard_errors == pytest.approx(without.path.standard_errors)


def test_groups_stay_together_outside_and_inside():
    X, y = problem()
    groups = np.repeat([f"g{k}" for k in range(30)], 5)
    seen = []

    class Watching(GraftingClassifier):
        def _folds(self, given):
            seen.append(super()._folds(given))
            return seen[-1]

    held = held_out(Watching(l1=GRID), X, y, cv=3, groups=groups, random_state=0)
    for fold, inner in zip(held.folds, seen[1:], strict=False):
        assert not set(groups[fold.train]) & set(groups[fold.test])
        mine = groups[fold.train]
        assert all(not set(mine[train]) & set(mine[test]) for train, test in inner)
    own = held_out(Watching(l1=GRID, cv=0), X, y, cv=GroupKFold(3), groups=groups, random_state=0)
    assert all(not set(groups[f.train]) & set(groups[f.test]) for f in own.folds)


def test_the_same_seed_gives_the_same_scores():
    X, y = problem()
    how = {"cv": 3, "validator": LogisticRegression()}
    selector = AGBMClassifier(penalty=[0.1, 0.05], max_iter=5, cv=2, subsample=0.5)
    one, two, other = (held_out(selector, X, y, random_state=s, **how) for s in (1, 1, 2))
    assert one.path.scores.tolist() == two.path.scores.tolist()
    assert one.path.scores.tolist() != other.path.scores.tolist()


def test_a_class_that_a_fold_never_saw_counts_as_impossible():
    X, y = problem(n_rows=40)
    y = y.astype(object)
    y[0] = "rare"
    selector = GraftingClassifier(l1=[0.1], cv=0)
    held = held_out(selector, X, y, cv=[(np.arange(1, 40), [0])], random_state=0)
    assert held.path[0].score.mean == pytest.approx(-np.log(1e-15))


def test_interruption_keeps_the_folds_that_were_done():
    X, y = problem()

    class Impatient(GraftingClassifier):
        n_fits = 0

        def fit(self, X, y, sample_weight=None):
            type(self).n_fits += 1
            if self.n_fits == 4:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    with pytest.warns(InterruptedWarning, match="2 of 5 folds"):
        held = held_out(Impatient(l1=GRID, cv=0), X, y, cv=5, random_state=0)
    assert len(held.fold_paths) == len(held.folds) == len(held.path[0].score.folds) == 2
    assert held.all_features is None


@pytest.fixture
def two_processes(monkeypatch):
    """Fits of folds run in two processes, however short they are and whatever there is."""
    monkeypatch.setattr(running, "PARALLEL_SECONDS", 0.0)
    monkeypatch.setattr(running, "resolve_n_jobs", lambda n_jobs: n_jobs or 2)


def test_folds_side_by_side_give_what_folds_one_after_another_do(two_processes):
    X, y = problem(n_rows=60)
    selector, found = GraftingClassifier(l1=GRID[1:3], cv=2), []
    one, two = (
        held_out(
            selector, X, y, cv=3, random_state=0, n_jobs=n_jobs,
            on_fit=lambda done, total: found.append((done, total)),
        )
        for n_jobs in (1, 2)
    )  # fmt: skip
    assert [step.score for step in one.path] == [step.score for step in two.path]
    assert one.all_features == two.all_features
    for ours, theirs in zip(one.fold_paths, two.fold_paths, strict=True):
        assert [s.support.tolist() for s in ours] == [s.support.tolist() for s in theirs]
    assert found == 2 * [(done, 7) for done in range(1, 8)]

    # an interruption keeps what was done and ends all processes
    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="1 of 3 folds"):
        held = held_out(selector, X, y, cv=3, random_state=0, n_jobs=2, on_fit=interrupt)
    assert len(held.fold_paths) == 1
    assert held.fold_paths[0][0].support.tolist() == one.fold_paths[0][0].support.tolist()


@pytest.mark.parametrize(
    ("selector", "n_jobs", "seconds", "processes"),
    [
        (GraftingClassifier(), 2, 100.0, 2),
        (GraftingClassifier(), 2, 1.0, 1),  # loading libraries would take longer
        (GraftingClassifier(), 1, 100.0, 1),
        (GraftingClassifier(n_jobs=3), None, 100.0, 3),
        (GraftingClassifier(verbose=1), 2, 100.0, 1),  # a bar is wanted
        (GraftingClassifier(executor=object()), 2, 100.0, 1),  # the work is done elsewhere
    ],
)
def test_when_processes_are_used(selector, n_jobs, seconds, processes, monkeypatch):
    monkeypatch.setattr(running, "PARALLEL_SECONDS", 6.0)
    X = np.zeros((10, 3))
    assert running.n_processes(selector, X, n_jobs, seconds) == processes


def test_processes_are_not_more_than_memory_allows(monkeypatch):
    X = np.zeros((1000, 10))
    monkeypatch.setattr(running, "PARALLEL_SECONDS", 6.0)
    monkeypatch.setattr(running, "available_memory", lambda: 9 * X.nbytes)
    assert running.n_processes(GraftingClassifier(), X, 4, 100.0) == 2
    assert running.n_bytes(csr_matrix(np.eye(4))) == 4 * 8 + 4 * 4 + 5 * 4


def test_progress_is_reported_after_each_fit():
    X, y = problem()
    found = []
    held_out(
        GraftingClassifier(l1=[0.1], cv=0), X, y, cv=2, random_state=0,
        on_fit=lambda done, total: found.append((done, total)),
    )  # fmt: skip
    assert found == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


X_SMALL, Y_SMALL = problem(n_rows=60, n_features=6)
QUICK = GraftingClassifier(l1=[0.1], cv=0)


@pytest.mark.parametrize(
    ("selector", "more", "message"),
    [
        (LogisticRegression(), {}, "'selector' must be an estimator with fit and with_cut"),
        (GraftingClassifier, {}, "'selector' must be an estimator with fit and with_cut"),
        (QUICK, {"cv": 0}, "'cv' must give at least one fold"),
        (QUICK, {"cv": "five"}, "'cv' must be None, an int"),
        (QUICK, {"cv": 61}, "number of rows"),
        (QUICK, {"scoring": "sharpness"}, "'scoring' must be None"),
        (QUICK, {"validator": "trees"}, "'validator' must be an estimator"),
        (QUICK, {"groups": [1, 2]}, "inconsistent numbers of samples"),
        (QUICK, {"groups": np.ones(60), "cv": 3}, "number of groups"),
        (QUICK, {"sample_weight": -np.ones(60)}, "'sample_weight' must be finite"),
    ],
)
def test_what_cannot_work_is_refused_before_any_fit(selector, more, message):
    with pytest.raises((ParameterError, InputError), match=message):
        held_out(selector, X_SMALL, Y_SMALL, **more)


def test_a_validator_without_probabilities_is_refused():
    with pytest.raises(ParameterError, match="scoring='accuracy'"):
        held_out(QUICK, X_SMALL, Y_SMALL, cv=2, validator=LinearSVC())
    held = held_out(QUICK, X_SMALL, Y_SMALL, cv=2, validator=LinearSVC(), scoring="accuracy")
    assert held.path[0].score.mean > 0.5


def test_an_empty_step_predicts_the_shares_of_the_classes():
    selector = GraftingClassifier(l1=[10.0], cv=0)
    validator = DummyClassifier(strategy="prior")
    held = held_out(selector, X_SMALL, Y_SMALL, cv=2, validator=validator, random_state=0)
    assert held.path[0].n_features == 0
    assert held.path[0].score.mean == pytest.approx(held.all_features.mean)


def test_a_fit_to_all_rows_that_is_there_already_is_not_repeated(monkeypatch):
    X, y = problem()
    given = GraftingClassifier(l1=GRID, cv=2, random_state=0)
    plain = held_out(given, X, y, cv=3, random_state=0)
    fitted = GraftingClassifier(l1=GRID, cv=2, random_state=0).fit(X, y)
    before, fits = fitted.path_, []
    fit = GraftingClassifier.fit
    monkeypatch.setattr(
        GraftingClassifier,
        "fit",
        lambda self, *args, **more: fits.append(1) or fit(self, *args, **more),
    )
    held = held_out(given, X, y, cv=3, random_state=0, fitted=fitted)
    assert len(fits) == 3
    assert fitted.path_ is before
    assert [step.score for step in held.path] == [step.score for step in plain.path]
    assert held.selector.selection_.support.tolist() == plain.selector.selection_.support.tolist()
    with pytest.raises(ParameterError, match="'fitted' must be"):
        held_out(given, X, y, fitted=given)

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from model_selection.odd_methods import Odd, Spy
from scipy.sparse import csr_matrix
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier

from secateur import (
    AGBMClassifier,
    Comparison,
    FeatBoostClassifier,
    GraftingClassifier,
    compare,
)
from secateur.exceptions import ComparisonError, InputError, InterruptedWarning, ParameterError
from secateur.model_selection.comparison import Subset, Trial
from secateur.model_selection.methods import known_methods, own_methods

QUICK = {"validators": "logistic", "cv": 3, "sizes": [1, 3], "random_state": 0}


def problem(n_rows=90, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = np.where(X[:, 1] - X[:, 4] + 0.4 * rng.normal(size=n_rows) > 0, "yes", "no")
    return X, y


# ---- scores ------------------------------------------------------------------------------------


def test_scores_are_those_of_selections_made_inside_the_folds():
    X, y = problem()
    rows = np.arange(len(y))
    cv = [(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    validator = LogisticRegression(C=0.5)
    found = compare(X, y, {"k": SelectKBest(k=2)}, validators={"lr": validator}, cv=cv, sizes=[3])
    for k, (train, test) in enumerate(cv):
        scores = f_classif(X[train], y[train])[0]
        for size, n_chosen in ((3, 3), (None, 2)):
            chosen = np.sort(np.argsort(-scores)[:n_chosen])
            model = LogisticRegression(C=0.5).fit(X[train][:, chosen], y[train])
            assert found.scores("k", "lr", size)[k] == model.score(X[test][:, chosen], y[test])
            assert found.trials_of("k")[k].subset(size).support.tolist() == chosen.tolist()
    assert found.metric == "accuracy"
    assert found.fold_sizes == ((60, 30),) * 3


def test_a_method_never_sees_its_test_rows():
    X, y = problem()
    X[:, 0] = np.arange(len(y))
    Spy.seen.clear()
    found = compare(X, y, Spy(), **QUICK)
    assert [len(rows) for rows in Spy.seen] == [train for train, _ in found.fold_sizes]
    everyone = np.concatenate([np.setdiff1d(np.arange(90), rows) for rows in Spy.seen])
    assert sorted(everyone) == list(range(90))


def noise(n_features):
    rng = np.random.default_rng(5)
    return rng.normal(size=(60, n_features)), np.arange(60) % 2


def leaky_accuracy(X, y, k=20):
    """What comes out if columns are chosen from all rows, and only the model is held out."""
    chosen = np.argsort(-f_classif(X, y)[0])[:k]
    rows = np.arange(60)
    return np.mean(
        [
            LogisticRegression().fit(X[rows % 5 != f][:, chosen], y[rows % 5 != f])
            .score(X[rows % 5 == f][:, chosen], y[rows % 5 == f])
            for f in range(5)
        ]
    )  # fmt: skip


def assert_near_chance(found):
    for curve in found.curves():
        for point in (*curve.points, *([curve.own] if curve.own else [])):
            # 60 fair coins: the standard deviation of their mean is 0.065
            assert 0.25 < point.score.mean < 0.7, (curve.method, curve.validator, point)


def test_noise_scores_like_chance_unless_columns_are_chosen_before_the_folds():
    X, y = noise(1200)
    names = "grafting,featboost,f_classif,mrmr,random,all"
    found = compare(X, y, names, validators="logistic", cv=3, sizes=[5, 20], random_state=0)
    assert not found.failures
    assert_near_chance(found)
    assert leaky_accuracy(X, y) > 0.75


@pytest.mark.slow
def test_noise_scores_like_chance_by_every_method_that_has_a_name():
    X, y = noise(2000)
    methods = known_methods("classification")
    found = compare(X, y, ",".join(methods), cv=5, sizes=[5, 20], random_state=0)
    assert not found.failures
    assert {curve.method for curve in found.curves()} == set(methods)
    assert_near_chance(found)


def test_regression_is_guessed_and_measured_by_r2():
    X, _ = problem()
    y = X[:, 1] - X[:, 4]
    found = compare(X, y, "grafting,f_regression", cv=2, sizes=[2])
    assert (found.target_type, found.metric, found.validators) == (
        "regression",
        "r2",
        ("ridge", "knn", "trees"),
    )
    assert not found.failures
    assert found.curves("ridge")[0].points[0].score.mean > 0.95


def test_other_measures_and_weights():
    X, y = problem()
    weight = np.ones(90)
    weight[:20] = 0.0
    found = compare(X, y, "f_classif", scoring="log_loss", sample_weight=weight, **QUICK)
    assert not found.greater_is_better
    assert sum(test for _, test in found.fold_sizes) == 70
    known = compare(X[20:], y[20:], "f_classif", scoring="log_loss", **QUICK)
    assert found.scores("f_classif", "logistic", 3) == pytest.approx(
        known.scores("f_classif", "logistic", 3)
    )
    found = compare(X, y, "f_classif", scoring="roc_auc", **QUICK)
    assert found.metric == "roc_auc"


def test_groups_stay_together():
    X, y = problem()
    groups = np.repeat(np.arange(18), 5)
    X[:, 0] = np.arange(90)
    Spy.seen.clear()
    compare(X, y, Spy(), groups=groups, **QUICK)
    for rows in Spy.seen:
        assert not set(groups[rows]) & set(np.delete(groups, rows))


class SeenGroups(GroupKFold):
    """Writes down the groups that it gets, and refuses to go without."""

    seen: list = []  # noqa: RUF012 - of the class, since it is cloned

    def split(self, X, y=None, groups=None):
        SeenGroups.seen.append(np.unique(groups).tolist())
        return super().split(X, y, groups)


def test_groups_reach_the_folds_of_a_selector():
    X, y = problem()
    groups = np.repeat(np.arange(18), 5)
    SeenGroups.seen.clear()
    selector = GraftingClassifier(l1=[0.1, 0.05], cv=SeenGroups(2))
    found = compare(X, y, selector, groups=groups, **QUICK)
    assert not found.failures
    assert len(SeenGroups.seen) == len(found.fold_sizes)
    assert all(1 < len(each) < 18 for each in SeenGroups.seen)


# ---- methods and validators --------------------------------------------------------------------


def test_every_public_selector_has_a_name():
    classes = own_methods("classification")
    assert {"agbm", "gbfs", "gtgbm", "fg", "grafting", "featboost"} <= set(classes)
    assert type(classes["agbm"]) is AGBMClassifier
    assert "iis" in own_methods("regression")
    assert not any("multitask" in name for name in classes)
    assert classes["fg"].target_type == "classification"


def mixed_problem(target_type):
    X, y = problem(n_rows=80, n_features=5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.loc[::9, "a"] = None
    return X, frame, y if target_type == "classification" else X[:, 1] - X[:, 4]


def quickened(methods):
    """The same methods with few rounds, where they have any."""
    wanted = {"max_iter": 5, "cv": 2, "max_epochs": 10}
    for method in methods.values():
        known = method.get_params()
        method.set_params(**{key: value for key, value in wanted.items() if key in known})
    return methods


def test_columns_of_text_are_categories():
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame["said"] = np.where(y == "yes", "aye", "nay")
    found = compare(frame, y, quickened({"agbm": own_methods("classification")["agbm"]}), **QUICK)
    assert [trial.message for trial in found.trials] == [""] * 3
    assert found.trials[0].subset(1).order.tolist() == [8]
    assert found.scores("agbm", "logistic", 1).tolist() == [1.0] * 3


SLOW = {
    "boruta",
    "rfecv",
    "cegb",
    "gtgbm",
    "gbfs",
    "rf_topk",
    "gbdt_topk",
    "hsic_lasso",
    "xgb_topk",
}


def assert_all_choose(target_type, methods):
    X, frame, y = mixed_problem(target_type)
    linear = {"validators": "linear", "cv": 2, "sizes": [2], "random_state": 0}
    for table in (frame, csr_matrix(X)):
        found = compare(table, y, quickened(methods), **linear)
        assert [trial.message for trial in found.failures] == []
        for name in set(methods) - {"all"}:
            assert 0 <= found.trials_of(name)[0].subset(2).n_features <= 2
        assert np.isfinite([found.scores(n, "linear", 2) for n in set(methods) - {"all"}]).all()


@pytest.mark.parametrize(
    "target_type", ["regression", pytest.param("classification", marks=pytest.mark.slow)]
)
def test_methods_choose_from_frames_with_gaps_and_from_sparse_tables(target_type):
    methods = {n: m for n, m in known_methods(target_type).items() if n not in SLOW}
    assert_all_choose(target_type, methods)


@pytest.mark.slow
@pytest.mark.parametrize("target_type", ["classification", "regression"])
def test_slower_methods_choose_from_frames_with_gaps_and_from_sparse_tables(target_type):
    pytest.importorskip("lightgbm")
    pytest.importorskip("boruta")
    pytest.importorskip("pyHSICLasso")
    assert_all_choose(target_type, {n: known_methods(target_type)[n] for n in SLOW})


def test_any_selector_of_scikit_learn_takes_part():
    X, y = problem()
    chosen = SelectFromModel(DecisionTreeClassifier(random_state=0))
    found = compare(X, y, ["f_classif", chosen, chosen, ("mine", SelectKBest(k=4))], **QUICK)
    assert found.methods == ("f_classif", "selectfrommodel", "selectfrommodel_2", "mine")
    assert not found.failures
    assert found.trials_of("mine")[0].subset(None).n_features == 4


def test_paths_are_filled_up_to_the_size_and_never_beyond():
    X, y = problem()
    found = compare(X, y, GraftingClassifier(l1=[0.3, 0.15, 0.01], cv=0), **QUICK)
    fold = found.trials_of("grafting")[0]
    assert fold.subset(1).n_features == 1
    assert fold.subset(3).n_features == 3
    assert set(fold.subset(1).order) <= set(fold.subset(3).order)
    few = compare(X, y, FeatBoostClassifier(max_features=2, cv=2), **QUICK)
    assert few.trials_of("featboost")[0].subset(3).n_features <= 2


def test_chance_differs_from_fold_to_fold_and_repeats_with_the_seed():
    X, y = problem(n_features=200)
    one, two = (compare(X, y, "random", **QUICK) for _ in range(2))
    assert one.to_json().replace("seconds", "") != ""
    orders = [trial.subset(3).order.tolist() for trial in one.trials]
    assert orders == [trial.subset(3).order.tolist() for trial in two.trials]
    assert orders[0] != orders[1]
    assert abs(one.stability(3)["random"].index) < 0.2


def test_the_table_of_the_user_is_not_touched():
    X, y = problem()
    before = X.copy()
    compare(X, y, Odd("reaches out"), **QUICK)
    assert np.array_equal(X, before)


# ---- what goes wrong ---------------------------------------------------------------------------


def test_a_method_that_fails_is_reported_and_the_comparison_goes_on(capsys):
    X, y = problem()
    found = compare(X, y, {"bad": Odd("raises"), "f_classif": "f_classif"}, **QUICK)
    assert [trial.method for trial in found.failures] == ["bad"] * 3
    assert found.failures[0].message == "ValueError: these columns are not to my taste"
    assert found.is_complete
    assert found.scores("f_classif", "logistic", 3).min() > 0.5


def test_a_validator_that_fails_leaves_gaps_and_a_message():
    X, y = problem()
    X[0, 0] = np.nan
    validators = {"needs_all": LogisticRegression(), "logistic": "logistic"}
    found = compare(X, y, "all", **{**QUICK, "validators": validators})
    assert np.isnan(found.scores("all", "needs_all")).all()
    assert np.isfinite(found.scores("all", "logistic")).all()
    assert "Validator LogisticRegression failed" in found.trials[0].message
    assert not found.failures


@pytest.mark.slow
def test_limits_of_time_hold_whatever_a_method_does(capfd):
    X, y = problem()
    methods = {"slow": Odd(seconds=600), "dies": Odd("dies"), "bad": Odd("raises"), "well": Odd()}
    found = compare(X, y, methods, time_limit=4, **{**QUICK, "cv": 1})
    by_name = {trial.method: trial for trial in found.trials}
    assert by_name["slow"].status == "timed_out"
    assert 4.0 <= by_name["slow"].seconds < 600
    assert "time limit of 4 seconds" in by_name["slow"].message
    assert by_name["dies"].status == "failed"
    assert "exit code 7" in by_name["dies"].message
    assert by_name["bad"].message == "ValueError: these columns are not to my taste"
    assert by_name["well"].is_done
    assert np.isfinite(by_name["well"].score("logistic", None))
    assert capfd.readouterr().out == ""
    here = compare(X, y, {"well": Odd()}, **{**QUICK, "cv": 1})
    assert here.scores("well", "logistic") == found.scores("well", "logistic")


def test_interruption_keeps_what_was_done_and_resuming_goes_on(tmp_path):
    X, y = problem()
    file = tmp_path / "comparison.json"
    methods = {"f_classif": "f_classif", "odd": Odd("interrupted"), "random": "random"}
    with pytest.warns(InterruptedWarning, match="keeps the 1 trial "):
        part = compare(X, y, methods, resume=file, **QUICK)
    assert not part.is_complete
    assert Comparison.load(file).to_json() == part.to_json()
    result = []
    whole = compare(
        X, y, "f_classif,random", resume=file, **QUICK,
        on_trial=lambda trial, done, total: result.append((trial.method, trial.fold, done, total)),
    )  # fmt: skip
    assert result == [
        ("random", 0, 2, 6), ("f_classif", 1, 3, 6), ("random", 1, 4, 6), ("f_classif", 2, 5, 6),
        ("random", 2, 6, 6),
    ]  # fmt: skip
    assert whole.methods == ("f_classif", "random", "odd")
    fresh = compare(X, y, "f_classif,random", **QUICK)
    for name in fresh.methods:
        assert (
            whole.scores(name, "logistic", 3).tolist() == fresh.scores(name, "logistic", 3).tolist()
        )
    assert [f.name for f in tmp_path.iterdir()] == ["comparison.json"]


def test_a_selector_that_is_interrupted_ends_the_comparison():
    X, y = problem()

    def interrupt(step):
        raise KeyboardInterrupt

    selector = GraftingClassifier(l1=[0.1], cv=0, on_step=interrupt, on_interrupt="keep")
    with pytest.warns(InterruptedWarning, match="keeps the 0 trials"):
        found = compare(X, y, selector, **QUICK)
    assert found.trials == ()
    assert "so far" in str(found)


@pytest.mark.parametrize("random_state", [0, 7, None, "RandomState"])
def test_the_seed_of_a_comparison_gives_it_again(random_state):
    X, y = problem()
    given = np.random.RandomState(3) if random_state == "RandomState" else random_state
    found = compare(X, y, "random", **{**QUICK, "random_state": given})
    if isinstance(random_state, int):
        assert found.seed == random_state
    again = compare(X, y, "random", **{**QUICK, "random_state": found.seed})
    assert again.to_rows()[0]["features"] == found.to_rows()[0]["features"]
    assert again.scores("random", "logistic", 3).tolist() == (
        found.scores("random", "logistic", 3).tolist()
    )


def test_methods_within_one_standard_error_of_the_best_are_level():
    scores = {"a": (0.80, 0.90), "b": (0.83, 0.85), "c": (0.20, 0.30)}
    trials = [
        Trial(name, fold, "done", subsets=[Subset(2, [0, 1], {"knn": score})])
        for name, of_folds in scores.items()
        for fold, score in enumerate(of_folds)
    ]
    settings = ("classification", "accuracy", True)
    shape = (["knn"], [2], list("xyz"), [(8, 4), (8, 4)])
    several = str(Comparison(trials, list(scores), *shape, *settings, seed=0))
    assert "a and b are level" in several
    others = [trial for trial in trials if trial.method != "b"]
    alone = str(Comparison(others, ["a", "c"], *shape, *settings, seed=0))
    assert "level" not in alone
    assert "best is a" in alone


def test_the_seed_of_a_file_is_taken_up_and_failures_are_tried_again(tmp_path):
    X, y = problem()
    file = tmp_path / "comparison.json"
    how = {**QUICK, "random_state": None}
    first = compare(X, y, {"a": Odd("raises"), "random": "random"}, resume=file, **how)
    assert len(first.failures) == 3
    document = json.loads(file.read_text())
    document["parameters"]["methods"]["a"]["parameters"]["how"] = "well"  # as if it was mended
    file.write_text(json.dumps(document))
    second = compare(X, y, {"a": Odd("well"), "random": "random"}, resume=file, **how)
    assert second.seed == first.seed
    assert not second.failures
    assert (
        second.scores("random", "logistic", 3).tolist()
        == first.scores("random", "logistic", 3).tolist()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": problem(seed=1)[0]}, "data differ"),
        ({"sizes": [1, 4]}, "sizes differ"),
        ({"validators": "knn"}, "validators differ"),
        ({"cv": 4}, "differ"),
        ({"random_state": 1}, "seed differ"),
        ({"scoring": "roc_auc"}, "metric differ"),
        ({"selectors": {"k": SelectKBest(k=3)}}, "parameters of 'k' differ"),
    ],
)
def test_a_file_of_another_comparison_is_refused(tmp_path, change, message):
    X, y = problem()
    what = {
        "X": X,
        "y": y,
        "selectors": {"k": SelectKBest(k=2)},
        "resume": tmp_path / "comparison.json",
    }
    compare(**what, **QUICK)
    with pytest.raises(ComparisonError, match=message):
        compare(**{**what, **QUICK, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"selectors": "agbm,nothing"}, "Got 'nothing'. Use some of agbm"),
        ({"selectors": "iis"}, "which is for regression"),
        ({"selectors": []}, "at least one method"),
        ({"selectors": LogisticRegression()}, "estimators with fit and get_support"),
        ({"selectors": AGBMClassifier}, "estimators with fit and get_support"),
        ({"validators": "ridge"}, "'validators' must be names for classification"),
        ({"validators": [SelectKBest()]}, "'validator' must be an estimator"),
        ({"validators": ""}, "'validators' must name at least one"),
        ({"sizes": [0]}, "'sizes' must be a whole number >= 1"),
        ({"target_type": "clustering"}, "'target_type' must be None"),
        ({"time_limit": 0}, "'time_limit' must be a number > 0"),
        ({"scoring": "sharpness"}, "'scoring' must be None"),
        ({"cv": 0}, "at least one fold"),
        ({"y": np.ones(90)}, "classes"),
        ({"y": None}, "y"),
    ],
)
def test_what_cannot_work_is_refused_before_any_trial(change, message):
    X, y = problem()
    what = {"X": X, "y": y, "selectors": "f_classif", **QUICK, **change}
    with pytest.raises((ParameterError, InputError), match=message):
        compare(**what)


def test_a_file_in_no_folder_is_refused_before_any_trial(tmp_path):
    X, y = problem()
    with pytest.raises(ComparisonError, match="folder that exists"):
        compare(X, y, "f_classif", resume=tmp_path / "none" / "comparison.json", **QUICK)


def test_a_script_without_a_guard_may_set_a_time_limit(tmp_path):
    script = tmp_path / "comparison.py"
    script.write_text(
        "import numpy as np\n"
        "from sklearn.base import BaseEstimator\n"
        "from secateur import compare\n"
        "class First(BaseEstimator):\n"
        "    def fit(self, X, y):\n"
        "        self.mask = np.arange(X.shape[1]) == 0\n"
        "        return self\n"
        "    def get_support(self):\n"
        "        return self.mask\n"
        "X = np.random.default_rng(0).normal(size=(40, 3))\n"
        "found = compare(X, X[:, 0] > 0, First(), validators='knn', cv=1, time_limit=60)\n"
        "print(found.trials[0].status, found.trials[0].message)\n"
    )
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=known, check=False
    )
    assert done.stdout.strip() == "done", done.stderr

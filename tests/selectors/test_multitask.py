"""Several tasks: common features, own ones, both ways of giving rows, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV, cross_val_score

from secateur import (
    AGBMClassifier,
    AGBMRegressor,
    MultitaskAGBMClassifier,
    MultitaskAGBMRegressor,
    SelectionPath,
    StopReason,
)
from secateur.exceptions import GroupTestingWarning, InputError, InterruptedWarning, ParameterError

QUICK = {"max_iter": 15, "learning_rate": 0.3, "random_state": 0}
KEYS = ("north", "south", "west")


def made(n_each=200, n_features=12, seed=0):
    """Column 0 matters to all; 1, 2 and 3 to one task each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * n_each, n_features))
    number = rng.permutation(np.repeat(np.arange(3), n_each))
    own = X[np.arange(len(X)), 1 + number]
    y = 1.5 * X[:, 0] + own + 0.2 * rng.normal(size=len(X))
    return X, y, np.array(KEYS)[number]


@pytest.fixture(scope="module")
def problem():
    return made()


def test_common_and_own_features_are_distinguished(problem):
    X, y, task = problem
    model = MultitaskAGBMRegressor(group_penalty=0.08, task_penalty=0.04, **QUICK)
    model.fit(X, y, task=task)
    expected = np.zeros((3, 12), bool)
    expected[:, 0] = True
    expected[[0, 1, 2], [1, 2, 3]] = True
    assert model.tasks_ == list(KEYS)
    assert model.task_support_.index.tolist() == list(KEYS)
    assert model.task_support_.columns.tolist() == [f"x{j}" for j in range(12)]
    np.testing.assert_array_equal(model.task_support_, expected)
    np.testing.assert_array_equal(model.support_, expected.any(axis=0))
    assert model.score(X, y, task=task) > 0.9


@pytest.mark.parametrize("penalty", [0.02, 0.1])
def test_without_a_group_penalty_tasks_are_independent(problem, penalty):
    X, y, task = problem
    model = MultitaskAGBMRegressor(group_penalty=0.0, task_penalty=penalty, **QUICK)
    model.fit(X, y, task=task)
    for key in KEYS:
        rows = task == key
        alone = AGBMRegressor(penalty=penalty, **QUICK).fit(X[rows], y[rows])
        np.testing.assert_array_equal(model.task_support_.loc[key], alone.support_)
        np.testing.assert_array_equal(model.predict(X, task=key), alone.predict(X))


def test_without_a_group_penalty_classes_are_independent(problem):
    X, y, task = problem
    labels = np.array(["bad", "fair", "good"])[np.digitize(y, [-1, 1])]
    labels = np.where((task == "west") & (labels == "good"), "fair", labels)
    model = MultitaskAGBMClassifier(group_penalty=0.0, task_penalty=0.05, **QUICK)
    model.fit(X, labels, task=task)
    assert model.classes_.tolist() == ["bad", "fair", "good"]
    for key in KEYS:
        rows = task == key
        alone = AGBMClassifier(penalty=0.05, **QUICK).fit(X[rows], labels[rows])
        shares = model.predict_proba(X, task=key)
        place = np.isin(model.classes_, alone.classes_)
        np.testing.assert_array_equal(shares[:, place], alone.predict_proba(X))
        assert not shares[:, ~place].any()
        np.testing.assert_array_equal(model.predict(X, task=key), alone.predict(X))


def test_without_a_task_penalty_there_is_one_common_set(problem):
    X, y, task = problem
    model = MultitaskAGBMRegressor(group_penalty=0.05, task_penalty=0.0, **QUICK)
    model.fit(X, y, task=task)
    for step in model.path_:
        for features in step.supports.values():
            np.testing.assert_array_equal(features, step.support)
    assert (model.task_support_.to_numpy() == model.support_).all()
    assert model.support_[:4].all()


def test_one_task_pays_both_penalties(problem):
    X, y, _ = problem
    model = MultitaskAGBMRegressor(group_penalty=0.03, task_penalty=0.02, **QUICK).fit(X, y)
    alone = AGBMRegressor(penalty=0.05, **QUICK).fit(X, y)
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_a_penalty_for_each_task(problem):
    X, y, task = problem
    by_key = {"north": 0.01, "south": 0.5, "west": 0.01}
    model = MultitaskAGBMRegressor(group_penalty=0.01, task_penalty=by_key, **QUICK)
    model.fit(X, y, task=task)
    counts = model.task_support_.sum(axis=1)
    assert counts["south"] < counts["north"]
    same = MultitaskAGBMRegressor(group_penalty=0.01, task_penalty=[0.01, 0.5, 0.01], **QUICK)
    same.fit(X, y, task=task)
    np.testing.assert_array_equal(model.task_support_, same.task_support_)


# ---- a column of y for each task ---------------------------------------------------------------


def wide(seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 8))
    Y = np.column_stack([X[:, 0] + X[:, 1], 100.0 * (X[:, 0] + X[:, 2])])
    return X, Y + np.array([0.1, 10.0]) * rng.normal(size=Y.shape)


def test_columns_of_y_are_tasks():
    X, Y = wide()
    model = MultitaskAGBMRegressor(group_penalty=0.03, task_penalty=0.03, **QUICK).fit(X, Y)
    assert model.tasks_ == [0, 1]
    assert model.predict(X).shape == (300, 2)
    expected = np.zeros((2, 8), bool)
    expected[[0, 0, 1, 1], [0, 1, 0, 2]] = True
    np.testing.assert_array_equal(model.task_support_, expected)
    assert model.score(X, Y) > 0.9
    for t in (0, 1):
        np.testing.assert_array_equal(model.predict(X)[:, t], model.predict(X, task=t))


def test_columns_of_y_without_a_group_penalty_are_independent_fits():
    X, Y = wide()
    model = MultitaskAGBMRegressor(group_penalty=0.0, task_penalty=0.05, **QUICK).fit(X, Y)
    for t in (0, 1):
        alone = AGBMRegressor(penalty=0.05, **QUICK).fit(X, Y[:, t])
        np.testing.assert_array_equal(model.predict(X)[:, t], alone.predict(X))


def test_missing_labels_leave_rows_out():
    X, Y = wide()
    holes = Y.copy()
    holes[:150, 1] = np.nan
    model = MultitaskAGBMRegressor(group_penalty=0.03, task_penalty=0.03, **QUICK).fit(X, holes)
    absurd = np.where(np.isnan(holes), 1e6, holes)  # what is missing has no say, whatever it is
    assert abs(model.predict(X)[:, 1]).max() < 1000.0
    assert np.isfinite(model.score(X, holes))
    assert absurd.shape == model.predict(X).shape
    frame = pd.DataFrame(holes, columns=["first", "second"])
    named = MultitaskAGBMRegressor(group_penalty=0.03, task_penalty=0.03, **QUICK).fit(X, frame)
    assert named.tasks_ == ["first", "second"]
    np.testing.assert_array_equal(named.predict(X), model.predict(X))


def gaps():
    X, Y = wide()
    Y[np.random.default_rng(2).random(Y.shape) < 0.4] = np.nan
    return X, Y


def assert_same_path(one, other):
    np.testing.assert_allclose([s.penalty for s in one], [s.penalty for s in other], rtol=1e-9)
    assert [s.support.tolist() for s in one] == [s.support.tolist() for s in other]
    means = [[step.score.mean for step in path] for path in (one, other)]
    np.testing.assert_allclose(*means, rtol=1e-9)


@pytest.mark.parametrize("more", [{}, {"max_features": 2}, {"search": "group_testing"}])
@pytest.mark.filterwarnings("ignore::secateur.exceptions.GroupTestingWarning")
def test_a_constant_added_to_y_with_missing_labels_changes_nothing(more):
    X, Y = gaps()
    path = MultitaskAGBMRegressor(cv=2, **more, **QUICK).fit(X, Y).path_
    assert len(path) > 2
    assert_same_path(MultitaskAGBMRegressor(cv=2, **more, **QUICK).fit(X, Y + 1024.0).path_, path)


def test_names_of_classes_do_not_matter_where_labels_are_missing():
    X, Y = gaps()
    paths = []
    for names in ("ab", "ba"):
        labels = np.where(np.isnan(Y), None, np.where(Y - [0.8, 80.0] > 0, *names))
        paths.append(MultitaskAGBMClassifier(cv=2, **QUICK).fit(X, labels).path_)
    np.testing.assert_allclose([s.penalty for s in paths[0]], [s.penalty for s in paths[1]])


def test_columns_of_labels_of_different_kinds():
    X, Y = wide()
    labels = pd.DataFrame(
        {
            "colour": np.where(Y[:, 0] > 0, "red", "blue"),
            "size": pd.Series(np.where(Y[:, 1] > 0, "large", "small")).where(np.arange(300) > 30),
        }
    )
    model = MultitaskAGBMClassifier(group_penalty=0.03, **QUICK).fit(X, labels)
    assert set(model.predict(X)[:, 0]) == {"red", "blue"}
    assert set(model.predict(X)[:, 1]) == {"large", "small"}
    assert [shares.shape for shares in model.predict_proba(X)] == [(300, 4)] * 2
    assert model.score(X, labels) > 0.8


# ---- the path, the containers, the search -------------------------------------------------------


def test_path_has_a_support_for_each_task_and_keeps_it(problem, tmp_path):
    X, y, task = problem
    model = MultitaskAGBMRegressor(cv=2, **QUICK).fit(X, y, task=task)
    assert model.path_[0].score.origin == "held_out"
    assert "relative squared_error" in str(model.selection_)
    for step in model.path_:
        assert set(step.supports) == set(KEYS)
        union = np.unique(np.concatenate(list(step.supports.values())))
        np.testing.assert_array_equal(union, step.support)
    model.path_.save(tmp_path / "path.json")
    loaded = SelectionPath.load(tmp_path / "path.json")
    for step, its in zip(model.path_, loaded, strict=True):
        for name, features in step.supports.items():
            np.testing.assert_array_equal(its.supports[name], features)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict(X, task=task), model.predict(X, task=task))
    cut = model.with_cut("best")
    np.testing.assert_array_equal(cut.task_support_.any(axis=0), cut.support_)


def test_frames_sparse_tables_and_names_of_any_kind(problem):
    X, y, task = problem
    model = MultitaskAGBMRegressor(group_penalty=0.03, **QUICK).fit(X, y, task=task)
    expected = model.predict(X, task=task)
    names = [f"c{j}" for j in range(12)]
    frame = pl.DataFrame(X, schema=names)
    other = MultitaskAGBMRegressor(group_penalty=0.03, **QUICK)
    other.fit(frame, pl.Series(y), task=pl.Series(task))
    np.testing.assert_array_equal(other.predict(frame, task=pd.Series(task)), expected)
    assert list(other.task_support_.columns) == names
    sparse = MultitaskAGBMRegressor(group_penalty=0.03, **QUICK).fit(csr_array(X), y, task=task)
    np.testing.assert_array_equal(sparse.predict(csr_array(X), task=task), expected)
    for rename in (lambda key: (key, 1), KEYS.index, lambda key: key == "north"):
        keys = [rename(key) for key in task.tolist()]
        renamed = MultitaskAGBMRegressor(group_penalty=0.03, **QUICK).fit(X, y, task=keys)
        assert set(renamed.tasks_) == set(keys)
        assert renamed.predict(X, task=keys).shape == y.shape


def test_group_testing_finds_the_same_features():
    X, y, task = made(n_each=1000, n_features=240)
    params = {"group_penalty": 0.03, "task_penalty": 0.03, **QUICK}
    exact = MultitaskAGBMRegressor(**params).fit(X, y, task=task)
    grouped = MultitaskAGBMRegressor(
        search="group_testing", expected_features=4, leaf_size=4, group_size=8, **params
    ).fit(X, y, task=task)
    np.testing.assert_array_equal(grouped.support_, exact.support_)
    with pytest.warns(GroupTestingWarning, match="search='exact'") as caught:
        MultitaskAGBMRegressor(search="group_testing", **params).fit(X[:, :5], y, task=task)
    assert caught[0].filename == __file__


def test_staged_predictions(problem):
    X, y, task = problem
    model = MultitaskAGBMRegressor(group_penalty=0.01, **QUICK).fit(X, y, task=task)
    stages = list(model.staged_predict(X, task=task))
    assert len(stages) == len(model.path_) > 1
    chosen = stages[model.selection_.index]
    np.testing.assert_array_equal(chosen, model.predict(X, task=task))


class Stopper:
    """Breaks a fit off after so many of its parts; without a number it only counts them."""

    def __init__(self, last=-1):
        self.n, self.last = 0, last

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...
    def on_fit_task_end(self, estimator, context):
        self.n += 1
        if self.n == self.last:
            raise KeyboardInterrupt


@pytest.mark.parametrize("is_choice", [False, True])
def test_an_interrupted_fit_keeps_what_was_done(problem, is_choice):
    """Of one fit the rounds so far; of several ways those that have come to their end."""
    pytest.importorskip("sklearn.callback")
    X, y, task = problem
    params, last = {"group_penalty": 0.02, **QUICK}, 4
    if is_choice:
        params, counting = {"cv": 2, **QUICK}, Stopper()
        first = MultitaskAGBMRegressor(common_trees=False, **params).set_callbacks(counting)
        first.fit(X, y, task=task)
        last = counting.n + 2  # in the first penalty of the second way
    model = MultitaskAGBMRegressor(on_interrupt="keep", **params).set_callbacks(Stopper(last))
    with pytest.warns(InterruptedWarning):
        model.fit(X, y, task=task)
    assert model.path_.stop_reason is StopReason.INTERRUPTED
    assert model.predict(X, task=task).shape == y.shape
    assert model.task_support_.to_numpy().any()
    assert not model.common_trees_
    if is_choice:
        np.testing.assert_array_equal(model.predict(X, task=task), first.predict(X, task=task))


def test_common_trees_share_what_tasks_have_in_common():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(480, 10))
    task = np.repeat(np.arange(24), 20)
    y = X[:, 0] + X[:, 1] * (task == 5) + 0.3 * rng.normal(size=480)
    X_new = rng.normal(size=(480, 10))
    y_new = X_new[:, 0] + X_new[:, 1] * (task == 5)
    params = {"group_penalty": 0.1, "task_penalty": 0.1, **QUICK}
    own = MultitaskAGBMRegressor(**params).fit(X, y, task=task)
    shared = MultitaskAGBMRegressor(common_trees=True, **params).fit(X, y, task=task)
    assert shared.score(X_new, y_new, task=task) > own.score(X_new, y_new, task=task)
    assert shared.task_support_["x0"].all()
    stages = list(shared.staged_predict(X, task=task))
    chosen = stages[shared.selection_.index]
    np.testing.assert_array_equal(chosen, shared.predict(X, task=task))


def test_common_trees_of_one_task_are_those_of_the_task(problem):
    X, y, _ = problem
    params = {"group_penalty": 0.03, "task_penalty": 0.02}
    shared = MultitaskAGBMRegressor(common_trees=True, **params, **QUICK).fit(X, y)
    alone = AGBMRegressor(penalty=0.05, **QUICK).fit(X, y)
    np.testing.assert_array_equal(shared.support_, alone.support_)
    np.testing.assert_array_equal(shared.predict(X), alone.predict(X))


def test_common_trees_are_scored_on_rows_that_no_tree_saw():
    X, y, task = made()
    model = MultitaskAGBMRegressor(group_penalty=[0.1, 0.05], common_trees=True, cv=3, **QUICK).fit(
        X, np.random.default_rng(0).permutation(y), task=task
    )
    assert (model.path_.scores > 0.97).all()  # nothing can be learnt: no better than a constant


def clustered(seed=0, n_each=60):
    """Six tasks: x0 matters to all, x1 to the first three only, which lie higher."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6 * n_each, 6))
    task = rng.permutation(np.repeat(np.arange(6), n_each))
    y = X[:, 0] + (5 + 2 * X[:, 1]) * (task < 3) + 0.3 * rng.normal(size=len(X))
    return X, y, task


def test_common_trees_may_ask_for_the_task():
    X, y, task = clustered()
    params = {"group_penalty": 0.01, "task_penalty": 0.01, "max_iter": 2, "learning_rate": 0.5}
    model = MultitaskAGBMRegressor(common_trees=True, max_depth=2, **params).fit(X, y, task=task)
    assert model.common_trees_
    assert model.task_support_["x0"].tolist() == [False] * 3 + [True] * 3
    assert model.task_support_["x1"].tolist() == [True] * 3 + [False] * 3
    assert not model.task_support_[["x2", "x3", "x4", "x5"]].any(axis=None)
    new, truth, its_task = clustered(seed=1)
    assert model.score(new, truth, task=its_task) > 0.3
    # the predictions of a task do not depend on what it does not have
    spoilt = new.copy()
    spoilt[:, 1] = 1e6
    np.testing.assert_array_equal(model.predict(spoilt, task=4), model.predict(new, task=4))
    assert (model.predict(spoilt, task=2) != model.predict(new, task=2)).any()


def test_common_trees_are_the_same_for_sparse_tables():
    X, y, task = clustered()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    params = {"group_penalty": 0.05, "common_trees": True, **QUICK}
    dense = MultitaskAGBMRegressor(**params).fit(X, y, task=task)
    sparse = MultitaskAGBMRegressor(**params).fit(csr_array(X), y, task=task)
    np.testing.assert_array_equal(
        sparse.predict(csr_array(X), task=task), dense.predict(X, task=task)
    )
    pd.testing.assert_frame_equal(sparse.task_support_, dense.task_support_)


def test_common_trees_of_more_tasks_than_there_are_codes():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(900, 4)), np.arange(900) % 300
    y = X[:, 0] * np.where(task < 100, 3.0, 1.0) + 0.1 * rng.normal(size=900)
    quick = {"max_iter": 3, "learning_rate": 0.5, "random_state": 0}
    model = MultitaskAGBMRegressor(group_penalty=0.05, common_trees=True, **quick)
    model.fit(X, y, task=task)
    assert len(model.task_support_) == 300
    predicted = model.predict(X, task=task)
    assert 1 - ((y - predicted) ** 2).mean() / y.var() > 0.5


def test_common_trees_without_a_task_penalty_give_one_common_set():
    X, y, task = clustered()
    model = MultitaskAGBMRegressor(
        group_penalty=0.02, task_penalty=0, common_trees=True, costs=[1, 1, 1, 1, 1, 2], **QUICK
    ).fit(X, y, task=task)
    for step in model.path_:
        for features in step.supports.values():
            np.testing.assert_array_equal(features, step.support)


def test_common_trees_by_group_tests():
    X, y, task = made(n_each=1000, n_features=240)
    params = {"group_penalty": 0.03, "common_trees": True, **QUICK}
    exact = MultitaskAGBMRegressor(**params).fit(X, y, task=task)
    with pytest.warns(GroupTestingWarning):
        grouped = MultitaskAGBMRegressor(
            search="group_testing", expected_features=4, leaf_size=4, group_size=8, **params
        ).fit(X, y, task=task)
    np.testing.assert_array_equal(grouped.support_[:4], exact.support_[:4])


def test_held_out_rows_say_whether_trees_are_common():
    X, y, task = clustered(n_each=40)
    quick = QUICK | {"max_iter": 8, "cv": 2}
    alike = MultitaskAGBMRegressor(**quick).fit(X, y, task=task)
    assert alike.common_trees_
    X, y, task = made()
    signs = np.array([[1, 1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, -1]])
    unlike = MultitaskAGBMRegressor(**quick)
    unlike.fit(X, (X[:, :4] * signs[np.searchsorted(KEYS, task)]).sum(axis=1), task=task)
    assert not unlike.common_trees_
    for params in (
        {"group_penalty": 0.05},
        {"group_penalty": [0.1, 0.05]},
        {"common_trees": False},
    ):
        assert not MultitaskAGBMRegressor(**params, **quick).fit(X, y, task=task).common_trees_


def test_common_trees_need_one_kind_of_target(problem):
    X, y, task = problem
    with pytest.raises(ParameterError, match="'common_trees' must be False or 'auto' where y"):
        MultitaskAGBMRegressor(common_trees=True).fit(X, np.column_stack([y, y]))
    labels = np.where(task == "west", np.digitize(y, [0]), np.digitize(y, [-1, 1]))
    with pytest.raises(ParameterError, match="different classes"):
        MultitaskAGBMClassifier(common_trees=True).fit(X, labels, task=task)


# ---- what is refused ----------------------------------------------------------------------------


def _spoilt(task, row, key):
    changed = task.astype(object)
    changed[row] = key
    return changed


BAD_TASKS = {
    "missing ids": (lambda task: _spoilt(task, 3, None), "task of every row. Got 1 missing of 600"),
    "NaN ids": (lambda task: _spoilt(task, 3, np.nan), "Got 1 missing"),
    "too few": (lambda task: task[:5], "inconsistent numbers of samples"),
    "two columns": (lambda task: np.column_stack([task, task]), "one value per row"),
    "a task of one row": (lambda task: _spoilt(task, 3, "east"), "at least two labels. Got 1"),
    "lists": (lambda task: [[key] for key in task], "hashable"),
    "names alike": (lambda task: ["1" if k == "north" else 1 for k in task], "differ when written"),
}


@pytest.mark.parametrize("case", BAD_TASKS)
def test_bad_tasks(problem, case):
    X, y, task = problem
    spoil, match = BAD_TASKS[case]
    model = MultitaskAGBMRegressor(**QUICK)
    with pytest.raises((InputError, TypeError), match=match):
        model.fit(X, y, task=spoil(task))
    assert not hasattr(model, "selection_")


def test_bad_labels(problem):
    X, y, task = problem
    model = MultitaskAGBMClassifier(**QUICK)
    one_class = np.where(task == "west", 1, y > 0)
    with pytest.raises(InputError, match=r"'west' must have at least two classes.*Got 1 class"):
        model.fit(X, one_class, task=task)
    weight = np.where(task == "west", 0.0, 1.0)
    with pytest.raises(InputError, match="'west' must have rows of positive weight"):
        model.fit(X, y > 0, task=task, sample_weight=weight)
    empty = np.column_stack([y, np.full(600, np.nan)])
    with pytest.raises(InputError, match="none in column 1: all are missing"):
        MultitaskAGBMRegressor(**QUICK).fit(X, empty)
    with pytest.raises(InputError, match="Got both"):
        MultitaskAGBMRegressor(**QUICK).fit(X, np.column_stack([y, y]), task=task)
    constant = np.column_stack([y > 0, np.ones(600)])
    with pytest.raises(InputError, match=r"Column 1 of y: .*Got 1 class"):
        model.fit(X, constant)


def test_bad_penalties(problem):
    X, y, task = problem
    for given, match in [
        ({"task_penalty": [0.1, 0.1]}, "one per task, 3. Got 2"),
        ({"task_penalty": {"north": 0.1}}, "Got 'south', 'west' left out"),
        ({"task_penalty": {**dict.fromkeys(KEYS, 0.1), "moon": 0.1}}, "Got 'moon' without rows"),
        ({"group_penalty": 0.6, "task_penalty": 0.4}, "together must be < 1. Got 0.6 and 0.4"),
    ]:
        with pytest.raises(ParameterError, match=match):
            MultitaskAGBMRegressor(**QUICK | given).fit(X, y, task=task)


def test_folds_that_part_tasks_from_each_other(problem):
    X, y, task = problem
    folds = [(np.flatnonzero(task != key), np.flatnonzero(task == key)) for key in KEYS]
    with pytest.raises(ParameterError, match=r"both sides of every fold. Got none in fold 0"):
        MultitaskAGBMRegressor(cv=folds, **QUICK).fit(X, y, task=task)


def test_unknown_tasks_at_predict_time(problem):
    X, y, task = problem
    model = MultitaskAGBMRegressor(group_penalty=0.05, **QUICK).fit(X, y, task=task)
    with pytest.raises(InputError, match=r"Got 'moon'. The tasks are 'north', 'south', 'west'"):
        model.predict(X, task=["moon"] * 600)
    with pytest.raises(InputError, match=r"Got None. The tasks are 'north'"):
        model.predict(X)
    with pytest.raises(InputError, match="inconsistent numbers of samples"):
        model.predict(X, task=task[:5])


# ---- from 1,000 rows on --------------------------------------------------------------------------

LONG = {"max_iter": 40, "max_depth": 2, "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def long_problem():
    return made(340, 8)


def test_tasks_are_fitted_again_with_their_own_features(long_problem):
    X, y, task = long_problem
    model = MultitaskAGBMRegressor(common_trees=False, **LONG).fit(X, y, task=task)
    step = model.path_[model.selection_.index]
    found = model.predict(X, task=task)
    again = {"penalty": 0.0, "max_iter": model.n_iter_, "max_depth": 2, "random_state": 0}
    for t, key in enumerate(KEYS):
        rows, support = task == key, step.supports[key]
        assert {0, 1 + t} <= set(support.tolist())
        alone = AGBMRegressor(early_stopping=False, **again).fit(X[rows][:, support], y[rows])
        np.testing.assert_allclose(found[rows], alone.predict(X[rows][:, support]), rtol=1e-12)


def test_missing_labels_of_long_tables(long_problem):
    X, y, task = long_problem
    Y = np.where(task[:, None] == np.array(KEYS), y[:, None], np.nan)
    model = MultitaskAGBMRegressor(**LONG).fit(X, Y)
    supports = model.path_[model.selection_.index].supports
    assert all({0, 1 + t} <= set(supports[str(t)].tolist()) for t in range(3))
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize("common", [True, False])
def test_a_task_is_not_asked_for_features_of_others(long_problem, common):
    X, y, task = long_problem
    model = MultitaskAGBMRegressor(common_trees=common, **LONG).fit(X, y, task=task)
    step = model.path_[model.selection_.index]
    assert model.common_trees_ is common
    for key in KEYS:
        spoilt, rows = X.copy(), task == key
        others = np.setdiff1d(np.arange(8), step.supports[key])
        spoilt[:, others] = 1e3
        assert len(others)
        np.testing.assert_array_equal(
            model.predict(spoilt[rows], task=task[rows]), model.predict(X[rows], task=task[rows])
        )


def test_a_short_search_chooses_the_variant(long_problem):
    X, y, task = long_problem
    apart = MultitaskAGBMRegressor(**LONG).fit(X, y, task=task)
    many = np.random.default_rng(1).integers(0, 60, len(X))  # so few rows of each: common trees
    together = MultitaskAGBMRegressor(**LONG).fit(X, X[:, 0], task=many)
    assert not apart.common_trees_
    assert together.common_trees_


@pytest.mark.filterwarnings("ignore::secateur.exceptions.EmptySelectionWarning")
def test_both_penalties_are_tuned_by_a_grid_search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] + X[:, 2]]) + 0.1 * rng.normal(size=(150, 2))
    grid = {"group_penalty": [0.02, 0.9], "task_penalty": [0.0, 0.05]}
    model = MultitaskAGBMRegressor(common_trees=False, **QUICK)
    found = GridSearchCV(model, grid, cv=2, n_jobs=1).fit(X, y)
    assert len(found.cv_results_["params"]) == 4
    assert found.best_params_["group_penalty"] == 0.02  # nothing is worth nine tenths
    for params, score in zip(
        found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True
    ):
        alone = MultitaskAGBMRegressor(common_trees=False, **QUICK, **params)
        assert score == pytest.approx(cross_val_score(alone, X, y, cv=2).mean(), abs=1e-12)
    chosen = found.best_estimator_.task_support_.to_numpy()
    assert chosen[:, 0].all()
    assert chosen[0, 1]
    assert chosen[1, 2]

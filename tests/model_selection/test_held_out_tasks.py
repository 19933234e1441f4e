"""Held-out scores of selectors that know several tasks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from secateur import AGBMClassifier, MultitaskAGBMClassifier, MultitaskAGBMRegressor
from secateur.data.target import read_target
from secateur.data.tasks import read_stacked
from secateur.exceptions import InputError, ParameterError
from secateur.model_selection.folds import strata_of_tasks
from secateur.model_selection.held_out import held_out
from secateur.model_selection.rows import TaskModel, read_rows
from secateur.model_selection.validators import without_penalty

QUICK = {"group_penalty": [0.1, 0.02], "max_iter": 5, "learning_rate": 0.4, "cv": 0}


def problem(n_rows=120, seed=0):
    """Two tasks with a column in common and one of their own; numbers of the second are large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    task = np.where(np.arange(n_rows) % 3, "north", "south")
    own = np.where(task == "north", X[:, 1], X[:, 2])
    y = (X[:, 0] + own) * np.where(task == "north", 1.0, 100.0)
    return X, y, task


def folds_of(n_rows):
    numbers = np.arange(n_rows)
    return [(numbers[numbers % 2 != k], numbers[numbers % 2 == k]) for k in range(2)]


def test_each_row_is_scored_by_its_own_task_fitted_without_it():
    X, y, task = problem()
    y = np.where(y > 0, "yes", "no")
    cv = folds_of(len(y))
    selector = MultitaskAGBMClassifier(**QUICK)
    held = held_out(selector, X, y, cv=cv, task=task, scoring="accuracy", random_state=0)
    right = np.zeros((2, len(y)))
    for train, test in cv:
        fold = MultitaskAGBMClassifier(**QUICK).fit(X[train], y[train], task=task[train])
        for step, labels in enumerate(fold.staged_predict(X[test], task=task[test])):
            right[step, test] = labels == y[test]
    assert held.path.scores == pytest.approx(right.mean(axis=1))
    assert held.all_features.mean > 0.5
    assert held.all_features_model == "MultitaskAGBMClassifier"
    assert set(held.path[-1].supports) == {"north", "south"}


def test_losses_of_regression_are_in_the_unit_of_each_task():
    X, y, task = problem()
    cv = folds_of(len(y))
    held = held_out(MultitaskAGBMRegressor(**QUICK), X, y, cv=cv, task=task, random_state=0)
    unit = np.array([y[task == name].var() for name in task])
    losses = np.zeros((2, len(y)))
    for train, test in cv:
        fold = MultitaskAGBMRegressor(**QUICK).fit(X[train], y[train], task=task[train])
        for step, numbers in enumerate(fold.staged_predict(X[test], task=task[test])):
            losses[step, test] = (y[test] - numbers) ** 2 / unit[test]
    assert held.path[0].score.metric == "relative squared_error"
    assert held.path.scores == pytest.approx(losses.mean(axis=1))
    assert held.all_features.metric == "relative squared_error"


def test_a_validator_without_tasks_predicts_as_it_is():
    X, y, task = problem()
    selector = MultitaskAGBMRegressor(**QUICK)
    held = held_out(selector, X, y, cv=2, task=task, validator=LinearRegression(), random_state=0)
    assert np.isfinite(held.path.scores).all()


def test_drawn_folds_have_their_share_of_every_task_and_class():
    rng = np.random.default_rng(0)
    task = np.repeat(["big", "small"], [90, 10])
    y = np.tile([0, 1], 50)
    X = rng.normal(size=(100, 3))
    held = held_out(MultitaskAGBMClassifier(**QUICK), X, y, cv=5, task=task, random_state=0)
    for fold in held.folds:
        small = fold.test[task[fold.test] == "small"]
        assert sorted(y[small]) == [0, 1]


def test_strata_are_tasks_and_classes():
    target = read_target(["a", "b", "b", "c"], target_type="classification")
    mixed = strata_of_tasks(read_stacked(target, ["x", "x", "y", "y"], 4), 4)
    assert mixed.values.tolist() == [0, 1, 2, 3]
    numbers = read_target([1.0, 2.0, 3.0], target_type="regression")
    assert strata_of_tasks(read_stacked(numbers, [7, 8, 7], 3), 3).values.tolist() == [0, 1, 0]


ONE_OF_A_CLASS = {"y": [0, 1] * 45 + [0] * 29 + [1], "task": ["a"] * 90 + ["b"] * 30}


def test_the_only_row_of_a_class_of_a_task_is_trained_on_in_every_drawn_fold():
    held = held_out(
        MultitaskAGBMClassifier(**QUICK), problem()[0], **ONE_OF_A_CLASS, cv=2, random_state=0
    )
    assert all(119 in fold.train for fold in held.folds)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": ["a"] * 119 + ["b"]}, "one row of task 'b'|no rows of task 'b'"),
        ({"cv": [(range(60), range(60, 120))], "task": ["a"] * 60 + ["b"] * 60}, "no rows of task"),
        ({**ONE_OF_A_CLASS, "cv": [(range(119), range(119, 120))]}, "one class of task 'b'"),
        ({"task": ["a"] * 3}, "3"),
        ({"task": [None] * 120}, "missing"),
    ],
)
def test_folds_that_do_not_train_every_task_are_refused_before_any_work(change, message):
    X, y, task = problem()
    found = {"y": (y > 0).astype(int), "task": task, "cv": 2, **change}
    done = []
    with pytest.raises(InputError, match=message):
        held_out(
            MultitaskAGBMClassifier(**QUICK),
            X,
            random_state=0,
            on_fit=lambda *n: done.append(n),
            **found,
        )
    assert done == []


def test_tasks_are_refused_for_a_selector_of_one():
    X, y, task = problem()
    with pytest.raises(ParameterError, match="Got it for AGBMClassifier"):
        held_out(AGBMClassifier(), X, y > 0, task=task)


def test_nothing_to_pay_means_no_penalty_of_either_kind():
    free = without_penalty(MultitaskAGBMRegressor(group_penalty=0.3, task_penalty=0.2), 5)
    assert (free.group_penalty, free.task_penalty, free.cut) == ([0.0], "auto", "best")


def test_a_model_of_tasks_keeps_its_other_attributes():
    X, y, task = problem()
    rows = read_rows(X, y > 0, target_type="classification", tasks=task)
    model = rows.fit(MultitaskAGBMClassifier(**QUICK))
    asked = rows.with_tasks(model)
    assert isinstance(asked, TaskModel)
    assert asked.classes_.tolist() == [False, True]
    assert (asked.predict(X) == model.predict(X, task=task)).all()

"""Held-out scores of tables on disk equal those of tables in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import secateur
from secateur.exceptions import InputError, InputTypeError
from secateur.storage import open_table as opening
from secateur.storage.stored_table import StoredTable, sample_stored

N_ROWS = 700


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 150)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 100)


@pytest.fixture(scope="module")
def problem():
    """Few different values: bins are the same whichever rows there are."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 7, size=(N_ROWS, 6)).astype(float)
    y = (X[:, 1] - X[:, 3] + rng.normal(size=N_ROWS) > 0).astype(int)
    return X, y


def selector(**more):
    found = {"penalty": 0.005, "max_iter": 8, "early_stopping": False, "random_state": 0}
    return secateur.AGBMClassifier(**{**found, **more})


def test_some_rows_give_the_model_of_these_rows(problem):
    X, y = problem
    rows = np.flatnonzero(np.arange(N_ROWS) % 3)
    part = secateur.open_table(X, y).take(rows)
    assert isinstance(part, StoredTable)
    assert part.n_rows == len(rows)
    np.testing.assert_array_equal(part.target(), y[rows])
    there, here = selector().fit(part), selector().fit(X[rows], y[rows])
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
    fewer = part.take(np.arange(0, part.n_rows, 2))
    np.testing.assert_array_equal(fewer.rows, rows[::2])


def test_held_out_scores_are_those_of_memory(problem):
    X, y = problem
    found = {"cv": 3, "random_state": 0}
    for one in (selector(), selector(penalty=[0.02, 0.002], early_stopping="auto")):
        here = secateur.held_out(one, X, y, **found)
        there = secateur.held_out(one, secateur.open_table(X, y), None, **found)
        assert [step.score for step in there.path] == [step.score for step in here.path]
        assert there.all_features == here.all_features
        assert there.selector.selection_.names == here.selector.selection_.names


def test_held_out_scores_of_some_rows_are_those_of_memory(problem):
    X, y = problem
    rows = np.flatnonzero(np.arange(N_ROWS) % 3)
    found = {"cv": 3, "random_state": 0}
    here = secateur.held_out(selector(), X[rows], y[rows], **found)
    there = secateur.held_out(selector(), secateur.open_table(X, y).take(rows), None, **found)
    assert [step.score for step in there.path] == [step.score for step in here.path]


def test_a_sample_is_scored_where_not_all_rows_fit(problem, monkeypatch):
    from secateur.storage import stored_table

    monkeypatch.setattr(stored_table, "SAMPLE_ROWS", 200)
    X, y = problem
    table = secateur.open_table(X, y)
    sample = sample_stored(table, seed=1)
    assert len(sample.rows) == 200
    np.testing.assert_array_equal(sample.X, X[sample.rows])
    held = secateur.held_out(selector(), table, None, cv=3, random_state=0)
    whole = secateur.held_out(selector(), X, y, cv=3, random_state=0)
    one, other = held.path[-1].score, whole.path[-1].score
    assert one.origin == "held_out"
    assert one.standard_error > other.standard_error  # fewer rows know less
    assert abs(one.mean - other.mean) < 4 * one.standard_error


def test_held_out_scores_of_several_tasks_are_those_of_memory(problem):
    pd = pytest.importorskip("pandas")
    X, y = problem
    frame = pd.DataFrame(X, columns=list("abcdef"))
    task = np.random.default_rng(1).choice(["one", "two"], N_ROWS)
    number = y * (1 + 9 * (task == "two")) + X[:, 5] / 9  # another unit in each task
    table = secateur.open_table(frame.assign(y=number, t=task), "y", task="t")
    found = {"cv": 2, "random_state": 0}
    for ways in (True, False):
        one = secateur.MultitaskAGBMRegressor(
            group_penalty=0.005, common_trees=ways, max_iter=4, random_state=0
        )
        here = secateur.held_out(one, frame, number, task=task, **found)
        there = secateur.held_out(one, table, None, **found)
        assert there.path[-1].score.metric == "relative squared_error"
        assert [step.score for step in there.path] == [step.score for step in here.path]
        assert there.all_features == here.all_features
    # a selector without tasks is scored as if there were none
    plain = secateur.AGBMRegressor(penalty=0.005, max_iter=5, random_state=0)
    there = secateur.held_out(plain, table, None, **found)
    here = secateur.held_out(plain, frame, number, **found)
    assert [step.score for step in there.path] == [step.score for step in here.path]


def test_groups_stay_together(problem):
    X, y = problem
    groups = np.arange(N_ROWS) // 20
    table = secateur.open_table(X, y)
    held = secateur.held_out(selector(), table, None, groups=groups, cv=3, random_state=0)
    for fold in held.folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])


def test_groups_reach_the_folds_of_a_selector(problem):
    table = secateur.open_table(*problem)
    groups = np.arange(N_ROWS) // 20
    inner = {"penalty": [0.02, 0.005], "max_iter": 3}
    with pytest.raises(ValueError, match="groups"):
        selector(cv=GroupKFold(2), **inner).fit(table)
    fitted = selector(cv=GroupKFold(2), **inner).fit(table, groups=groups)
    held = secateur.held_out(
        selector(cv=GroupKFold(2), **inner), table, None, groups=groups, cv=2, random_state=0
    )
    assert fitted.path_.has_scores
    assert all(path.has_scores for path in held.fold_paths)


def test_a_stream_without_folds_refuses_groups_but_takes_part_in_grouped_folds(problem):
    table = secateur.open_table(*problem)
    groups = np.arange(N_ROWS) // 20
    stream = secateur.FeatureGradientsSelector(n_features=2, batch_size=100, random_state=0)
    with pytest.raises(InputError, match=r"'groups'.*stream"):
        stream.fit(table, groups=groups)
    held = secateur.held_out(stream, table, None, groups=groups, cv=2, random_state=0)
    assert [path[-1].n_features for path in held.fold_paths] == [2, 2]


def test_what_cannot_be_is_said(problem, tmp_path):
    X, y = problem
    table = secateur.open_table(X, y, cache=tmp_path)
    with pytest.raises(InputError, match=r"stored table.*target"):
        secateur.held_out(selector(), table, y)
    again = secateur.open_table(table.folder)
    with pytest.raises(InputTypeError, match="opened from its folder"):
        secateur.held_out(selector(), again, None)
    pd = pytest.importorskip("pandas")
    both = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, z=1 - y)
    several = secateur.open_table(both, ["y", "z"])
    with pytest.raises(InputError, match=r"one target.*Got 'y', 'z'"):
        secateur.held_out(secateur.MultitaskAGBMClassifier(), several, None)
    with pytest.raises(InputError, match=r"stored table.*tasks"):
        secateur.held_out(secateur.MultitaskAGBMClassifier(), table, None, task=y)
    with pytest.raises(InputTypeError, match=r"memory.*stored table.*held_out"):
        secateur.compare(table, None, "agbm")

"""Held-out scores of tables on disk equal those of tables in memory."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import secateur
from secateur.datasets import make_ranking
from secateur.engines.boosted import groups
from secateur.exceptions import InputError, InputTypeError
from secateur.storage import open_table as opening
from secateur.storage.sampled_rows import sample_stored
from secateur.storage.stored_table import StoredTable

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


@pytest.mark.filterwarnings("ignore:Group testing is not faster")
def test_group_tests_of_some_rows_have_their_weights(monkeypatch):
    plain = groups._visit

    def checked(columns, threads, walk, what, tops, arrays):
        assert len(arrays.weight) in {0, columns.n_rows}  # kernels do not look
        plain(columns, threads, walk, what, tops, arrays)

    monkeypatch.setattr(groups, "_visit", checked)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 7, size=(N_ROWS, 48)).astype(float)
    y = (X[:, 1] - X[:, 3] + rng.normal(size=N_ROWS) > 0).astype(int)
    rows = np.flatnonzero(np.arange(N_ROWS) % 4 > 1)
    sizes = {"expected_features": 3, "leaf_size": 4, "group_size": 16}
    one = secateur.GTGBMClassifier(penalty=0.005, max_iter=4, random_state=0, **sizes)
    there = clone(one).fit(secateur.open_table(X, y).take(rows))
    here = clone(one).fit(secateur.open_table(X[rows], y[rows]))
    assert there.support_.sum() > 1
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))


def test_a_sample_is_scored_where_not_all_rows_fit(problem, monkeypatch):
    from secateur.storage import sampled_rows

    monkeypatch.setattr(sampled_rows, "SAMPLE_ROWS", 200)
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


@pytest.fixture
def queries():
    made = make_ranking(60, (5, 30), n_features=6, n_informative=2, random_state=0)
    mixed = np.random.default_rng(0).permutation(len(made.y))
    X = np.round(2 * made.X[mixed])  # few values: bins are the same whichever rows there are
    return X, made.y[mixed].astype(float), made.query[mixed]


RANKER = secateur.AGBMRanker(penalty=[0.1, 0.02], cv=2, max_iter=5, random_state=0)


def test_held_out_scores_of_rankers_are_those_of_memory(queries):
    X, y, qid = queries
    found = {"qid": qid, "cv": 2, "random_state": 0}
    here = secateur.held_out(RANKER, X, y, **found)
    there = secateur.held_out(RANKER, secateur.open_table(X, y), None, **found)
    assert [step.score for step in there.path] == [step.score for step in here.path]
    assert there.all_features == here.all_features


def test_a_sample_has_whole_queries(queries, monkeypatch):
    from secateur.storage import sampled_rows

    monkeypatch.setattr(sampled_rows, "SAMPLE_ROWS", 300)
    X, y, qid = queries
    table = secateur.open_table(X, y)
    held = secateur.held_out(RANKER, table, None, qid=qid, cv=2, random_state=0)
    (sample,) = table.kept.values()
    its = qid[sample.rows]
    assert 200 < len(its) <= 300
    np.testing.assert_array_equal(sample.X, X[sample.rows])
    whole, sampled = np.bincount(qid), np.bincount(its, minlength=60)
    assert set(sampled[sampled > 0] - whole[sampled > 0]) == {0}
    assert 0.5 < held.path[-1].score.mean < 1.0
    assert sample_stored(table, 1, queries=qid) is not sample_stored(table, 1, queries=qid // 2)


@pytest.mark.parametrize(("most", "advice"), [(100, "Leave some of"), (10**5, "Set the memory")])
def test_a_query_that_is_larger_than_the_sample(queries, monkeypatch, most, advice):
    from secateur.storage import sampled_rows

    monkeypatch.setattr(sampled_rows, "SAMPLE_ROWS", most)
    monkeypatch.setattr(sampled_rows, "MIN_SAMPLE", 100)
    X, y, qid = queries
    table = secateur.open_table(X, y)
    table.memory_limit = 100 * 8 * 8 * 6
    joined = np.where(qid < 30, 0, qid)
    largest = int((joined == 0).sum())
    with pytest.raises(
        InputError, match=f"Got a query of {largest} rows, and a sample of 100."
    ) as e:
        secateur.held_out(RANKER, table, None, qid=joined, cv=2, random_state=0)
    assert advice in str(e.value)
    if most > largest:
        table.memory_limit = int(
            re.search("at least ([0-9,]+) bytes", str(e.value))[1].replace(",", "")
        )
        assert secateur.held_out(RANKER, table, None, qid=joined, cv=2, random_state=0).folds

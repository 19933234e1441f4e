"""What MultitaskAGBMRanker does: common and own features, queries inside tasks, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from secateur import AGBMRanker, MultitaskAGBMRanker, held_out, open_table
from secateur.exceptions import InputError
from secateur.model_selection.ranking import ranking_score

N_QUERIES, N_DOCUMENTS = 60, 8


def markets(seed=0):
    """Two markets: feature 0 matters in both, 1 in the north, 2 in the south."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    task = np.where(query % 2 == 0, "north", "south")
    X = rng.normal(size=(len(query), 6))
    own = np.where(task == "north", X[:, 1], X[:, 2])
    signal = X[:, 0] + own + 0.2 * rng.normal(size=len(query))
    return X, np.digitize(signal, [0.5, 1.2, 2.0]), task, query


X, Y, TASK, QUERY = markets()
SINGLE = {"group_penalty": 0.03, "task_penalty": 0.03, "max_iter": 10, "random_state": 0}


def single(**params):
    return MultitaskAGBMRanker(**SINGLE | {"early_stopping": False} | params)


def trees(ranker):
    """All that the trees of all tasks say."""
    models = ranker.path_[ranker.selection_.index].model.models
    rounds = [tree for model in models for (tree,) in model.ensemble.rounds]
    return [tuple(array.tolist() for array in tree) for tree in rounds]


@pytest.mark.parametrize("more", [{}, {"group_penalty": "auto", "task_penalty": "auto"}])
def test_finds_common_and_own_features(more):
    ranker = single(**more).fit(X, Y, task=TASK, qid=QUERY)
    support = ranker.task_support_
    assert support["x0"].tolist() == [True, True]
    assert support["x1"].tolist() == [True, False]
    assert support["x2"].tolist() == [False, True]
    assert not support[["x3", "x4", "x5"]].to_numpy().any()
    assert ranker.score(X, Y, task=TASK, qid=QUERY) > 0.9


def test_scores_of_the_path_are_of_queries_that_are_held_out():
    ranker = MultitaskAGBMRanker(group_penalty=[0.1, 0.02], max_iter=5, cv=3, random_state=0)
    ranker.fit(X, Y, task=TASK, qid=QUERY)
    score = ranker.path_[-1].score
    assert (score.metric, score.origin) == ("1 - ndcg@10", "held_out")
    assert 0.0 < score.mean < 0.3
    assert ranker.with_cut(2).support_.sum() == 2


@pytest.mark.parametrize("common", [False, True])
def test_order_of_rows_and_names_of_queries_do_not_matter(common):
    moved = np.random.default_rng(0).permutation(len(Y))
    names = np.array([f"query {number}" for number in 100 - QUERY])
    one = single(common_trees=common).fit(X, Y, task=TASK, qid=QUERY)
    more = {"task": TASK[moved], "qid": names[moved]}
    other = single(common_trees=common).fit(X[moved], Y[moved], **more)
    assert trees(one) == trees(other)
    np.testing.assert_array_equal(one.predict(X, TASK), other.predict(X, TASK))


def test_without_group_penalty_tasks_are_those_of_one_ranker_each():
    own = {"max_iter": 6, "early_stopping": False, "random_state": 0}
    both = MultitaskAGBMRanker(group_penalty=0.0, task_penalty=0.02, **own)
    both.fit(X, Y, task=TASK, qid=QUERY)
    for name in ("north", "south"):
        its = name == TASK
        alone = AGBMRanker(penalty=0.02, **own).fit(X[its], Y[its], qid=QUERY[its])
        np.testing.assert_array_equal(both.predict(X[its], name), alone.predict(X[its]))


def test_common_trees_score_the_same_queries():
    grid = {"group_penalty": [0.05, 0.01], "max_iter": 8, "cv": 2, "random_state": 0}
    seen = []
    for common in (False, True):
        ranker = MultitaskAGBMRanker(common_trees=common, **grid)
        ranker.on_step = lambda step: seen.append(step.losses)
        ranker.fit(X, Y, task=TASK, qid=QUERY)
        assert ranker.path_[-1].score.mean < 0.2
    assert len({tuple(len(fold.losses) for fold in folds) for folds in seen}) == 1
    assert sum(len(fold.losses) for fold in seen[0]) == N_QUERIES


def test_columns_of_y_are_tasks_over_the_same_queries():
    rng = np.random.default_rng(0)
    grades = [np.digitize(X[:, 0] + X[:, own], [0.5, 1.5]) for own in (1, 2)]
    wide = np.column_stack(grades).astype(float)
    wide[rng.random(len(X)) < 0.2, 1] = np.nan
    ranker = MultitaskAGBMRanker(group_penalty=[0.1, 0.03], max_iter=8, random_state=0)
    ranker.fit(X, wide, qid=QUERY)
    assert ranker.task_support_.to_numpy()[:, :3].tolist() == [
        [True, True, False],
        [True, False, True],
    ]
    known = ~np.isnan(wide[:, 1])
    predicted = ranker.predict(X)
    parts = [
        ranking_score(wide[rows, t], predicted[rows, t], QUERY[rows], "ndcg@10")
        for t, rows in enumerate((np.arange(len(X)), known))
    ]
    assert ranker.score(X, wide, qid=QUERY) == pytest.approx(np.mean(parts))


def test_weights_of_queries_are_those_of_their_rows():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N_QUERIES)
    fits = [single().fit(X, Y, each, TASK, qid=QUERY) for each in (weight, weight[QUERY])]
    assert trees(fits[0]) == trees(fits[1])


def test_stored_table(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    table = open_table(frame.assign(y=Y, market=TASK), "y", task="market", cache=tmp_path)
    stored = single().fit(table, qid=QUERY)
    memory = single().fit(frame, Y, task=TASK, qid=QUERY)
    assert stored.task_support_.equals(memory.task_support_)
    # bins of a stored table are those of all tasks, so folds may choose otherwise
    chosen = single(group_penalty=[0.1, 0.03], cv=2).fit(table, qid=QUERY)
    assert chosen.task_support_["a"].all()
    assert chosen.score(frame, Y, task=TASK, qid=QUERY) > 0.85


def test_held_out_takes_tasks_and_queries():
    selector = MultitaskAGBMRanker(group_penalty=[0.1, 0.02], max_iter=5, cv=2, random_state=0)
    found = held_out(selector, X, Y, task=TASK, qid=QUERY, cv=2, random_state=0)
    assert found.path[-1].score.metric == "ndcg@10"
    assert found.path[-1].score.mean > 0.8


def bad_inputs():
    one_grade = np.where(TASK == "south", 1, Y)
    alone = np.where(TASK == "south", np.arange(len(Y)) + 1000, QUERY)
    return {
        "two tasks": ((Y, TASK, QUERY // 2), r"of one task\. Got 30 queries.*'north', 'south'"),
        "no queries": ((Y, TASK, None), r"'qid' must name the query"),
        "length": ((Y, TASK, QUERY[1:]), r"qid of 479 values"),
        "one grade": ((one_grade, TASK, QUERY), r"Task 'south': .*different grades"),
        "one document": ((Y, TASK, alone), r"Task 'south': .*240 queries of one row each"),
        "negative": ((Y - 1, TASK, QUERY), r"grades"),
    }


@pytest.mark.parametrize("case", bad_inputs())
def test_bad_input(case):
    (y, task, qid), message = bad_inputs()[case]
    with pytest.raises(InputError, match=message):
        single().fit(X, y, task=task, qid=qid)

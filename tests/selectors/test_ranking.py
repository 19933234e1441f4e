"""What rankers do: queries of any kind, folds by query, weights, scores, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from secateur import AGBMRanker, FeatBoostRegressor, GBFSRanker, GTGBMRanker, open_table
from secateur.datasets import make_ranking
from secateur.exceptions import InputError, InputTypeError, ParameterError
from secateur.execution import disk
from secateur.losses.ranking import Queries
from secateur.model_selection.ranking import query_metric, ranking_score
from secateur.selectors.featboost_queries import QueryScorer
from secateur.storage import open_table as opening

MADE = make_ranking(40, (3, 12), n_features=8, n_informative=2, random_state=1)
X, Y, QUERY = MADE.X, MADE.y, MADE.query
LOSSES = ("lambdarank", "pairwise", "xendcg")
RANKERS = (GBFSRanker, AGBMRanker, GTGBMRanker)


def single(cls=AGBMRanker, **params):
    """A ranker that fits once."""
    given = {"penalty": 0.01, "max_iter": 6, "early_stopping": False, "random_state": 0}
    return cls(**given | params)


def trees(ranker):
    """All that the trees of a model say."""
    model = ranker.path_[ranker.selection_.index].model
    return [tuple(array.tolist() for array in tree) for (tree,) in model.ensemble.rounds]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cls", RANKERS)
@pytest.mark.filterwarnings("ignore:Group testing is not faster")
def test_finds_the_features_that_matter(cls, loss):
    ranker = cls(loss=loss, max_iter=30, random_state=0).fit(X, Y, qid=QUERY)
    assert ranker.support_[MADE.relevant].all()
    assert ranker.score(X, Y, qid=QUERY) > 0.9
    assert ranker.path_[0].score.metric == "1 - ndcg@10"
    assert ranker.path_[0].score.origin == "held_out"


@pytest.mark.parametrize("loss", ["lambdarank", "pairwise"])
def test_order_of_rows_and_names_of_queries_do_not_matter(loss):
    moved = np.random.default_rng(0).permutation(len(Y))
    names = np.array([f"query {number}" for number in 100 - QUERY])
    one = single(loss=loss).fit(X, Y, qid=QUERY)
    other = single(loss=loss).fit(X[moved], Y[moved], qid=names[moved])
    assert trees(one) == trees(other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_names_of_queries_do_not_change_folds():
    names = [("query", 100 - number) for number in QUERY.tolist()]
    one, other = (
        AGBMRanker(penalty=[0.1, 0.01], max_iter=5, random_state=0).fit(X, Y, qid=qid)
        for qid in (QUERY, names)
    )
    assert [step.score for step in one.path_] == [step.score for step in other.path_]


def test_a_wanted_size_is_met_by_elimination_by_gain():
    made = make_ranking(110, 10, n_features=12, n_informative=3, random_state=2)
    params = {"max_iter": 20, "random_state": 0, "max_features": 3}
    one, other = (
        AGBMRanker(**params, n_jobs=n).fit(made.X, made.y, qid=made.query) for n in (1, 2)
    )
    assert one.get_support(indices=True).tolist() == made.relevant.tolist()
    steps = [step for step in one.path_ if "eliminated_from" in step.details]
    assert [step.n_features for step in steps][:2] == [3, 2]
    assert set(steps[1].support) < set(steps[0].support)
    assert [step.score for step in one.path_] == [step.score for step in other.path_]


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_and_containers_change_no_bit(loss):
    one = single(loss=loss, n_jobs=1).fit(X, Y, qid=QUERY)
    for table in (pd.DataFrame(X), sp.csr_matrix(X)):
        other = single(loss=loss, n_jobs=3).fit(table, Y, qid=pd.Series(QUERY))
        np.testing.assert_array_equal(one.predict(X), other.predict(table))


@pytest.mark.parametrize("loss", LOSSES)
def test_stored_table_whose_blocks_split_queries(loss, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 50)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 50)
    monkeypatch.setattr(disk, "_runs", lambda blocks, *_, **__: [([b], True) for b in blocks])
    moved = np.random.default_rng(0).permutation(len(Y))
    table = open_table(X[moved], Y[moved].astype(float), cache=tmp_path)
    stored = AGBMRanker(loss=loss, penalty=[0.1, 0.01], max_iter=4, random_state=0)
    memory = clone(stored).fit(X[moved], Y[moved], qid=QUERY[moved])
    stored.fit(table, qid=QUERY[moved])
    assert trees(stored) == trees(memory)
    assert [step.score for step in stored.path_] == [step.score for step in memory.path_]


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_folds_keep_queries_whole():
    ranker = AGBMRanker(penalty=[0.1, 0.01], max_iter=3, random_state=0, cv=KFold(3))
    with pytest.raises(InputError, match=r"must not split a query.*GroupKFold"):
        ranker.fit(X, Y, qid=QUERY)
    ranker.set_params(cv=GroupKFold(3)).fit(X, Y, qid=QUERY)
    assert len(ranker.path_[-1].score.folds) == 3


def test_groups_may_join_queries():
    ranker = AGBMRanker(penalty=[0.1, 0.01], max_iter=3, random_state=0, cv=2)
    ranker.fit(X, Y, qid=QUERY, groups=QUERY // 2)
    with pytest.raises(InputError, match="must not split a query"):
        ranker.fit(X, Y, qid=QUERY, groups=np.arange(len(Y)))


def test_scores_of_the_path_are_those_of_the_held_out_queries():
    fold = (np.flatnonzero(QUERY % 3), np.flatnonzero(QUERY % 3 == 0))
    ranker = AGBMRanker(penalty=[0.01], max_iter=4, cv=[fold], random_state=0, eval_at=3)
    ranker.fit(X, Y, qid=QUERY)
    alone = AGBMRanker(penalty=0.01, max_iter=4, random_state=0, early_stopping=False, eval_at=3)
    step = ranker.path_[0]
    alone.set_params(max_iter=step.model.n_rounds)
    weight = np.where(QUERY % 3, 1.0, 0.0)
    values = 1.0 - Queries.of(QUERY, Y.astype(float), fold[1]).ndcg(
        alone.fit(X, Y, weight, qid=QUERY).predict(X), 3
    )
    assert step.score.mean == pytest.approx(values.mean(), abs=0.05)  # bins are of all rows
    assert step.score.standard_error == pytest.approx(values.std() / len(values) ** 0.5, rel=0.5)


def test_weights_of_queries_are_those_of_their_rows():
    rng = np.random.default_rng(0)
    of_query = rng.integers(1, 4, QUERY.max() + 1).astype(float)
    one = single().fit(X, Y, of_query, qid=QUERY)
    other = single().fit(X, Y, of_query[QUERY], qid=QUERY)
    assert trees(one) == trees(other)
    scores = [one.score(X, Y, weight, qid=QUERY) for weight in (of_query, of_query[QUERY])]
    values = Queries.of(QUERY, Y.astype(float)).ndcg(one.predict(X), 10)
    assert scores == pytest.approx([np.average(values, weights=of_query)] * 2)


def test_rows_of_weight_zero_are_as_if_left_out():
    weight = np.where(QUERY % 4 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weight)
    one = single().fit(X, Y, weight, qid=QUERY)
    other = single().fit(X[kept], Y[kept], qid=QUERY[kept])
    assert one.score(X, Y, weight, qid=QUERY) == other.score(X[kept], Y[kept], qid=QUERY[kept])


def test_own_validation_rows():
    val = QUERY % 4 == 0
    rows = (X[~val], Y[~val], None, X[val], Y[val])
    ranker = single(max_iter=30, n_iter_no_change=3)
    ranker.fit(*rows, qid=QUERY[~val], qid_val=QUERY[val])
    step = ranker.path_[ranker.selection_.index]
    assert 1.0 - step.score.mean == pytest.approx(ranker.score(X[val], Y[val], qid=QUERY[val]))
    with pytest.raises(InputError, match="'qid_val' must name the query"):
        ranker.fit(*rows, qid=QUERY[~val])


def test_early_stopping_holds_queries_out():
    ranker = AGBMRanker(penalty=0.01, early_stopping=True, max_iter=20, random_state=0)
    ranker.fit(X, Y, qid=QUERY)
    assert ranker.path_[-1].score.origin == "inner"


def test_resumed_fit_is_the_whole_fit():
    whole = single(loss="xendcg", max_iter=6).fit(X, Y, qid=QUERY)
    part = single(loss="xendcg", max_iter=3).fit(X, Y, qid=QUERY)
    resumed = single(loss="xendcg", max_iter=6).fit(X, Y, qid=QUERY, resume=part.path_)
    assert trees(resumed) == trees(whole)


def test_costs_groups_missing_cells_and_categories():
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame["kind"] = pd.Categorical(np.where(Y > 1, "good", "bad"))
    frame.loc[::7, "a"] = np.nan
    ranker = AGBMRanker(
        penalty=[0.1, 0.01],
        max_iter=5,
        random_state=0,
        costs={"kind": 0.5},
        feature_groups={"pair": ["a", "b"]},
        keep=["c"],
        max_features=4,
    ).fit(frame, Y, qid=QUERY)
    names = ranker.get_feature_names_out().tolist()
    assert {"kind", "c"} <= set(names)
    assert len(names) <= 4


def test_wanted_size_and_budget():
    assert AGBMRanker(cut=1, max_iter=5, random_state=0).fit(X, Y, qid=QUERY).support_.sum() == 1
    ranker = AGBMRanker(cost_budget=2, max_iter=5, random_state=0).fit(X, Y, qid=QUERY)
    assert ranker.support_.sum() <= 2


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        ranker = single().set_fit_request(qid=True).set_score_request(qid=True)
        model = make_pipeline(ranker)
        model.fit(X, Y, qid=QUERY)
        assert model.score(X, Y, qid=QUERY) > 0.5
        ranker.set_fit_request(groups=False)
        search = GridSearchCV(model, {"agbmranker__penalty": [0.1, 0.01]}, cv=GroupKFold(2))
        search.fit(X, Y, qid=QUERY, groups=QUERY)
        assert search.score(X, Y, qid=QUERY) > 0.5
    with pytest.raises(InputError, match="'qid' must name"):  # scikit-learn does not pass it on
        GridSearchCV(single(), {"penalty": [0.1]}, cv=2, error_score="raise").fit(X, Y)


@pytest.mark.parametrize("evaluator", ["knn", "trees", DecisionTreeRegressor(max_depth=3)])
def test_forward_selection_scores_queries(evaluator):
    params = {"evaluator": evaluator, "n_candidates": 4, "max_features": 3, "random_state": 0}
    params |= {"cv": 2, "max_iter": 5}
    model = FeatBoostRegressor(**params, scoring="mrr").fit(X, Y, qid=QUERY)
    assert set(MADE.relevant) & set(model.get_support(indices=True))
    assert model.path_[0].score.metric == "mrr"
    names = [f"q{number}" for number in 100 - QUERY]
    again = FeatBoostRegressor(**params, scoring="mrr").fit(X, Y, qid=names)
    assert [step.score for step in model.path_] == [step.score for step in again.path_]


def test_a_score_of_queries_is_their_weighted_mean():
    rows, rng = np.flatnonzero(QUERY % 3 == 0), np.random.default_rng(0)
    prediction, weight = rng.normal(size=len(rows)), rng.random(len(rows)) + 0.5
    scorer = QueryScorer(*query_metric("ndcg@5"), QUERY)
    found = scorer.score(rows, prediction, Y[rows].astype(float), weight)
    expected = ranking_score(Y[rows], prediction, QUERY[rows], "ndcg@5", weight)
    assert found == pytest.approx(expected, rel=1e-12)
    assert scorer.take(rows).score(np.arange(len(rows)), prediction, Y[rows], weight) == found


def test_forward_selection_of_bad_queries():
    model = FeatBoostRegressor(random_state=0)
    with pytest.raises(InputError, match="259 rows and qid of 258"):
        model.fit(X, Y, qid=QUERY[:-1])
    with pytest.raises(ParameterError, match=r"metric of queries.*Got 'r2'"):
        clone(model).set_params(scoring="r2").fit(X, Y, qid=QUERY)
    with pytest.raises(InputError, match="whole grades"):
        model.fit(X, Y + 0.5, qid=QUERY)


def test_clone_pickle_and_reduced():
    ranker = single().fit(X, Y, qid=QUERY)
    again = pickle.loads(pickle.dumps(ranker))  # noqa: S301
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    assert clone(ranker).get_params()["loss"] == "lambdarank"
    reduced, few = ranker.reduced(), ranker.transform(X)
    np.testing.assert_array_equal(reduced.predict(few), ranker.predict(X))
    assert reduced.score(few, Y, qid=QUERY) == ranker.score(X, Y, qid=QUERY)
    assert len(list(ranker.staged_predict(X))) == len(ranker.path_)


def test_one_query_is_fitted_without_folds():
    ranker = AGBMRanker(max_iter=5, random_state=0).fit(X, Y, qid=np.zeros(len(Y)))
    assert ranker.path_[0].score is None


def _moved(value):
    labels = Y.astype(float)
    labels[3] = value
    return labels


BAD = {
    "no qid": (Y, None, "'qid' must name the query of every row. Got None"),
    "short qid": (Y, QUERY[:-1], "inconsistent numbers of samples"),
    "missing qid": (Y, [None, *QUERY[1:].tolist()], "Got 1 missing"),
    "two columns": (Y, np.column_stack([QUERY, QUERY]), "one value per row"),
    "not hashable": (Y, [[1]] * len(Y), "one value per row|hashable"),
    "one row each": (Y, np.arange(len(Y)), "queries of one row each"),
    "one grade": (np.ones_like(Y), QUERY, "one grade in each query"),
    "negative": (_moved(-1.0), QUERY, "whole grades from 0 to 30.*Got -1.0"),
    "not whole": (_moved(0.5), QUERY, "whole grades from 0 to 30.*Got 0.5"),
    "too large": (_moved(31.0), QUERY, "whole grades from 0 to 30.*Got 31.0"),
    "text": (np.full(len(Y), "a"), QUERY, "must hold numbers for ranking.*Got 'a'.*Give grades, 0"),
    "objects": (np.array([object()] * len(Y)), QUERY, "must hold numbers. Got others"),
    "missing grades": (_moved(np.nan), QUERY, "Input y contains NaN. Got 1 missing"),
    "infinite": (_moved(np.inf), QUERY, "1 infinite"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    y, qid, match = BAD[case]
    with pytest.raises((InputError, InputTypeError), match=match):
        single().fit(X, y, qid=qid)


def test_bad_parameters():
    for params in ({"loss": "listnet"}, {"truncation": 0}, {"sigma": 0.0}, {"eval_at": 0}):
        with pytest.raises(ParameterError, match=f"'{next(iter(params))}' must be"):
            single(**params).fit(X, Y, qid=QUERY)
    with pytest.raises(InputError, match="'qid' must name"):
        single().fit(X, Y, qid=QUERY).score(X, Y)


@pytest.mark.parametrize("name", ["ndcg@10", "map", "mrr"])
def test_forward_selection_says_that_it_knows_no_queries(name):
    with pytest.raises(ParameterError, match=f"Got '{name}', which is one of queries. Use AGBMR"):
        FeatBoostRegressor(scoring=name).fit(X, Y)

"""Metrics by query against scikit-learn, LightGBM, plain Python; held_out and compare of them."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from reference import ranking as naive
from scipy.sparse import csr_matrix
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score
from sklearn.model_selection import KFold

from secateur import AGBMRanker, AGBMRegressor, compare, held_out, report, stability
from secateur.datasets import make_ranking
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import InputError, ParameterError
from secateur.losses.ranking import Queries
from secateur.model_selection import baselines
from secateur.model_selection.baselines import Baseline
from secateur.model_selection.columns import Columns
from secateur.model_selection.ranking import query_metric, ranking_score
from secateur.model_selection.rows import read_metric
from secateur.model_selection.trials import subsets_of
from secateur.report import Entry
from secateur.report.facts import entry_facts
from secateur.report.figures import score_curves

MADE = make_ranking(40, (3, 12), n_features=8, n_informative=2, random_state=1)
QUICK = {"penalty": [0.1, 0.01], "max_iter": 5, "cv": 2}


def some_queries(*, tied: bool = False, seed: int = 0):
    rng = np.random.default_rng(seed)
    query = rng.permutation(np.repeat(np.arange(30), rng.integers(2, 7, 30)))
    label = rng.integers(0, 4, len(query)) * rng.integers(0, 2, len(query))
    score = rng.normal(size=len(query))
    return query, label.astype(float), np.round(score) if tied else score


def by_query(name, query, label, score):
    return query_metric(name)[1](Queries.of(query, label), score)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_as_scikit_learn_has_them(k, tied):
    query, label, score = some_queries(tied=tied)
    ndcg, precision = (by_query(name, query, label, score) for name in (f"ndcg@{k}", "map"))
    for q in np.unique(query):
        its = query == q
        if not label[its].any():
            assert ndcg[q] == precision[q] == 1.0
            continue
        gains = 2.0 ** label[its] - 1.0
        assert ndcg[q] == pytest.approx(ndcg_score([gains], [score[its]], k=k))
        expected = label_ranking_average_precision_score([label[its] > 0], [score[its]])
        assert precision[q] == pytest.approx(expected)


@pytest.mark.parametrize("tied", [False, True])
def test_as_plain_python_has_them(tied):
    query, label, score = some_queries(tied=tied, seed=1)
    parts = [(label[query == q], score[query == q]) for q in np.unique(query)]
    for k in (1, 2, 4):
        expected = [naive.average_precision(*part, k) for part in parts]
        np.testing.assert_allclose(by_query(f"map@{k}", query, label, score), expected)
    expected = [naive.reciprocal_rank(*part) for part in parts]
    np.testing.assert_allclose(by_query("mrr", query, label, score), expected)


def test_as_lightgbm_has_them():
    lightgbm = pytest.importorskip("lightgbm")
    query, label, score = some_queries(seed=2)
    order = np.argsort(query, kind="stable")
    query, label, score = query[order], label[order], score[order]
    names = ["ndcg", "map"]
    params = {"objective": "lambdarank", "metric": names, "eval_at": [1, 3, 5], "verbosity": -1}
    data = lightgbm.Dataset(np.zeros((len(query), 1)), label, group=np.bincount(query))
    data.set_init_score(score)
    booster = lightgbm.Booster(params | {"num_threads": 1}, data)
    found = {name: value for _, name, value, _ in booster.eval_train()}
    assert len(found) == 6
    for name, value in found.items():
        assert ranking_score(label, score, query, name) == pytest.approx(value, abs=1e-9), name


def test_order_of_rows_does_not_matter():
    query, label, score = some_queries(tied=True)
    moved = np.random.default_rng(0).permutation(len(query))
    for name in ("ndcg@5", "map@5", "mrr", "mrr@2"):
        one = ranking_score(label, score, query, name)
        assert ranking_score(label[moved], score[moved], query[moved], name) == pytest.approx(one)


def test_unknown_metrics():
    for name in ("ndcg@0", "ndcg@x", "auc"):
        with pytest.raises(ParameterError, match="'metric' must be"):
            ranking_score([0, 1], [0.0, 1.0], [1, 1], name)


@pytest.mark.parametrize("scoring", [None, "ndcg@3", "map@5", "mrr"])
def test_held_out_scores_are_means_over_queries(scoring):
    held = held_out(
        AGBMRanker(**QUICK), MADE.X, MADE.y, qid=MADE.query, cv=2, scoring=scoring, random_state=0
    )
    name = scoring or "ndcg@10"
    step = held.path[-1]
    assert step.score.metric == name
    assert step.score.greater_is_better
    assert 0.5 < step.score.mean <= 1.0
    values = np.array([step.score.mean, held.all_features.mean])
    assert 0.0 < step.score.standard_error < 0.1
    assert abs(np.diff(values)[0]) < 0.2
    for fold in held.folds:
        assert not set(MADE.query[fold.train]) & set(MADE.query[fold.test])


def test_how_a_metric_is_distributed_over_queries():
    rng = np.random.default_rng(0)
    folds = [FoldLosses(rng.random(n), np.ones(n)) for n in (7, 30)]
    values = np.concatenate([fold.losses for fold in folds])
    found = read_metric("ndcg@10", "ranking").details(folds)
    shares = [int(name.removeprefix("query_quantile_")) / 100 for name in found]
    assert [*found.values()] == np.quantile(values, shares, method="inverted_cdf").tolist()
    assert read_metric("squared_error", "regression").details(folds) == {}


def test_the_page_shows_how_scores_are_distributed_over_queries():
    held = held_out(AGBMRanker(**QUICK), MADE.X, MADE.y, qid=MADE.query, cv=2, random_state=0)
    data = score_curves(entry_facts(Entry("demo", held.path)))["queries"]["data"]
    points, cut, tenths, half, line = data
    medians = [step.details["query_quantile_50"] for step in held.path]
    assert points["y"] == pytest.approx(medians, abs=1e-7)
    assert cut["y"][0] in points["y"]
    assert 1.0 >= max(tenths["y"]) >= max(half["y"]) >= max(line["y"]) > 0.5
    assert min(tenths["y"]) < min(half["y"]) < min(line["y"])


def test_held_out_needs_queries_and_keeps_them_whole():
    with pytest.raises(InputError, match="'qid' must name"):
        held_out(AGBMRanker(**QUICK), MADE.X, MADE.y)
    with pytest.raises(InputError, match="must not split a query"):
        held_out(AGBMRanker(**QUICK), MADE.X, MADE.y, qid=MADE.query, cv=[*_rows(2)])


def _rows(n):
    return KFold(n, shuffle=True, random_state=0).split(MADE.X)


def test_regressor_is_scored_by_query_where_asked_for():
    with pytest.raises(InputError, match="'qid' must name"):
        held_out(AGBMRegressor(**QUICK), MADE.X, MADE.y, scoring="ndcg@10", random_state=0)


def test_stability_takes_whole_queries():
    found = stability(AGBMRanker(**QUICK), MADE.X, MADE.y, 2, qid=MADE.query, random_state=0)
    assert found.support.size
    assert len(found.supports) == 2


def test_compare():
    found = compare(
        MADE.X,
        MADE.y,
        {"agbm": AGBMRanker(**QUICK), "random": "random", "all": "all"},
        qid=MADE.query,
        validators="ridge",
        cv=2,
        sizes=[2],
        random_state=0,
    )
    assert found.metric == "ndcg@10"
    assert found.target_type == "ranking"
    assert all(trial.is_done for trial in found.trials)
    assert found.ranks()[0].method == "agbm"
    with pytest.raises(ParameterError, match=r"methods for ranking.*which is for"):
        compare(MADE.X, MADE.y, "f_regression", qid=MADE.query)


PACKAGES = {"gbdt_topk": "lightgbm", "cegb": "lightgbm", "xgb_topk": "xgboost"}


@pytest.mark.parametrize("name", PACKAGES)
def test_compare_with_other_libraries(name):
    pytest.importorskip(PACKAGES[name])
    validated = {"validators": "ridge", "cv": 2, "sizes": [2], "random_state": 0}
    found = compare(MADE.X, MADE.y, name, qid=MADE.query, **validated)
    subsets = [trial.subsets[0].support.tolist() for trial in found.trials]
    assert all(set(each) == set(MADE.relevant.tolist()) for each in subsets)


@pytest.mark.parametrize("name", PACKAGES)
def test_other_libraries_take_queries_in_any_order_and_any_columns(name):
    pytest.importorskip(PACKAGES[name])
    rng = np.random.default_rng(0)
    named = {f"x{j}": column for j, column in enumerate(MADE.X.T)}
    named["town"] = np.where(rng.random(len(MADE.y)) < 0.1, None, "Bern")
    frame = pd.DataFrame(named).astype({"town": "category"})
    mixed = rng.permutation(len(MADE.y))
    for table in (frame, csr_matrix(MADE.X)):
        rows = table.iloc[mixed] if table is frame else table[mixed]
        found = Baseline(name, "ranking", 0).fit(rows, MADE.y[mixed], MADE.query[mixed])
        assert set(found.order_[:2]) == set(MADE.relevant.tolist())


@pytest.mark.parametrize("size", [1, 2, 4])
def test_cegb_searches_the_penalty_for_a_size(size):
    counts = {0.25: 0, 0.1: 2, 0.01: 6}  # by penalty, of three that are fitted before

    def fit(share):
        gain = np.zeros(8)
        gain[: max(0, int(-3 * np.log10(share)) - 1)] = 1.0
        return gain, 0.0

    fits = {share: (np.arange(8.0) < n, 0.0) for share, n in counts.items()}
    assert len(baselines._of_size(fits, fit, size)) == size
    assert (len(fits) == 3) == (size == 2)  # that one is there already


def test_cegb_has_a_subset_of_every_wanted_size():
    pytest.importorskip("lightgbm")
    found = Baseline("cegb", "ranking", 0, sizes=(1, 2, 3)).fit(MADE.X, MADE.y, MADE.query)
    assert len(found.subsets_[1]) <= 1  # two equal features may enter at the same penalty
    assert set(found.subsets_[2]) == set(MADE.relevant.tolist())
    subsets = subsets_of(found, (2, 3))
    assert subsets[0].support.tolist() == sorted(found.subsets_[2].tolist())


def test_cegb_holds_out_whole_queries():
    columns = Columns(None, np.zeros(1, bool), np.zeros(6), False, 0, np.array([0, 0, 1, 2, 2, 2]))
    is_test = columns.draw()
    assert is_test.any()
    assert all(len(set(is_test[columns.qid == query])) == 1 for query in range(3))
    assert columns.queries(~is_test).sum() + columns.queries(is_test).sum() == 6


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"xgboost"):
        Baseline("xgb_topk", "ranking").fit(MADE.X, MADE.y, MADE.query)


def test_page_shows_the_metric(tmp_path):
    page = report(AGBMRanker(**QUICK), MADE.X, MADE.y, tmp_path / "page.html", qid=MADE.query, cv=2)
    assert "ndcg@10" in page.read_text(encoding="utf-8")

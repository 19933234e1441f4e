"""Rankers on threads and on tables on disk in blocks: the same bits, however queries are cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from equivalence.models import assert_same_selector
from sklearn.base import clone

import secateur
from secateur.datasets import make_ranking
from secateur.execution import disk as places
from secateur.storage import open_table as opening

BLOCK_ROWS = 100
MADE = make_ranking(60, (2, 40), n_features=12, n_informative=3, random_state=3)
MIXED = np.random.default_rng(0).permutation(len(MADE.y))  # rows of a query are anywhere
X, Y, QUERY = MADE.X[MIXED], MADE.y[MIXED].astype(float), MADE.query[MIXED]
ONE = {"max_iter": 5, "random_state": 0, "early_stopping": False}
GRID = {"max_iter": 4, "random_state": 0, "cv": 2}
GROUPS = {"expected_features": 3, "leaf_size": 3, "group_size": 6}
RANKERS = {
    "gbfs": secateur.GBFSRanker(penalty=0.2, **ONE),
    "gbfs grid": secateur.GBFSRanker(penalty=[0.5, 0.1], **GRID),
    "agbm": secateur.AGBMRanker(penalty=0.01, subsample=0.7, **ONE),
    "agbm grid": secateur.AGBMRanker(penalty=[0.1, 0.01], loss="xendcg", **GRID),
    "agbm early": secateur.AGBMRanker(penalty=0.01, **ONE | {"early_stopping": True}),
    "gtgbm": secateur.GTGBMRanker(penalty=0.01, **GROUPS, **ONE),
    "gtgbm grid": secateur.GTGBMRanker(penalty=[0.1, 0.01], loss="pairwise", **GROUPS, **GRID),
}
pytestmark = pytest.mark.filterwarnings("ignore:Group testing is not faster")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", BLOCK_ROWS)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", BLOCK_ROWS)


@pytest.fixture(params=["in blocks", "mapped", "scratch"])
def _memory(request, monkeypatch):
    """Blocks are read for good, each alone; or codes are mapped; or arrays of rows, too."""
    if request.param == "in blocks":
        monkeypatch.setattr(places, "_runs", lambda blocks, *_, **__: [([b], True) for b in blocks])
    else:
        monkeypatch.setattr(places, "resident_memory", lambda: 10**12)
    if request.param == "mapped":
        monkeypatch.setattr(places, "ROW_BYTES", 0)
        monkeypatch.setattr(places, "OUTPUT_BYTES", 0)


def stored(folder, data=X, **more):
    table = secateur.open_table(data, Y, cache=folder, **more)
    assert len(table.blocks) > 5
    return table


@pytest.mark.parametrize("name", RANKERS)
def test_any_number_of_threads(name):
    one, three = (clone(RANKERS[name]).set_params(n_jobs=n) for n in (1, 3))
    assert_same_selector(one.fit(X, Y, qid=QUERY), three.fit(X, Y, qid=QUERY))
    assert max(len(step.order) for step in one.path_) > 1


@pytest.mark.usefixtures("_memory")
@pytest.mark.parametrize("name", RANKERS)
def test_tables_on_disk(tmp_path, name):
    mine = clone(RANKERS[name]).fit(X, Y, qid=QUERY)
    its = clone(RANKERS[name]).fit(stored(tmp_path), qid=QUERY)
    assert_same_selector(mine, its)
    np.testing.assert_array_equal(mine.predict(X), its.predict(X))


@pytest.mark.usefixtures("_memory")
@pytest.mark.parametrize("name", ["gbfs", "agbm", "gtgbm"])
def test_sparse_tables_on_disk(tmp_path, name):
    sparse = sp.csr_array(X * (np.abs(X) > 0.7))
    mine = clone(RANKERS[name]).fit(sparse, Y, qid=QUERY)
    assert_same_selector(mine, clone(RANKERS[name]).fit(stored(tmp_path, sparse), qid=QUERY))


@pytest.mark.parametrize("name", ["gbfs grid", "agbm early", "gtgbm"])
def test_weights_of_queries_on_disk(tmp_path, name):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, QUERY.max() + 1)[QUERY]
    frame = pd.DataFrame(X).rename(columns=str).assign(w=weight, y=Y)
    table = secateur.open_table(frame, "y", weight="w", cache=tmp_path)
    mine = clone(RANKERS[name]).fit(X, Y, weight, qid=QUERY)
    assert_same_selector(mine, clone(RANKERS[name]).fit(table, qid=QUERY))


@pytest.mark.parametrize("name", ["gbfs", "agbm grid", "gtgbm"])
def test_a_query_may_be_larger_than_a_block(tmp_path, name):
    query = np.where(QUERY < 40, 0, QUERY)
    assert (query == 0).sum() > 3 * BLOCK_ROWS
    mine = clone(RANKERS[name]).fit(X, Y, qid=query)
    assert_same_selector(mine, clone(RANKERS[name]).fit(stored(tmp_path), qid=query))


def test_elimination_on_disk(tmp_path):
    made = make_ranking(110, 10, n_features=12, n_informative=3, random_state=2)
    ranker = secateur.AGBMRanker(max_features=3, max_iter=10, random_state=0)
    mine = clone(ranker).fit(made.X, made.y, qid=made.query)
    table = secateur.open_table(made.X, made.y, cache=tmp_path)
    assert len(table.blocks) > 5
    assert any("eliminated_from" in step.details for step in mine.path_)
    assert_same_selector(mine, clone(ranker).fit(table, qid=made.query))


@pytest.mark.parametrize("common", [False, True])
def test_several_tasks_in_any_cut_into_blocks(tmp_path, monkeypatch, common):
    task = np.where(QUERY % 2, "north", "south")
    params = {"group_penalty": 0.02, "common_trees": common, "max_iter": 4, "random_state": 0}
    ranker = secateur.MultitaskAGBMRanker(**params)
    frame = pd.DataFrame(X).rename(columns=str).assign(y=Y, t=task)
    many = secateur.open_table(frame, "y", task="t", cache=tmp_path)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 10**6)
    monkeypatch.setattr(opening, "BLOCK_ROWS", 10**6)
    whole = secateur.open_table(frame, "y", task="t")
    assert len(many.blocks) > 5
    assert len(whole.blocks) == 1
    one, its = (clone(ranker).fit(table, qid=QUERY) for table in (whole, many))
    assert one.support_.any()
    assert_same_selector(one, its)

"""Rankers on worker processes: the same bits as here, though blocks split queries."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from equivalence.models import assert_same_selector
from execution.clusters import addresses, kill_one
from sklearn.base import clone

import secateur
from secateur.datasets import make_ranking
from secateur.engines.boosted import grower
from secateur.storage import open_table as opening

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore:Group testing is not faster"),
]
MADE = make_ranking(80, (2, 60), n_features=12, n_informative=3, random_state=5)
MIXED = np.random.default_rng(0).permutation(len(MADE.y))
X, Y, QUERY = MADE.X[MIXED], MADE.y[MIXED].astype(float), MADE.query[MIXED]
ONE = {"max_iter": 4, "random_state": 0, "early_stopping": False}
GRID = {"max_iter": 3, "random_state": 0, "cv": 2}
GROUPS = {"expected_features": 3, "leaf_size": 3, "group_size": 6}
RANKERS = {
    "gbfs": secateur.GBFSRanker(penalty=0.2, **ONE),
    "agbm": secateur.AGBMRanker(penalty=[0.1, 0.01], **GRID),
    "agbm xendcg": secateur.AGBMRanker(penalty=0.01, loss="xendcg", subsample=0.8, **ONE),
    "gtgbm": secateur.GTGBMRanker(penalty=0.01, **GROUPS, **ONE),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(opening, "BLOCK_ROWS", 200)
    patch.setattr(opening, "MIN_BLOCK_ROWS", 200)
    table = secateur.open_table(X, Y, cache=tmp_path_factory.mktemp("queries"))
    patch.undo()
    assert len(table.blocks) > 4
    return table.folder


@pytest.mark.parametrize(
    "n_workers", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))]
)
@pytest.mark.parametrize("name", RANKERS)
def test_any_number_of_workers_gives_the_same_bits(client, folder, name, n_workers):
    executor = secateur.DaskExecutor(client, workers=addresses(client)[:n_workers])
    table = secateur.open_table(folder, executor=executor)
    mine = clone(RANKERS[name]).fit(X, Y, qid=QUERY)
    assert_same_selector(mine, clone(RANKERS[name]).fit(table, qid=QUERY))


def test_several_tasks(client, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 300)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 300)
    task = np.where(QUERY % 2, "north", "south")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    executor = secateur.DaskExecutor(client, workers=addresses(client)[:2])
    home = secateur.open_table(frame.assign(y=Y, t=task), "y", task="t", cache=tmp_path)
    away = secateur.open_table(home.folder, executor=executor)
    ranker = secateur.MultitaskAGBMRanker(group_penalty=0.02, max_iter=3, random_state=0)
    one, its = (clone(ranker).fit(table, qid=QUERY) for table in (home, away))
    assert one.support_.any()
    assert_same_selector(one, its)


def test_dask_collections_take_queries_beside_them(client):
    lazy = da.from_array(X, chunks=(300, 12)), da.from_array(Y, chunks=250)
    mine = clone(RANKERS["agbm"]).fit(X, Y, qid=QUERY)
    assert_same_selector(mine, clone(RANKERS["agbm"]).fit(*lazy, qid=QUERY))


@pytest.mark.slow
def test_fits_on_some_rows(client, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 300)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 300)
    rows = np.flatnonzero(QUERY % 3)
    home = secateur.open_table(X, Y, cache=tmp_path)
    away = secateur.open_table(home.folder, executor=secateur.DaskExecutor(client))
    assert len(home.blocks) > 2
    for name in ("agbm", "gtgbm"):
        one, its = (
            clone(RANKERS[name]).fit(table.take(rows), qid=QUERY[rows]) for table in (home, away)
        )
        assert_same_selector(one, its)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_is_survived(client, folder, monkeypatch):
    client.wait_for_workers(3)
    mine = clone(RANKERS["gbfs"]).fit(X, Y, qid=QUERY)
    table = secateur.open_table(folder, executor=secateur.DaskExecutor(client))
    plain, trees, victims = grower.TreeGrower.grow, [], []

    def grow(its, *given):
        trees.append(its)
        if len(trees) == 3:
            victims.append(kill_one(client))
        return plain(its, *given)

    monkeypatch.setattr(grower.TreeGrower, "grow", grow)
    assert_same_selector(mine, clone(RANKERS["gbfs"]).fit(table, qid=QUERY))
    assert len(victims) == 1

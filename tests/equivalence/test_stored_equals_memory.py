"""Tables on disk: the same model, bit for bit, as of the same table in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from equivalence.models import assert_same_selector
from sklearn.base import clone

import secateur
from secateur._data import opening
from secateur._engines.boosted.whole import WholeTrees
from secateur._execution import places
from secateur.datasets import make_wide
from secateur.exceptions import ParameterError

N_ROWS = 3_000
ONE = {"max_iter": 8, "random_state": 0}
STOPS = {"early_stopping": True}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 700)
    monkeypatch.setattr(opening, "LEAST_BLOCK", 700)
    monkeypatch.setattr(opening, "PART_BYTES", 1 << 19)


@pytest.fixture(params=["in memory", "in blocks", "mapped", "scratch"])
def memory(request, monkeypatch):
    """All blocks are read for good, as one or not; or codes are mapped; or arrays of rows, too."""
    if request.param == "in blocks":
        monkeypatch.setattr(places, "_runs", lambda blocks, *_, **__: [([b], True) for b in blocks])
    elif request.param != "in memory":
        monkeypatch.setattr(places, "resident_memory", lambda: 10**12)
    if request.param == "mapped":
        monkeypatch.setattr(places, "ROW_BYTES", 0)
        monkeypatch.setattr(places, "OUTPUT_BYTES", 0)
    return request.param


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N_ROWS, 12)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    made = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    made["kind"] = pd.Categorical(rng.choice(list("abcde"), N_ROWS))
    made["flag"] = rng.random(N_ROWS) < 0.4
    signal = np.nan_to_num(X[:, 3]) + np.nan_to_num(X[:, 5] * X[:, 1]) + (made["kind"] == "c")
    made["number"] = signal + 0.3 * rng.normal(size=N_ROWS)
    made["label"] = np.where(made["number"] > 0, "yes", "no")
    made["other"] = np.nan_to_num(X[:, 3]) - made["flag"] + 0.3 * rng.normal(size=N_ROWS)
    made["weight"] = rng.integers(0, 4, N_ROWS) / 2
    made["group"] = rng.choice(["north", "south"], N_ROWS)
    return made


EXTRA = ["number", "label", "other", "weight", "group"]


def features(frame):
    return frame.drop(columns=EXTRA)


def store(frame, tmp_path, target, **more):
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file, row_group_size=1_100)
    named = {target, more.get("weight"), more.get("task")} if isinstance(target, str) else {*target}
    left_out = [name for name in EXTRA if name not in named]
    table = secateur.open_table(file, target, cache=tmp_path / "cache", drop=left_out, **more)
    assert len(table.blocks) > 2
    return table


@pytest.mark.parametrize(
    ("selector", "target"),
    [
        (secateur.GBFSClassifier(penalty=0.5, **ONE), "label"),
        (
            secateur.AGBMRegressor(penalty=0.002, subsample=0.7, early_stopping=True, **ONE),
            "number",
        ),
        (secateur.AGBMRegressor(penalty=0.002, loss="absolute_error", **ONE), "number"),
        (secateur.AGBMClassifier(penalty=[0.01, 0.001], cv=2, **ONE), "label"),
    ],
    ids=["gbfs", "subsample", "quantiles", "grid"],
)
def test_one_task(frame, tmp_path, memory, selector, target):
    table = store(frame, tmp_path, target)
    mine = clone(selector).fit(features(frame), frame[target])
    its = clone(selector).fit(table)
    assert len(mine.path_[-1].order) > 1
    assert_same_selector(mine, its)
    np.testing.assert_array_equal(mine.predict(features(frame)), its.predict(features(frame)))


def test_weights_and_rows_of_weight_zero(frame, tmp_path):
    table = store(frame, tmp_path, "number", weight="weight")
    assert table.n_rows == (frame["weight"] > 0).sum()
    selector = secateur.AGBMRegressor(penalty=0.002, **ONE)
    mine = selector.fit(features(frame), frame["number"], frame["weight"])
    its = secateur.AGBMRegressor(penalty=0.002, **ONE).fit(table)
    assert_same_selector(mine, its)


def test_a_sample_chooses_the_bins_that_it_would_choose_in_memory(frame, tmp_path, monkeypatch):
    from secateur._data import binned, survey

    monkeypatch.setattr(binned, "SAMPLE_ROWS", 500)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 500)
    table = store(frame, tmp_path, "number", random_state=4)
    told = {"penalty": 0.002, "max_iter": 5, "random_state": 4}
    mine = secateur.AGBMRegressor(**told).fit(features(frame), frame["number"])
    assert_same_selector(mine, secateur.AGBMRegressor(**told).fit(table))


def test_sparse_rows(tmp_path, memory):
    rng = np.random.default_rng(1)
    X = sp.random_array((N_ROWS, 60), density=0.1, rng=rng, format="csr")
    y = (X.toarray()[:, :5].sum(axis=1) > 0.2).astype(int)
    table = secateur.open_table(X, y, cache=tmp_path)
    assert table.is_sparse
    assert len(table.blocks) > 2
    mine = secateur.AGBMClassifier(penalty=0.001, **ONE).fit(X, y)
    its = secateur.AGBMClassifier(penalty=0.001, **ONE).fit(table)
    assert len(mine.path_[-1].order) > 2
    assert_same_selector(mine, its)


@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_group_tests(tmp_path, memory, kind):
    made = make_wide(2_000, 120, 3, 0)
    told = {"penalty": 0.005, "expected_features": 3, "leaf_size": 4, "group_size": 16, **ONE}
    X, weight = made.X, None
    data, target, role = X, made.y, None
    if kind == "sparse":
        data = X = sp.csr_array(made.X * (np.abs(made.X) > 0.5))
    if kind == "weighted":
        weight = np.random.default_rng(0).uniform(0.5, 2.0, len(made.y))
        data, target, role = pd.DataFrame(X).rename(columns=str), "y", "w"
        data = data.assign(w=weight, y=made.y)
    table = secateur.open_table(data, target, weight=role, cache=tmp_path)
    mine = secateur.GTGBMClassifier(**told).fit(X, made.y, weight)
    its = secateur.GTGBMClassifier(**told).fit(table)
    assert len(mine.path_[-1].order) > 1
    assert_same_selector(mine, its)


def test_several_targets(frame, tmp_path, memory):
    table = store(frame, tmp_path, ["number", "other"])
    told = {"group_penalty": 0.002, **ONE}
    mine = secateur.MultitaskAGBMRegressor(**told).fit(features(frame), frame[["number", "other"]])
    its = secateur.MultitaskAGBMRegressor(**told).fit(table)
    assert mine.tasks_ == its.tasks_
    assert_same_selector(mine, its)


def test_tasks_by_row_in_any_cut_into_blocks(frame, tmp_path, monkeypatch):
    told = {"group_penalty": 0.002, **ONE}
    many = store(frame, tmp_path, "number", task="group")
    its = secateur.MultitaskAGBMRegressor(**told).fit(many)
    monkeypatch.setattr(opening, "LEAST_BLOCK", 10**6)
    monkeypatch.setattr(opening, "BLOCK_ROWS", 10**6)
    left_out = [name for name in EXTRA if name not in {"number", "group"}]
    whole = secateur.open_table(frame, "number", task="group", drop=left_out)
    assert len(whole.blocks) == 1
    one = secateur.MultitaskAGBMRegressor(**told).fit(whole)
    assert one.tasks_ == ["north", "south"]
    assert_same_selector(one, its)
    np.testing.assert_array_equal(
        one.predict(features(frame), task=frame["group"]),
        its.predict(features(frame), task=frame["group"]),
    )


def test_common_trees_are_refused_and_auto_does_without(frame, tmp_path):
    table = store(frame, tmp_path, "number", task="group")
    told = {"group_penalty": "auto", "cv": 2, "max_iter": 3, "random_state": 0}
    with pytest.raises(ParameterError, match=r"must be False or 'auto' on a stored table"):
        secateur.MultitaskAGBMRegressor(common_trees=True, **told).fit(table)
    without = secateur.MultitaskAGBMRegressor(common_trees=False, **told).fit(table)
    auto = secateur.MultitaskAGBMRegressor(common_trees="auto", **told).fit(table)
    assert len(auto.path_) > 1
    assert_same_selector(without, auto)


def test_trees_are_grown_whole_where_all_rows_are_in_one_block_in_memory(
    frame, tmp_path, memory, monkeypatch
):
    n_whole = []
    plain = WholeTrees.grow
    monkeypatch.setattr(WholeTrees, "grow", lambda *told: n_whole.append(1) or plain(*told))
    told = {"penalty": 0.002, **ONE}
    many = secateur.AGBMRegressor(**told).fit(store(frame, tmp_path, "number"))
    assert len(n_whole) == (ONE["max_iter"] if memory == "in memory" else 0)
    n_whole.clear()
    monkeypatch.setattr(opening, "LEAST_BLOCK", 10**6)
    monkeypatch.setattr(opening, "BLOCK_ROWS", 10**6)
    left_out = [name for name in EXTRA if name != "number"]
    table = secateur.open_table(frame, "number", drop=left_out)
    assert len(table.blocks) == 1
    one = secateur.AGBMRegressor(**told).fit(table)
    assert len(n_whole) == (ONE["max_iter"] if memory in {"in memory", "in blocks"} else 0)
    assert_same_selector(many, one)
    n_whole.clear()
    assert_same_selector(one, secateur.AGBMRegressor(**told).fit(features(frame), frame["number"]))
    assert len(n_whole) == ONE["max_iter"]

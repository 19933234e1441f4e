"""Tables on disk: the same model, bit for bit, as of the same table in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from equivalence.models import assert_same_selector
from sklearn.base import clone

import secateur
from secateur.datasets import make_wide
from secateur.engines.boosted.whole_fit import WholeFit
from secateur.exceptions import ParameterError
from secateur.execution import disk as places
from secateur.storage import open_table as opening
from secateur.storage.sources import Part, Source

N_ROWS = 2_200
ONE = {"max_iter": 4, "random_state": 0}
STOPS = {"early_stopping": True}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 700)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 700)
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
    from secateur.data import binning as binned

    monkeypatch.setattr(binned, "SAMPLE_ROWS", 500)
    monkeypatch.setattr(opening, "SAMPLE_ROWS", 500)
    table = store(frame, tmp_path, "number", random_state=4)
    kwargs = {"penalty": 0.002, "max_iter": 5, "random_state": 4}
    mine = secateur.AGBMRegressor(**kwargs).fit(features(frame), frame["number"])
    assert_same_selector(mine, secateur.AGBMRegressor(**kwargs).fit(table))


def test_sparse_rows(tmp_path, memory):
    rng = np.random.default_rng(1)
    X = sp.csr_array(rng.random((N_ROWS, 60)) * (rng.random((N_ROWS, 60)) < 0.1))
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
    made = make_wide(1_500, 48, 3, 0)
    kwargs = {"penalty": 0.005, "expected_features": 3, "leaf_size": 4, "group_size": 16, **ONE}
    X, weight = made.X, None
    data, target, role = X, made.y, None
    if kind == "sparse":
        data = X = sp.csr_array(made.X * (np.abs(made.X) > 0.5))
    if kind == "weighted":
        weight = np.random.default_rng(0).uniform(0.5, 2.0, len(made.y))
        data, target, role = pd.DataFrame(X).rename(columns=str), "y", "w"
        data = data.assign(w=weight, y=made.y)
    table = secateur.open_table(data, target, weight=role, cache=tmp_path)
    mine = secateur.GTGBMClassifier(**kwargs).fit(X, made.y, weight)
    its = secateur.GTGBMClassifier(**kwargs).fit(table)
    assert len(mine.path_[-1].order) > 1
    assert_same_selector(mine, its)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_several_targets(frame, tmp_path, memory, has_gaps):
    if has_gaps:
        frame = frame.assign(other=frame["other"].where(frame["c0"] < 0.5))
    table = store(frame, tmp_path, ["number", "other"])
    kwargs = {"group_penalty": 0.002, **ONE}
    mine = secateur.MultitaskAGBMRegressor(**kwargs).fit(
        features(frame), frame[["number", "other"]]
    )
    its = secateur.MultitaskAGBMRegressor(**kwargs).fit(table)
    assert mine.tasks_ == its.tasks_
    assert_same_selector(mine, its)


def test_tasks_by_row_in_any_cut_into_blocks(frame, tmp_path, monkeypatch):
    kwargs = {"group_penalty": 0.002, **ONE}
    many = store(frame, tmp_path, "number", task="group")
    its = secateur.MultitaskAGBMRegressor(**kwargs).fit(many)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 10**6)
    monkeypatch.setattr(opening, "BLOCK_ROWS", 10**6)
    left_out = [name for name in EXTRA if name not in {"number", "group"}]
    whole = secateur.open_table(frame, "number", task="group", drop=left_out)
    assert len(whole.blocks) == 1
    one = secateur.MultitaskAGBMRegressor(**kwargs).fit(whole)
    assert one.tasks_ == ["north", "south"]
    assert_same_selector(one, its)
    np.testing.assert_array_equal(
        one.predict(features(frame), task=frame["group"]),
        its.predict(features(frame), task=frame["group"]),
    )


COMMON = {"common_trees": True, "group_penalty": 0.002, **ONE}


@pytest.mark.parametrize(
    ("selector", "target", "weight"),
    [
        (secateur.MultitaskAGBMRegressor(**COMMON, subsample=0.7, **STOPS), "number", None),
        (secateur.MultitaskAGBMRegressor(**COMMON, loss="absolute_error"), "number", "weight"),
        (
            secateur.MultitaskAGBMClassifier(**COMMON | {"group_penalty": [0.01, 0.001]}, cv=2),
            "label",
            None,
        ),
    ],
    ids=["subsample", "quantiles", "grid"],
)
def test_common_trees(frame, tmp_path, memory, selector, target, weight):
    number = np.where(frame["group"] == "south", 1 - frame["number"], frame["number"])
    frame = frame.assign(number=number, label=np.where(number > 0, "yes", "no"))
    table = store(frame, tmp_path, target, task="group", weight=weight)
    its_weight = None if weight is None else frame[weight]
    mine = clone(selector).fit(features(frame), frame[target], its_weight, frame["group"])
    its = clone(selector).fit(table)
    assert mine.common_trees_
    assert its.common_trees_
    assert_asks_for_the_task(its)
    assert_same_selector(mine, its)
    asked = features(frame), frame["group"]
    np.testing.assert_array_equal(mine.predict(*asked), its.predict(*asked))


def assert_asks_for_the_task(selector):
    """Or nothing would be tested of it."""
    model = selector.path_[-1].model.models[0]
    asked = [tree.feature for trees in model.ensemble.rounds for tree in trees]
    assert model.column in np.concatenate(asked)


def stacked(X, y, task):
    """Rows of a matrix with a task each, as a file of its kind gives them."""

    def parts(n_rows):
        for i in range(0, len(y), n_rows):
            yield Part(X[i : i + n_rows], (y[i : i + n_rows],), None, task[i : i + n_rows])

    return Source(parts, "stacked", X.shape[1])


@pytest.mark.parametrize(
    ("kind", "search"),
    [("dense", "group_testing"), ("sparse", "exact"), ("sparse", "group_testing")],
)
def test_common_trees_by_group_tests_and_of_sparse_rows(tmp_path, memory, kind, search):
    made = make_wide(1_000, 40, 3, 0)
    task = np.random.default_rng(0).choice(["a", "b", "c"], len(made.y), p=[0.2, 0.5, 0.3])
    flipped = np.where(task == "c", 1 - made.y, made.y)
    X = sp.csr_array(made.X * (np.abs(made.X) > 0.5)) if kind == "sparse" else made.X
    table = secateur.open_table(stacked(X, flipped, task), cache=tmp_path)
    assert len(table.blocks) > 1
    kwargs = {"search": search, "expected_features": 3, "leaf_size": 4, "group_size": 16}
    kwargs |= COMMON | {"group_penalty": 0.005}
    mine = secateur.MultitaskAGBMClassifier(**kwargs).fit(X, flipped, task=task)
    its = secateur.MultitaskAGBMClassifier(**kwargs).fit(table)
    assert_asks_for_the_task(mine)
    assert_same_selector(mine, its)


@pytest.fixture(scope="module")
def coarse():
    """Few different numbers, so that the bins of a task are those of all; who differ, or do not."""
    rng = np.random.default_rng(8)
    made = pd.DataFrame(rng.integers(0, 5, (2_400, 6)), columns=list("abcdef")).astype(float)
    made["group"] = rng.choice(["north", "south", "west"], len(made))
    noise = rng.normal(size=len(made))
    made["alike"] = made["a"] + made["b"] * made["c"] / 2 + noise
    own = {"north": made["a"], "south": -made["b"], "west": made["c"] * made["d"]}
    made["apart"] = sum(own[name] * (made["group"] == name) for name in own) + noise / 4
    return made


@pytest.mark.parametrize(("target", "is_common"), [("alike", True), ("apart", False)])
def test_the_choice_between_the_ways(coarse, tmp_path, target, is_common):
    X = coarse[list("abcdef")]
    table = store_coarse(coarse, tmp_path, target)
    kwargs = {"cv": 1, "max_iter": 5, "max_depth": 3, "learning_rate": 0.5, "random_state": 0}
    mine = secateur.MultitaskAGBMRegressor(**kwargs).fit(X, coarse[target], task=coarse["group"])
    its = secateur.MultitaskAGBMRegressor(**kwargs).fit(table)
    assert mine.common_trees_ == its.common_trees_ == is_common
    assert_same_selector(mine, its)


def store_coarse(frame, tmp_path, target):
    left_out = [name for name in ("alike", "apart") if name != target]
    table = secateur.open_table(frame, target, task="group", drop=left_out, cache=tmp_path)
    assert len(table.blocks) > 2
    return table


@pytest.mark.parametrize("ways", [True, False])
def test_blocks_without_a_row_of_some_task(coarse, tmp_path, ways):
    """Files are mostly sorted by task."""
    rows = coarse.sort_values("group", kind="stable")
    table = store_coarse(rows, tmp_path, "apart")
    kwargs = COMMON | {"common_trees": ways}
    mine = secateur.MultitaskAGBMRegressor(**kwargs)
    mine.fit(rows[list("abcdef")], rows["apart"], task=rows["group"])
    assert_same_selector(mine, secateur.MultitaskAGBMRegressor(**kwargs).fit(table))


def test_common_trees_of_some_rows(coarse, tmp_path):
    rows = np.flatnonzero(np.arange(len(coarse)) % 3)
    part = store_coarse(coarse, tmp_path, "alike").take(rows)
    few = coarse.iloc[rows]
    mine = secateur.MultitaskAGBMRegressor(**COMMON)
    mine.fit(few[list("abcdef")], few["alike"], task=few["group"])
    its = secateur.MultitaskAGBMRegressor(**COMMON).fit(part)
    asked = coarse[list("abcdef")], coarse["group"]
    np.testing.assert_array_equal(mine.predict(*asked), its.predict(*asked))


def test_common_trees_need_stacked_rows_of_one_kind(frame, tmp_path):
    table = store(frame, tmp_path, ["number", "other"])
    with pytest.raises(ParameterError, match="where y has a column for each task"):
        secateur.MultitaskAGBMRegressor(**COMMON).fit(table)


def test_trees_are_boosted_whole_where_all_rows_are_in_one_block_in_memory(
    frame, tmp_path, memory, monkeypatch
):
    n_whole = []
    plain = WholeFit.grow
    monkeypatch.setattr(
        WholeFit, "grow", lambda *args, **more: n_whole.append(args[1]) or plain(*args, **more)
    )
    kwargs = {"penalty": 0.002, **ONE}
    many = secateur.AGBMRegressor(**kwargs).fit(store(frame, tmp_path, "number"))
    assert sum(n_whole) == (ONE["max_iter"] if memory == "in memory" else 0)
    n_whole.clear()
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 10**6)
    monkeypatch.setattr(opening, "BLOCK_ROWS", 10**6)
    left_out = [name for name in EXTRA if name != "number"]
    table = secateur.open_table(frame, "number", drop=left_out)
    assert len(table.blocks) == 1
    one = secateur.AGBMRegressor(**kwargs).fit(table)
    assert sum(n_whole) == (ONE["max_iter"] if memory in {"in memory", "in blocks"} else 0)
    assert_same_selector(many, one)
    n_whole.clear()
    assert_same_selector(
        one, secateur.AGBMRegressor(**kwargs).fit(features(frame), frame["number"])
    )
    assert sum(n_whole) == ONE["max_iter"]

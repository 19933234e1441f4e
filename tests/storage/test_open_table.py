from __future__ import annotations

import errno
import json

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest
from sklearn.datasets import dump_svmlight_file

import secateur
from secateur.data.memory import resolve_limit
from secateur.exceptions import InputError, ParameterError, SecateurWarning, StorageError
from secateur.storage import open_table as opening
from secateur.storage.reading import columns
from secateur.storage.stored_table import StoredTable

N_ROWS = 900


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(opening, "BLOCK_ROWS", 400)
    monkeypatch.setattr(opening, "MIN_BLOCK_ROWS", 100)
    monkeypatch.setattr(opening, "PART_BYTES", 1 << 14)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(N_ROWS, 5)).round(2), columns=list("abcde"))
    made.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    made["whole"] = rng.integers(0, 9, N_ROWS)
    made["colour"] = rng.choice(["red", "green", "blue"], N_ROWS)
    made["y"] = rng.integers(0, 2, N_ROWS)
    return made


def codes_of(table: StoredTable) -> np.ndarray:
    blocks = [block.columns(block.read(), table.bins).codes.codes for block in table.blocks]
    return np.concatenate(blocks, axis=1)


def written(frame, folder, kind):
    if kind == "parquet":
        frame.to_parquet(folder / "rows.parquet", row_group_size=250)
        return folder / "rows.parquet"
    if kind == "folder":
        (folder / "many").mkdir()
        for k, start in enumerate(range(0, len(frame), 300)):
            frame[start : start + 300].to_parquet(folder / "many" / f"part-{k}.parquet")
        return folder / "many"
    if kind == "dataset":
        return ds.dataset(written(frame, folder, "parquet"))
    if kind == "csv":
        frame.to_csv(folder / "rows.csv", index=False)
        return str(folder / "rows.csv")
    if kind == "csv.gz":
        frame.to_csv(folder / "rows.csv.gz", index=False)
        return folder / "rows.csv.gz"
    if kind == "feather":
        frame.to_feather(folder / "rows.feather")
        return folder / "rows.feather"
    if kind == "dask":
        return dd.from_pandas(frame, npartitions=3)
    return frame


KINDS = ["parquet", "folder", "dataset", "csv", "csv.gz", "feather", "dask", "pandas"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_gives_the_same_table(frame, tmp_path, kind):
    more = {"categorical_features": "from_dtype", "memory_limit": "1GB"}
    one = secateur.open_table(frame, "y", **more)
    table = secateur.open_table(written(frame, tmp_path, kind), "y", cache=tmp_path / "c", **more)
    assert table.names == ("a", "b", "c", "d", "e", "whole", "colour")
    assert table.schema.categories[6].tolist() == ["blue", "green", "red"]
    assert (table.n_rows, len(table.blocks)) == (N_ROWS, 3)
    np.testing.assert_array_equal(codes_of(table), codes_of(one))
    np.testing.assert_array_equal(table.target(), frame["y"])
    assert table.target().dtype.kind == "i"
    np.testing.assert_array_equal(table.bins.has_missing, one.bins.has_missing)
    assert table.bins.has_missing.tolist() == [False, True, False, False, False, False, False]


def test_libsvm_and_arrays(frame, tmp_path):
    X, y = np.nan_to_num(frame[list("abcde")].to_numpy()), frame["y"].to_numpy()
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    table = secateur.open_table(tmp_path / "rows.svm", cache=tmp_path / "c")
    assert table.is_sparse
    np.testing.assert_array_equal(table.target(), y)
    one = secateur.open_table(X, y)
    lazy = secateur.open_table(da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=450))
    np.testing.assert_array_equal(codes_of(lazy), codes_of(one))
    for mine, its in zip(table.bins.cuts, one.bins.cuts, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_a_table_is_opened_again_without_reading(frame, tmp_path, monkeypatch):
    file = written(frame.drop(columns="colour"), tmp_path, "parquet")
    first = secateur.open_table(file, "y", cache=tmp_path / "c")

    def fail(*_, **__):
        raise AssertionError

    monkeypatch.setattr(opening, "survey", fail)
    again = secateur.open_table(file, "y", cache=tmp_path / "c")
    assert again.folder == first.folder
    np.testing.assert_array_equal(codes_of(again), codes_of(first))
    alone = secateur.open_table(first.folder)
    np.testing.assert_array_equal(alone.target(), first.target())
    # another target, other bins, or changed rows are another table
    for more in ({"target": "a"}, {"target": "y", "max_bins": 9}):
        with pytest.raises(AssertionError):
            secateur.open_table(file, cache=tmp_path / "c", **more)
    frame.drop(columns="colour").iloc[1:].to_parquet(file)
    with pytest.raises(AssertionError):
        secateur.open_table(file, "y", cache=tmp_path / "c")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_table_that_was_not_written_whole(frame, tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(opening, "write_bins", fail)
    kind = StorageError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(kind, match="full disk" if isinstance(error, OSError) else None):
        secateur.open_table(frame.drop(columns="colour"), "y", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_table_is_refused(frame, tmp_path):
    table = secateur.open_table(frame.drop(columns="colour"), "y", cache=tmp_path)
    with (table.folder / "codes.bin").open("ab") as file:
        file.write(b"more")
    with pytest.raises(StorageError, match=r"Got codes.bin missing or of another size"):
        secateur.open_table(table.folder)
    header = table.folder / "header.json"
    header.write_text(json.dumps({"kind": "secateur table", "version": 99}))
    with pytest.raises(StorageError, match="version 99"):
        secateur.open_table(table.folder)


def test_a_table_without_a_cache_goes_with_its_last_user(frame):
    table = secateur.open_table(frame.drop(columns="colour"), "y")
    folder = table.folder
    assert folder.is_dir()
    del table
    assert not folder.exists()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"data": "nowhere.parquet"}, InputError, "no file or folder"),
        ({"data": object()}, TypeError, "Got object"),
        ({"target": "z"}, InputError, r"Got 'z'. The columns are"),
        ({"target": 3}, InputError, "name of a column"),
        ({"weight": "z"}, InputError, "Got 'z'"),
        ({"max_bins": 256}, ParameterError, "from 2 to 255"),
        ({"memory_limit": "much"}, ParameterError, "at least 100 MB"),
        ({"memory_limit": 5}, ParameterError, "Got 5"),
        ({"random_state": None}, ParameterError, "Got None"),
    ],
)
def test_bad_input_is_refused_before_any_work(frame, given, error, message):
    with pytest.raises(error, match=message):
        secateur.open_table(**{"data": frame.drop(columns="colour"), "target": "y", **given})


def test_text_and_infinities_are_refused_by_name(frame):
    with pytest.raises(InputError, match="colour"):
        secateur.open_table(frame, "y")
    late = frame["c"].where(np.arange(N_ROWS) < 800, np.inf)
    infinite = frame.drop(columns="colour").assign(c=late)
    with pytest.raises(InputError, match="'c'"):
        secateur.open_table(infinite, "y")


def test_a_file_that_changes_its_mind_is_read_by_all_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "MAX_COUNTED", 1000)  # numbers are forgotten, words are not
    rows = "\n".join(f"{k},{k % 2}" for k in range(50_000))
    file = tmp_path / "rows.csv"
    file.write_text(f"a,y\n{rows}\nword,1\n")
    with pytest.warns(SecateurWarning, match="1 other value, which count as missing: 'word'"):
        table = secateur.open_table(file, "y")
    assert table.bins.has_missing.tolist() == [True]
    words = "\n".join(f"word {k % 9},1" for k in range(60_000))
    file.write_text(f"a,y\n{rows}\n{words}\n")
    with pytest.raises(InputError, match="columns of text"):
        secateur.open_table(file, "y")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (secateur.IISRegressor(), "hold its numbers in memory"),
        (secateur.FeatBoostRegressor(), "hold its numbers in memory"),
        (secateur.AGBMRegressor(categorical_features=["a"]), "open_table instead"),
    ],
)
def test_selectors_say_what_they_cannot_do_with_it(frame, selector, message):
    table = secateur.open_table(frame.drop(columns="colour"), "y")
    with pytest.raises((InputError, TypeError), match=message):
        selector.fit(table, None)
    with pytest.raises(InputError, match="Got a y"):
        secateur.AGBMRegressor().fit(table, frame["y"])


def test_feature_gradients_stream_the_rows(frame, tmp_path):
    file = written(frame.drop(columns="colour"), tmp_path, "parquet")
    table = secateur.open_table(file, "a", cache=tmp_path / "c")
    selector = secateur.FeatureGradientsSelector(target_type="regression", random_state=0)
    assert selector.fit(table).support_.shape == (6,)


class _Cluster:
    """All that the cut into blocks asks of a cluster."""

    def __init__(self, n_workers):
        self.n_workers = n_workers


def test_blocks_are_as_many_as_workers_can_share(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MIN_SHARED_ROWS", 30)
    alone = secateur.open_table(frame.drop(columns="colour"), "y", cache=tmp_path)
    assert [block.n_rows for block in alone.blocks] == [400, 400, 100]
    for n_workers, rows in ((1, 225), (4, 57), (100, 30)):
        executor = _Cluster(n_workers)
        shared = secateur.open_table(
            frame.drop(columns="colour"), "y", cache=tmp_path, executor=executor
        )
        assert {block.n_rows for block in shared.blocks[:-1]} == {rows}
        np.testing.assert_array_equal(codes_of(shared), codes_of(alone))


def test_limits_of_memory():
    assert resolve_limit("1.5 GB") == 1_500_000_000
    assert resolve_limit(None) > 10**8

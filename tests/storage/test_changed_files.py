"""A file that changed after it was opened is refused, and nothing of it is kept in the cache."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import secateur
from secateur.exceptions import InputError, StorageError
from secateur.storage.reading.dataset import Roles
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.formats import SourceFiles
from secateur.storage.reading.read_file import read_file, reduced_file
from secateur.storage.reading.stored_dataset import store_dataset
from secateur.storage.sampled_rows import sample_stored
from secateur.storage.stored_table import numbers_of

N_ROWS = 200


def rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4)).round(3)
    return pd.DataFrame({**dict(zip("abcd", X.T, strict=True)), "y": X[:, 0] + 2 * X[:, 1]})


def write(file, seed):
    if file.suffix == ".parquet":
        rows(seed).to_parquet(file, row_group_size=40)
    elif file.suffix == ".csv":
        rows(seed).to_csv(file, index=False)
    elif file.suffix == ".svm":
        dump_svmlight_file(rows(seed)[list("abcd")], rows(seed)["y"], str(file), zero_based=False)
    else:
        file.mkdir(exist_ok=True)
        for number in range(2):
            rows(seed + number).to_parquet(file / f"{number}.parquet")
    for each in (file, *(file.iterdir() if file.is_dir() else ())):
        os.utime(each, (seed, seed))
    return file


FILES = ["rows.parquet", "rows.csv", "rows.svm", "folder"]


def open_file(file, **more):
    target = None if file.suffix == ".svm" else "y"
    return secateur.open_table(file, target, random_state=0, **more)


SELECTORS = {
    "grafting": secateur.GraftingRegressor(random_state=0),
    "feature gradients": secateur.FeatureGradientsSelector(
        target_type="regression", random_state=0
    ),
    "boosted": secateur.AGBMRegressor(penalty=0.1, max_iter=2, random_state=0),
}
CHANGED = r"(rows\.\w+|folder) changed or removed"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_a_fit_refuses_a_file_that_changed(tmp_path, selector, name):
    file, cache = write(tmp_path / name, 1), tmp_path / "cache"
    table = open_file(file, cache=cache)
    before = set(cache.iterdir())
    write(file, 2)
    with pytest.raises(InputError, match=CHANGED):
        selector.fit(table)
    assert set(cache.iterdir()) == before
    assert open_file(file, cache=cache).folder != table.folder


def test_boosted_selectors_fit_the_rows_as_they_were(tmp_path):
    file = write(tmp_path / "rows.parquet", 1)
    table, selector = open_file(file, cache=tmp_path / "cache"), SELECTORS["boosted"]
    expected = selector.fit(table).predict(rows(3)[list("abcd")])
    file.unlink()
    with pytest.raises(InputError, match=CHANGED):
        selector.fit(table)
    again = selector.fit(secateur.open_table(table.folder))
    np.testing.assert_array_equal(again.predict(rows(3)[list("abcd")]), expected)


def test_numbers_of_another_file_are_never_stored(tmp_path):
    file, cache = write(tmp_path / "rows.parquet", 1), tmp_path / "cache"
    table = open_file(file, cache=cache)
    write(file, 2)
    with pytest.raises(InputError, match=CHANGED):
        numbers_of(table, lambda *_: None)
    write(file, 1)
    table = open_file(file, cache=cache)
    numbers = numbers_of(table, lambda *_: None)
    expected = rows(1)[list("abcd")].to_numpy()
    np.testing.assert_array_equal(numbers.part(numbers.pieces()).columns(np.arange(4)), expected)
    write(file, 2)
    with pytest.raises(InputError, match=CHANGED):  # although they are there now
        numbers_of(table, lambda *_: None)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_of_the_rows_that_were_opened(tmp_path, name):
    file = write(tmp_path / name, 1)
    table = open_file(file)
    write(file, 2)
    with pytest.raises(InputError, match=CHANGED):
        sample_stored(table, 0)
    with pytest.raises(InputError, match=CHANGED):
        secateur.held_out(SELECTORS["boosted"], table, None, cv=2)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_changes_while_it_is_read_is_not_stored(tmp_path, monkeypatch, name):
    file, cache = write(tmp_path / name, 1), tmp_path / "cache"
    opened = SourceFiles.of(file)
    checks = []

    def changing(files):
        checks.append(files)
        if len(checks) == 2:  # between the two passes, or at their end
            write(file, 2)
        check(files)

    check = SourceFiles.check
    monkeypatch.setattr(SourceFiles, "check", changing)
    with pytest.raises(InputError, match=CHANGED):
        open_file(file, cache=cache)
    assert not list(cache.iterdir())
    with pytest.raises(InputError, match=CHANGED):
        check(opened)


def test_a_file_that_is_cut_while_it_is_read_is_called_changed(tmp_path):
    file = write(tmp_path / "rows.parquet", 1)
    table = open_file(file)
    parts = table.all_parts(40)
    next(parts)
    os.truncate(file, 100)
    with pytest.raises(InputError, match=CHANGED):
        list(parts)


def test_files_in_memory_and_their_reduced_ones(tmp_path, monkeypatch):
    file = write(tmp_path / "rows.csv", 1)
    raw = read_file(file)
    write(file, 2)
    with pytest.raises(InputError, match=CHANGED):
        reduced_file(file, raw, [0], ReadOptions())
    monkeypatch.setattr(
        "secateur.storage.reading.read_file.open_blocks",
        lambda *given, **more: (write(file, 3), real(*given, **more))[1],
    )
    with pytest.raises(InputError, match=CHANGED):
        read_file(file)


def real(file, options=None, *, in_memory=False):
    from secateur.storage.reading.csv import CsvFile
    from secateur.storage.reading.formats import kind_of_file

    return CsvFile.open(file, kind_of_file(file), options or ReadOptions(), in_memory=in_memory)


def test_a_data_set_on_disk_is_that_of_its_scan(tmp_path, monkeypatch):
    file = write(tmp_path / "rows.csv", 1)
    monkeypatch.setattr(
        "secateur.storage.reading.stored_dataset.plan_features",
        lambda *given: (write(file, 2), plan_features(*given))[1],
    )
    from secateur.storage.reading.dataset import plan_features

    with pytest.raises(InputError, match=CHANGED):
        store_dataset(file, ReadOptions(), Roles("y"), cache=tmp_path / "cache", memory_limit=10**9)
    assert not list((tmp_path / "cache").iterdir())


def test_files_of_one_name_and_size_are_not_confused(tmp_path):
    tables = []
    for seed, folder in enumerate(("one", "two"), start=1):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "rows.svm"
        file.write_text("".join(f"{i % 2} 1:{i * seed % 10} 2:{i % 7}\n" for i in range(99)))
        os.utime(file, (1, 1))
        tables.append(secateur.open_table(file, cache=tmp_path / "cache"))
    assert tables[0].folder != tables[1].folder


def test_a_file_that_cannot_be_read_is_not_blamed_on_the_cache(tmp_path, monkeypatch):
    file = write(tmp_path / "rows.parquet", 1)
    table = open_file(file, cache=tmp_path / "cache")

    def fail(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("secateur.storage.reading.read_file.parquet_tables", lambda *_: fail(_))
    with pytest.raises(InputError, match="Input/output error") as caught:
        numbers_of(table, lambda *_: None)
    assert not isinstance(caught.value, StorageError)

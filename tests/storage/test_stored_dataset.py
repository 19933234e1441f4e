"""A file as a table on disk holds what it would hold in memory."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.exceptions import InputError, ParameterError
from secateur.storage.reading.dataset import Roles, make_dataset
from secateur.storage.reading.dialect import ReadOptions
from secateur.storage.reading.read_file import needed_memory, read_file
from secateur.storage.reading.stored_dataset import store_dataset
from secateur.storage.sampled_rows import sample_stored
from secateur.storage.stored_table import StoredTable

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

STORING = {"memory_limit": 10**9}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 300
    return pl.DataFrame(
        {
            "row": np.arange(n),
            "a": rng.normal(size=n).round(3),
            "colour": rng.choice(["red", "blue"], n),
            "day": [f"2020-01-{1 + i % 28:02d}" for i in range(n)],
            "ok": [("true", "false")[i % 2] for i in range(n)],
            "price": [f"${137 * i:,}" for i in range(n)],
            "dose": ["x" if i % 3 == 0 else f"{i / 7:.3f} mg" for i in range(n)],
            "w": rng.integers(0, 3, n),
            "site": rng.choice(["x", "y", "z"], n),
            "y": [None if i % 50 == 0 else ("no", "yes")[i % 3 == 0] for i in range(n)],
        }
    )


def both(file, roles):
    whole = make_dataset(read_file(file), roles)
    stored = store_dataset(file, ReadOptions(), roles, **STORING)
    assert isinstance(stored.features.X, StoredTable)
    return whole, stored


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_same_features_target_and_notes(tmp_path, table, suffix):
    file = tmp_path / f"rows{suffix}"
    table.write_csv(file) if suffix == ".csv" else table.write_parquet(file)
    whole, stored = both(file, Roles("y", drop=("w", "site")))
    assert stored.features.names == whole.features.names
    assert whole.features.names == ("a", "colour", "day", "ok", "price", "dose")
    assert stored.notes == whole.notes
    assert (stored.target_type, stored.target) == (whole.target_type, whole.target)
    np.testing.assert_array_equal(stored.y, whole.y)
    np.testing.assert_array_equal(stored.features.X.target(), whole.y)
    sample = sample_stored(stored.features.X, seed=0)
    np.testing.assert_array_equal(sample.rows, np.arange(len(whole.y)))
    assert sample.X.equals(whole.features.X)


def test_weights_and_groups_follow_the_rows(tmp_path, table):
    file = tmp_path / "rows.csv"
    table.write_csv(file)
    whole, stored = both(file, Roles("y", weight="w", group="site"))
    heavy = whole.weight > 0
    np.testing.assert_array_equal(stored.weight, whole.weight[heavy])
    np.testing.assert_array_equal(stored.group, whole.group[heavy])
    np.testing.assert_array_equal(stored.y, whole.y[heavy])
    assert stored.features.X.n_rows == heavy.sum()
    sample = sample_stored(stored.features.X, seed=0)
    assert sample.X.equals(whole.features.X.filter(heavy))


@pytest.mark.parametrize("column", ["site", "number"])
def test_tasks_follow_the_rows(tmp_path, table, column):
    file = tmp_path / "rows.csv"
    table.with_columns(number=pl.col("row") % 3).write_csv(file)
    whole, stored = both(file, Roles("y", weight="w", tasks=column))
    heavy = whole.weight > 0
    assert len(set(stored.tasks.tolist())) == 3
    assert stored.tasks.tolist() == whole.tasks[heavy].tolist()
    assert stored.features.X.task.tolist() == stored.tasks.tolist()
    assert stored.features.names == whole.features.names


def test_tasks_of_a_sparse_file(tmp_path):
    file = tmp_path / "rows.svm"
    lines = [f"{i % 2} 1:{1 + i % 3} {2 + i % 3}:{i} {5 + i % 4}:1" for i in range(1, 90)]
    file.write_text("\n".join(lines))
    whole, stored = both(file, Roles(tasks="x1"))
    assert stored.tasks.tolist() == whole.tasks.tolist() == [1 + i % 3 for i in range(1, 90)]
    assert stored.features.names == whole.features.names
    assert stored.features.X.is_sparse


def test_a_sparse_file_brings_its_labels(tmp_path):
    file = tmp_path / "rows.svm"
    lines = [f"{i % 2} {1 + i % 3}:{i} {5 + i % 4}:1" for i in range(1, 90)]
    file.write_text("\n".join(lines))
    whole, stored = both(file, Roles())
    assert stored.features.names == whole.features.names
    np.testing.assert_array_equal(stored.y, whole.y)
    assert stored.features.X.is_sparse
    sample = sample_stored(stored.features.X, seed=0)
    np.testing.assert_array_equal(sample.X.toarray(), whole.features.X.toarray())


def test_a_sample_of_rows_depends_on_the_seed_alone(tmp_path, table):
    file = tmp_path / "rows.csv"
    table.write_csv(file)
    stored = store_dataset(file, ReadOptions(), Roles("y"), **STORING).features.X
    one, two = sample_stored(stored, 0, 40), sample_stored(stored, 1, 40)
    assert len(one.rows) == len(two.rows) == 40
    assert one.rows.tolist() != two.rows.tolist()
    again = sample_stored(stored, 0, 40)
    assert again.X.equals(one.X)


@pytest.mark.parametrize(
    ("roles", "error", "words"),
    [
        (Roles("z"), InputError, "'z' must be a column of the file"),
        (Roles(), InputError, "A target must be named"),
        (Roles("y", weight="colour"), InputError, "Weights must be numbers"),
        (Roles("y", time="day"), ParameterError, "must fit into memory"),
        (Roles("y", tasks="a"), InputError, "Tasks must be text or whole numbers"),
        (Roles("y", keep=("w",), weight="w"), InputError, "'w'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, table, roles, error, words):
    file = tmp_path / "rows.csv"
    table.write_csv(file)
    with pytest.raises(error, match=words):
        store_dataset(file, ReadOptions(), roles, **STORING)


def test_memory_is_estimated_without_reading_the_file(tmp_path):
    rng = np.random.default_rng(0)
    n_rows, n_columns = 3_000, 20
    cells = 8 * n_rows * n_columns
    table = pl.DataFrame(rng.normal(size=(n_rows, n_columns)))
    table.write_csv(tmp_path / "a.csv")
    table.write_parquet(tmp_path / "a.parquet")
    table.write_ipc(tmp_path / "a.feather")
    for name in ("a.csv", "a.parquet", "a.feather"):
        assert 2 * cells < needed_memory(tmp_path / name) < 10 * cells
    np.savez(tmp_path / "a.npz", X=table.to_numpy())
    assert needed_memory(tmp_path / "a.npz") == 0

"""Grafting on rows that come in blocks: files, iterators, tables on disk; never all in memory."""

from __future__ import annotations

import gc
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from execution.clusters import blocks_here
from sklearn.datasets import dump_svmlight_file

import secateur
from secateur import FeatureGradientsSelector, GraftingClassifier, GraftingRegressor, StopReason
from secateur.engines.grafting import linear
from secateur.exceptions import InputError, InputTypeError, InterruptedWarning, ParameterError
from secateur.execution import distributed_columns
from secateur.execution.distributed_columns import FileBlock
from secateur.storage import stored_table as numbers

N, P = 620, 14


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Many blocks of a small table, many chunks of its columns, and few penalties."""
    monkeypatch.setattr(linear, "GRID_POINTS", 10)
    monkeypatch.setattr(numbers, "BLOCK_CELLS", 70 * P)
    monkeypatch.setattr(numbers, "SPARSE_ROWS", 90)
    monkeypatch.setattr(distributed_columns, "CHUNK_CELLS", 500)
    monkeypatch.setattr(distributed_columns, "MIN_CHUNK", 40)


def problem(kind="numbers", seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) * rng.uniform(0.2, 30.0, P) + 4.0
    Z = (X - 4.0) / X.std(axis=0)
    X[:, 9] = -2.0 * X[:, 3]  # a mirror image never enters
    y = Z[:, 3] - 0.7 * Z[:, 6] + 0.3 * rng.normal(size=N)
    if kind == "two classes":
        y = np.where(y > 0.2, "yes", "no")
    if kind == "three classes":
        y = np.digitize(y, [-0.5, 0.5])
    if kind == "holes":
        X[rng.random(X.shape) < 0.05] = np.nan
    if kind == "sparse":
        X = sp.csr_array(np.where(rng.random(X.shape) < 0.4, X, 0.0))
    return X, y


def in_blocks(X, y, size=111, weight=None):
    for start in range(0, N, size):
        rows = slice(start, start + size)
        yield (X[rows], y[rows]) if weight is None else (X[rows], y[rows], weight[rows])


def parquet(folder, X, y):
    names = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**names, "target": y}), folder / "rows.parquet", row_group_size=130)
    return folder / "rows.parquet"


def same_path(one, other, rel=1e-6):
    assert [s.order.tolist() for s in one.path_] == [s.order.tolist() for s in other.path_]
    assert one.support_.any()
    for mine, its in zip(one.path_, other.path_, strict=True):
        assert mine.objective == pytest.approx(its.objective, rel=rel)
        if its.score is not None:
            assert mine.score.origin == its.score.origin
            assert mine.score.mean == pytest.approx(its.score.mean, rel=10 * rel)


def same_bits(one, other):
    assert len(one.path_) == len(other.path_)
    for mine, its in zip(one.path_, other.path_, strict=True):
        np.testing.assert_array_equal(mine.model.coef, its.model.coef)
        np.testing.assert_array_equal(mine.order, its.order)
        assert mine.objective == its.objective
        assert mine.score == its.score


FITS = {
    "numbers": (GraftingRegressor, {}),
    "holes": (GraftingRegressor, {}),
    "sparse": (GraftingRegressor, {}),
    "two classes": (GraftingClassifier, {}),
    "three classes": (GraftingClassifier, {}),
    "one by one": (GraftingRegressor, {"l0": 0.01, "l1": 0.01}),
    "network": (GraftingRegressor, {"model": "mlp", "max_iter": 4, "cv": 2}),
    "no scale": (GraftingRegressor, {"standardize": False, "fit_intercept": False, "l1": 0.1}),
    "few": (GraftingRegressor, {"max_features": 1}),
}


@pytest.mark.parametrize("kind", FITS)
def test_a_stream_is_selected_from_as_a_table_is(kind):
    cls, parameters = FITS[kind]
    parameters = {"random_state": 0, "cv": 3, **parameters}
    X, y = problem(kind)
    stream, whole = cls(**parameters).fit(in_blocks(X, y)), cls(**parameters).fit(X, y)
    same_path(stream, whole)
    np.testing.assert_allclose(stream.feature_importances_, whole.feature_importances_, atol=1e-4)
    if cls is GraftingClassifier:
        np.testing.assert_array_equal(stream.predict(X), whole.predict(X))
    else:
        np.testing.assert_allclose(stream.predict(X), whole.predict(X), atol=1e-4)


def test_it_does_not_matter_how_the_rows_come(tmp_path):
    X, y = problem()
    parameters = {"random_state": 0, "cv": 3}
    first = GraftingRegressor(**parameters).fit(in_blocks(X, y))
    file = parquet(tmp_path, X, y)
    frame = pd.DataFrame(np.column_stack([X, y]), columns=[*(f"c{j}" for j in range(P)), "target"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    others = {
        "a few at a time": GraftingRegressor(**parameters).fit(in_blocks(X, y, 17)),
        "one block": GraftingRegressor(**parameters).fit(iter([(X, y)])),
        "lists": GraftingRegressor(**parameters).fit(iter([(X.tolist(), y.tolist())])),
        "frames": GraftingRegressor(**parameters).fit(
            in_blocks(frame.iloc[:, :P], frame["target"])
        ),
        "parquet": GraftingRegressor(**parameters).fit(file, "target"),
        "its last column": GraftingRegressor(**parameters).fit(str(file)),
        "csv": GraftingRegressor(**parameters).fit(tmp_path / "rows.csv", "target"),
        "stored": GraftingRegressor(**parameters).fit(secateur.open_table(file, "target")),
        "threads": GraftingRegressor(**parameters, n_jobs=1).fit(in_blocks(X, y)),
    }
    for other in others.values():
        same_bits(other, first)
    assert others["parquet"].feature_names_in_.tolist() == [f"c{j}" for j in range(P)]
    assert others["stored"].transform(frame.iloc[:5, :P]).shape == (5, first.support_.sum())


def test_a_libsvm_file_stays_sparse(tmp_path):
    X, y = problem("sparse")
    dump_svmlight_file(X, (y > 0).astype(int), str(tmp_path / "rows.svm"))
    parameters = {"random_state": 0, "cv": 3}
    there = GraftingClassifier(**parameters).fit(tmp_path / "rows.svm")
    same_path(there, GraftingClassifier(**parameters).fit(X, y > 0))
    assert there.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["numbers", "sparse", "three classes"])
def test_a_file_gives_the_bits_of_the_same_blocks_in_memory(kind, monkeypatch):
    """The numbers of every block read for good, columns in use in plain memory."""
    from secateur.execution.blocks import HeapAllocator
    from secateur.execution.worker import number_blocks
    from secateur.selectors import grafting

    cls, parameters = FITS[kind]
    X, y = problem(kind)
    disk = cls(random_state=0, cv=3, **parameters).fit(in_blocks(X, y))

    def columns(given, _, threads, params):
        source = number_blocks(given.table)
        assert len(source.n_rows) > 5
        return distributed_columns.DistributedColumns(
            blocks_here(source, threads),
            given.weight,
            centre=params.fit_intercept,
            scale=params.standardize,
            space=lambda: HeapAllocator(),  # noqa: PLW0108 - not the class itself: few rows at a time
        )

    monkeypatch.setattr(grafting, "make_columns", columns)
    same_bits(cls(random_state=0, cv=3, **parameters).fit(in_blocks(X, y)), disk)


def test_weights_come_with_the_blocks():
    X, y = problem()
    weight = np.random.default_rng(0).integers(0, 4, N).astype(float)
    parameters = {"random_state": 0, "l1": [0.3, 0.1, 0.03]}
    stream = GraftingRegressor(**parameters).fit(in_blocks(X, y, weight=weight))
    same_path(stream, GraftingRegressor(**parameters).fit(X, y, sample_weight=weight))


def test_costs_and_kept_features_hold():
    X, y = problem()
    costs = secateur.FeatureCosts([9.0 if j == 3 else 1.0 for j in range(P)], keep=[12])
    parameters = {"costs": costs, "random_state": 0, "cv": 3}
    stream = GraftingRegressor(**parameters).fit(in_blocks(X, y))
    same_path(stream, GraftingRegressor(**parameters).fit(X, y))
    assert stream.support_[12]


def test_class_weights_may_leave_rows_out():
    X, y = problem("three classes")
    parameters = {"class_weight": {0: 1.0, 1: 0.0, 2: 2.0}, "l1": 0.05}
    stream, whole = (
        GraftingClassifier(**parameters).fit(*given) for given in ((in_blocks(X, y),), (X, y))
    )
    # without rows of one class, weights can move between the others and cost next to nothing
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), atol=1e-4)


def test_many_free_weights_are_swept_column_by_column(monkeypatch):
    from secateur.engines.grafting import columns as grafting_columns

    monkeypatch.setattr(grafting_columns, "MAX_COLUMNS", 3)
    X, y = problem()
    stream, whole = (
        GraftingRegressor(l1=0.001).fit(*given) for given in ((in_blocks(X, y),), (X, y))
    )
    assert whole.support_.sum() > 3
    np.testing.assert_allclose(stream.coef_, whole.coef_, atol=1e-5)


# ---- what is on disk ---------------------------------------------------------------------------


def piece(X, folder):
    folder.mkdir()
    rows = numbers._write_numbers(folder, [numbers.Part(X, (np.zeros(len(X)),))], lambda *_: 0)
    assert rows.n_rows == len(X)
    return numbers.StoredNumbers(folder)


def test_nothing_is_lost_on_disk(tmp_path):
    rng = np.random.default_rng(0)
    whole = rng.integers(-100, 100, (80, 3)).astype(float)
    whole[3, 1] = np.nan
    for name, X, itemsize in (
        ("narrow", whole, 4),
        ("wide", whole + 0.1, 8),
        ("large", whole * 1e300, 8),
    ):
        stored = piece(X, tmp_path / name)
        assert {np.dtype(each.arrays[0][0]).itemsize for each in stored.blocks} == {itemsize}
        np.testing.assert_array_equal(stored.part(stored.pieces()).array, X)
        some = stored.take(np.array([5, 2, 70]))
        np.testing.assert_array_equal(some.part(some.pieces()).array, X[[2, 5, 70]])
        assert (some.n_rows, some.take(np.array([2])).rows.tolist()) == (3, [70])


def test_folders_go_with_their_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y = problem()
    selector = GraftingRegressor(l1=0.1).fit(in_blocks(X, y))
    gc.collect()
    assert selector.support_.any()
    assert list(tmp_path.iterdir()) == []

    def broken():
        yield X, y
        message = "no more"
        raise OSError(message)

    with pytest.raises(OSError, match="no more"):  # not an error of the folder that is written
        GraftingRegressor(l1=0.1).fit(broken())
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_cache_keeps_the_numbers(tmp_path, monkeypatch):
    X, y = problem()
    file, cache = parquet(tmp_path, X, y), tmp_path / "cache"
    first = GraftingRegressor(l1=0.1).fit(secateur.open_table(file, "target", cache=cache))
    assert sorted(each.name.split("-")[0] for each in cache.iterdir()) == ["numbers", "table"]

    def fail(*_, **__):
        raise AssertionError

    monkeypatch.setattr(numbers, "_write_numbers", fail)
    folder = next(cache.glob("table-*"))
    for table in (secateur.open_table(file, "target", cache=cache), secateur.open_table(folder)):
        same_bits(GraftingRegressor(l1=0.1).fit(table), first)


def test_passes_over_the_file_are_few(monkeypatch):
    """One for the scale, one or two for means, then one for each look at all gradients."""
    n_read = 0
    columns = FileBlock.columns.fget

    def counted(block):
        nonlocal n_read
        n_read += block.rows.start == 0
        return columns(block)

    monkeypatch.setattr(FileBlock, "columns", property(counted))
    X, y = problem()
    selector = GraftingRegressor(l1=0.05).fit(in_blocks(X, y))
    assert selector.n_iter_ >= 1
    assert n_read <= 4 + selector.n_iter_


# ---- some rows of a table on disk ----------------------------------------------------------------


def test_rows_of_a_fold_are_the_only_ones_that_train(tmp_path):
    X, y = problem()
    rows = np.flatnonzero(np.arange(N) % 3)
    table = secateur.open_table(parquet(tmp_path, X, y), "target")
    part = table.take(rows)
    same_path(
        GraftingRegressor(random_state=0, cv=3).fit(part),
        GraftingRegressor(random_state=0, cv=3).fit(X[rows], y[rows]),
    )
    seen = list(part.parts(100))
    np.testing.assert_array_equal(np.concatenate([each.targets[0] for each in seen]), y[rows])
    parameters = {"random_state": 0, "penalty": 0.5, "target_type": "regression"}
    there = FeatureGradientsSelector(**parameters).fit(part)
    assert there.path_[-1].details["rows"] == len(rows)


def test_held_out_scores_are_those_of_memory(tmp_path):
    X, y = problem("two classes")
    table = secateur.open_table(parquet(tmp_path, X, y), "target")
    parameters = {"cv": 3, "random_state": 0}
    one = GraftingClassifier(l1=[0.2, 0.05])
    here, there = (
        secateur.held_out(one, X, y, **parameters),
        secateur.held_out(one, table, None, **parameters),
    )
    for mine, its in zip(there.path, here.path, strict=True):
        assert mine.score.origin == "held_out"
        assert mine.score.mean == pytest.approx(its.score.mean, rel=1e-5)
    assert there.all_features.mean == pytest.approx(here.all_features.mean, rel=1e-5)


def test_feature_gradients_are_scored_on_disk_too(tmp_path):
    X, y = problem("two classes")
    order = np.argsort(y, kind="stable")  # the first block has one class only
    table = secateur.open_table(parquet(tmp_path, X[order], y[order]), "target")
    one = FeatureGradientsSelector(n_features=4, target_type="classification", random_state=0)
    held = secateur.held_out(one, table, None, cv=2, random_state=0)
    assert held.path[-1].score.origin == held.all_features.origin == "held_out"
    assert held.selector.classes_.tolist() == ["no", "yes"]


# ---- what can be wrong ---------------------------------------------------------------------------


def change(X, y, number, *, columns=None, cell=None, label=None):
    """A stream with one block that is not like the others."""
    for k, block in enumerate(in_blocks(X, y)):
        rows, labels = map(np.array, block)
        if k == number:
            rows = rows if columns is None else rows[:, :columns]
            rows[0, 0] = rows[0, 0] if cell is None else cell
            labels = labels if label is None else labels[:label]
        yield rows, labels


def test_bad_blocks_are_refused():
    X, y = problem()
    fit = GraftingRegressor(l1=0.1).fit
    with pytest.raises(InputError, match=r"X has 5 features, but secateur is expecting 14"):
        fit(change(X, y, 2, columns=5))
    with pytest.raises(InputError, match="infinit"):
        fit(change(X, y, 2, cell=np.inf))
    with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[111, 100\]"):
        fit(change(X, y, 2, label=100))
    with pytest.raises(InputError, match=r"at least one block\. Got none"):
        fit(iter([]))
    with pytest.raises(InputError, match="at least one row of positive weight"):
        fit(iter([(X[:0], y[:0])]))
    with pytest.raises(InputTypeError, match=r"blocks \(X, y\) or \(X, y, weight\). Got ndarray"):
        fit(iter([X]))
    with pytest.raises(InputError, match="requires y to be passed"):
        fit(iter([(X, None)]))
    with pytest.raises(InputError, match="contains NaN"):
        fit(iter([(X, np.where(y > 1, np.nan, y))]))
    with pytest.raises(InputError, match=r"of one kind\. Got sparse after dense"):
        fit(iter([(X, y), (sp.csr_array(X), y)]))
    with pytest.raises(InputError, match="'sample_weight' must come with the blocks"):
        fit(in_blocks(X, y), sample_weight=np.ones(N))
    with pytest.raises(InputError, match="'y' must come with the blocks"):
        fit(in_blocks(X, y), y)
    with pytest.raises(InputError, match="which is no file"):
        fit("nowhere.parquet")
    with pytest.raises(InputError, match="at least two classes"):
        GraftingClassifier(l1=0.1).fit(in_blocks(X, np.zeros(N, int)))


def test_what_is_wrong_with_columns_is_said_before_anything_is_written(tmp_path):
    X, y = problem()
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(
        c=pd.Categorical(["u", "v"] * 310)
    )

    def only_one():
        yield frame, y
        raise AssertionError

    with pytest.raises(InputError, match="category column\\(s\\) 'c'"):
        GraftingRegressor().fit(only_one())
    with pytest.raises(InputError, match="category column\\(s\\) 'c'"):
        GraftingRegressor().fit(secateur.open_table(frame.assign(y=y), "y", cache=tmp_path))
    assert not list(tmp_path.glob("numbers-*"))
    with pytest.raises((InputError, ParameterError), match="'z'"):
        GraftingRegressor(costs={"z": 2.0}).fit(iter([(frame[["a", "b"]], y)]))


def test_columns_are_found_by_name_and_empty_blocks_are_no_blocks():
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(P)])
    plain = GraftingRegressor(l1=0.05).fit(iter([(frame, y)]))
    turned = [(frame[:0], y[:0]), (frame[:200], y[:200]), (frame[200:].iloc[:, ::-1], y[200:])]
    same_bits(GraftingRegressor(l1=0.05).fit(iter(turned)), plain)
    with pytest.raises(InputError, match="missing: 'c1'; unknown: 'd'"):
        GraftingRegressor().fit(iter([(frame, y), (frame.rename(columns={"c1": "d"}), y)]))


def test_ctrl_c_leaves_the_steps_that_were_done(monkeypatch):
    monkeypatch.setattr(linear, "GRID_POINTS", 40)  # more than come before it
    X, y = problem()
    n_asked = 0
    dots = distributed_columns.DistributedColumns.dots

    def interrupted(columns, *given):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 14:
            raise KeyboardInterrupt
        return dots(columns, *given)

    monkeypatch.setattr(distributed_columns.DistributedColumns, "dots", interrupted)
    selector = GraftingRegressor(random_state=0, cv=2, on_interrupt="keep")
    with pytest.warns(InterruptedWarning, match="keeps the"):
        selector.fit(in_blocks(X, y))
    assert selector.path_.stop_reason is StopReason.INTERRUPTED
    assert selector.predict(X).shape == (N,)

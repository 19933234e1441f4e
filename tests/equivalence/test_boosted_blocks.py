"""Threads and blocks of rows: the same fit, bit for bit, however the rows are cut and shared."""

from __future__ import annotations

import numpy as np
import pytest
from equivalence.fitting import (
    Task,
    assert_equals_twin,
    assert_same_fit,
    cut_columns,
    fit_engine,
    fit_twin,
    make_table,
)
from equivalence.problems import LOSSES, tasks
from equivalence.synthetic_tasks import make_task
from examples_of_hypothesis import examples
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.binning import bin_table
from secateur.engines.boosted import rows as block_rows


@examples(30)
@given(tasks(categories=False), st.sets(st.integers(1, 39)), st.booleans(), st.booleans())
def test_any_cut_into_blocks(task, cuts, sparse, sampled):
    task = task.with_params(subsample=0.6 if sampled else 1.0)
    inside = sorted(cut for cut in cuts if cut < len(task.target))
    one, other = fit_engine(task, sparse=sparse), fit_engine(task, sparse=sparse, cuts=inside)
    assert len(other.blocks) == len(inside) + 1
    assert_same_fit(one, other)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_with_categories_and_held_rows(loss):
    task = make_task(loss, n_categorical=3, missing_share=0.1, weights="floats", penalty=0.001)
    task = task.with_params(subsample=0.7)
    held = np.arange(3, 600, 7)
    one = fit_engine(task, held=held)
    # Two blocks have no row at all, and one, row 3, has none that trains.
    other = fit_engine(task, held=held, cuts=(0, 3, 4, 250, 250, 590, 595))
    assert len(one.order) > 2
    assert_same_fit(one, other)


@pytest.mark.parametrize(
    ("loss", "sparse"), [("log_loss", True), ("multinomial", False), ("quantile", False)]
)
def test_any_number_of_threads(loss, sparse):
    # Large enough for every loop to be shared among the threads.
    task = make_task(
        loss,
        n_rows=20_000,
        n_features=140,
        sparse_share=0.5 if sparse else 0.0,
        missing_share=0.02,
        weights="floats",
        penalty=1e-5,
        subsample=0.9,
        n_rounds=2,
    )
    one = fit_engine(task, sparse=sparse)
    assert len(one.order) > 2
    assert_same_fit(one, fit_engine(task, sparse=sparse, n_threads=3))
    assert_same_fit(one, fit_engine(task, sparse=sparse, n_threads=2, cuts=(9_000,)))


def test_the_sample_depends_on_the_row_and_the_seed_and_changes_every_round():
    task = make_task(n_rows=2000, subsample=0.5, n_rounds=3, max_depth=1)
    one, same = fit_engine(task), fit_engine(task)
    assert_same_fit(one, same)
    other = fit_engine(task.with_params(seed=1))
    assert (one.raw != other.raw).any()
    assert 800 < len(one.blocks[0].order) < 1200


def heavy_task(n_rows):
    """Every term at its largest: weights of 65535, gradients of one size, half of each sign."""
    X = np.zeros((n_rows, 5))
    X[: n_rows // 2, 1] = 1.0
    X[::2, 2] = 1.0
    X[-1, 3] = 1.0
    target = np.where(np.arange(n_rows) < n_rows // 2, 1.0, -1.0)
    params = {"n_rounds": 2, "max_depth": 2, "learning_rate": 1.0, "min_samples_leaf": 1}
    return Task(X, target, np.full(n_rows, 65535.0), params=params)


@pytest.mark.parametrize("sparse", [False, True])
def test_more_rows_than_full_resolution_has_room_for(sparse):
    n_rows = 131_078
    fit = fit_engine(heavy_task(n_rows), sparse=sparse)
    (tree,), _ = fit.rounds
    assert tree.feature[0] == 1
    # dSSE is all of the squared error, the sum of w g g, but for weights in fewer steps.
    assert tree.gain[0] == pytest.approx(n_rows * 65535.0, rel=1e-4)
    np.testing.assert_array_equal(fit.raw[0], heavy_task(n_rows).target)
    assert fit.order == [1]


@pytest.mark.parametrize("weights", ["heavy", "floats"])
def test_more_than_65536_rows_equal_the_twin(weights):
    rng = np.random.default_rng(8)
    n_rows = 70_001
    X = np.column_stack([rng.integers(0, 4, n_rows), rng.integers(0, 3, n_rows)]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    # Gradients of one size and weights at their largest: sums as large as they can be.
    target = np.where(rng.random(n_rows) < 0.3 + 0.2 * (X[:, 0] > 1), 1.0, -1.0)
    weight = np.full(n_rows, 65535.0) if weights == "heavy" else rng.uniform(0.9, 1.0, n_rows)
    params = {"n_rounds": 1, "max_depth": 2, "min_samples_leaf": 20}
    task = Task(X, target, weight, params=params)
    one = fit_engine(task)
    assert one.order[0] == 0
    assert_equals_twin(one, fit_twin(task), task)
    assert_same_fit(one, fit_engine(task, sparse=True, cuts=(65_537,), n_threads=2))


def test_cut_columns_put_together_are_the_whole():
    task = make_task(n_rows=50, sparse_share=0.5, missing_share=0.1)
    for sparse in (False, True):
        columns = bin_table(make_table(task, sparse=sparse), task.weight)
        parts = [cut_columns(columns, *bounds) for bounds in ((0, 13), (13, 14), (14, 50))]
        assert sum(part.n_rows for part in parts) == 50
        if not sparse:
            whole = np.concatenate([part.codes.codes for part in parts], axis=1)
            np.testing.assert_array_equal(whole, columns.codes.codes)
        else:
            assert sum(len(part.codes.codes) for part in parts) == len(columns.codes.codes)


@pytest.mark.parametrize("subsample", [1.0, 0.7])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_large_nodes_are_parted_by_all_threads_as_by_one(monkeypatch, subsample, n_threads):
    task = make_task(n_rows=900, missing_share=0.05, subsample=subsample, whole=False)
    plain = fit_engine(task)
    monkeypatch.setattr(block_rows, "MANY_ROWS", 1)
    monkeypatch.setattr(block_rows, "ROWS_PER_THREAD", 1)
    assert_same_fit(plain, fit_engine(task, n_threads=n_threads))

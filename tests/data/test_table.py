from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from secateur.data.frames import read_table, select_columns

VALUES = np.array([[1.0, 0.0, np.nan, 4.0], [0.0, 2.0, 3.0, 0.0], [5.0, 0.0, 0.0, -6.0]])
NAMES = ["a", "b", "c", "d"]

CONTAINERS = {
    "c-order": np.ascontiguousarray,
    "f-order": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "objects": lambda x: x.astype(object),
    "lists": lambda x: x.tolist(),
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "csr_array": sp.csr_array,
    "lil": sp.lil_matrix,
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES),
    "pyarrow": lambda x: pa.table(dict(zip(NAMES, x.T.copy(), strict=True))),
}


@pytest.fixture(params=CONTAINERS, name="container")
def _container(request):
    return CONTAINERS[request.param]


def test_every_container_gives_the_same_numbers(container):
    table = read_table(container(VALUES))
    assert (table.n_rows, table.n_features) == VALUES.shape
    np.testing.assert_array_equal(table.block(0, 4), VALUES)
    np.testing.assert_array_equal(table.block(1, 3), VALUES[:, 1:3])
    np.testing.assert_array_equal(table.columns(np.array([3, 0])), VALUES[:, [3, 0]])


def test_blocks_are_fortran_and_columns_c(container):
    table = read_table(container(VALUES))
    assert table.block(0, 3).flags.f_contiguous
    assert table.block(0, 3).dtype == np.float64
    assert table.columns(np.array([0, 2])).flags.c_contiguous
    assert table.columns(np.array([0, 2])).dtype == np.float64


def test_take_gives_rows_in_the_order_asked_and_twice_if_asked(container):
    table = read_table(container(VALUES)).take(np.array([2, 0, 2]))
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.block(0, 4), VALUES[[2, 0, 2]])


def test_tables_survive_pickling(container):
    table = pickle.loads(pickle.dumps(read_table(container(VALUES))))  # noqa: S301
    np.testing.assert_array_equal(table.block(0, 4), VALUES)


def test_a_numpy_array_of_numbers_is_not_copied():
    for dtype in (np.float64, np.float32, np.int16, np.bool_):
        X = np.ones((4, 3), dtype=dtype)
        assert read_table(X).array is X


def test_blocks_do_not_write_through_to_the_user():
    X = np.ones((3, 2), order="F")
    read_table(X).block(0, 2)[:] = 7
    frame = pd.DataFrame(np.ones((3, 2)))
    read_table(frame).block(0, 2)[:] = 7
    assert (X == 1).all()
    assert (frame == 1).all(axis=None)


def test_a_last_block_may_be_narrower():
    for container in ("c-order", "csr", "pandas", "polars"):
        assert read_table(CONTAINERS[container](VALUES)).block(3, 16).shape == (3, 1)


def test_wide_frames_are_read_across_parts():
    X = np.arange(300.0).reshape(3, 100)
    table = read_table(pd.DataFrame(X))
    np.testing.assert_array_equal(table.block(0, 100), X)
    backwards = np.arange(99, -1, -1)
    np.testing.assert_array_equal(table.columns(backwards), X[:, backwards])


def test_names_are_made_up_where_there_are_none():
    table = read_table(VALUES)
    assert table.names == ("x0", "x1", "x2", "x3")
    assert not table.schema.has_names
    numbered = read_table(pd.DataFrame(VALUES))
    assert numbered.names == ("x0", "x1", "x2", "x3")
    assert not numbered.schema.has_names


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
def test_frames_bring_their_names(container):
    table = read_table(CONTAINERS[container](VALUES))
    assert table.names == tuple(NAMES)
    assert table.schema.has_names


# ---- sparse -----------------------------------------------------------------------------------


def test_csc_is_canonical_and_the_original_is_left_alone():
    data = np.array([1.0, 2.0, 0.0, 5.0])
    indices = np.array([2, 0, 1, 0])
    X = sp.csc_matrix((data, indices, np.array([0, 3, 4])), shape=(3, 2))
    doubled = sp.csc_matrix(
        (np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(2, 1)
    )
    csc = read_table(X).csc
    np.testing.assert_array_equal(csc.indices, [0, 2, 0])
    np.testing.assert_array_equal(csc.data, [2.0, 1.0, 5.0])
    np.testing.assert_array_equal(read_table(doubled).csc.data, [3.0, 3.0])
    np.testing.assert_array_equal(X.indices, [2, 0, 1, 0])
    np.testing.assert_array_equal(X.data, [1.0, 2.0, 0.0, 5.0])
    assert doubled.nnz == 3


def test_clean_compressed_columns_are_not_copied():
    X = sp.csc_array(sp.random(20, 5, density=0.5, random_state=0, format="csc"))
    assert np.shares_memory(read_table(X).csc.data, X.data)


def test_sparse_missing_values_are_kept():
    table = read_table(sp.csr_array(VALUES))
    assert table.is_sparse
    assert np.isnan(table.csc.data).sum() == 1


def test_taken_sparse_rows_are_sorted():
    X = sp.random(30, 4, density=0.6, random_state=1, format="csr")
    taken = read_table(X).take(np.array([7, 3, 29, 3])).csc
    assert taken.has_canonical_format
    np.testing.assert_array_equal(taken.toarray(), X.toarray()[[7, 3, 29, 3]])


def test_large_sparse_tables_stay_sparse():
    X = sp.csr_array(([1.0, 2.0], ([0, 5], [10, 400_000])), shape=(1_000_000, 500_000))
    table = read_table(X)
    assert table.csc.nnz == 2
    assert table.columns(np.array([400_000])).sum() == 2.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 6))
def test_sparse_and_dense_tables_agree(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n_rows, n_features)).astype(float)
    rows = rng.integers(0, n_rows, size=4)
    dense, sparse = read_table(X).take(rows), read_table(sp.csr_array(X)).take(rows)
    np.testing.assert_array_equal(dense.block(0, n_features), sparse.block(0, n_features))


# ---- select -----------------------------------------------------------------------------------


def test_select_keeps_numpy_and_its_type():
    X = np.arange(6, dtype=np.int8).reshape(2, 3)
    chosen = select_columns(X, [2, 0])
    assert chosen.dtype == np.int8
    np.testing.assert_array_equal(chosen, X[:, [2, 0]])
    np.testing.assert_array_equal(select_columns([[1, 2], [3, 4]], [1]), [[2], [4]])


def test_select_keeps_pandas_types_names_and_index():
    X = pd.DataFrame(
        {"a": [1, 2], "b": pd.Categorical(["u", "v"]), "c": pd.array([True, None])},
        index=["p", "q"],
    )
    chosen = select_columns(X, np.array([2, 1]))
    pd.testing.assert_frame_equal(chosen, X[["c", "b"]])


def test_select_keeps_numbered_pandas_columns():
    chosen = select_columns(pd.DataFrame(VALUES), np.array([1, 3]))
    assert list(chosen.columns) == [1, 3]


def test_select_keeps_polars_and_pyarrow():
    X = pl.DataFrame({"a": [1, 2], "b": ["u", None], "c": [0.5, 1.5]})
    assert select_columns(X, [1, 2]).equals(X[["b", "c"]])
    assert select_columns(X.to_arrow(), [2, 0]).equals(X.to_arrow().select(["c", "a"]))


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "csr_array", "csc_array"])
def test_select_keeps_sparse_formats(kind):
    X = getattr(sp, kind)(VALUES)
    chosen = select_columns(X, [3, 0])
    assert type(chosen) is type(X)
    np.testing.assert_array_equal(chosen.toarray(), VALUES[:, [3, 0]])


def test_select_of_other_sparse_formats_gives_rows():
    assert select_columns(sp.coo_array(VALUES), [1]).format == "csr"

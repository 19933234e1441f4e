"""Cuts and codes: own bins for few values, bins of equal weight for many, zeros never stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secateur._kernels.binning import cut_sorted, encode, merge_zero, middle
from secateur._kernels.records import MISSING
from secateur._kernels.threads import Threads
from secateur.data import binning as binned
from secateur.data.binning import bin_table
from secateur.data.categories import Categories
from secateur.data.table import DenseTable, SparseTable, TableSchema, canonical_csc

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 1e-300, -1e300, 1e300, np.nan]) | st.floats(
    -10, 10
)
COLUMNS = arrays(np.float64, st.integers(1, 60), elements=VALUES)


def cuts_of(values, weight=None, max_bins=255):
    values = np.asarray(values, dtype=float)
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    order = np.argsort(values, kind="stable")
    order = order[: np.count_nonzero(~np.isnan(values))]
    out = np.empty(max_bins)
    return out[: cut_sorted(values[order], weight[order], max_bins, out)].copy()


def codes_of(values, cuts):
    out = np.empty(len(values), np.uint8)
    has_missing = encode(np.asarray(values, dtype=float), cuts, out)
    return out, has_missing


def binned_dense(X, weight=None, *, max_bins=255, n_threads=1, encoders=None):
    X = np.asarray(X, dtype=float)
    schema = TableSchema(tuple(map(str, range(X.shape[1]))), encoders=encoders or {})
    weight = np.ones(len(X)) if weight is None else weight
    with Threads(n_threads) as threads:
        table = DenseTable(X, schema, is_encoded=True)
        return bin_table(table, weight, max_bins=max_bins, threads=threads)


def binned_sparse(X, weight=None, *, max_bins=255):
    schema = TableSchema(tuple(map(str, range(X.shape[1]))))
    weight = np.ones(len(X)) if weight is None else weight
    table = SparseTable(canonical_csc(sp.csr_array(X)), schema)
    return bin_table(table, weight, max_bins=max_bins)


def written_out(columns):
    """Sparse codes as dense ones."""
    codes = np.repeat(columns.codes.zero_code[:, None], columns.n_rows, axis=1)
    for j in range(columns.n_features):
        cell = slice(columns.codes.indptr[j], columns.codes.indptr[j + 1])
        codes[j, columns.codes.indices[cell]] = columns.codes.codes[cell]
    return codes


# ---------------------------------------------------------------------------- cuts


@given(COLUMNS)
def test_few_distinct_values_have_bins_of_their_own(values):
    seen = ~np.isnan(values)
    distinct, place = np.unique(values[seen], return_inverse=True)
    cuts = cuts_of(values)
    assert len(cuts) == max(0, len(distinct) - 1)
    codes, has_missing = codes_of(values, cuts)
    np.testing.assert_array_equal(codes[seen], place)
    assert (codes[~seen] == MISSING).all()
    assert has_missing == (~seen).any()


@given(COLUMNS, st.integers(2, 8))
def test_cuts_lie_between_values_and_rise(values, max_bins):
    cuts = cuts_of(values, max_bins=max_bins)
    distinct = np.unique(values[~np.isnan(values)])
    assert len(cuts) <= max_bins - 1
    assert (np.diff(cuts) > 0).all()
    if len(distinct):
        assert ((cuts >= distinct[0]) & (cuts < distinct[-1])).all()
        codes, _ = codes_of(distinct, cuts)
        # every bin holds a value, and codes rise with values
        np.testing.assert_array_equal(np.unique(codes), np.arange(len(cuts) + 1))
        assert (np.diff(codes.astype(int)) >= 0).all()


def test_the_limits_of_255_bins():
    exact = cuts_of(np.arange(255.0))
    assert len(exact) == 254
    np.testing.assert_array_equal(codes_of(np.arange(255.0), exact)[0], np.arange(255))
    assert len(cuts_of(np.arange(256.0))) <= 254
    many = cuts_of(np.random.default_rng(0).normal(size=5000))
    assert len(many) == 254
    assert codes_of([1e9], many)[0][0] == 254


def test_many_values_make_bins_of_about_equal_weight():
    rng = np.random.default_rng(1)
    values, weight = rng.exponential(size=20_000), rng.uniform(0.5, 1.5, 20_000)
    codes, _ = codes_of(values, cuts_of(values, weight, max_bins=50))
    mass = np.bincount(codes, weights=weight)
    assert len(mass) == 50
    np.testing.assert_allclose(mass, weight.sum() / 50, atol=2.0)


def test_a_heavy_value_leaves_the_bins_to_the_others():
    rng = np.random.default_rng(2)
    values = np.concatenate([np.zeros(90_000), rng.uniform(1, 2, 10_000)])
    codes, _ = codes_of(values, cuts_of(values, max_bins=101))
    counts = np.bincount(codes)
    assert counts[0] == 90_000
    np.testing.assert_allclose(counts[1:], 100, atol=2)


@given(
    arrays(np.float64, st.integers(2, 60), elements=st.floats(-5, 5) | st.integers(0, 3)),
    st.integers(2, 12),
    st.integers(0, 2**32 - 1),
)
def test_weight_two_is_the_row_twice(values, max_bins, seed):
    weight = np.random.default_rng(seed).integers(1, 4, len(values))
    rows = np.repeat(np.arange(len(values)), weight)
    one, other = cuts_of(values, weight, max_bins), cuts_of(values[rows], max_bins=max_bins)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("values", "n_cuts"),
    [([], 0), ([3.0], 0), ([3.0] * 9, 0), ([np.nan] * 4, 0), ([0.0, -0.0], 0), ([1.0, np.nan], 0)],
)
def test_nothing_to_cut(values, n_cuts):
    assert len(cuts_of(values)) == n_cuts


@pytest.mark.parametrize("a", [0.0, 1.0, -1.0, 1e300, 5e-324, -5e-324])
def test_neighbouring_floats_are_distinguished(a):
    b = np.nextafter(a, np.inf)
    assert middle(a, b) == a
    codes, _ = codes_of([a, b], cuts_of([b, a]))
    assert codes.tolist() == [0, 1]


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_the_middle_is_finite_and_parts_its_values(a, b):
    low, high = min(a, b), max(a, b)
    if low < high:
        m = middle(low, high)
        assert np.isfinite(m)
        assert low <= m < high


def test_the_widest_gap_has_a_finite_middle():
    largest = np.finfo(float).max
    assert middle(-largest, largest) == 0.0
    assert cuts_of([-largest, largest]).tolist() == [0.0]


# ---------------------------------------------------------------------------- codes


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-3, 3)), st.integers(0, 254))
def test_codes_count_the_cuts_below(values, n_cuts):
    cuts = np.linspace(-2.0, 2.0, n_cuts)
    codes, _ = codes_of(np.append(values, cuts), cuts)
    expected = np.searchsorted(cuts, np.append(values, cuts), side="left")
    np.testing.assert_array_equal(codes, expected)


def test_values_beyond_the_training_range_and_infinities():
    cuts = np.array([0.0, 1.0])
    assert codes_of([-np.inf, -9.0, 0.0, 0.5, 1.0, 9.0, np.inf], cuts)[0].tolist() == [
        0, 0, 0, 1, 1, 2, 2,
    ]  # fmt: skip


def test_merge_zero_keeps_the_order():
    values, weights = merge_zero(np.array([-2.0, -1.0, 3.0]), np.array([1.0, 2.0, 3.0]), 9.0)
    assert values.tolist() == [-2.0, -1.0, 0.0, 3.0]
    assert weights.tolist() == [1.0, 2.0, 9.0, 3.0]
    assert merge_zero(np.array([-2.0]), np.ones(1), 4.0)[0].tolist() == [-2.0, 0.0]
    assert merge_zero(np.array([2.0]), np.ones(1), 4.0)[0].tolist() == [0.0, 2.0]
    assert merge_zero(np.empty(0), np.empty(0), 4.0)[1].tolist() == [4.0]


# ---------------------------------------------------------------------------- tables


def same_binning(one, other):
    np.testing.assert_array_equal(one.n_bins, other.n_bins)
    np.testing.assert_array_equal(one.offset, other.offset)
    np.testing.assert_array_equal(one.has_missing, other.has_missing)
    for mine, its in zip(one.cuts, other.cuts, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_columns_without_information():
    X = np.column_stack([np.full(5, 7.0), np.full(5, np.nan), [1, np.nan, 1, 1, 1], np.arange(5)])
    columns = binned_dense(X)
    assert columns.n_bins.tolist() == [1, 1, 1, 5]
    assert columns.has_missing.tolist() == [False, True, True, False]
    assert columns.offset.tolist() == [0, 2, 4, 6, 12]
    # a column of NaN only counts as varying: nothing splits it, and nothing is lost
    assert columns.varying.tolist() == [1, 2, 3]
    assert columns.codes.codes[:, 1].tolist() == [0, MISSING, MISSING, 1]


def test_categories_keep_their_codes():
    X = np.array([[2.0], [0.0], [np.nan], [2.0]])
    columns = binned_dense(X, encoders={0: Categories(np.arange(4.0))})
    assert columns.is_categorical.tolist() == [True]
    assert columns.n_bins.tolist() == [4]
    assert len(columns.cuts[0]) == 0
    assert columns.codes.codes.tolist() == [[2, 0, MISSING, 2]]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(2, 9), st.booleans())
def test_sparse_binning_is_dense_binning(seed, n_rows, max_bins, weighted):
    rng = np.random.default_rng(seed)
    X = rng.choice([-2.0, -1.5, 1.0, 2.0, 3.0, np.nan], (n_rows, 4)) + rng.choice([0, 0.25])
    X[rng.random(X.shape) < [0.0, 0.3, 0.9, 1.0]] = 0.0
    weight = rng.integers(1, 4, n_rows).astype(float) if weighted else None
    dense = binned_dense(X, weight, max_bins=max_bins)
    sparse = binned_sparse(X, weight, max_bins=max_bins)
    same_binning(dense, sparse)
    np.testing.assert_array_equal(written_out(sparse), dense.codes.codes)


def test_a_cut_at_zero_itself_leaves_zero_below():
    # Next to the smallest float the cut is zero; from a sample without zeros, too.
    X = np.array([[0.0], [5e-324], [0.0], [-1.0]])
    sparse = binned_sparse(X)
    assert sparse.cuts[0].tolist() == [-0.5, 0.0]
    np.testing.assert_array_equal(written_out(sparse), binned_dense(X).codes.codes)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_binning_is_dense_binning_for_many_values(weighted):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 5))
    X[rng.random(X.shape) < [0.0, 0.1, 0.5, 0.9, 0.99]] = 0.0
    X[rng.random(X.shape) < 0.02] = np.nan
    weight = rng.integers(1, 4, 3000).astype(float) if weighted else None
    dense, sparse = binned_dense(X, weight), binned_sparse(X, weight)
    assert dense.n_bins[0] == 255
    same_binning(dense, sparse)
    np.testing.assert_array_equal(written_out(sparse), dense.codes.codes)


@pytest.mark.parametrize("n_distinct", [20, 100_000])
def test_cuts_from_a_sample_of_rows_are_the_same_dense_and_sparse(monkeypatch, n_distinct):
    monkeypatch.setattr(binned, "SAMPLE_ROWS", 1000)
    rng = np.random.default_rng(6)
    X = np.floor(rng.normal(size=(4000, 3)) * n_distinct / 8)
    X[rng.random(X.shape) < [0.0, 0.5, 0.95]] = 0.0
    dense, sparse = binned_dense(X), binned_sparse(X)
    same_binning(dense, sparse)
    np.testing.assert_array_equal(written_out(sparse), dense.codes.codes)


def test_sparse_cells_by_row_are_the_cells_by_column():
    rng = np.random.default_rng(7)
    X = rng.integers(-2, 4, (30, 6)) * (rng.random((30, 6)) < 0.5)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    columns = binned_sparse(X)
    places = columns.offset[:-1, None] + np.minimum(written_out(columns), columns.n_bins[:, None])
    for row in range(30):
        cell = slice(columns.codes.row_start[row], columns.codes.row_start[row + 1])
        stored = np.flatnonzero(X[row])
        np.testing.assert_array_equal(np.sort(columns.codes.row_bins[cell]), places[stored, row])


def test_threads_do_not_change_the_bins():
    X = np.random.default_rng(5).normal(size=(500, 40))
    one, other = binned_dense(X), binned_dense(X, n_threads=3)
    same_binning(one, other)
    np.testing.assert_array_equal(one.codes.codes, other.codes.codes)

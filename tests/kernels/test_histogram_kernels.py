"""Histograms against sums by numpy: all features, all bins, all nodes, and no overflow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur._kernels.binning import bins_by_row
from secateur._kernels.histogram import (
    dense_histograms,
    sparse_by_column,
    sparse_by_row,
)
from secateur._kernels.records import MISSING
from secateur._kernels.splitting import LOW, search_features

JUNK = -77


def pack(g, w):
    return (np.asarray(g, dtype=np.int64) << 32) + np.asarray(w, dtype=np.int64)


def unpack(packed):
    """Pairs of gradients and weights."""
    packed = np.asarray(packed)
    return np.stack([packed >> 32, packed & LOW], axis=-1)


def make_codes(rng, n_bins, n_rows, missing_share=0.2):
    codes = np.stack([rng.integers(0, n, n_rows) for n in n_bins]).astype(np.uint8)
    codes[rng.random(codes.shape) < missing_share] = MISSING
    return codes


def naive(codes, rows, g, w, n_bins):
    """A list of (n_bins + 1, 2) arrays, one per feature, missing last."""
    sums = []
    for j, n in enumerate(n_bins):
        out = np.zeros((n + 1, 2), np.int64)
        places = np.minimum(codes[j, rows].astype(int), n)
        np.add.at(out[:, 0], places, g[rows])
        np.add.at(out[:, 1], places, w[rows])
        sums.append(out)
    return sums


def offsets(n_bins):
    return np.concatenate([[0], np.cumsum(np.asarray(n_bins) + 1)])


def dense(codes, rows, packed, features, n_bins, *, start=0, stop=None, in_order=False):
    offset = offsets(n_bins)
    out = np.full(offset[-1], JUNK, np.int64)
    stop = len(features) if stop is None else stop
    features, n_bins = np.asarray(features, dtype=np.int64), np.asarray(n_bins)
    dense_histograms(
        codes, rows, packed[rows], in_order, features, offset, n_bins, start, stop, out
    )
    return [out[first : first + n + 1] for first, n in zip(offset, n_bins, strict=False)]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.integers(1, 10))
def test_dense_histograms_are_the_sums(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(1, 256, n_features)
    codes = make_codes(rng, n_bins, n_rows)
    g, w = rng.integers(-32767, 32768, n_rows), rng.integers(1, 65536, n_rows)
    rows = np.sort(rng.permutation(n_rows)[: rng.integers(0, n_rows + 1)]).astype(np.uint32)
    features = rng.permutation(n_features)[: rng.integers(1, n_features + 1)]
    found = dense(codes, rows, pack(g, w), features, n_bins, in_order=len(rows) == n_rows)
    expected = naive(codes, rows, g, w, n_bins)
    for j in range(n_features):
        if j in features:
            np.testing.assert_array_equal(unpack(found[j]), expected[j])
            # every row is in one bin of every feature
            assert unpack(found[j].sum()).tolist() == [g[rows].sum(), w[rows].sum()]
        else:
            assert (found[j] == JUNK).all()  # what was not asked for is not touched


@pytest.mark.parametrize(("start", "stop"), [(0, 7), (0, 4), (4, 7), (3, 4), (5, 5)])
def test_a_part_of_the_features_is_written_by_each_thread(start, stop):
    rng = np.random.default_rng(1)
    n_bins = np.full(7, 9)
    codes = make_codes(rng, n_bins, 50)
    g, w = rng.integers(-9, 9, 50), rng.integers(1, 9, 50)
    rows = np.arange(50, dtype=np.uint32)
    features = np.array([6, 2, 0, 1, 5, 4, 3])
    found = dense(codes, rows, pack(g, w), features, n_bins, start=start, stop=stop)
    expected = naive(codes, rows, g, w, n_bins)
    for place, j in enumerate(features):
        if start <= place < stop:
            np.testing.assert_array_equal(unpack(found[j]), expected[j])
        else:
            assert (found[j] == JUNK).all()


def full_halves(n_rows, sign):
    """Rows whose sums fill both halves of the packed number as far as the scales allow."""
    w = np.full(n_rows, (2**32 - 1) // n_rows)
    g = np.full(n_rows, sign * ((2**31 - 1) // n_rows))
    return g, w


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n_rows", [65_536, 196_625])
def test_sums_are_exact_at_the_largest_terms(n_rows, sign, in_order):
    rng = np.random.default_rng(2)
    n_bins = np.array([1, 2, 1, 255, 3])
    codes = make_codes(rng, n_bins, n_rows, missing_share=0.0)
    codes[2] = MISSING
    g, w = full_halves(n_rows, sign)
    rows = np.arange(n_rows, dtype=np.uint32)
    if not in_order:
        rows = rows[::-1].copy()
    found = dense(codes, rows, pack(g, w), np.arange(5), n_bins, in_order=in_order)
    for mine, its in zip(found, naive(codes, rows, g, w, n_bins), strict=True):
        np.testing.assert_array_equal(unpack(mine), its)
    assert unpack(found[0][0]).tolist() == [g.sum(), w.sum()]
    assert unpack(found[2][1]).tolist() == [g.sum(), w.sum()]


# ---------------------------------------------------------------------------- sparse


def compress(codes, zero_code):
    """The cells that differ from the column's zero code."""
    stored = [np.flatnonzero(column != zero) for column, zero in zip(codes, zero_code, strict=True)]
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in stored])])
    indices = np.concatenate(stored).astype(np.int32)
    return indptr, indices, np.concatenate([codes[j, rows] for j, rows in enumerate(stored)])


def sparse(codes, zero_code, rows, packed, features, n_bins, *, by_row):
    """Histograms from the stored cells, row after row or column after column."""
    indptr, indices, stored = compress(codes, zero_code)
    n_bins, features = np.asarray(n_bins), np.asarray(features, dtype=np.int64)
    offset = offsets(n_bins)
    out = np.full(offset[-1], 77)  # what was there before does not count
    asked = (packed, rows, features, offset, n_bins, out)
    if by_row:
        per_row = np.bincount(indices, minlength=codes.shape[1])
        row_start = np.concatenate([[0], np.cumsum(per_row)])
        row_bins = np.empty(len(indices), np.uint32)
        bins_by_row(indptr, indices, stored, offset, n_bins, row_start, row_bins)
        sparse_by_row(row_start, row_bins, zero_code, *asked)
    else:
        sparse_by_column(indptr, indices, stored, zero_code, *asked)
    return [out[first : first + n + 1] for first, n in zip(offset, n_bins, strict=False)]


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.integers(1, 6), st.booleans())
def test_sparse_histograms_are_the_sums(seed, n_rows, n_features, by_row):
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(1, 256, n_features)
    codes = make_codes(rng, n_bins, n_rows)
    zero_code = np.array([rng.integers(0, n) for n in n_bins], np.uint8)
    codes = np.where(rng.random(codes.shape) < 0.6, zero_code[:, None], codes).astype(np.uint8)
    g, w = rng.integers(-32767, 32768, n_rows), rng.integers(1, 65536, n_rows)
    rows = rng.permutation(n_rows)[: rng.integers(0, n_rows + 1)].astype(np.uint32)
    features = rng.permutation(n_features)[: rng.integers(1, n_features + 1)]
    found = sparse(codes, zero_code, rows, pack(g, w), features, n_bins, by_row=by_row)
    expected = naive(codes, rows, g, w, n_bins)
    for j in features:
        np.testing.assert_array_equal(unpack(found[j]), expected[j])
        assert unpack(found[j].sum()).tolist() == [g[rows].sum(), w[rows].sum()]


@pytest.mark.parametrize("by_row", [True, False])
def test_sparse_sums_are_exact_at_the_largest_terms(by_row):
    n_rows = 131_077
    g, w = full_halves(n_rows, -1)
    codes = np.zeros((1, n_rows), np.uint8)
    codes[0, ::2] = 1
    rows = np.arange(n_rows, dtype=np.uint32)
    (found,) = sparse(codes, np.zeros(1, np.uint8), rows, pack(g, w), [0], [2], by_row=by_row)
    assert unpack(found).tolist() == [
        [g[1::2].sum(), w[1::2].sum()],
        [g[::2].sum(), w[::2].sum()],
        [0, 0],
    ]


# ---------------------------------------------------------------------------- siblings


def test_the_parent_less_a_child_is_the_sibling_and_may_replace_the_parent():
    rng = np.random.default_rng(3)
    n_bins = np.array([4, 2, 5])
    offset = offsets(n_bins)
    codes = make_codes(rng, n_bins, 60)
    g, w = rng.integers(-99, 99, 60), rng.integers(1, 9, 60)
    sides = [np.arange(60), np.arange(25), np.arange(25, 60)]
    parent, child, sibling = (
        pack(*np.concatenate(naive(codes, rows, g, w, n_bins)).T) for rows in sides
    )
    features = np.array([2, 0])
    before = parent.copy()
    columns = (offset, n_bins, np.zeros(3, bool))
    found = (np.empty(3), np.empty((3, 3), np.int64), np.empty(3, bool))
    kept = np.full(len(parent), JUNK)
    scales = (int(sibling[: offset[1]].sum()), (1.0, 1.0), 1)
    search_features(parent, child, kept, features, columns, *scales, 0, 2, found)
    for j in range(3):
        cell = slice(offset[j], offset[j + 1])
        np.testing.assert_array_equal(parent[cell], before[cell] if j == 1 else sibling[cell])
        np.testing.assert_array_equal(kept[cell], JUNK if j == 1 else sibling[cell])


# ---------------------------------------------------------------------------- narrowed


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_narrowed_columns_give_the_same_histograms_in_less_room(seed, n_features):
    from scipy.sparse import csr_matrix

    from secateur.data.binning import bin_table, narrowed
    from secateur.data.frames import read_table

    rng = np.random.default_rng(seed)
    X = csr_matrix(rng.random((40, n_features)) * (rng.random((40, n_features)) < 0.3))
    columns = bin_table(read_table(X), np.ones(40))
    features = np.flatnonzero(rng.random(n_features) < 0.6)
    narrow = narrowed(columns, features)
    assert narrow.offset[-1] == (columns.n_bins[features] + 1).sum()
    rows = np.sort(rng.choice(40, 25, replace=False)).astype(np.uint32)
    packed = pack(rng.integers(-99, 99, 40), rng.integers(1, 9, 40))
    found = []
    for each in (columns, narrow):
        held, out = each.codes, np.full(each.offset[-1], JUNK)
        cells = (held.row_start, held.row_bins, held.zero_code)
        sparse_by_row(*cells, packed, rows, features, each.offset, each.n_bins, out)
        found.append([out[each.offset[j] :][: each.n_bins[j] + 1].tolist() for j in features])
    assert found[0] == found[1]

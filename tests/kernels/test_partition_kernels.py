"""Rows to two sides: each row on one, in its old order; and the codes of a sparse column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur._kernels.partition import gather, goes_left, sparse_column, split_dense
from secateur._kernels.records import MISSING
from secateur.engines.boosted.trees import left_words


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.booleans())
def test_each_row_goes_to_one_side_and_keeps_its_place_there(seed, n_node, missing_left):
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, 1, 5, 63, 64, 200, 254, MISSING], 100).astype(np.uint8)
    left = rng.choice(255, rng.integers(0, 255), replace=False)
    rows = rng.permutation(100).astype(np.uint32)
    start = int(rng.integers(0, 100 - n_node + 1))
    stop = start + n_node
    before = rows.copy()
    scratch = np.empty(n_node, np.uint32)
    middle = split_dense(
        codes,
        left_words(sum(1 << b for b in left.tolist()), missing_left),
        rows,
        start,
        stop,
        scratch,
    )

    node = before[start:stop]
    is_left = np.isin(codes[node], left) & (codes[node] != MISSING)
    is_left |= (codes[node] == MISSING) & missing_left
    assert middle == start + is_left.sum()
    np.testing.assert_array_equal(rows[start:middle], node[is_left])
    np.testing.assert_array_equal(rows[middle:stop], node[~is_left])
    np.testing.assert_array_equal(rows[:start], before[:start])
    np.testing.assert_array_equal(rows[stop:], before[stop:])


@pytest.mark.parametrize("missing_left", [False, True])
def test_the_set_of_left_codes_holds_what_it_was_given(missing_left):
    bins = [0, 63, 64, 127, 128, 254]
    words = left_words(sum(1 << b for b in bins), missing_left)
    found = [code for code in range(256) if goes_left(code, words)]
    assert found == bins + [MISSING] * missing_left


def test_a_sparse_column_is_written_out():
    indptr, indices = np.array([0, 2, 2, 3]), np.array([1, 3, 0], np.int32)
    codes, zero_code = np.array([5, MISSING, 9], np.uint8), np.array([2, 1, 0], np.uint8)
    out = np.empty(4, np.uint8)
    expected = [[2, 5, 2, MISSING], [1, 1, 1, 1], [9, 0, 0, 0]]
    for j in range(3):
        sparse_column(indptr, indices, codes, zero_code, j, out)
        assert out.tolist() == expected[j]


def test_gather_follows_the_rows():
    packed, rows = np.arange(10) * 11, np.array([3, 1, 9, 0], np.uint32)
    out = np.full(4, -1)
    gather(packed, rows, 1, 3, out)
    assert out.tolist() == [-1, 11, 99, -1]

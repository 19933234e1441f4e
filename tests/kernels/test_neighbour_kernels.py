"""Nearest neighbours in increments are nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.featboost import nearest_neighbours

from secateur._kernels import neighbours
from secateur._kernels.neighbours import add_column, nearest


def found_by_kernel(test, train, k, n_known, mismatch=0.0, start=0):
    """Neighbours by all columns: some are added to the distances, the last ones are candidates."""
    distances = np.zeros((len(test) - start, len(train)))
    for c in range(n_known):
        add_column(
            np.ascontiguousarray(test[start:, c]),
            np.ascontiguousarray(train[:, c]),
            mismatch,
            0,
            len(distances),
            distances,
        )
    n_candidates = test.shape[1] - n_known
    out = np.full((n_candidates, len(test), min(k, len(train))), -7, np.int32)
    nearest(
        distances,
        np.ascontiguousarray(test[:, n_known:].T),
        np.ascontiguousarray(train[:, n_known:].T),
        np.full(n_candidates, mismatch),
        start,
        0,
        len(distances),
        out,
    )
    return out


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_test, n_train = draw(st.integers(1, 12)), draw(st.integers(1, 700))
    shape = draw(st.sampled_from([3, 1000]))  # few values: many equal distances
    columns = draw(st.integers(1, 4))
    test = rng.integers(0, shape, (n_test, columns)).astype(float)
    train = rng.integers(0, shape, (n_train, columns)).astype(float)
    return test * 0.37, train * 0.37


@settings(max_examples=80)
@given(tables(), st.integers(1, 6), st.data())
def test_the_nearest_are_those_of_the_twin(table, k, data):
    test, train = table
    n_known = data.draw(st.integers(0, test.shape[1] - 1))
    found = found_by_kernel(test, train, k, n_known)
    for c in range(test.shape[1] - n_known):
        columns = [*range(n_known), n_known + c]
        expected = nearest_neighbours(test[:, columns], train[:, columns], k)
        np.testing.assert_array_equal(found[c], expected)


@settings(max_examples=30)
@given(tables(), st.integers(1, 6))
def test_categories_differ_or_do_not(table, k):
    test, train = table
    found = found_by_kernel(test, train, k, test.shape[1] - 1, mismatch=2.5)
    distance = sum(
        2.5 * (test[:, c][:, None] != train[:, c][None, :]) for c in range(test.shape[1])
    )
    expected = np.argsort(distance, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found[0], expected)


def test_only_the_rows_of_the_block_are_written():
    rng = np.random.default_rng(0)
    test, train = rng.normal(size=(9, 3)), rng.normal(size=(40, 3))
    found = found_by_kernel(test, train, 2, 2, start=4)
    assert (found[:, :4] == -7).all()
    np.testing.assert_array_equal(found[0, 4:], nearest_neighbours(test[4:], train, 2))


@pytest.mark.parametrize("k", [1, 3])
def test_chunks_meet_at_every_length(k):
    rng = np.random.default_rng(1)
    for n_train in (1, 2, neighbours.CHUNK - 1, neighbours.CHUNK, neighbours.CHUNK + 1, 600):
        test, train = rng.normal(size=(5, 2)), rng.normal(size=(n_train, 2))
        found = found_by_kernel(test, train, k, 1)
        np.testing.assert_array_equal(found[0], nearest_neighbours(test, train, k))

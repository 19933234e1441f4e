"""Columns that are kept as one: their own codes are there, row by row."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur._kernels.records import MISSING, DenseCodes
from secateur._kernels.threads import Threads
from secateur.data import binning


def join(codes, n_bins, **limits):
    """As a fit would, of however few rows."""
    none = np.zeros(len(n_bins), np.bool_)
    more = (n_bins, binning.offset_of(n_bins), (), none, none)
    columns = binning.BinnedColumns(DenseCodes(codes), codes.shape[1], *more)
    limits = {"MIN_SAVED": 0.0, "MIN_BUNDLED_ROWS": 0, **limits}
    with mock.patch.multiple(binning, **limits), Threads(2) as threads:
        return binning.with_bundles(columns, threads).bundles


def assert_whole(found, codes):
    """Every bundled feature's own codes are those that it has alone."""
    for j in np.flatnonzero(found.column >= 0):
        np.testing.assert_array_equal(found.own[j][found.codes[found.column[j]]], codes[j])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_code_is_lost(seed):
    rng = np.random.default_rng(seed)
    n_bins = rng.choice([1, 2, 3, 9, 40, 64, 65, 255], 14)
    codes = (rng.integers(0, 255, (14, 700)) % n_bins[:, None]).astype(np.uint8)
    codes[:, : rng.integers(0, 700)] = 0  # columns that mostly agree have few combinations
    codes[rng.random(codes.shape) < 0.02 * (seed % 3)] = MISSING
    found = join(codes, n_bins)
    assert_whole(found, codes)
    assert (found.column[(n_bins == 1) | (n_bins > binning.MAX_BUNDLED_BINS)] == -1).all()


def test_columns_of_one_category_are_one_column():
    category = np.random.default_rng(0).integers(0, 70, 3_000)
    codes = (category == np.arange(70)[:, None]).astype(np.uint8)
    found = join(codes, np.full(70, 2))
    assert len(found.codes) == 1
    assert (found.column == 0).all()
    assert_whole(found, codes)
    assert len(np.unique(found.codes)) == 70


def test_what_the_sample_did_not_show_stays_out():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 64, (3, 40_000)).astype(np.uint8)
    codes[2] = codes[0]
    codes[1, ::4] = 0  # all that a sample of every fourth row sees
    found = join(codes, np.full(3, 64))
    assert found.column.tolist() == [0, -1, 0]
    assert_whole(found, codes)


def test_nothing_is_bundled_where_little_is_saved():
    codes = np.random.default_rng(2).integers(0, 64, (4, 1_000)).astype(np.uint8)
    codes[3] = codes[0]
    n_bins = np.full(4, 64)
    assert join(codes, n_bins, MIN_SAVED=0.5) is None
    assert join(codes, n_bins, MIN_SAVED=0.25).column.tolist() == [0, -1, -1, 0]

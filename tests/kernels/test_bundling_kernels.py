"""Bundles of columns: pairs of codes are numbered in order, and histograms are split up again."""

from __future__ import annotations

import numpy as np
import pytest

from secateur._kernels.binning import bundle_pairs, mark_pairs
from secateur._kernels.histogram import spread_bins, spread_cells
from secateur._kernels.records import MISSING, N_CODES


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_occur_are_numbered_in_their_order(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, 60)).astype(np.uint8)
    b[rng.random(60) < 0.2] = MISSING
    pairs = sorted(set(zip(a.tolist(), b.tolist(), strict=True)))
    seen = np.ones(N_CODES * N_CODES, np.uint8)
    mark_pairs(a, b, seen)
    assert [divmod(int(p), N_CODES) for p in np.flatnonzero(seen)] == pairs
    bundled = a.copy()
    bundle_pairs(b, (np.cumsum(seen) - 1).astype(np.uint8), bundled)
    expected = [pairs.index(each) for each in zip(a.tolist(), b.tolist(), strict=True)]
    assert bundled.tolist() == expected


def test_histograms_of_bundles_are_split_up_by_feature():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (2, 80)).astype(np.uint8)
    codes[1, rng.random(80) < 0.2] = MISSING
    packed = rng.integers(-(2**40), 2**40, 80)
    pairs = sorted(set(map(tuple, codes.T.tolist())))
    bundle = np.array([pairs.index(tuple(column)) for column in codes.T.tolist()])
    own = np.zeros((2, N_CODES), np.uint8)
    own[:, : len(pairs)] = np.array(pairs).T
    sums = np.zeros((1, N_CODES), np.int64)
    np.add.at(sums[0], bundle, packed)
    column, features = np.zeros(2, np.int64), np.arange(2)
    offset, n_bins = np.array([0, 4]), np.array([3, 3])
    histogram = np.full(8, -1, np.int64)
    spread_bins(sums, column, own, features, offset, n_bins, 0, 2, histogram)
    cells = np.full((2, N_CODES), -1, np.int64)
    spread_cells(sums, column, own, features, np.array([1, 0]), cells)
    for j in range(2):
        values = [packed[codes[j] == code].sum() for code in (0, 1, 2, MISSING)]
        np.testing.assert_array_equal(histogram[offset[j] : offset[j] + 4], values)
        np.testing.assert_array_equal(cells[1 - j, [0, 1, 2, MISSING]], values)
        assert cells[1 - j].sum() == packed.sum()

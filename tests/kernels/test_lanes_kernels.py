"""Blocks of features beside each other against the search of one feature, and against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from secateur._kernels.lanes import (
    LANES,
    add_cells,
    add_stored,
    add_zeros,
    best_scores,
    block_gains,
    copy_bins,
    search_space,
)
from secateur._kernels.splitting import search_features

N_ROWS, N_FEATURES = 50, 40
STEPS, MIN_WEIGHT = (0.5, 0.25), 3


def block(seed):
    """Bins of all rows in one block, some lanes of which have no feature, and packed rows."""
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(2, 20, N_FEATURES)
    lanes = np.full(LANES, -1)
    lanes[: LANES - 4] = rng.permutation(N_FEATURES)[: LANES - 4]
    cells = np.zeros((N_ROWS, LANES), np.uint8)
    for l, j in enumerate(lanes):
        if j >= 0:  # the last bin is for missing values
            cells[:, l] = rng.integers(0, n_bins[j] + (j % 3 == 0), N_ROWS)
    packed = (rng.integers(-9, 9, N_ROWS) << 32) + rng.integers(1, 3, N_ROWS)
    rows = np.sort(rng.permutation(N_ROWS)[:30]).astype(np.uint32)
    return n_bins, lanes, cells, packed, rows


def histogram(cells, packed, rows, n):
    """Packed sums by bin and lane."""
    bins = np.zeros((n, LANES), np.int64)
    for l in range(LANES):
        np.add.at(bins[:, l], cells[rows, l], packed[rows])
    return bins


@pytest.mark.parametrize("n_lanes", [1, 20, LANES])
def test_cells_are_added_to_the_bins_of_their_lanes(n_lanes):
    _, _, cells, packed, rows = block(0)
    bins = np.zeros(21 * LANES, np.int64)
    add_cells(cells, n_lanes, packed, rows, bins)
    expected = histogram(cells, packed, rows, 21)
    expected[:, 4 * -(-n_lanes // 4) :] = 0  # four lanes at a time
    np.testing.assert_array_equal(bins.reshape(-1, LANES), expected)


def test_stored_cells_and_zeros_make_the_same_bins():
    n_bins, lanes, cells, packed, rows = block(1)
    base = 5 * LANES  # other blocks come before
    offset, zero_code = np.zeros(N_FEATURES, np.int64), np.zeros(N_FEATURES, np.uint8)
    is_stored = np.zeros(cells.shape, np.bool_)
    for l, j in enumerate(lanes):
        if j >= 0:
            offset[j], zero_code[j] = base + l, n_bins[j] // 2
            is_stored[:, l] = cells[:, l] != zero_code[j]
    row_start = np.concatenate([[0], np.cumsum(is_stored.sum(axis=1))])
    row_bins = (base + cells.astype(np.int64) * LANES + np.arange(LANES))[is_stored]
    all_bins = np.zeros(base + 21 * LANES, np.int64)
    total = add_stored(row_start, row_bins.astype(np.uint32), packed, rows, all_bins)
    assert total == packed[rows].sum()
    assert not all_bins[:base].any()
    bins = all_bins[base:]
    add_zeros(base, lanes, offset, zero_code, total, bins)
    expected = histogram(cells, packed, rows, 21)
    expected[:, lanes < 0] = 0
    np.testing.assert_array_equal(bins.reshape(-1, LANES), expected)


@pytest.mark.parametrize("seed", range(5))
def test_gains_are_those_of_single_features_bit_for_bit(seed):
    n_bins, lanes, cells, packed, rows = block(seed)
    bins, base = histogram(cells, packed, rows, 21), 7 * LANES
    total, is_categorical = int(packed[rows].sum()), np.arange(N_FEATURES) % 5 == 1
    offset = np.zeros(N_FEATURES, np.int64)
    offset[lanes[lanes >= 0]] = base + np.flatnonzero(lanes >= 0)
    is_special = is_categorical | (np.arange(N_FEATURES) % 3 == 0)
    gain = np.full(N_FEATURES, np.nan)
    columns = (offset, n_bins, is_categorical, is_special)
    block_gains(bins.ravel(), base, lanes, columns, total, STEPS, MIN_WEIGHT, search_space(), gain)
    for l, j in enumerate(lanes):
        if j < 0:
            continue
        own = np.zeros(n_bins[j] + 1, np.int64)
        copy_bins(bins.ravel(), l, n_bins[j], own)
        np.testing.assert_array_equal(own, bins[: n_bins[j] + 1, l])
        found = np.full(1, np.nan), np.full((1, 3), -9), np.ones(1, np.bool_)
        one = (np.array([0]), n_bins[j : j + 1], is_categorical[j : j + 1])
        none = np.empty(0, np.int64)
        search_features(own, none, none, np.array([0]), one, total, STEPS, MIN_WEIGHT, 0, 1, found)
        assert gain[j] == found[0][0]
    assert np.isnan(gain[np.setdiff1d(np.arange(N_FEATURES), lanes)]).all()
    assert (gain > 0.0).any()


def test_scores_by_definition():
    _, _, cells, packed, rows = block(8)
    bins, total = histogram(cells, packed, rows, 20), int(packed[rows].sum())
    score = np.empty(LANES)
    best_scores(bins.ravel(), total, MIN_WEIGHT, np.empty(LANES, np.int64), score)
    low = 0xFFFFFFFF
    for l in range(LANES):
        expected = -1.0
        for side in np.cumsum(bins[:, l]).tolist():
            g, w, g_all, w_all = side >> 32, side & low, total >> 32, total & low
            if min(w, w_all - w) >= MIN_WEIGHT:
                d = g * (w_all - w) - (g_all - g) * w
                expected = max(expected, d * d / (w * (w_all - w)))
        assert score[l] == expected

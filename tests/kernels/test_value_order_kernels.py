"""Searching by value against searching histograms, and against numpy."""

import numpy as np
import pytest

from secateur._kernels.splitting import LOW, search_buffers, search_gains
from secateur._kernels.value_order import (
    left_sides,
    level_gains,
    number_nodes,
    one_histogram,
    sort_cells,
    still_divisible,
)

N_ROWS, N_FEATURES, N_BINS = 40, 7, 30
SIZES = [11, 3, 20, 6]  # of the nodes of a level
MIN_WEIGHT, STEPS = 2, (0.5, 0.25)


def level(seed):
    """Codes, their order, packed rows, and the nodes of a level: rows in order, bounds, sums."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, N_BINS, (N_FEATURES, N_ROWS)).astype(np.uint8)
    codes[0] = 5  # no node can be split on it
    codes[1] = rng.integers(0, 2, N_ROWS)
    cells = np.empty(codes.shape, np.uint32)
    sort_cells(codes, np.arange(N_FEATURES), cells)
    packed = (rng.integers(-9, 9, N_ROWS) << 32) + rng.integers(1, 3, N_ROWS)
    order = rng.permutation(N_ROWS).astype(np.uint32)
    stops = np.cumsum(SIZES)
    bounds = np.stack([stops - SIZES, stops], axis=1)
    sums = np.array([packed[order[a:b]].sum() for a, b in bounds])
    return codes, cells, packed, order, bounds, sums


def numbered(order, bounds, sums, min_weight=MIN_WEIGHT):
    """The node of each row, and where the sums of nodes begin."""
    node_of, start = np.empty(N_ROWS, np.uint8), np.empty(len(SIZES) + 1, np.int64)
    number_nodes(order, bounds, sums, min_weight, 0, len(SIZES), node_of, start)
    return node_of, start


def histogram(codes, packed, rows):
    """Packed sums by feature and code, one more bin for missing values."""
    bins = np.zeros((len(codes), N_BINS + 1), np.int64)
    for j, column in enumerate(codes):
        np.add.at(bins[j], column[rows], packed[rows])
    return bins


def test_cells_are_sorted_by_code_and_then_by_row():
    codes, cells, *_ = level(0)
    for column, found in zip(codes, cells, strict=True):
        order = np.argsort(column, kind="stable")
        assert (found >> 8).tolist() == order.tolist()
        assert (found & 255).tolist() == column[order].tolist()


def test_rows_outside_of_nodes_and_in_light_ones_have_no_node():
    _, _, _, order, bounds, sums = level(1)
    weight = sums & LOW
    node_of, start = numbered(order, bounds, sums, min_weight=int(weight[1]) // 2 + 1)
    for q, (a, b) in enumerate(bounds):
        is_light = weight[q] < 2 * (weight[1] // 2 + 1)
        assert set(node_of[order[a:b]]) == {len(SIZES) if is_light else q}
        assert start[q + 1] - start[q] >= (0 if is_light else b - a)
    assert start[2] == start[1]


def test_left_sides_are_the_sums_up_to_each_code():
    codes, cells, packed, order, bounds, sums = level(2)
    node_of, start = numbered(order, bounds, sums)
    n = len(SIZES) + 1
    place, left = np.empty(n, np.uint64), np.zeros(start[-1] + N_ROWS, np.int64)
    work = (place, np.empty(n, np.int64), np.empty(n, np.uint32))
    left_sides(cells[3], packed, node_of, start, work, left)
    for q, (a, b) in enumerate(bounds):
        bins = histogram(codes, packed, order[a:b])[3]
        expected = np.cumsum(bins)[bins != 0]
        assert left[start[q] : int(place[q]) + 1].tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_gains_are_those_of_histograms_bit_for_bit(seed):
    codes, cells, packed, order, bounds, sums = level(seed)
    node_of, start = numbered(order, bounds, sums)
    features = np.array([0, 1, 2, 3, 6])
    shape = (len(SIZES), N_FEATURES)
    gain, divisible = np.full(shape, np.nan), np.ones(shape, np.bool_)
    level_gains(
        cells, packed, features, node_of, start, sums, STEPS, MIN_WEIGHT, gain, divisible
    )  # fmt: skip
    offset = np.arange(N_FEATURES + 1) * (N_BINS + 1)
    columns = (offset, np.full(N_FEATURES, N_BINS), np.zeros(N_FEATURES, np.bool_))
    for q, (a, b) in enumerate(bounds):
        bins = histogram(codes, packed, order[a:b]).reshape(-1)
        expected, can_be = np.full(N_FEATURES, np.nan), np.ones(N_FEATURES, np.bool_)
        search_gains(
            bins, bins[:0], features, columns, sums[q], STEPS, MIN_WEIGHT, search_buffers(),
            expected, can_be,
        )  # fmt: skip
        np.testing.assert_array_equal(gain[q], expected)
        np.testing.assert_array_equal(divisible[q], can_be)
    assert not divisible[:, 0].any()
    assert divisible[:, 3].any()


def test_the_histogram_of_one_feature_in_one_node():
    codes, cells, packed, order, bounds, sums = level(3)
    node_of, _ = numbered(order, bounds, sums)
    bins = np.ones(256, np.int64)
    one_histogram(cells[4], packed, node_of, 2, bins)
    expected = histogram(codes, packed, order[slice(*bounds[2])])[4]
    assert bins[: N_BINS + 1].tolist() == expected.tolist()
    assert not bins[N_BINS + 1 :].any()


def test_features_stay_that_a_split_node_is_divisible_on():
    divisible = np.array([[True, False, False, True], [False, True, False, True]])
    features = np.array([0, 1, 2])
    is_split = np.array([False, True])
    assert still_divisible(features, divisible, is_split).tolist() == [1]
    assert still_divisible(features, divisible, ~is_split).tolist() == [0]
    assert still_divisible(features, divisible, is_split & False).tolist() == []

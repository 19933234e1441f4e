"""The best split of a histogram: planted truths, and every candidate tried by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur._kernels.histogram import dense_histograms
from secateur._kernels.lanes import LANES, block_gains, search_space
from secateur._kernels.records import MISSING
from secateur._kernels.splitting import (
    LOW,
    order_categories,
    pick_feature,
    search_features,
    search_rows,
)

UNIT = (0.5, 0.25)
NONE = np.empty(0, np.int64)


def pack(pairs):
    """One number for each pair of a gradient and a weight."""
    pairs = np.asarray(pairs, dtype=np.int64)
    return (pairs[..., 0] << 32) + pairs[..., 1]


def search(pairs, *, is_categorical=False, min_weight=1):
    """Gain, last position of the left side, missing left, G left, W left of one feature.

    ``pairs`` has the missing rows last.
    """
    pairs = np.array(pairs, dtype=np.int64)
    n = len(pairs) - 1
    columns = (np.array([0, n + 1]), np.array([n]), np.array([is_categorical]))
    gain, split, divisible = np.full(1, np.nan), np.full((1, 3), -9), np.ones(1, bool)
    total = int(pack(pairs).sum())
    found = (gain, split, divisible)
    search_features(
        pack(pairs), NONE, NONE, np.array([0]), columns, total, UNIT, min_weight, 0, 1, found
    )
    # Divisible is what any node below could be split on: more than this one, never less.
    assert divisible[0] <= (pairs[:, 1].sum() - pairs[:, 1].max() >= min_weight)
    assert divisible[0] or gain[0] == -1.0
    assert gain[0] == gain_in_block(pairs, is_categorical, min_weight)
    last, missing_left, left = split[0].tolist()
    return float(gain[0]), last, missing_left, left >> 32, left & LOW


def gain_in_block(pairs, is_categorical, min_weight):
    """The gain as that of the third lane of a block, the others of which have no feature."""
    n, n_bins = len(pairs) - 1, np.array([len(pairs) - 1])
    bins = np.zeros((n + 1, LANES), np.int64)
    bins[:, 2], lanes, gain = pack(pairs), np.full(LANES, -1), np.full(1, np.nan)
    lanes[2] = 0
    is_special = np.array([is_categorical or pairs[-1, 1] > 0])
    columns = (np.array([2 + 640]), n_bins, np.array([is_categorical]), is_special)
    block_gains(
        bins.ravel(), 640, lanes, columns, int(pack(pairs).sum()), UNIT, min_weight,
        search_space(), gain,
    )  # fmt: skip
    return gain[0]


def score(G, W):
    return (G * UNIT[0]) ** 2 / (W * UNIT[1])


def score_of_sides(gl, wl, gr, wr):
    """What the two sides differ by, in the form that the module states; dSSE in units, times W."""
    d = float(gl * wr) - float(gr * wl)
    return d * d / float(wl * wr)


def naive(pairs, order, min_weight):
    """Every prefix of the order with the missing rows right, then left; the first best."""
    pairs = np.asarray(pairs)
    G, W = pairs.sum(axis=0)
    missing_g, missing_w = pairs[-1]
    best = (-1.0, -1, 0, 0, 0)
    for m in range(1, len(order) + 1):
        g, w = pairs[order[:m]].sum(axis=0)
        for left in (0, 1):
            if left and (missing_w == 0 or m == len(order)):
                continue
            gl, wl = g + left * missing_g, w + left * missing_w
            if wl < min_weight or W - wl < min_weight:
                continue
            s = score_of_sides(gl, wl, G - gl, W - wl)
            if s > best[0]:
                best = (s, m - 1, left, int(gl), int(wl))
    if best[1] < 0:
        return -1.0
    return (best[0] / W * (UNIT[0] ** 2 / UNIT[1]), *best[1:])


@settings(max_examples=60)
@given(st.tuples(*[st.integers(-(2**20), 2**20)] * 2), st.tuples(*[st.integers(1, 2**20)] * 2))
def test_the_gain_is_the_fall_of_the_squared_error(g, w):
    gain = search([(g[0], w[0]), (g[1], w[1]), (0, 0)])[0]
    whole = score(sum(g), sum(w))
    sides = score(g[0], w[0]) + score(g[1], w[1])
    assert gain == pytest.approx(sides - whole, rel=1e-9, abs=1e-12 * sides)


def test_a_mirrored_feature_gains_exactly_as_much():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sides = np.stack([rng.integers(-(2**30), 2**30, 2), rng.integers(1, 2**30, 2)], axis=1)
        rest = [(0, 0)]
        assert search([*sides, *rest])[0] == search([*sides[::-1], *rest])[0]


@st.composite
def histograms(draw):
    """Small numbers, so that many candidates tie; some bins empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, 3, 5, 8, 12, 24, 25, 60]))  # few and many bins
    w = rng.integers(0, 4, n + 1)
    w[0] = max(w[0], 1)
    w[-1] *= rng.integers(0, 2)
    g = np.where(w > 0, rng.integers(-3, 4, n + 1), 0)
    return np.column_stack([g, w])


@settings(max_examples=150)
@given(histograms(), st.integers(1, 5))
def test_all_candidates_by_hand(pairs, min_weight):
    expected = naive(pairs, list(range(len(pairs) - 1)), min_weight)
    found = search(pairs, min_weight=min_weight)
    if not isinstance(expected, tuple):
        assert found[0] == -1.0
        return
    gain, position, *rest = expected
    behind = pairs[position + 1 : -1, 1]
    n_empty = int(np.argmax(behind > 0)) if (behind > 0).any() else len(behind)
    assert found == (gain, position + n_empty // 2, *rest)


def test_a_threshold_stands_in_the_middle_of_a_gap():
    filled, empty = (-4, 2), (0, 0)
    assert search([filled, empty, empty, empty, empty, (4, 2), empty])[1] == 2
    assert search([filled, empty, (4, 2), empty])[1] == 0


@settings(max_examples=150)
@given(histograms(), st.integers(1, 5))
def test_all_candidates_by_hand_for_categories(pairs, min_weight):
    present = [b for b in range(len(pairs) - 1) if pairs[b, 1] > 0]
    order = sorted(present, key=lambda b: (pairs[b, 0] / pairs[b, 1], b))
    expected = naive(pairs, order, min_weight)
    found = search(pairs, is_categorical=True, min_weight=min_weight)
    assert found == expected if isinstance(expected, tuple) else found[0] == -1.0


def test_a_planted_threshold():
    pairs = [(-8, 4), (-8, 4), (20, 4), (20, 4), (0, 0)]
    gain, last, missing_left, g, w = search(pairs)
    assert (last, missing_left, g, w) == (1, 0, -16, 8)
    assert gain == score(-16, 8) + score(40, 8) - score(24, 16)


@pytest.mark.parametrize(("missing", "side"), [((-9, 4), 1), ((9, 4), 0)])
def test_missing_rows_go_with_their_like(missing, side):
    assert search([(-10, 4), (10, 4), missing])[1:3] == (0, side)


def test_missing_against_all_values():
    assert search([(-10, 4), (-10, 4), (30, 4)])[1:] == (1, 0, -20, 8)
    assert search([(-10, 4), (30, 4)])[1:] == (0, 0, -10, 4)


def test_planted_categories():
    pairs = [(9, 3), (-9, 3), (10, 3), (0, 0), (-8, 3), (0, 0)]
    gain, last, missing_left, g, w = search(pairs, is_categorical=True)
    order = np.empty(256, np.int64)
    assert order_categories(pack(pairs), 0, 5, UNIT, order) == 4
    assert order[:4].tolist() == [1, 4, 0, 2]
    assert (last, missing_left, g, w) == (1, 0, -17, 6)
    assert gain > 0


def test_categories_of_equal_means_keep_the_order_of_their_numbers():
    order = np.empty(256, np.int64)
    pairs = [(2, 1), (4, 2), (-1, 1), (6, 3), (-2, 2), (0, 0)]
    before = np.array([7, 7])  # another feature's bins
    assert order_categories(np.append(before, pack(pairs)), 2, 5, UNIT, order) == 5
    assert order[:5].tolist() == [2, 4, 0, 1, 3]


def test_the_first_of_equal_thresholds_wins():
    # An empty bin gives the same two sides twice; mirrored sides give the same score.
    assert search([(-5, 2), (0, 0), (5, 2), (0, 0)])[1] == 0
    assert search([(5, 2), (-10, 4), (5, 2), (0, 0)])[1] == 0


def test_nothing_is_admissible():
    assert search([(5, 2), (0, 0)])[0] == -1.0
    assert search([(5, 2), (-5, 3), (0, 0)], min_weight=3)[0] == -1.0
    assert search([(5, 3), (-5, 3), (0, 0)], min_weight=3)[0] > 0
    assert search([(0, 0), (5, 3), (0, 0)])[0] == -1.0
    assert search([(0, 0), (5, 3)])[0] == -1.0  # all rows missing


def test_only_the_listed_features_are_searched():
    pairs = [(-8, 4), (8, 4), (0, 0)] * 3
    columns = (np.array([0, 3, 6, 9]), np.array([2, 2, 2]), np.zeros(3, bool))
    gain, split, divisible = np.full(3, np.nan), np.full((3, 3), -9), np.zeros(3, bool)
    found = (gain, split, divisible)
    search_features(pack(pairs), NONE, NONE, np.array([2, 0, 1]), columns, 24, UNIT, 1, 0, 2, found)
    assert np.isnan(gain).tolist() == [False, True, False]
    assert (split[1] == -9).all()


def test_large_sums_stay_exact():
    # Both halves as full as the scales allow, with either sign.
    for big in (2**30, -(2**30) + 1):
        gain, last, _, g, w = search([(big, 2**31), (-big, 2**31 - 1), (0, 0)])
        assert (last, g, w) == (0, big, 2**31)
        assert gain > 0


# ---------------------------------------------------------------------------- the choice


def pick(gain, prices, *, used=None, features=None, floor=0.0):
    gain, prices = np.array(gain, dtype=float), np.array(prices, dtype=float)
    used = np.zeros(len(gain), bool) if used is None else np.array(used, dtype=bool)
    features = np.arange(len(gain)) if features is None else np.array(features)
    penalty, unit = 1.0, 2.0
    return pick_feature(features, gain, used, prices, penalty, unit, floor)


def test_the_largest_gain_after_its_price_is_picked():
    assert pick([4.0, 8.0, 10.0], [0.0, 1.0, 3.5]) == (1, 3.0)
    assert pick([4.0, 8.0, 10.0], [0.0, 9.0, 9.0]) == (0, 2.0)


def test_nothing_is_picked_where_nothing_pays():
    assert pick([4.0, 8.0], [2.0, 4.0]) == (-1, 0.0)  # exactly nothing is not enough
    assert pick([-1.0, 0.0], [0.0, 0.0]) == (-1, 0.0)
    assert pick([4.0], [0.0], floor=4.0) == (-1, 0.0)
    assert pick([], []) == (-1, 0.0)


def test_ties_go_to_the_used_feature_and_then_to_the_first():
    assert pick([4.0, 4.0, 4.0], [0.0, 0.0, 0.0])[0] == 0
    assert pick([4.0, 4.0, 4.0], [0.0, 0.0, 0.0], used=[0, 1, 1])[0] == 1
    assert pick([4.0, 6.0, 4.0], [0.0, 1.0, 0.0], used=[1, 0, 1])[0] == 0
    assert pick([6.0, 4.0, 4.0], [1.0, 0.0, 0.0], used=[0, 0, 1])[0] == 2


def test_only_what_is_offered_is_picked():
    assert pick([9.0, 8.0, 7.0], [0.0] * 3, features=[1, 2]) == (1, 4.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_a_search_of_rows_is_that_of_their_histograms(seed, n_asked, in_order):
    rng = np.random.default_rng(seed)
    n_rows, n_features = 80, 11
    n_bins = rng.choice([1, 2, 3, 24, 25, 254, 255], n_features)
    codes = (rng.integers(0, 255, (n_features, n_rows)) % n_bins[:, None]).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1 * (seed % 2)] = MISSING
    columns = (np.append(0, np.cumsum(n_bins + 1)), n_bins, rng.random(n_features) < 0.3)
    rows = np.arange(n_rows) if in_order else np.sort(rng.choice(n_rows, 50, replace=False))
    rows = rows.astype(np.uint32)
    packed = pack(
        np.column_stack([rng.integers(-50, 50, len(rows)), rng.integers(1, 5, len(rows))])
    )
    asked = rng.permutation(n_features)[:n_asked]
    node = (int(packed.sum()), UNIT, np.int64(rng.integers(1, 30)))
    given_rows = (rows, packed, in_order)

    def nothing_yet():
        return np.full(n_features, np.nan), np.full((n_features, 3), -9), np.ones(n_features, bool)

    histogram, expected, found = np.zeros(columns[0][-1], np.int64), nothing_yet(), nothing_yet()
    dense_histograms(codes, *given_rows, asked, *columns[:2], 0, n_asked, histogram)
    search_features(histogram, NONE, NONE, asked, columns, *node, 0, n_asked, expected)
    search_rows(codes, given_rows, asked, columns, *node, 0, n_asked, found)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)

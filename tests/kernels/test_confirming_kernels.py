"""Histograms in the cells of a tree, and whether a feature left out would have changed it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur._kernels.confirming import bound_gains, dense_cells, find_better
from secateur._kernels.records import MISSING, N_CODES
from secateur._kernels.splitting import search_features

STEPS = (0.125, 0.5)


def pack(g, w):
    return (np.asarray(g, dtype=np.int64) << 32) + np.asarray(w, dtype=np.int64)


class World:
    """Rows in four cells, which two nodes and a root put together.

    node 0        [0 1 2 3]
    nodes 1, 2    [0 1] [2 3]
    nodes 3 .. 6  the cells
    """

    cell = np.array([-1, -1, -1, 0, 1, 2, 3])
    below = np.array([1, 3, 5, -1, -1, -1, -1])
    members = ([0, 1, 2, 3], [0, 1], [2, 3], [0], [1], [2], [3])

    def __init__(self, seed, n_rows=120, n_features=5, *, large=False):
        rng = np.random.default_rng(seed)
        self.n_bins = rng.integers(1, 9, n_features)
        self.n_bins[0] = 255
        self.is_categorical = rng.random(n_features) < 0.3
        self.codes = np.stack([rng.integers(0, n, n_rows) for n in self.n_bins]).astype(np.uint8)
        for j in np.flatnonzero(rng.random(n_features) < 0.4):
            self.codes[j, rng.random(n_rows) < 0.2] = MISSING
        self.cell_of = np.append(np.arange(4), rng.integers(0, 4, n_rows - 4))
        most = 30_000 if large else 4
        g = rng.integers(-most, most + 1, n_rows) + 2 * self.cell_of
        self.packed = pack(g, rng.integers(1, 4, n_rows))
        self.totals = np.array([self.packed[self.rows(q)].sum() for q in range(7)])

    def rows(self, q):
        return np.flatnonzero(np.isin(self.cell_of, self.members[q]))

    def naive_cells(self, features):
        out = np.zeros((len(features), 4 * N_CODES), np.int64)
        for f, j in enumerate(features):
            np.add.at(out[f], self.cell_of * N_CODES + self.codes[j], self.packed)
        return out

    def gains(self, q, min_weight):
        """The exact dSSE of every feature in a node, by the search of a node."""
        n_features = len(self.n_bins)
        offset = np.concatenate([[0], np.cumsum(self.n_bins + 1)])
        histogram = np.zeros(offset[-1], np.int64)
        for j, n in enumerate(self.n_bins):
            places = offset[j] + np.minimum(self.codes[j].astype(int), n)
            np.add.at(histogram, places[self.rows(q)], self.packed[self.rows(q)])
        gain, split = np.empty(n_features), np.empty((n_features, 3), np.int64)
        none = np.empty(0, np.int64)
        search_features(
            histogram, none, none, np.arange(n_features),
            (offset, self.n_bins, self.is_categorical), self.totals[q], STEPS, min_weight,
            0, n_features, (gain, split, np.empty(n_features, bool)),
        )  # fmt: skip
        return gain

    def ask(self, features, best, penalties, *, scale=(2.0, 0.0), min_weight=1, first_use=-1):
        """Which of the features some node would have chosen instead of its choice."""
        better = np.zeros(len(features), bool)
        penalties = np.broadcast_to(np.asarray(penalties, dtype=float), (7, len(features))).copy()
        find_better(
            self.naive_cells(features), features, self.n_bins, self.is_categorical,
            (self.cell, self.below, self.totals),
            (np.asarray(best, dtype=float), np.full(7, first_use), penalties),
            scale, STEPS, min_weight, better,
        )  # fmt: skip
        return better


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_dense_cells_are_the_sums(seed, in_order):
    world = World(seed)
    features = np.array([4, 0, 2])
    rows = np.arange(120, dtype=np.uint32)
    if not in_order:
        rows = np.random.default_rng(seed).permutation(120).astype(np.uint32)
    place = (world.cell_of * N_CODES).astype(np.uint32)
    out = np.full((3, 4 * N_CODES), -77, np.int64)
    at = np.array([2, 0, 1])
    given_rows = (world.codes, rows, place, world.packed, in_order)
    dense_cells(*given_rows, features, world.n_bins, at, out)
    known = world.naive_cells(features)
    for f, j in enumerate(features):
        its_codes = [*range(world.n_bins[j]), MISSING]
        places = [c * N_CODES + code for c in range(4) for code in its_codes]
        np.testing.assert_array_equal(out[at[f], places], known[f, places])
        others = np.setdiff1d(np.arange(4 * N_CODES), places)
        assert (out[at[f], others] == -77).all()  # no time is lost on codes that no row has


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 12))
def test_the_verdict_is_that_of_the_search_of_every_node(seed, large, min_weight):
    world = World(seed, large=large)
    features = np.array([0, 3, 1, 4, 2])
    gains = np.array([world.gains(q, min_weight)[features] for q in range(7)])
    rng = np.random.default_rng(seed)
    penalties = rng.choice([0.0, 0.5, 3.0], 5)
    net = np.where(gains > 0, gains / 2.0 - penalties, -np.inf)
    # What every node chose ties with the best feature: nothing is better. Then one is less good.
    best = np.maximum(net.max(axis=1), 0.0)
    assert not world.ask(features, best, penalties, min_weight=min_weight).any()
    for q in np.flatnonzero(best > 0):
        nearly = best.copy()
        nearly[q] = np.nextafter(best[q], 0.0)
        found = world.ask(features, nearly, penalties, min_weight=min_weight)
        np.testing.assert_array_equal(found, net[q] == best[q])


def test_of_equals_the_smaller_index_wins_over_a_purchase():
    world = World(3)
    gains = np.array([world.gains(q, 1) for q in range(7)]) / 2.0
    best = np.maximum(gains.max(axis=1), 0.0)
    features = np.arange(5)
    first = np.flatnonzero((gains == best[:, None]).any(axis=0))
    assert not world.ask(features, best, 0.0, first_use=int(first.min())).any()
    np.testing.assert_array_equal(
        np.flatnonzero(world.ask(features, best, 0.0, first_use=99)), first
    )


def test_what_is_not_for_sale_is_not_better():
    world = World(5)
    features = np.arange(5)
    assert world.ask(features, np.zeros(7), 0.0).any()
    assert not world.ask(features, np.zeros(7), np.inf).any()
    only_root = np.full((7, 5), np.inf)
    only_root[0] = 0.0
    gains = world.gains(0, 1)
    np.testing.assert_array_equal(world.ask(features, np.zeros(7), only_root), gains > 0)


@pytest.mark.parametrize("large", [False, True])
def test_gains_below_the_floor_do_not_count(large):
    world = World(7, large=large)
    features = np.arange(5)
    most = max(world.gains(q, 1).max() for q in range(7))
    free = np.zeros(5)
    assert world.ask(features, np.zeros(7), free, scale=(2.0, 0.99 * most)).any()
    assert not world.ask(features, np.zeros(7), free, scale=(2.0, most)).any()


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_bounds_of_parts_add_up_to_at_least_the_gain_of_the_whole(seed, n_parts):
    rng = np.random.default_rng(seed)
    n_rows, n_bins, n_cells = 60, 5, 2
    codes = rng.integers(0, n_bins, (2, n_rows)).astype(np.uint8)
    codes[0, rng.random(n_rows) < 0.2] = MISSING
    cells = rng.integers(0, n_cells, n_rows).astype(np.uint32) * N_CODES
    g, w = rng.integers(-50, 60, n_rows), rng.integers(1, 4, n_rows)
    packed = (g.astype(np.int64) << 32) + w
    part_of = rng.integers(0, n_parts, n_rows)
    nodes = np.array([-1, 0, 1]), np.array([1, -1, -1])
    unit, features = (0.5, 1.0), np.arange(2)
    sets = np.zeros(2, np.bool_)

    def bounds(rows):
        histograms = np.empty((2, n_cells * N_CODES), np.int64)
        rows = np.flatnonzero(rows).astype(np.uint32)
        bins = np.full(2, n_bins)
        dense_cells(codes, rows, cells, packed, False, features, bins, features, histograms)
        out = np.empty((3, 3))
        bound_gains(histograms, np.full(2, n_bins), sets, nodes, unit, out)
        return out

    whole = bounds(np.ones(n_rows, np.bool_))
    parts = sum(bounds(part_of == p) for p in range(n_parts))
    between = parts[-1] - whole[-1]
    assert (between >= -1e-9).all()
    assert (parts[:-1] + between >= whole[:-1] * (1 - 1e-12)).all()
    # of one part the bound is the gain itself: here against plain sums over thresholds
    rows = cells // N_CODES == 0
    values, weights = g * unit[0], w * unit[1]
    best = 0.0
    for b in range(n_bins - 1):
        left, right = rows & (codes[1] <= b), rows & (codes[1] > b)
        if left.any() and right.any():
            best = max(best, _fall(values, weights, left, right))
    assert whole[1, 1] == pytest.approx(best)


def _fall(g, w, left, right):
    """The fall of the squared error, from its definition."""

    def term(rows):
        return g[rows].sum() ** 2 / w[rows].sum()

    return term(left) + term(right) - term(left | right)

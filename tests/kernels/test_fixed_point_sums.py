"""Sums of rows in fixed point: unpacked as packed, and the same in any order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.losses import fixed_point_sum

from secateur._kernels.boosting import fixed_point_scale, gradient_scale
from secateur._kernels.histogram import (
    add_leaf_values,
    largest_terms,
    pack_rows,
    pack_rows_unbiased,
    sum_leaves,
    sum_terms,
)
from secateur.engines.boosted.engine import MAX_ROWS, check_row_count
from secateur.engines.boosted.rows import WeightScale
from secateur.exceptions import InputError


def make_rows(seed, n):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6)
    return g, rng.uniform(0, 1, n), rng.uniform(0.1, 5.0, n), rng.permutation(n).astype(np.uint32)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_the_largest_terms(seed, n):
    g, h, w, rows = make_rows(seed, n)
    start, stop = n // 3, n
    part = rows[start:stop]
    found = largest_terms(g, h, w, rows, start, stop)
    wg = w[part] * g[part]
    expected = np.abs(wg).max(), (wg * g[part]).max(), np.abs(w[part] * h[part]).max()
    assert found == expected
    assert largest_terms(g, h, w, rows, 0, 0) == (0.0, 0.0, 0.0)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_packed_rows_hold_both_numbers(seed, n):
    g, h, w, rows = make_rows(seed, n)
    scale = 32767.0 / largest_terms(g, h, w, rows, 0, n)[0]
    qw = np.maximum(np.rint(w * 65535.0 / w.max()), 1).astype(np.int64)
    packed = np.zeros(n, np.int64)
    total = pack_rows(g, w, qw, rows, scale, 0, n, packed)
    q = np.rint(w * g * scale).astype(np.int64)
    np.testing.assert_array_equal(packed >> 32, q)
    np.testing.assert_array_equal(packed & 0xFFFFFFFF, qw)
    assert np.abs(q).max() == 32767
    assert (total >> 32, total & 0xFFFFFFFF) == (q.sum(), qw.sum())


def test_few_steps_are_rounded_without_bias():
    n, first = 200_000, 1_000_000
    g = np.where(np.arange(n) % 1000 == 0, 0.999, -0.001)  # a mean of zero
    w, qw, rows = np.ones(n), np.ones(n, np.int64), np.arange(n, dtype=np.uint32)
    scale = gradient_scale(0.999, 0.002 * 10**9, 10**9)  # of a billion such rows
    packed, again = np.zeros(n, np.int64), np.zeros(n, np.int64)
    scale = min(scale, 23.0)
    total = pack_rows_unbiased(g, w, qw, rows, scale, first, 0, n, packed)
    q = packed >> 32
    assert np.abs(q - g * scale).max() < 1.0
    assert abs((total >> 32) - (g * scale).sum()) < 4.0 * np.sqrt(0.25 * n)
    assert abs(q[g < 0].sum() / (g[g < 0] * scale).sum() - 1.0) < 0.1  # not all zero
    half = n // 2  # the same in two blocks
    pack_rows_unbiased(g[half:], w, qw, rows, scale, first + half, 0, half, again)
    np.testing.assert_array_equal(packed[half:], again[:half])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.data())
def test_sums_of_terms_are_exact_and_parts_add_up_bit_for_bit(seed, n, data):
    g, h, w, rows = make_rows(seed, n)
    most_g, most_gg, _ = largest_terms(g, h, w, rows, 0, n)
    scales = tuple(fixed_point_scale(most, n) for most in (most_g, most_gg))
    whole = np.array(sum_terms(g, w, rows, *scales, 0, n))
    assert whole[0] / scales[0] == fixed_point_sum(np.abs(w * g))
    assert whole[1] / scales[0] == fixed_point_sum(w * g)
    assert whole[2] / scales[1] == fixed_point_sum(w * g * g)
    cut = data.draw(st.integers(0, n))
    parts = [sum_terms(g, w, rows, *scales, *part) for part in ((0, cut), (cut, n))]
    np.testing.assert_array_equal(np.sum(parts, axis=0), whole)
    np.testing.assert_array_equal(sum_terms(g, w, rows[::-1].copy(), *scales, 0, n), whole)
    exact = float(sum(Fraction(float(term)) for term in w * g))
    assert whole[1] / scales[0] == pytest.approx(exact, rel=1e-9, abs=1e-12 * most_g)


@given(st.floats(1e-290, 1e290), st.integers(1, 2**40))
def test_the_scale_fills_int64_and_never_overflows(largest, n_rows):
    scale = fixed_point_scale(largest, n_rows)
    assert np.log2(scale) == np.rint(np.log2(scale))
    total = Fraction(largest) * Fraction(scale) * n_rows
    assert total < 2**62
    # below 2**1000 nothing is given away but the two roundings up to powers of two
    assert scale == 2.0**1000 or total > 2**58


def test_the_scale_of_nothing_is_finite():
    assert np.isfinite(fixed_point_scale(0.0, 0))
    assert np.isfinite(fixed_point_scale(5e-324, 1))


def test_sums_of_leaves_and_their_values():
    g, h, w = np.array([1.0, -2.0, 0.5, 4.0]), np.full(4, 0.25), np.array([1.0, 2.0, 1.0, 1.0])
    rows = np.array([2, 0, 3, 1], np.uint32)
    bounds = np.array([[0, 2], [2, 2], [2, 4]])
    out = np.empty((3, 3), np.int64)
    sum_leaves(g, h, w, rows, bounds, (2.0, 4.0, 1.0), 0, 3, out)
    assert out.tolist() == [[3, 2, 2], [0, 0, 0], [0, 3, 3]]
    raw = np.zeros(4)
    add_leaf_values(rows, bounds, np.array([0.5, 9.0, -1.0]), 0, 3, raw)
    assert raw.tolist() == [0.5, -1.0, 0.5, -1.0]


@pytest.mark.parametrize(
    ("weights", "min_samples_leaf", "min_weight"),
    [
        (WeightScale(1.0, 1.0, 9.0, 3.0), 1, 1),
        (WeightScale(1.0, 1.0, 9.0, 3.0), 2.5, 3),
        (WeightScale(1.0, 1.0, 9.0, 3.0), 20, 20),
        (WeightScale(1.0, 1.0, 9.0, 3.0), 0.0, 1),
        # fractions count relative to their mean, here a half
        (WeightScale(65535.0, 0.5, 9.0, 1.0), 2, 65535),
    ],
)
def test_the_least_weight_of_a_side(weights, min_samples_leaf, min_weight):
    assert weights.min_weight(min_samples_leaf) == min_weight


# ---------------------------------------------------------------------------- both halves fit


def test_the_most_rows_still_have_a_scale_and_more_are_refused():
    check_row_count(MAX_ROWS)
    assert gradient_scale(1.0, float(MAX_ROWS), MAX_ROWS) >= 1.0  # all rows at the largest
    assert not gradient_scale(1.0, 2.0**31, 2**31) > 0.0
    with pytest.raises(InputError, match=r"at most 1,073,741,823 rows.*Got 2,147,483,648"):
        check_row_count(2**31)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 50, 65_535, 65_536, 300_000]))
def test_no_sum_of_rounded_gradients_reaches_half_of_the_number(seed, n):
    rng = np.random.default_rng(seed)
    # all alike is the worst case: every row at the largest
    g = np.ones(n) if rng.random() < 0.5 else rng.exponential(size=n) ** rng.integers(1, 6)
    largest, total = float(g.max()), float(g.sum())
    scale = gradient_scale(largest, total, n)
    assert int(np.rint(g * scale).sum()) < 2**31
    steps = scale * largest
    assert steps <= 32767.5
    assert n >= 65_536 or steps == pytest.approx(32767)
    # above that as many steps as there is room for
    assert steps > 32766 or int(np.rint(g * scale).sum()) > 2**31 * 0.9


@pytest.mark.parametrize(
    "weight",
    [
        np.ones(10),
        np.full(200_000, 65535.0),
        np.full(200_000, 1e-5),
        np.append(np.full(199_999, 1e-9), 1.0),
        np.full(10, 1e9),
        np.arange(1, 100_001, dtype=float),
    ],
    ids=["ones", "heavy", "light", "one heavy", "few heavy", "rising"],
)
def test_no_sum_of_rounded_weights_reaches_the_other_half(weight):
    scale = WeightScale.of(weight).scale
    rounded = np.maximum(np.rint(weight * scale), 1).astype(np.int64)
    assert rounded.sum() < 2**32
    assert rounded.max() <= 65535


def test_whole_weights_stay_as_they_are_while_they_fit():
    assert WeightScale.of(np.array([1.0, 65535.0])).scale == 1.0
    assert WeightScale.of(np.array([1.0, 65536.0])).scale < 1.0
    assert WeightScale.of(np.full(60_000, 65535.0)).scale == 1.0
    assert WeightScale.of(np.full(70_000, 65535.0)).scale < 1.0
    assert WeightScale.of(np.array([0.5, 1.0])).scale == 65535.0
    # what a row counts does not depend on it
    assert WeightScale.of(np.full(70_000, 65535.0)).mean == 1.0
    assert WeightScale.of(np.full(10, 0.25)).mean == 0.25

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import losses as naive

from secateur.losses import exact_mean, fixed_point_sum, weighted_quantile

numbers = arrays(
    np.float64,
    st.integers(1, 40),
    elements=st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False),
)


@given(numbers)
def test_sum_meets_its_twin_and_the_true_sum(values):
    total = fixed_point_sum(values)
    assert total == naive.fixed_point_sum(values)
    assert total == pytest.approx(math.fsum(values), abs=1e-12 * np.abs(values).max() + 1e-300)


@given(numbers, st.randoms(use_true_random=False))
def test_sum_and_mean_do_not_depend_on_the_order(values, random):
    order = np.array(random.sample(range(len(values)), len(values)))
    weights = np.linspace(0.1, 2.0, len(values))
    assert fixed_point_sum(values) == fixed_point_sum(values[order])
    assert exact_mean(values, weights) == exact_mean(values[order], weights[order])


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1.0, 1e300])
def test_sum_holds_at_every_size(size):
    values = np.full(1000, size)
    assert fixed_point_sum(values) == pytest.approx(1000 * size, rel=1e-10)


def test_sum_of_nothing_and_of_zeros_is_zero():
    assert fixed_point_sum(np.zeros(0)) == 0.0
    assert fixed_point_sum(np.zeros(5)) == 0.0


def test_the_mean_of_a_constant_is_the_constant_to_the_bit():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=100_003)
    assert exact_mean(np.full(100_003, 0.1), weights) == 0.1


def test_mean_is_the_weighted_average():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=500), rng.uniform(size=500)
    expected = np.average(values, weights=weights)
    assert exact_mean(values, weights) == pytest.approx(expected, rel=1e-12)


@given(numbers, st.floats(0.01, 0.99), st.randoms(use_true_random=False))
def test_quantile_meets_its_twin_in_every_order(values, level, random):
    weights = np.array([random.choice([0.3, 1.0, 2.5]) for _ in values])
    order = np.array(random.sample(range(len(values)), len(values)))
    quantile = weighted_quantile(values, weights, level)
    assert quantile == naive.weighted_quantile(values, weights, level)
    assert quantile == weighted_quantile(values[order], weights[order], level)


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.9])
def test_quantile_of_equal_weights_is_numpys_inverted_cdf(level):
    values = np.random.default_rng(2).normal(size=101)
    expected = np.quantile(values, level, method="inverted_cdf")
    assert weighted_quantile(values, np.ones(101), level) == expected

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import stability as twin
from scipy.stats import norm

from secateur.exceptions import ParameterError
from secateur.model_selection.statistics import jaccard, nogueira

MATRICES = st.tuples(st.integers(2, 8), st.integers(2, 12)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1))
)


def sets_of(Z):
    return [np.flatnonzero(row) for row in Z]


@given(MATRICES)
def test_index_and_interval_are_those_of_the_twin(Z):
    assume(0 < Z.mean() < 1)
    found = nogueira(sets_of(Z), Z.shape[1], confidence=0.9)
    assert found.index == pytest.approx(twin.index(Z), abs=1e-12)
    reach = norm.ppf(0.95) * math.sqrt(twin.variance(Z))
    assert found.high - found.index == pytest.approx(reach, abs=1e-9)
    assert found.index - found.low == pytest.approx(reach, abs=1e-9)
    assert found.mean_size == pytest.approx(Z.sum(axis=1).mean())


@given(st.integers(1, 5), st.integers(6, 12), st.integers(0, 10**6))
def test_for_sets_of_one_size_it_is_the_mean_of_kunchevas_index(k, d, seed):
    rng = np.random.default_rng(seed)
    Z = np.zeros((5, d), np.int64)
    for row in Z:
        row[rng.permutation(d)[:k]] = 1
    assert nogueira(sets_of(Z), d).index == pytest.approx(twin.pairwise(Z))


def test_random_sets_agree_by_chance_and_the_interval_says_so():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        found = nogueira([np.flatnonzero(rng.random(60) < 0.2) for _ in range(30)], 60)
        inside += found.low <= 0.0 <= found.high
    assert 180 <= inside <= 199  # about 95 of 100


def test_where_it_is_not_defined_it_is_nan():
    assert math.isnan(nogueira([[1]], 5).index)
    assert math.isnan(nogueira([[], []], 5).index)
    assert math.isnan(nogueira([range(5), range(5)], 5).index)
    assert str(nogueira([], 5)) == "not defined"


def test_confidence_is_checked():
    with pytest.raises(ParameterError, match="'confidence' must be"):
        nogueira([[1], [2]], 5, confidence=95)


def test_jaccard_of_sets():
    assert jaccard([1, 2, 3], [3, 2, 1]) == 1.0
    assert jaccard([1, 2], [3]) == 0.0
    assert jaccard([], []) == 1.0

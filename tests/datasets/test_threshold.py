"""The threshold max problems are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.datasets import (
    make_grafting_a,
    make_grafting_b,
    make_grafting_c,
    make_threshold_max,
)
from secateur.exceptions import ParameterError


def test_the_label_is_the_threshold_of_the_largest():
    problem = make_threshold_max(500, n_informative=3, n_copies=4, n_irrelevant=5)
    border = 2 ** (1 - 1 / 3) - 1
    np.testing.assert_array_equal(problem.y, (problem.X[:, :3].max(axis=1) > border).astype(int))
    np.testing.assert_array_equal(problem.X[:, 3:7], problem.X[:, [0, 1, 2, 0]])
    assert problem.redundant.tolist() == [3, 4, 5, 6]
    assert len(set(problem.feature_names)) == 12


def test_classes_are_even_and_seeds_count():
    assert abs(make_threshold_max(20_000, 10).y.mean() - 0.5) < 0.02
    one, two, again = (make_grafting_a(random_state=seed) for seed in (1, 2, 1))
    assert (one.X != two.X).any()
    np.testing.assert_array_equal(one.X, again.X)


def test_shapes_of_the_paper():
    for make, n, p, copies in [
        (make_grafting_a, 1000, 100, 0),
        (make_grafting_b, 1000, 100, 90),
        (make_grafting_c, 100, 1000, 490),
    ]:
        problem = make()
        assert problem.X.shape == (n, p)
        assert len(problem.relevant) == 10
        assert len(problem.redundant) == copies
    assert make_grafting_c(n_rows=7).X.shape == (7, 1000)


def test_sizes_are_checked():
    with pytest.raises(ParameterError, match="'n_informative' must be >= 1"):
        make_threshold_max(10, n_informative=0)
    with pytest.raises(ParameterError, match="'n_copies' must be >= 0"):
        make_threshold_max(10, n_copies=-1)

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from secateur.datasets import make_nonlinear_pair, make_wide
from secateur.exceptions import ParameterError


def test_pair_is_separable_by_a_tree_on_x_and_y_and_by_no_line():
    problem = make_nonlinear_pair(n_rows=1000)
    train, test = slice(0, 900), slice(900, None)
    relevant = problem.X[:, problem.relevant]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(
        relevant[train], problem.y[train]
    )
    assert tree.score(relevant[test], problem.y[test]) == 1.0
    line = LogisticRegression().fit(problem.X[train], problem.y[train])
    assert line.score(problem.X[test], problem.y[test]) < 0.65


def test_z_is_a_combination_of_x_and_y():
    X = make_nonlinear_pair(n_rows=50).X
    np.testing.assert_allclose(X[:, 2], 0.6 * X[:, 0] + 0.4 * X[:, 1])


@pytest.mark.parametrize("n_rows", [2, 3, 500])
def test_pair_has_both_classes_in_halves(n_rows):
    counts = np.bincount(make_nonlinear_pair(n_rows).y, minlength=2)
    assert counts.sum() == n_rows
    assert abs(counts[0] - counts[1]) <= 1


@pytest.mark.parametrize("make", [make_nonlinear_pair, make_wide])
def test_the_seed_decides(make):
    first, again, other = (
        make(200, random_state=1),
        make(200, random_state=1),
        make(200, random_state=2),
    )
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


def test_wide_names_tell_the_roles():
    problem = make_wide(100, 40, 5, 10)
    names = np.array(problem.feature_names)
    assert sorted(names[problem.relevant]) == [f"informative_{k}" for k in range(5)]
    assert sorted(names[problem.redundant]) == [f"redundant_{k}" for k in range(10)]
    assert len(set(names)) == 40


def test_relevant_features_tell_the_target_and_the_noise_does_not():
    problem = make_wide(4000, 30, 6, 4, target_type="regression")
    noise = np.setdiff1d(np.arange(30), np.r_[problem.relevant, problem.redundant])
    correlation = np.abs(np.corrcoef(problem.X.T, problem.y)[-1, :-1])
    assert correlation[noise].max() < 0.08
    assert correlation[problem.relevant].max() > 0.3


def test_redundant_features_are_mixtures_of_the_relevant_ones():
    problem = make_wide(2000, 30, 6, 4)
    basis = problem.X[:, problem.relevant]
    for column in problem.redundant:
        rest = np.linalg.lstsq(basis, problem.X[:, column], rcond=None)[1]
        assert np.sqrt(rest[0] / 2000) == pytest.approx(0.1, rel=0.2)


def test_classes_are_balanced_and_the_regression_target_is_a_number():
    assert make_wide(101, 20, 3, 2).y.mean() == pytest.approx(0.5, abs=0.01)
    assert make_wide(100, 20, 3, 2, target_type="regression").y.dtype == np.float64


def test_all_columns_may_be_informative():
    assert make_wide(50, 3, 3, 0).relevant.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 1}, "'n_rows' must be >= 2. Got 1."),
        ({"n_informative": 0}, "'n_informative' must be >= 1. Got 0."),
        ({"n_redundant": -1}, "'n_redundant' must be >= 0. Got -1."),
        ({"n_features": 40}, "Got 40 for 15 \\+ 30. Use at least 45."),
        ({"target_type": "ranking"}, "Got 'ranking'."),
    ],
)
def test_impossible_problems_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        make_wide(**arguments)

"""Thresholds between any two values: ``max_bins=None``."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from secateur import AGBMClassifier, AGBMRanker, AGBMRegressor, FeatureCosts, GTGBMClassifier
from secateur.data.frames import read_table
from secateur.exceptions import InputError, ParameterError
from secateur.selectors.exact_thresholds import N_VALUES, Ranges


def problem(n_rows=700, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 3] = rng.integers(0, 4, n_rows)
    return X, X[:, 0] + (X[:, 1] > 1.7) * 2.0 + 0.3 * rng.normal(size=n_rows)


def test_ranges_share_an_end_and_hold_all_values():
    X, _ = problem()
    X[5, 2] = np.nan
    table = read_table(X)
    ranges = Ranges.of(table)
    clipped = ranges.clip(table)
    assert np.bincount(ranges.sources).tolist() == [3, 3, 3, 1, 3, 3]
    for j in range(6):
        parts = [np.unique(each[np.isfinite(each)]) for each in clipped.T[ranges.sources == j]]
        assert max(map(len, parts)) <= N_VALUES
        assert all(a[-1] == b[0] for a, b in pairwise(parts))
        known = np.unique(X[np.isfinite(X[:, j]), j])
        np.testing.assert_array_equal(np.unique(np.concatenate(parts)), known)
    assert np.isnan(clipped[5, ranges.sources == 2]).all()


def test_columns_of_few_values_have_the_same_fit():
    X, y = np.round(problem()[0], 1), problem()[1]
    X = np.clip(X, -2.5, 2.5)
    more = {"penalty": 0.01, "max_iter": 10, "n_jobs": 1}
    one, other = (AGBMRegressor(max_bins=b, **more).fit(X, y) for b in (255, None))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert [s.support.tolist() for s in one.path_] == [s.support.tolist() for s in other.path_]
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)


def test_the_path_is_one_of_the_columns():
    X, y = problem()
    seen = []
    more = {"max_bins": None, "cost_budget": 2, "max_iter": 20, "cv": 3, "random_state": 0}
    found = AGBMRegressor(on_step=seen.append, **more).fit(X, y)
    assert found.n_features_in_ == 6
    assert set(np.flatnonzero(found.support_)) == {0, 1}
    assert max(step.n_features for step in found.path_) <= 2
    assert all(step.support.max(initial=0) < 6 for step in seen)
    assert found.path_.feature_names == tuple(f"x{j}" for j in range(6))
    assert found.path_.parameters["max_bins"] is None
    assert [step.cost for step in found.path_] == [step.n_features for step in found.path_]
    assert found.score(X, y) > 0.8
    np.testing.assert_allclose(found.predict(X), found.predict(X[:, [0, 1]]))


def test_a_split_between_two_values_beyond_the_bins():
    # the classes change between two of 2,000 values, which 255 bins do not part
    x = np.arange(2_000.0)
    y = (x > 1_203).astype(int)
    more = {"penalty": 0.0, "max_iter": 1, "max_depth": 1, "min_samples_leaf": 1}
    exact, binned = (AGBMClassifier(max_bins=b, **more).fit(x[:, None], y) for b in (None, 255))
    assert exact._model.ensemble.rounds[0][0].threshold[0] == 1_203.5
    assert binned._model.ensemble.rounds[0][0].threshold[0] != 1_203.5


def test_costs_and_groups_are_those_of_the_columns():
    X, y = problem()
    costs = FeatureCosts([5, 1, 1, 1, 1, 1], feature_groups=["a", "a", None, None, None, None])
    more = {"penalty": 0.01, "max_iter": 10, "max_bins": None, "n_jobs": 1}
    found = AGBMRegressor(costs=costs, **more).fit(X, y)
    assert {0, 1} <= set(np.flatnonzero(found.support_))
    order = found.path_[-1].order
    expected = costs.bind(found.path_.feature_names).total(order)
    assert found.path_[-1].cost == expected


def test_what_has_no_exact_thresholds_says_so():
    X, y = problem(60)
    rule = FeatureCosts(rule=lambda used: np.ones(6))
    with pytest.raises(InputError, match="rule"):
        AGBMRegressor(max_bins=None, costs=rule).fit(X, y)
    with pytest.raises(InputError, match="max_features"):
        AGBMRegressor(max_bins=None, max_features=2).fit(X, y)
    with pytest.raises(InputError, match="categories"):
        AGBMRegressor(max_bins=None, categorical_features=[3]).fit(X, y)
    for cls in (GTGBMClassifier, AGBMRanker):
        with pytest.raises(ParameterError, match=r">= 2"):
            cls(max_bins=None).fit(X, y > 0, **({"qid": y > 0} if cls is AGBMRanker else {}))

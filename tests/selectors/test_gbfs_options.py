"""Options of GBFS: fits that begin at 0, and random subsets of new features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

from secateur import FeatureCosts, GBFSClassifier, GBFSRegressor
from secateur.engines.boosted.feature_sample import FeatureSample


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_from_zero_the_first_trees_learn_the_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = 100.0 + X[:, 0]
    given = {"penalty": 1.0, "learning_rate": 0.5, "leaf": "mean"}
    first = GBFSRegressor(init="zero", max_iter=1, **given).fit(X, y)
    assert first._model.ensemble.baseline.tolist() == [0.0]
    # a leaf is the mean gradient of its rows, half of which is added: Algorithm 1, lines 2 to 8
    assert np.abs(first.predict(X) - 50.0).max() < 2.0
    many = GBFSRegressor(init="zero", max_iter=40, **given).fit(X, y)
    assert np.abs(many.predict(X) - y).mean() < 0.5
    assert many.support_.tolist() == [True, False, False, False, False]
    centred = GBFSRegressor(init="zero", max_iter=5, **given).fit(X, y - y.mean())
    usual = GBFSRegressor(max_iter=5, **given).fit(X, y - y.mean())
    np.testing.assert_allclose(centred.predict(X), usual.predict(X), atol=1e-9)


@pytest.mark.parametrize("leaf", ["mean", "newton"])
def test_of_numbers_the_start_changes_no_split(leaf):
    # squared errors are about the means of nodes; what is left of the mean is (1 - rate)^rounds
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = 5.0 + X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=200)
    given = {"penalty": 3.0, "max_iter": 20, "max_depth": 3, "leaf": leaf}
    usual, zero = (GBFSRegressor(init=i, **given).fit(X, y) for i in ("constant", "zero"))
    for (one,), (other,) in zip(*(m._model.ensemble.rounds for m in (usual, zero)), strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.threshold, other.threshold)
    left = usual.predict(X) - zero.predict(X)
    np.testing.assert_allclose(left, 0.9**20 * y.mean(), atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_zero_is_the_start_of_classes_too(cancer, kind):
    X, y = cancer
    found = GBFSClassifier(init="zero", penalty=1.0, max_iter=10).fit(kind(X), y)
    assert found._model.ensemble.baseline.tolist() == [0.0]
    assert found.score(kind(X), y) > 0.9
    path = GBFSClassifier(init="zero", penalty=[2.0, 8.0], cv=2, max_iter=10).fit(kind(X), y).path_
    assert path.has_scores


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_each_tree_uses_features_in_use_and_those_that_were_drawn(cancer, kind, monkeypatch):
    X, y = cancer
    drawn = []
    original = FeatureSample.draw

    def draw(self, used, usable, seed):
        mask = original(self, used, usable, seed)
        assert (mask | ~used).all()
        assert (mask & ~used).sum() == np.ceil(0.2 * (usable & ~used).sum())
        drawn.append(mask)
        return mask

    monkeypatch.setattr(FeatureSample, "draw", draw)
    given = {"penalty": 0.5, "max_iter": 15, "feature_subsample": 0.2}
    found = GBFSClassifier(**given, random_state=0).fit(kind(X), y)
    rounds = found._model.ensemble.rounds
    assert len(drawn) == len(rounds)
    for mask, (tree,) in zip(drawn, rounds, strict=True):
        assert mask[tree.feature[tree.left >= 0]].all()
    assert found.score(kind(X), y) > 0.9
    monkeypatch.setattr(FeatureSample, "draw", original)
    for n_jobs in (1, 2):
        again = GBFSClassifier(**given, random_state=0, n_jobs=n_jobs).fit(kind(X), y)
        np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    other = GBFSClassifier(**given, random_state=1).fit(kind(X), y)
    assert not np.array_equal(other.predict_proba(X), found.predict_proba(X))


def test_features_that_gained_more_are_drawn_more_often():
    sample, gain = FeatureSample(0.25), np.array([8.0, 4.0, 2.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    nothing, everything = np.zeros(8, np.bool_), np.ones(8, np.bool_)
    even = np.mean([FeatureSample(0.25).draw(nothing, everything, seed) for seed in range(400)], 0)
    assert np.abs(even - 0.25).max() < 0.08
    sample.draw(nothing, everything, 0)
    sample.note(gain)
    often = np.mean([sample.draw(nothing, everything, seed) for seed in range(400)], 0)
    assert (np.diff(often[:4]) < 0.0).all()
    assert often[0] > 0.6
    assert often[5:].min() > 0.0
    sample.note(np.array([-1.0, 0.0, *[-1.0] * 6]))  # looked at again: feature 1 alone
    assert sample._gain.tolist() == [8.0, 0.0, *gain[2:]]


def test_subsets_go_with_costs_groups_limits_and_kept_features(cancer):
    X, y = cancer
    costs = FeatureCosts(np.linspace(1.0, 3.0, 30), feature_groups={"a": [0, 1, 2]}, keep=[5])
    found = GBFSClassifier(
        penalty=0.5, feature_subsample=0.3, costs=costs, max_features=4, max_iter=20, random_state=0
    ).fit(X, y)
    assert found.support_[5]
    assert found.support_.sum() <= 4
    grid = GBFSClassifier(feature_subsample=0.3, max_iter=15, cv=2, random_state=0).fit(X, y)
    assert grid.support_.any()


def test_fewer_cells_are_summed(cancer):
    X, y = cancer
    given = {"penalty": 50.0, "max_iter": 10, "random_state": 0}
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 200))])
    cells = {}
    for share in (1.0, 0.1):
        found = GBFSClassifier(feature_subsample=share, **given).fit(wide, y)
        cells[share] = found._model.ensemble.n_cells
    assert cells[0.1] < 0.5 * cells[1.0]

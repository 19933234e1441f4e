"""GBFS against the paper in floats: how often and by how much bins and rounded gradients matter."""

from __future__ import annotations

import numpy as np
import pytest
from reference.gbfs import gbfs

from secateur import GBFSClassifier, GBFSRegressor


def fits(kind, n_rows, seed, max_bins=255):
    """Predictions of the paper and of the library, the target, and the splits of both by tree."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n_rows)
    cls, penalty = GBFSRegressor, n_rows / 75
    if kind == "logistic":
        cls, penalty, y = GBFSClassifier, n_rows / 300, (y > 0).astype(int)
    trees, paper = gbfs(kind, X, y, penalty, 20, 3, 0.1)
    found = cls(
        penalty=penalty,
        max_iter=20,
        max_depth=3,
        leaf="mean",
        init="zero",
        min_samples_leaf=1,
        max_bins=max_bins,
    ).fit(X, y)
    ours = found.predict(X) if kind == "squared" else found.decision_function(X)
    mine = [tree.feature[tree.left >= 0].tolist() for (tree,) in found._model.ensemble.rounds]
    return paper, ours, y, [[j for j, _ in splits] for splits in trees], mine


def loss(kind, y, H):
    return np.mean((y - H) ** 2) / 2 if kind == "squared" else np.mean(np.logaddexp(0, H) - y * H)


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_with_a_bin_for_each_value_nothing_differs_but_ties(kind):
    # 150 different values have 150 bins; two features may split a small node alike, and the
    # order of sums then decides which of them is named
    same = 0
    for seed in range(6):
        paper, ours, _, trees, mine = fits(kind, 150, seed)
        np.testing.assert_allclose(ours, paper, rtol=0, atol=1e-12)
        same += sum(a == b for a, b in zip(trees, mine, strict=True))
    assert same >= 60


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_without_a_limit_of_bins_1000_values_are_split_as_in_the_paper(kind):
    # so in 7 of 8 fits on seeds 0 to 3; with numbers of seed 0 two new features part one row alike
    # in the first tree, the paper's sums name the later one, and the trees after it are others
    for seed in (1, 2):
        paper, ours, *_ = fits(kind, 1000, seed, max_bins=None)
        np.testing.assert_allclose(ours, paper, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_with_255_bins_of_1000_values_the_loss_differs_by_a_few_per_cent(kind):
    # on seeds 0 to 5: -2.0 to +4.0 % for numbers, +0.1 to +0.4 % for classes; of features that are
    # about as good, another one may be split on
    shares = []
    for seed in range(2):
        paper, ours, y, *_ = fits(kind, 1000, seed)
        shares.append(loss(kind, y, ours) / loss(kind, y, paper) - 1.0)
        assert not np.array_equal(paper, ours)
    assert np.abs(shares).max() < (0.05 if kind == "squared" else 0.01)

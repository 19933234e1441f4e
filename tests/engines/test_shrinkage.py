"""How far a model is trusted by rows that it did not see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.engines.linear_scorer import SHRINKAGES, shrunken_losses


def losses_of(margin):
    """Log losses of rows whose true class has such a margin, at each share of trust."""
    return np.logaddexp(0.0, -np.outer(SHRINKAGES, margin))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 30))
def test_each_row_is_shrunk_as_all_others_advise(seed, n_folds, n_rows):
    rng = np.random.default_rng(seed)
    by_shrinkage = [rng.random((5, n_rows + k)) for k in range(n_folds)]
    weights = [rng.integers(1, 4, n_rows + k).astype(float) for k in range(n_folds)]
    found = np.concatenate(shrunken_losses(by_shrinkage, weights))
    by_shrinkage, weight = np.concatenate(by_shrinkage, axis=1), np.concatenate(weights)
    for row in range(len(found)):
        others = np.arange(len(weight)) != row
        sums = by_shrinkage[:, others] @ weight[others]
        assert found[row] == by_shrinkage[np.argmin(sums), row]


def test_a_good_model_is_trusted_wholly():
    margin = np.random.default_rng(0).normal(3.0, 0.5, 60)
    (losses,) = shrunken_losses([losses_of(margin)], [np.ones(60)])
    np.testing.assert_allclose(losses, np.logaddexp(0.0, -margin))


def test_one_bad_fold_lowers_the_trust_in_all():
    good, bad = np.full(64, 10.0), np.repeat([10.0, -10.0], 8)
    by_shrinkage = [losses_of(good), losses_of(bad)]
    losses = np.concatenate(shrunken_losses(by_shrinkage, [np.ones(64), np.ones(16)]))
    assert (
        np.concatenate([each[-1] for each in by_shrinkage], axis=0).mean() > 0.9
    )  # worse than 0.69
    assert losses.mean() < 0.4
    assert losses.std() / np.sqrt(80) < 0.1


def test_what_says_nothing_is_no_better_than_the_constant():
    worse = 0
    for seed in range(20):
        margin = 4.0 * np.random.default_rng(seed).normal(size=80)
        (losses,) = shrunken_losses([losses_of(margin)], [np.ones(80)])
        assert losses.mean() < 0.80  # and never far worse: with all trust it is about 1.7
        worse += losses.mean() >= np.log(2.0)
    assert worse >= 14


def test_numbers_are_trusted_less_as_well():
    rng = np.random.default_rng(1)
    y, said = rng.normal(size=50), 3.0 * rng.normal(size=50)
    by_shrinkage = np.stack([(y - share * said) ** 2 for share in SHRINKAGES])
    (losses,) = shrunken_losses([by_shrinkage], [np.ones(50)])
    assert losses.mean() == pytest.approx((y**2).mean(), rel=0.1)
    assert by_shrinkage[-1].mean() > 5 * losses.mean()

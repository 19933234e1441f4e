"""Columns that are copies of others, or their mirror images, are not freed beside them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from secateur.engines.grafting.columns import without_duplicates


def naive(X, gradient, alpha, old, new):
    """Each new feature in turn against all before it that stay."""
    stays = [*old]
    for j in new:
        same = [k for k in stays if abs(gradient[k]) == abs(gradient[j]) and alpha[k] <= alpha[j]]
        if not any((X[k] == X[j]).all() or (X[k] == -X[j]).all() for k in same):
            stays.append(j)
    return stays[len(old) :]


@pytest.mark.parametrize("seed", range(20))
def test_new_features_that_are_copies_stay_out(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (12, 2))
    alpha = rng.integers(1, 3, 12).astype(np.float64)
    gradient = X @ np.array([1.0, 0.5])
    view = SimpleNamespace(
        are_equal=lambda a, b: bool((X[a] == X[b]).all() or (X[a] == -X[b]).all())
    )
    everyone = rng.permutation(12)
    old, new = everyone[:4], everyone[4:]
    found = without_duplicates(view, gradient, alpha, old, new)
    assert found.tolist() == naive(X, gradient, alpha, old, new)

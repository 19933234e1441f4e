"""Tasks of some thousands of rows with a known shape, for what the twin is too slow for."""

from __future__ import annotations

import numpy as np
from equivalence.fitting import Task
from equivalence.problems import make_loss

from secateur.data.costs import FeatureCosts


def make_task(
    loss="log_loss",
    *,
    n_rows=600,
    n_features=12,
    sparse_share=0.0,
    missing_share=0.0,
    n_categorical=0,
    weights="ones",
    seed=0,
    costs=None,
    **params,
):
    """Continuous columns, a few of which matter; no two gains are equal by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[rng.random(X.shape) < sparse_share] = 0.0
    kinds = {n_features - 1 - c: 7 for c in range(n_categorical)}
    for j in kinds:
        X[:, j] = rng.integers(0, 7, n_rows)
    score = X[:, 0] + np.maximum(X[:, 1], 0) * X[:, 2] + 0.5 * (X[:, -1] % 2)
    score = score + 0.5 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing_share] = np.nan
    weight = {
        "ones": np.ones(n_rows),
        "whole": rng.integers(1, 5, n_rows).astype(float),
        "floats": rng.uniform(0.2, 3.0, n_rows),
    }[weights]
    return Task(
        X,
        make_target(rng, loss, score),
        weight,
        make_loss(loss),
        costs or FeatureCosts(),
        kinds,
        {"n_rounds": 8, "min_samples_leaf": 5, **params},
    )


def make_target(rng, loss, score):
    if loss == "log_loss":
        return (score > 0.3).astype(float)
    if loss == "multinomial":
        return np.digitize(score, [-0.3, 0.8]).astype(float)
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(score, -3, 2))).astype(float)
    return score

"""Random small tasks in which ties, missing values, odd weights and all prices are frequent."""

from __future__ import annotations

import numpy as np
from equivalence.fitting import Task
from hypothesis import strategies as st

from secateur.data.costs import FeatureCosts
from secateur.losses import get_loss

LOSSES = (
    "squared_error",
    "log_loss",
    "multinomial",
    "absolute_error",
    "huber",
    "poisson",
    "quantile",
)


@st.composite
def tasks(draw, *, categories=True, losses=LOSSES):
    """A task of at most 40 rows and 6 columns.

    What makes a task small is drawn by hypothesis, so that a failure shrinks; the rest comes from
    one seed, because hypothesis prefers plain values and would rarely combine the odd ones.
    """
    n_rows = draw(st.sampled_from([2, 10, 20, 30, 40]))
    n_features = draw(st.sampled_from([1, 2, 3, 4, 5, 6]))
    sizes = {"n_rounds": draw(st.integers(1, 5)), "max_depth": draw(st.sampled_from([1, 2, 3, 5]))}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, kinds = _columns(rng, n_rows, n_features, categories=categories)
    name = losses[rng.integers(len(losses))]
    return Task(
        X,
        _target(rng, name, X),
        WEIGHTS[rng.integers(len(WEIGHTS))](rng, n_rows),
        make_loss(name),
        _costs(rng, n_features),
        kinds,
        {**_parameters(rng), **sizes},
    )


def make_loss(name):
    if name == "multinomial":
        return get_loss("log_loss", n_classes=3)
    return get_loss(name, n_classes=2, quantile=0.3, delta=0.75)


# ---------------------------------------------------------------------------- columns

KINDS = ["whole"] * 4 + ["float", "copy", "mirror", "category", "category"] + ["constant"]


def _columns(rng, n_rows, n_features, *, categories):
    """Small whole numbers, floats, copies, mirror images, constants, categories; some missing."""
    X, kinds = np.zeros((n_rows, n_features)), {}
    for j in range(n_features):
        kind = rng.choice(KINDS)
        if kind == "whole" or (kind in {"copy", "mirror"} and j == 0):
            X[:, j] = rng.integers(-2, 4, n_rows) * rng.integers(0, 2, n_rows)
        elif kind == "float":
            X[:, j] = rng.normal(size=n_rows)
        elif kind == "constant":
            X[:, j] = rng.choice([0.0, -1.5])
        elif kind == "category" and categories:
            kinds[j] = int(rng.integers(1, 7))  # more than there are values: some never occur
            X[:, j] = rng.integers(0, kinds[j], n_rows)
        elif kind in {"copy", "mirror"} and j - 1 not in kinds:
            X[:, j] = X[:, j - 1] if kind == "copy" else -X[:, j - 1]
        share = rng.choice([0.0, 0.0, 0.25, 0.25, 0.8, 1.0], p=[0.3, 0.3, 0.15, 0.15, 0.08, 0.02])
        X[rng.random(n_rows) < share, j] = np.nan
    return X, kinds


def _target(rng, loss, X):
    signal = np.nan_to_num(X, nan=1.0) @ rng.integers(-1, 3, X.shape[1])
    noisy = signal + rng.choice([0.0, 0.5, 2.0]) * rng.normal(size=len(X))
    if loss == "log_loss":
        return (noisy > np.median(noisy)).astype(float)
    if loss == "multinomial":
        return np.clip(np.rint(noisy), 0, 2)
    if loss == "poisson":
        count = np.clip(np.rint(noisy), 0, 9)
        return count if count.any() else np.ones(len(X))
    return np.rint(noisy) if rng.random() < 0.5 else noisy


def _wide(rng, n_rows):
    weight = 10.0 ** rng.uniform(-7, 0, n_rows)
    weight[rng.integers(n_rows)] = 1.0  # many others round to less than one step of 65535
    return weight


WEIGHTS = (
    lambda rng, n: np.ones(n),
    lambda rng, n: rng.integers(1, 4, n).astype(float),
    lambda rng, n: rng.integers(1, 4, n) * 50_000.0,
    lambda rng, n: np.full(n, 0.25),
    lambda rng, n: rng.uniform(0.1, 3.0, n),
    _wide,
)


# ---------------------------------------------------------------------------- prices, parameters


def higher_by_number(used):
    """A rule: each used feature raises the cost of the others, odd features twice."""
    return (1.0 + used.sum()) * np.where(np.arange(len(used)) % 2, 0.5, 0.25)


def lower_by_number(used):
    return np.full(len(used), 2.0 / (1.0 + used.sum()))


def _costs(rng, n_features):
    own = rng.choice([0.0, 0.5, 1.0, 2.0, 0.1], n_features)
    bags = np.append(rng.choice(["a", "b", None], n_features - 1), "a").tolist()
    keep = [[], [], [0], [n_features - 1]][rng.integers(4)]
    kinds = (
        {},
        {"costs": own},
        {"feature_groups": bags},
        {"costs": 3.0 * own, "feature_groups": bags},
        {"costs": own, "neighbours": (1, n_features), "discount": 0.3},
        {"costs": own, "feature_groups": bags, "neighbours": (n_features, 1), "discount": 0.0},
        {"rule": higher_by_number},
        {"rule": lower_by_number},
    )
    return FeatureCosts(**kinds[rng.integers(len(kinds))], keep=keep)


PARAMETERS = {
    "criterion": ("agbm", "gbfs"),
    "penalty": (0.0, 1e-4, 1e-4, 0.003, 0.01, 0.01, 0.03, 0.1, 1.0, 1e12),
    "learning_rate": (0.1, 0.5, 1.0),
    "min_samples_leaf": (1, 1, 1, 0.5, 0.01, 2, 2.5, 5, 100),
    "l2": (0.0, 0.0, 1.0),
    "leaf": ("newton", "mean"),
    "max_features": (None, None, None, 1, 2, 3),
    "cost_budget": (None, None, None, 0.0, 1.0, 1.7),
    "lazy": (True, False),
    "whole": (True, False),
}


def _parameters(rng):
    return {name: values[rng.integers(len(values))] for name, values in PARAMETERS.items()}

"""Small tables of every kind, the same in every run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

N_ROWS, N_FEATURES, N_WIDE = 240, 12, 96


def numeric(n_features: int = N_FEATURES, seed: int = 0) -> Any:
    """Numbers with three decimals; column 2 nearly repeats column 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, n_features))
    X[:, 2] = X[:, 1] + 0.3 * X[:, 2]
    return np.round(X, 3)


def missing() -> Any:
    """As `numeric`, a tenth of the cells missing."""
    X = numeric(seed=1)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    return X


def categories() -> Any:
    """A data frame with categories, truth values and numbers."""
    X = numeric(seed=3)
    frame = pd.DataFrame(X[:, :8], columns=[f"number{j}" for j in range(8)])
    cities = np.array(["Oslo", "Lima", "Pisa", "Kyiv"])
    frame["city"] = pd.Categorical(cities[np.digitize(X[:, 8], [-0.8, 0.0, 0.8])])
    frame["colour"] = pd.Categorical(np.where(X[:, 9] > 0, "red", "blue"))
    frame["is_old"] = X[:, 10] > 0.2
    return frame


def named() -> Any:
    """A data frame of numbers and truth values."""
    X = numeric(seed=4)
    frame = pd.DataFrame(X, columns=[f"column{j}" for j in range(N_FEATURES)])
    frame["is_old"] = X[:, 4] > 0.2
    return frame


def sparse(n_features: int = 40) -> Any:
    """A CSR matrix, three of four cells zero."""
    X = numeric(n_features, seed=5)
    X[np.random.default_rng(6).random(X.shape) < 0.75] = 0.0
    return csr_matrix(X)


def wide(seed: int = 7) -> Any:
    """More columns, for group tests."""
    return numeric(N_WIDE, seed)


def signal(X: Any, seed: int = 0) -> Any:
    """What the targets are made of: columns 1, 4 and 5, a city where there is one, and noise."""
    city = 0.0
    if isinstance(X, pd.DataFrame):
        if "city" in X:
            city = X["city"].astype(str).map({"Oslo": 1.2, "Lima": -1.2, "Pisa": 0.6, "Kyiv": -0.6})
            city = city.to_numpy(float)
        X = X.select_dtypes("number")
    X = np.nan_to_num(X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float))
    noise = np.random.default_rng(100 + seed).normal(size=len(X))
    pair = 1.5 * X[:, 4] * (X[:, 5] > 0)
    return np.round(X[:, 1] + pair - 0.5 * X[:, 5] + city + 0.6 * noise, 3)


def numbers(X: Any, seed: int = 0) -> Any:
    """A target for regression."""
    return signal(X, seed)


def counts(X: Any) -> Any:
    """A target of counts."""
    return np.floor(np.exp(np.clip(signal(X), -2.0, 2.0)))


def two_classes(X: Any, seed: int = 0) -> Any:
    """A target of two classes, as text."""
    return np.where(signal(X, seed) > 0.1, "yes", "no")


def three_classes(X: Any, seed: int = 0) -> Any:
    """A target of three classes."""
    return np.digitize(signal(X, seed), [-0.7, 0.7])


def weights() -> Any:
    """Weights of rows, some of them zero."""
    return np.random.default_rng(8).integers(0, 4, N_ROWS).astype(float)


def queries() -> Any:
    """The query of each row: some have few rows, some many."""
    return np.sort(np.floor(np.sqrt(np.arange(N_ROWS) * 8)).astype(int) % 29)


def tasks() -> Any:
    """The task of each row."""
    return np.array(["north", "south", "west"])[np.arange(N_ROWS) % 3]


def costs(n_features: int = N_FEATURES) -> list[float]:
    """What each feature costs."""
    return [1.0 + (3 * j) % 5 for j in range(n_features)]


def feature_groups() -> dict[str, list[int]]:
    """Features that are paid for together."""
    return {"first": [0, 1, 2], "second": [5, 6]}

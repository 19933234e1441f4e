"""The tables that are compared on: made ones, and real ones from the folder SECATEUR_DATA."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from secateur.datasets import make_wide

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to train on and rows to test on; two classes, 0 and 1."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @property
    def shape(self) -> str:
        return f"{self.X.shape[0]:,} x {self.X.shape[1]:,}"


def made(n_rows: int, n_test: int, n_features: int, n_informative: int, **more: Any) -> Split:
    """A problem of ``secateur.datasets.make_wide``, its last rows for the test."""
    problem = make_wide(n_rows + n_test, n_features, n_informative, **more)
    X, y = problem.X, problem.y.astype(np.float64)
    return Split(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def array_of(name: str, key: str, default: Any) -> Any:
    """An optional array of a real data set."""
    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    with np.load(folder / f"{name}.npz") as stored:
        return stored.get(key, default)


def whole(name: str) -> tuple[Any, Any] | None:
    """X and y of a real data set, or None where it is not there."""
    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    file = folder / f"{name}.npz"
    if not file.is_file():
        return None
    with np.load(file) as stored:
        arrays = dict(stored)
    return _table(arrays), arrays["y"]


def real(name: str, test_share: float = 0.2) -> Split | None:
    """A real data set of two classes, or None where it is not there."""
    found = whole(name)
    if found is None:
        return None
    X, labels = found
    y = (labels == labels.max()).astype(np.float64)
    order = np.random.default_rng(0).permutation(len(y))
    n_test = int(test_share * len(y))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    return Split(X[train], y[train], X[test], y[test])


def missing(name: str) -> str:
    """What to say where a real data set is not there."""
    return f"Not run: no {name}.npz in the folder that SECATEUR_DATA names."


def _table(arrays: dict[str, Any]) -> Any:
    if "X" in arrays:
        return arrays["X"].astype(np.float64)
    data = arrays["data"].astype(np.float64)
    shape = tuple(int(n) for n in arrays["shape"])
    return sp.csr_matrix((data, arrays["indices"], arrays["indptr"]), shape=shape)

"""The paper's protocol: subsets of several sizes, logistic regression on them, test AUC."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import ROOT, real
from common.measure import N_THREADS
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from secateur import FeatureGradientsSelector

MOST_FOR_INFORMATION = 5_000
"""Mutual information takes a loop over columns in Python: minutes for more than these."""


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """Rows to train on and rows to test by."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any


def mnist35(draw: int = 0, noise: float = 0.5) -> Set | None:
    """3 against 5 with normal noise added to the pixels; the official test part."""
    folder = Path(os.environ.get("SECATEUR_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "mnist.npz").is_file():
        return None
    with np.load(folder / "mnist.npz") as stored:
        X, y, is_test = stored["X"], stored["y"], stored["test_mask"]
    wanted = np.isin(y, [3, 5])
    X, y, is_test = X[wanted] / 255.0, (y[wanted] == 5).astype(int), is_test[wanted]
    X = X + noise * np.random.default_rng(draw).standard_normal(X.shape)
    return Set("mnist35", X[~is_test], y[~is_test], X[is_test], y[is_test])


def sparse_set(name: str) -> Set | None:
    """Two classes of a sparse set; of several classes, the last against the rest."""
    split = real(name, 0.3)
    if split is None:
        return None
    return Set(name, split.X, split.y.astype(int), split.X_test, split.y_test.astype(int))


def auc(data: Set, features: Any) -> float:
    """Test AUC of logistic regression on some columns."""
    scaler = StandardScaler(with_mean=not sp.issparse(data.X))
    train = scaler.fit_transform(data.X[:, features])
    model = LogisticRegression(max_iter=300).fit(train, data.y)
    decided = model.decision_function(scaler.transform(data.X_test[:, features]))
    return float(roc_auc_score(data.y_test, decided))


def by_gradients(data: Set, n_features: int, order: int, **more: Any) -> Any:
    """The features that Feature Gradients chooses, from the surest to the least."""
    selector = FeatureGradientsSelector(
        n_features=n_features, order=order, standardize=False, random_state=0, n_jobs=N_THREADS,
        **more,
    ).fit(data.X, data.y)  # fmt: skip
    return np.flatnonzero(selector.support_)


def by_anova(data: Set) -> Any:
    """Features from best to worst by their F value."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # constant columns
        f = np.nan_to_num(f_classif(data.X, data.y)[0])
    return np.argsort(-f, kind="stable")


def filters(data: Set) -> dict[str, Any]:
    """Features from best to worst by the two filters of the paper; one alone if very wide."""
    found = {"ANOVA F": by_anova(data)}
    if data.X.shape[1] <= MOST_FOR_INFORMATION:
        shared = mutual_info_classif(
            data.X, data.y, discrete_features=sp.issparse(data.X), random_state=0
        )
        found["mutual information"] = np.argsort(-shared, kind="stable")
    return found

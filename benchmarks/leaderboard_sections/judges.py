"""Fresh models on the chosen features: their accuracy, or R2, on the test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from leaderboard_sections.methods import lightgbm_for
from leaderboard_sections.sets import Part

JUDGES = ("trees", "linear", "1-NN")
MAX_TRAIN = 20_000
"""Rows that 1-NN and the linear model are fitted to at the most."""


def scores(part: Part, chosen: Any) -> dict[str, float]:
    """The test score of each model."""
    X, X_test = part.X[:, chosen], part.X_test[:, chosen]
    if len(chosen) == 0:
        model = DummyClassifier() if part.is_classes else DummyRegressor()
        rows, tests = np.zeros((len(part.y), 1)), np.zeros((len(part.y_test), 1))
        value = float(model.fit(rows, part.y).score(tests, part.y_test))
        return dict.fromkeys(JUDGES, value)
    rows = np.random.default_rng(0).permutation(len(part.y))[:MAX_TRAIN]
    tests = np.random.default_rng(0).permutation(len(part.y_test))[:MAX_TRAIN]
    scaler = MaxAbsScaler() if sp.issparse(X) else StandardScaler()
    linear = LogisticRegression(max_iter=1_000) if part.is_classes else Ridge()
    near = (KNeighborsClassifier if part.is_classes else KNeighborsRegressor)(1)
    found = {"trees": float(lightgbm_for(part).fit(X, part.y).score(X_test, part.y_test))}
    for name, model in (("linear", linear), ("1-NN", near)):
        fitted = make_pipeline(SimpleImputer(), scaler, model).fit(X[rows], part.y[rows])
        found[name] = float(fitted.score(X_test[tests], part.y_test[tests]))
    return found

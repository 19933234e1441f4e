"""The methods of the paper's curves: from one split to subsets and their test errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from papers.gbfs_figures.sets import Parts
from secateur import GBFSClassifier
from secateur.data.frames import read_table
from secateur.engines.boosted.trees import BoostedModel, Ensemble
from secateur.exceptions import EmptySelectionWarning
from secateur.model_selection.baselines import Baseline

PENALTIES = (512.0, 128.0, 32.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)
DEPTHS = (4, 5)
N_ROUNDS, N_TREES = 300, 300
SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
MOST = SIZES[-1]
SVM_GRID = {"svc__C": [1.0, 10.0], "svc__gamma": [0.3, 1.0, 3.0]}  # gamma as multiples of 1 / k
Points = list[dict[str, Any]]
"""Subsets, each with its features and the test error."""


def point(features: Any, wrong: Any) -> dict[str, Any]:
    return {"features": [int(j) for j in features], "error": float(np.mean(wrong))}


def staged(model: Any, X: Any) -> Iterator[tuple[Any, Any]]:
    """After each round: the features in use, and the raw predictions of some rows."""
    ensemble, table, used = model.path_[-1].model.ensemble, read_table(X), np.empty(0, np.int64)
    raw = np.repeat(ensemble.baseline[:, None], table.n_rows, axis=1)
    for trees in ensemble.rounds:
        newest = BoostedModel(Ensemble(ensemble.loss, np.zeros(len(raw)), [trees]), 1)
        raw += newest.raw(table)
        used = np.union1d(used, newest.features)
        yield used, raw[0].copy()


def fitted(
    penalty: float, depth: int, rounds: int, X: Any, y: Any, weight: Any = None, **more: Any
) -> Any:
    """GBFS at one penalty, all rounds."""
    model = GBFSClassifier(
        penalty=penalty, max_depth=depth, max_iter=rounds, learning_rate=0.1, early_stopping=False,
        random_state=0, n_jobs=1, **more,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptySelectionWarning)
        return model.fit(X, y, sample_weight=weight)


def gbfs(parts: Parts, *, quick: bool) -> Points:
    """At each penalty the depth and the number of rounds of the lowest validation error."""
    points = []
    for penalty in PENALTIES[1::3] if quick else PENALTIES:
        best: tuple[float, dict[str, Any]] = (np.inf, {})
        for depth in DEPTHS[:1] if quick else DEPTHS:
            model = fitted(penalty, depth, 20 if quick else N_ROUNDS, parts.X, parts.y)
            stages = zip(staged(model, parts.X_val), staged(model, parts.X_test), strict=True)
            for (used, valid), (_, test) in stages:
                wrong = float(np.mean((valid > 0) != parts.y_val))
                if wrong < best[0]:
                    best = wrong, point(used, (test > 0) != parts.y_test)
        points.append(best[1])
        if len(best[1]["features"]) > MOST:
            break
    return points


def l1_logistic(parts: Parts, *, quick: bool) -> Points:
    """Logistic regression at falling L1 penalties."""
    scale = StandardScaler().fit(parts.X_all)
    X, y, X_test = scale.transform(parts.X_all), parts.y_all, scale.transform(parts.X_test)
    top = np.abs((y - y.mean()) @ X).max()  # no feature enters below C = 1 / top
    points = []
    for C in np.geomspace(1.05, 300.0, 4 if quick else 14) / top:
        model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, tol=1e-3, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        points.append(point(np.flatnonzero(model.coef_[0]), model.predict(X_test) != parts.y_test))
        if len(points[-1]["features"]) > MOST:
            break
    return points


def forest(parts: Parts, *, quick: bool) -> Points:
    """A random forest again on the features of the largest decrease of impurity in a first one."""
    trees = 20 if quick else N_TREES
    params = {"min_samples_split": 21, "random_state": 0, "n_jobs": 1}
    X, y = parts.X_all, parts.y_all
    first = RandomForestClassifier(trees, **params).fit(X, y)
    order = np.argsort(-first.feature_importances_, kind="stable")
    points = []
    for k in sizes_up_to(X.shape[1], quick=quick):
        model = RandomForestClassifier(trees, **params).fit(X[:, order[:k]], y)
        points.append(point(order[:k], model.predict(parts.X_test[:, order[:k]]) != parts.y_test))
    return points


def sizes_up_to(n_features: int, *, quick: bool) -> list[int]:
    return [k for k in (SIZES[2:6:2] if quick else SIZES) if k <= n_features]


def ranked(name: str) -> Callable[..., Points]:
    """A ranking by a baseline of ``compare``, and the RBF machine on its first features."""

    def run(parts: Parts, *, quick: bool) -> Points:
        sizes = sizes_up_to(parts.X.shape[1], quick=quick)
        method = Baseline(name, random_state=0, n_ranked=sizes[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows that fill no block are left out
            order = method.fit(parts.X_all, parts.y_all).order_
        return [svm_point(parts, order[:k]) for k in sizes if k <= len(order)]

    return run


def svm_point(parts: Parts, features: Any) -> dict[str, Any]:
    """The test error of an RBF machine on some features."""
    columns = np.asarray(features, np.int64)
    model = svm(parts.X_all[:, columns], parts.y_all)
    return point(columns, model.predict(parts.X_test[:, columns]) != parts.y_test)


def svm(X: Any, y: Any) -> Any:
    """An RBF machine, its C and gamma chosen by two random fifths of the rows."""
    grid = {**SVM_GRID, "svc__gamma": [g / X.shape[1] for g in SVM_GRID["svc__gamma"]]}
    folds = ShuffleSplit(2, test_size=0.2, random_state=0)
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=folds, n_jobs=1).fit(X, y)


METHODS: dict[str, Callable[..., Points]] = {
    "GBFS": gbfs,
    "L1-LR": l1_logistic,
    "RF-FS": forest,
    "mRMR": ranked("mrmr_mi"),
    "HSIC Lasso": ranked("hsic_lasso"),
}
COLOURS = {
    "GBFS": "#c0392b",
    "L1-LR": "#2471a3",
    "RF-FS": "#229954",
    "mRMR": "#884ea0",
    "HSIC Lasso": "#d68910",
    "group lasso": "#616a6b",
}
SETTINGS = (
    f"GBFS: the paper's ten penalties, depth {DEPTHS[0]} or {DEPTHS[1]} and the number of rounds "
    f"(at most {N_ROUNDS}, rate 0.1) by a validation fifth of the training rows, on which it is "
    f"not fitted again; RF-FS: {N_TREES} trees, nodes of at most 20 rows are not split; L1-LR: "
    "14 penalties; mRMR and HSIC Lasso: an RBF machine, C and gamma by two random fifths."
)

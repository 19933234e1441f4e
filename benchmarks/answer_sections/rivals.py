"""Rivals: LightGBM with a penalty for first uses (CEGB), elimination by permutation, filters."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from common.measure import N_THREADS
from scipy.stats import rankdata
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

TRADEOFFS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Those that are tuned in folds."""

MORE_TRADEOFFS = (5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 70.0, 100.0, 150.0, 200.0)
"""Those of which the best with few enough features is taken, by its test score."""


def parameters(y: Any, n_threads: int = N_THREADS, **more: Any) -> dict[str, Any]:
    """LightGBM with trees of the size of ours, for classes from 0 on."""
    n_classes = int(y.max()) + 1
    kind = {"objective": "binary"} if n_classes == 2 else _several(n_classes)
    return {
        **kind,
        "verbosity": -1,
        "learning_rate": 0.1,
        "max_depth": 4,
        "num_leaves": 15,
        "min_data_in_leaf": int(np.clip(len(y) // 50, 1, 20)),
        "num_threads": n_threads,
        "seed": 0,
        **more,
    }


def _several(n_classes: int) -> dict[str, Any]:
    return {"objective": "multiclass", "num_class": n_classes}


def train(X: Any, y: Any, n_rounds: int = 100, **more: Any) -> lightgbm.Booster:
    """A plain fit."""
    given = parameters(y, **more)
    return lightgbm.train(given, lightgbm.Dataset(X, y, params=given), n_rounds)


def cegb(X: Any, y: Any, tradeoff: float, n_rounds: int = 100, **more: Any) -> lightgbm.Booster:
    """A fit in which the first use of a feature is penalised."""
    coupled = [1.0] * X.shape[1]
    penalty = {"cegb_tradeoff": tradeoff, "cegb_penalty_feature_coupled": coupled}
    return train(X, y, n_rounds, **penalty, **more)


def used(model: lightgbm.Booster) -> Any:
    """The features that a model uses."""
    return np.flatnonzero(model.feature_importance("split"))


def tuned_cegb(X: Any, y: Any, n_threads: int = N_THREADS) -> Any:
    """The features at the best of six tradeoffs in three folds, from a last fit to all rows."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    labels = np.unique(y)
    # a class of which a fold trains no row counts as well
    more = {"num_class": len(labels)} if len(labels) > 2 else {}
    losses = []
    for tradeoff in TRADEOFFS:
        found = 0.0
        for rows, test in folds:
            model = cegb(X[rows], y[rows], tradeoff, n_threads=n_threads, **more)
            found += log_loss(y[test], model.predict(X[test]), labels=labels)
        losses.append(found)
    best = TRADEOFFS[int(np.argmin(losses))]
    return used(cegb(X, y, best, n_threads=n_threads))


def eliminated(X: Any, y: Any, sizes: list[int]) -> dict[int, Any]:
    """Backward elimination by permutation importance on held-out rows; features by size."""
    rng = np.random.default_rng(0)
    is_test = rng.random(len(y)) < 0.25
    left = used(train(X[~is_test], y[~is_test]))
    found = {}
    while len(left):
        model = train(X[~is_test][:, left], y[~is_test])
        if len(left) in sizes:
            found[len(left)] = left
        if len(left) <= min(sizes):
            break
        importance = _permutation(model, X[is_test][:, left], y[is_test], rng)
        n_next = max([s for s in sizes if s < len(left)], default=0)
        n_dropped = max(1, min(len(left) - n_next, len(left) // 5))
        left = np.sort(left[np.argsort(-importance, kind="stable")[:-n_dropped]])
    return found


def _permutation(model: Any, X: Any, y: Any, rng: Any) -> Any:
    base, gains = log_loss(y, model.predict(X)), []
    for j in range(X.shape[1]):
        shuffled = X.copy()
        shuffled[:, j] = rng.permutation(shuffled[:, j])
        gains.append(log_loss(y, model.predict(shuffled)) - base)
    return np.array(gains)


def rankings(X: Any, y: Any) -> dict[str, Any]:
    """Scores of features one by one, and by the gain of a LightGBM fit."""
    return {
        "top by ANOVA F": np.nan_to_num(f_classif(X, y)[0]),
        "top by mutual information": mutual_info_classif(X, y, random_state=0, n_jobs=N_THREADS),
        "top by LightGBM's gain": train(X, y).feature_importance("gain"),
    }


def top(scores: Any, size: int) -> Any:
    """The features with the highest scores."""
    return np.flatnonzero(rankdata(-np.asarray(scores), method="ordinal") <= size)

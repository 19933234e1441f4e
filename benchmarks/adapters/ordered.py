"""Selectors that give features in an order: FeatBoost, and those it is compared with."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.measure import N_THREADS

from secateur import FeatBoostClassifier

MANY_CLASSES = 10
"""From so many classes on all trees get fewer rounds: each round has a tree per class."""


def n_rounds(y: Any) -> int:
    """Rounds of boosted trees for a problem, the same for all methods."""
    return 10 if len(np.unique(y)) >= MANY_CLASSES else 20


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ctrl-C after so many seconds."""

    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def xgboost(y: Any) -> Any:
    """The base of thresholded importances and of Boruta."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=n_rounds(y), max_depth=6, n_jobs=N_THREADS, random_state=0)


def featboost(**params: Any) -> Callable[[Any, Any, int], dict[str, Any]]:
    """FeatBoost; one that is stopped keeps what it has accepted."""

    def run(X: Any, y: Any, most: int) -> dict[str, Any]:
        selector = FeatBoostClassifier(
            max_features=most, max_iter=n_rounds(y), random_state=0, n_jobs=N_THREADS, **params
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            selector.fit(X, y)
        path = selector.path_
        return {
            "order": path[-1].order.tolist(),
            "scores": path.scores.tolist(),
            "ranks": [step.details.get("rank") for step in path],
            "after_reset": [bool(step.details.get("after_reset")) for step in path],
            "stop": str(selector.stop_reason_),
        }

    return run


def thresholded(X: Any, y: Any, most: int) -> dict[str, Any]:
    """Importances of XGBoost above their mean, best first."""
    importance = xgboost(y).fit(X, y).feature_importances_
    kept = np.flatnonzero(importance > importance.mean())
    return {"order": kept[np.argsort(-importance[kept])][:most].tolist()}


def boruta(X: Any, y: Any, most: int) -> dict[str, Any]:
    """Boruta on XGBoost, 20 rounds; what it keeps is ranked by one more fit."""
    from boruta import BorutaPy

    X = X.toarray() if sp.issparse(X) else X
    model = xgboost(y)
    found = BorutaPy(model, n_estimators=n_rounds(y), max_iter=20, random_state=0).fit(X, y)
    kept = np.flatnonzero(found.support_ | found.support_weak_)
    if len(kept) == 0:
        return {"order": []}
    importance = xgboost(y).fit(X[:, kept], y).feature_importances_
    return {"order": kept[np.argsort(-importance)][:most].tolist()}


def relieff(X: Any, y: Any, most: int) -> dict[str, Any]:
    """ReliefF with ten neighbours; scores above their mean, best first."""
    from skrebate import ReliefF

    X = X.toarray() if sp.issparse(X) else X
    found = ReliefF(n_neighbors=10, n_features_to_select=most, n_jobs=N_THREADS).fit(X, y)
    score = np.asarray(found.feature_importances_)
    kept = np.flatnonzero(score > score.mean())
    return {"order": kept[np.argsort(-score[kept])][:most].tolist()}


METHODS: dict[str, Callable[[Any, Any, int], dict[str, Any]]] = {
    "FeatBoost, 1-NN": featboost(standardize=False),
    "FeatBoost, trees": featboost(evaluator="trees"),
    "XGBoost, threshold": thresholded,
    "Boruta": boruta,
    "ReliefF": relieff,
}


def timed(
    method: Callable[[Any, Any, int], dict[str, Any]], X: Any, y: Any, most: int, limit: float
) -> dict[str, Any]:
    """The order that a method gives, and its seconds; the method keeps what it has at Ctrl-C."""
    start = time.perf_counter()
    with at_most(limit):
        found = method(X, y, most)
    return {**found, "seconds": time.perf_counter() - start}

"""Every estimator that secateur offers, found by itself, and small problems to try it on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier

import secateur

# What makes a fit quick, where the estimator has it; results need not be good.
QUICK = {"max_iter": 5, "max_epochs": 20, "learning_rate": 0.4, "cv": 2, "random_state": 0}

# Few penalties instead of a long grid, by the unit of each family.
GRIDS = {
    "AGBM": {"penalty": [0.1, 0.01]},
    "GTGBM": {"penalty": [0.1, 0.01]},
    "GBFS": {"penalty": [20.0, 2.0]},
    "GBFSRanker": {"penalty": [0.5, 0.1]},
    "Multitask": {"group_penalty": [0.1, 0.01]},
    "FeatureGradients": {"penalty": [2.0, 0.1]},
    "Grafting": {"l1": [0.25, 0.1, 0.05]},
    "Auto": {
        "candidates": [
            secateur.AGBMRegressor(penalty=[0.1, 0.01], max_iter=5, learning_rate=0.4),
            secateur.GraftingRegressor(l1=[0.25, 0.1, 0.05]),
        ]
    },
}

NAMES = tuple("abcdefgh")
INFORMATIVE = (1, 4, 6)


class InTens:
    """A ranker whose queries are ten rows each unless they are given, as tests give X and y."""

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *more: Any, **named: Any
    ) -> Any:
        n_rows = np.shape(y)[0] if np.ndim(y) else 1
        qid = named.pop("qid", np.arange(getattr(X, "n_rows", n_rows)) // 10)
        y = as_grades(y)
        return super().fit(X, y, sample_weight, *more, qid=qid, **named)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return super().score(X, as_grades(y), sample_weight, qid=np.arange(len(y)) // 10)


def as_grades(y: Any) -> Any:
    """Numbers that are no grades as grades; all else as it is, also what is wrong."""
    values = np.asarray(y)
    is_number = values.ndim == 1 and values.dtype.kind == "f" and values.size > 0
    if not is_number or not np.isfinite(values).all() or (values == np.floor(values)).all():
        return y
    return np.digitize(values, np.quantile(values, [0.5, 0.75, 0.9]))


def with_queries(cls: type) -> type:
    """The same class, named so that it can be pickled; a ranker gets queries."""
    if not cls.__name__.endswith("Ranker"):
        return cls
    if cls.__name__ not in globals():
        made = type(cls.__name__, (InTens, cls), {"__module__": __name__, "__doc__": cls.__doc__})
        made.fit.__signature__ = inspect.signature(cls.fit)
        globals()[cls.__name__] = made
    return globals()[cls.__name__]


def estimator_classes() -> list[type]:
    """Walk the public names: a new selector is checked as soon as it is one of them."""
    public = [getattr(secateur, name) for name in secateur.__all__]
    found = [x for x in public if inspect.isclass(x) and issubclass(x, BaseEstimator)]
    return [with_queries(cls) for cls in found]


def having(*names: str) -> list[type]:
    """The estimators that have these parameters or methods."""
    return [cls for cls in estimator_classes() if all(_has(cls, name) for name in names)]


def _has(cls: type, name: str) -> bool:
    return name in inspect.signature(cls).parameters or hasattr(cls, name)


def takes_in_fit(cls: type, name: str) -> bool:
    """Whether ``fit`` of an estimator has this parameter."""
    return name in inspect.signature(cls.fit).parameters


def quick(cls: type, *, short_grid: bool = True, **params: Any) -> Any:
    """An estimator that fits quickly, with a few penalties or its own grid."""
    known = inspect.signature(cls).parameters
    settings = {name: value for name, value in QUICK.items() if name in known}
    for family, grid in GRIDS.items():
        settings |= grid if short_grid and cls.__name__.startswith(family) else {}
    return cls(**settings | params)


def rounds(cls: type, n_rounds: int) -> dict[str, int]:
    """The parameter that limits how long a fit takes, by the name that the estimator has for it."""
    known = inspect.signature(cls).parameters
    return {name: n_rounds for name in ("max_iter", "max_epochs") if name in known}


class Small(NamedTuple):
    """A small problem: X, y, and further rows of both."""

    X: Any
    y: Any
    X_new: Any
    y_new: Any


def small_problem(cls: type, n_rows: int = 200, seed: int = 0) -> Small:
    """Eight columns, three of which matter; two classes or numbers, as the estimator needs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 60, len(NAMES)))
    a, b, c = (X[:, j] for j in INFORMATIVE)
    signal = 1.5 * a - b + 0.8 * c + 0.3 * rng.normal(size=len(X))
    y = (signal > 0).astype(int) if is_classifier(cls()) else signal
    if issubclass(cls, InTens):
        y = np.digitize(signal, [0.0, 1.0, 2.0])
    return Small(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def in_frame(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(NAMES))


@cache
def fitted(cls: type, container: Callable[[Any], Any] = np.asarray) -> Any:
    """A quick estimator fitted to its small problem, once for all tests: do not change it."""
    small = small_problem(cls)
    return quick(cls).fit(container(small.X), small.y)


def predictions(estimator: Any, X: Any) -> Any:
    """What an estimator makes of X: predictions, or the columns that it keeps, as numbers."""
    for method in ("predict_proba", "predict"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(X))
    return _numbers(estimator.transform(X))


def _numbers(taken: Any) -> Any:
    """A table of any kind as an array; missing values of any kind are NaN."""
    if sp.issparse(taken):
        return taken.toarray()
    if hasattr(taken, "to_pandas"):  # polars, pyarrow
        taken = taken.to_pandas()
    if isinstance(taken, pd.DataFrame):
        return taken.to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(taken, dtype=float)

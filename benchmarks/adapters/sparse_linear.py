"""Solvers of sparse logistic regression, all of the same problem.

    mean over rows of log(1 + exp(-y x'w)) + l1 |w|,   y = -1 or 1, no intercept

celer has no intercept and liblinear shrinks its own, so there is none; columns come standardised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.data import whole
from common.measure import N_THREADS

MOST_SECONDS = 10.0
"""A solver that took so long, and is not there yet, is not asked for more."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Standardised columns, labels, and the largest useful penalty."""

    name: str
    X: Any
    y: Any

    @property
    def largest_l1(self) -> float:
        return float(np.abs(self.X.T @ (0.5 * self.y)).max()) / len(self.y)

    def objective(self, w: Any, l1: float) -> float:
        margin = self.y * (self.X @ w)
        return float(np.logaddexp(0.0, -margin).mean() + l1 * np.abs(w).sum())


def load(name: str) -> Problem | None:
    """A real data set of two classes; dense columns centred and scaled, sparse ones scaled."""
    found = whole("mnist" if name == "mnist 3/8" else name)
    if found is None:
        return None
    X, labels = found
    if name == "mnist 3/8":
        kept = np.isin(labels, [3, 8])
        X, labels = X[kept], labels[kept]
    y = np.where(labels == labels.max(), 1.0, -1.0)
    return Problem(name, _standardised(X), y)


def _standardised(X: Any) -> Any:
    if sp.issparse(X):
        squares, means = (np.asarray(M.mean(axis=0)).ravel() for M in (X.multiply(X), X))
        spread = np.sqrt(squares - means**2)
        return (X @ sp.diags(1.0 / np.where(spread > 0, spread, 1.0))).tocsc()
    spread = X.std(axis=0)
    return np.asfortranarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _grafting(problem: Problem, l1: float, tol: float) -> Any:
    from secateur import GraftingClassifier

    model = GraftingClassifier(
        l1=l1, standardize=False, fit_intercept=False, tol=tol, n_jobs=N_THREADS
    )
    return model.fit(problem.X, problem.y).coef_[0]


def _scikit(solver: str) -> Callable[[Problem, float, float], Any]:
    def fit(problem: Problem, l1: float, tol: float) -> Any:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(
            C=1.0 / (l1 * len(problem.y)),
            l1_ratio=1,
            solver=solver,
            fit_intercept=False,
            tol=tol,
            max_iter=200 if solver == "saga" else 10_000,
            random_state=0,
        )
        return model.fit(problem.X, problem.y).coef_[0]

    return fit


def _celer(problem: Problem, l1: float, tol: float) -> Any:
    import celer

    model = celer.LogisticRegression(C=1.0 / (l1 * len(problem.y)), tol=tol, max_iter=100)
    return model.fit(problem.X, problem.y).coef_[0]


def _skglm(problem: Problem, l1: float, tol: float) -> Any:
    import skglm

    model = skglm.SparseLogisticRegression(alpha=l1, tol=tol, fit_intercept=False, max_iter=100)
    return model.fit(problem.X, problem.y).coef_[0]


SOLVERS: dict[str, Callable[[Problem, float, float], Any]] = {
    "grafting": _grafting,
    "liblinear": _scikit("liblinear"),
    "saga": _scikit("saga"),
    "celer": _celer,
    "skglm": _skglm,
}
TOLERANCES = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]


def solve(name: str, problem: Problem, l1: float, tol: float) -> Any:
    """The weights of one solver, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SOLVERS[name](problem, l1, tol)

"""The other methods of the grafting paper's experiments: (c), (e), (f), (g) and (h) of 4.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC

N_CHOSEN = 10
Fitted = tuple[Any, Callable[[Any], Any]]
"""Which features were chosen (None for all), and a function from rows to labels."""


def gradient_descent(X: Any, y: Any, l1: float) -> Fitted:
    """An L1 linear model on all features by L-BFGS-B; small weights are cut off afterwards."""
    n, p = X.shape
    sign = np.where(y == 1, 1.0, -1.0)

    def both(theta: Any) -> tuple[float, Any]:
        w = theta[:p] - theta[p : 2 * p]
        margin = sign * (X @ w + theta[-1])
        slope = -sign / (1.0 + np.exp(np.clip(margin, -500, 500))) / n
        by_w = X.T @ slope
        value = np.logaddexp(0.0, -margin).mean() + l1 * theta[:-1].sum()
        return float(value), np.concatenate([by_w + l1, l1 - by_w, [slope.sum()]])

    bounds = [(0.0, None)] * (2 * p) + [(None, None)]
    options = {"maxiter": 5000, "maxfun": 20_000}
    found = minimize(
        both, np.zeros(2 * p + 1), jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    w, b = found.x[:p] - found.x[p : 2 * p], found.x[-1]
    w = np.where(np.abs(w) < 1e-4 * np.abs(w).max(), 0.0, w)
    return np.flatnonzero(w), lambda Z: (Z @ w + b > 0).astype(int)


def linear_svm(X: Any, y: Any, C: float) -> Fitted:
    model = LinearSVC(C=C, loss="hinge", max_iter=20_000, random_state=0).fit(X, y)
    return None, model.predict


def rbf_svm(X: Any, y: Any, C: float, chosen: Any = None) -> Fitted:
    columns = np.arange(X.shape[1]) if chosen is None else chosen
    model = SVC(C=C, gamma="auto").fit(X[:, columns], y)
    return chosen, lambda Z: model.predict(Z[:, columns])


def wrapped_svm(X: Any, y: Any, C: float) -> Fitted:
    """Greedy forward selection of ten features by 3-fold accuracy of the RBF machine."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    chosen: list[int] = []
    apart = np.zeros((len(X), len(X)))  # squared distances on the chosen features
    for _ in range(N_CHOSEN):
        rest = [j for j in range(X.shape[1]) if j not in chosen]
        scores = [_accuracy(_kernel(apart, X[:, j], len(chosen) + 1), y, C, folds) for j in rest]
        best = rest[int(np.argmax(scores))]
        chosen.append(best)
        apart += np.subtract.outer(X[:, best], X[:, best]) ** 2
    return rbf_svm(X, y, C, np.array(chosen))


def _kernel(apart: Any, column: Any, n_features: int) -> Any:
    return np.exp(-(apart + np.subtract.outer(column, column) ** 2) / n_features)


def _accuracy(kernel: Any, y: Any, C: float, folds: Any) -> float:
    right = 0
    for train, test in folds:
        model = SVC(C=C, kernel="precomputed", max_iter=20_000)
        model.fit(kernel[np.ix_(train, train)], y[train])
        right += int((model.predict(kernel[np.ix_(test, train)]) == y[test]).sum())
    return right / len(y)


def filtered_svm(X: Any, y: Any, C: float) -> Fitted:
    """The ten features most correlated with the label."""
    centred = X - X.mean(axis=0)
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    correlation = np.abs((y - y.mean()) @ centred) / spread
    return rbf_svm(X, y, C, np.sort(np.argsort(-correlation, kind="stable")[:N_CHOSEN]))

"""The group lasso: linear models whose groups of columns enter and leave as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, softmax
from sklearn.model_selection import KFold, StratifiedKFold

from secateur.typing import AnyArray, FloatArray, IntArray

N_PENALTIES, LOWEST = 20, 0.02  # of the grid: how many, and the last as a share of the first
MAX_ITER, TOLERANCE = 500, 1e-4  # steps at a penalty; a change below this share ends them


class GroupLasso:
    """The problem of Meier, van de Geer and Bühlmann (2008), along a falling grid of penalties.

    The mean loss, that of softmax for classes or half the squared error, and for each group g the
    penalty times sqrt(size of g) times the norm of its weights. Solved by proximal gradient steps
    with momentum, which begins anew where a step is not one downhill.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns), of one scale
    y : array of shape (n_rows,)
    groups : array of int, shape (n_columns,)
        The number of each column's group.
    is_classes : bool
    """

    def __init__(self, X: Any, y: AnyArray, groups: IntArray, *, is_classes: bool) -> None:
        ones = np.ones((X.shape[0], 1))
        self._X = sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
        self._of_column = np.unique(groups, return_inverse=True)[1]
        self._root = np.sqrt(np.bincount(self._of_column))
        self._is_classes = is_classes
        self._target = _target(y, is_classes=is_classes)
        curvature = 0.5 if is_classes else 1.0
        self._step = 1.0 / (curvature * _largest_eigenvalue(self._X) + 1e-12)

    def largest_penalty(self) -> float:
        """The smallest penalty at which no group is in."""
        weights = np.zeros((self._X.shape[1], self._target.shape[1]))
        weights[-1] = self._target.mean(axis=0)
        if self._is_classes:
            weights[-1] = np.log(weights[-1])
        return float((self._norms(self._gradient(weights)[:-1]) / self._root).max())

    def path(self, grid: Iterable[float]) -> Iterator[FloatArray]:
        """The weights, the intercepts last, at each penalty of a falling grid."""
        weights = np.zeros((self._X.shape[1], self._target.shape[1]))
        for penalty in grid:
            weights = self._solve(weights, penalty)
            yield weights

    def _solve(self, weights: FloatArray, penalty: float) -> FloatArray:
        at, momentum = weights, 1.0
        for _ in range(MAX_ITER):
            fresh = self._shrink(at - self._step * self._gradient(at), penalty)
            change = fresh - weights
            if np.abs(change).max() <= TOLERANCE * max(1e-12, np.abs(fresh).max()):
                return fresh
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            if ((at - fresh) * change).sum() > 0.0:
                following, momentum = 1.0, 1.0
            at = fresh + (momentum - 1.0) / following * change
            weights, momentum = fresh, following
        return weights

    def _gradient(self, weights: FloatArray) -> FloatArray:
        raw = self._X @ weights
        fitted = softmax(raw, axis=1) if self._is_classes else raw
        found: FloatArray = np.asarray(self._X.T @ (fitted - self._target)) / len(self._target)
        return found

    def _shrink(self, weights: FloatArray, penalty: float) -> FloatArray:
        norms = np.maximum(self._norms(weights[:-1]), 1e-300)
        share = np.maximum(0.0, 1.0 - self._step * penalty * self._root / norms)
        return np.vstack([weights[:-1] * share[self._of_column, None], weights[-1:]])

    def _norms(self, weights: FloatArray) -> FloatArray:
        squares = np.einsum("jk,jk->j", weights, weights)
        return np.sqrt(np.bincount(self._of_column, squares))


def _target(y: AnyArray, *, is_classes: bool) -> FloatArray:
    if not is_classes:
        return (y - np.mean(y))[:, None].astype(np.float64)
    return (y[:, None] == np.unique(y)).astype(np.float64)


def _largest_eigenvalue(X: Any) -> float:
    """Of X'X / n, by the power method, from above by a tenth."""
    v = np.random.default_rng(0).normal(size=X.shape[1])
    for _ in range(30):
        v = X.T @ (X @ v)
        v /= np.linalg.norm(v)
    return 1.1 * float(np.linalg.norm(X @ v) ** 2) / X.shape[0]


def group_lasso_path(
    X: Any, y: AnyArray, groups: IntArray | None, seed: Any, *, is_classes: bool
) -> tuple[list[FloatArray], int]:
    """The sizes of the weights of all columns along a grid, and the best penalty in three folds."""
    of_column = np.arange(X.shape[1]) if groups is None else np.asarray(groups)
    whole = GroupLasso(X, y, of_column, is_classes=is_classes)
    grid = whole.largest_penalty() * np.geomspace(0.95, LOWEST, N_PENALTIES)
    losses = np.zeros(len(grid))
    folds = (StratifiedKFold if is_classes else KFold)(3, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        part = GroupLasso(X[train], y[train], of_column, is_classes=is_classes)
        for k, weights in enumerate(part.path(grid)):
            raw = X[test] @ weights[:-1] + weights[-1]
            if is_classes:
                codes = np.searchsorted(np.unique(y[train]), y[test])
                losses[k] -= log_softmax(raw, axis=1)[np.arange(len(test)), codes].sum()
            else:
                losses[k] += ((y[test] - np.mean(y[train]) - raw[:, 0]) ** 2).sum()
    sizes = [np.abs(weights[:-1]).sum(axis=1) for weights in whole.path(grid)]
    return sizes, int(np.argmin(losses))

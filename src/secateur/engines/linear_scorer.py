"""A linear model on a subset of columns, and its losses on test rows, shrunk or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur._kernels.threads import OneBlasThread
from secateur.data.standardize import stays_sparse, unit_of
from secateur.data.table import Problem, Table
from secateur.data.target import weight_of_a_row
from secateur.losses import Loss, get_loss
from secateur.typing import FloatArray, IntArray

RIDGE = 1.0  # squared weights count this much against the summed loss; columns have variance one
MAX_ITERATIONS = 60
# Factors on a model's predictions that are tried, from 0, the constant, to 1, no shrinkage.
SHRINKAGES: FloatArray = np.concatenate([[0.0], 2.0 ** (np.arange(-10, 1) / 2.0)])


class LinearScorer:
    """Ridge or logistic regression on standardised columns; missing cells count as the mean."""

    def __init__(self, train: Problem, test: Problem) -> None:
        train = replace(train, weight=train.weight / weight_of_a_row(train.weight))
        self._train, self._test = train, test
        n_classes = train.target.n_classes
        name = "log_loss" if n_classes else "squared_error"
        self._loss = get_loss(name, n_classes=n_classes)
        self.metric = self._loss.metric
        self.weight = test.weight
        self._baseline = self._loss.baseline(train.target.values, train.weight)

    def losses_by_shrinkage(self, support: IntArray, shares: FloatArray) -> FloatArray:
        """Losses of shape (n_shares, n_test), predictions shrunk towards the constant (share 0)."""
        target, loss = self._test.target.values, self._loss.scores
        constant = np.repeat(self._baseline[:, None], self._test.n_rows, axis=1)
        if not len(support):
            return np.tile(loss(target, constant), (len(shares), 1))
        train = self._train
        left, right = _standard_columns(train.table, self._test.table, support, train.weight)
        known = (train.target.values, train.weight, self._baseline)
        if train.target.n_classes:
            coefficient, intercept = _logistic(left, *known, self._loss)
        else:
            coefficient, intercept = _ridge(left, *known)
        raw = np.ascontiguousarray(intercept[:, None] + np.asarray((right @ coefficient.T).T))
        change = raw - constant
        return np.stack([loss(target, constant + share * change) for share in shares])


def _standard_columns(
    train: Table, test: Table, support: IntArray, weight: FloatArray
) -> tuple[Any, Any]:
    """Some columns, of variance one in the training rows; dense ones centred as well."""
    total = weight.sum()
    if stays_sparse(train):
        left, right = train.csc[:, support].copy(), test.csc[:, support].copy()
        unit = unit_of(abs(left).nanmax(axis=0).toarray().ravel())
        for side in (left, right):
            side.data = np.nan_to_num(side.data) * np.repeat(unit, np.diff(side.indptr))
        mean = left.T @ weight / total
        spread = np.sqrt(np.maximum((left * left).T @ weight / total - mean * mean, 0.0))
        scale = np.where(spread > 0.0, spread, 1.0)
        for side in (left, right):
            side.data /= np.repeat(scale, np.diff(side.indptr))
        return left.tocsr(), right.tocsr()
    left, right = train.columns(support), test.columns(support)
    missing = np.isnan(left)
    unit = unit_of(np.fmax.reduce(np.abs(left), axis=0))
    left, right = left * unit, right * unit
    there = np.maximum(weight @ ~missing, 1e-300)
    mean = weight @ np.where(missing, 0.0, left) / there
    left = np.where(missing, 0.0, left - mean)
    spread = np.sqrt(weight @ (left * left) / total)
    scale = np.where(spread > 0.0, spread, 1.0)
    return left / scale, np.where(np.isnan(right), 0.0, right - mean) / scale


def _ridge(
    left: Any, target: FloatArray, weight: FloatArray, baseline: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ridge regression, by the shorter side of the table."""
    left = left.toarray() if hasattr(left, "toarray") else left
    share = weight / weight.sum()
    mean = share @ left
    root = np.sqrt(weight)[:, None]
    centred, y = (left - mean) * root, (target - baseline[0]) * root[:, 0]
    n, p = centred.shape
    if p <= n:
        coefficient = np.linalg.solve(centred.T @ centred + RIDGE * np.eye(p), centred.T @ y)
    else:
        coefficient = centred.T @ np.linalg.solve(centred @ centred.T + RIDGE * np.eye(n), y)
    return coefficient[None, :], np.array([baseline[0] - mean @ coefficient])


def _logistic(
    left: Any, target: FloatArray, weight: FloatArray, baseline: FloatArray, loss: Loss
) -> tuple[FloatArray, FloatArray]:
    """Logistic regression of two or more classes, with squared weights against it."""
    from scipy.optimize import minimize

    n_outputs, (n, p) = len(baseline), left.shape
    gradient, hessian = np.empty((n_outputs, n)), np.empty((n_outputs, n))
    total = weight.sum()

    def value_and_slope(flat: FloatArray) -> tuple[float, FloatArray]:
        w = flat.reshape(n_outputs, p + 1)
        raw = np.ascontiguousarray((left @ w[:, :p].T).T + w[:, p:])
        value = weight @ loss.pointwise(target, raw) + 0.5 * RIDGE * (w[:, :p] ** 2).sum()
        loss.gradients(target, raw, gradient, hessian)
        pull = gradient * weight
        slope = np.empty_like(w)
        slope[:, :p] = RIDGE * w[:, :p] - (left.T @ pull.T).T
        slope[:, p] = -pull.sum(axis=1)
        return float(value) / total, slope.ravel() / total

    start = np.zeros((n_outputs, p + 1))
    start[:, p] = baseline
    options = {"maxiter": MAX_ITERATIONS, "gtol": 1e-4}
    how: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": options}
    with OneBlasThread():
        found = minimize(value_and_slope, start.ravel(), **how)
    w = found.x.reshape(n_outputs, p + 1)
    return w[:, :p], w[:, p]


def shrunken_losses(
    by_shrinkage: Sequence[FloatArray], weights: Sequence[FloatArray]
) -> list[FloatArray]:
    """The loss of each row of each fold, predictions shrunk as the other validation rows suggest.

    A model of columns that were chosen on its own training rows is overconfident. ``by_shrinkage``
    has for each fold the losses of shape (n_factors, n_rows), from the smallest factor to 1.
    """
    table, weight = np.concatenate(by_shrinkage, axis=1), np.concatenate(weights)
    weighted = table * weight
    factor = np.argmin(weighted.sum(axis=1, keepdims=True) - weighted, axis=0)
    losses = table[factor, np.arange(table.shape[1])]
    return np.split(losses, np.cumsum([each.shape[1] for each in by_shrinkage])[:-1])

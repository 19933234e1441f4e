"""A linear model on few columns: what a subset is worth, judged on rows that did not choose it."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur._data.table import Table
from secateur.losses import get_loss
from secateur.typing import FloatArray, IntArray, Loss

RIDGE = 1.0
"""Squared weights count this much against the summed loss; columns have variance one."""

MOST_ITERATIONS = 60


class LinearJudge:
    """Ridge or logistic regression on some columns of the rows that train.

    Columns are divided by their standard deviation. Missing cells count as the mean.

    Parameters
    ----------
    train, test : Table
        The rows that train and the rows that judge, all columns.
    target : array of shape (n_train,)
        Numbers, or class codes.
    weight : array of shape (n_train,)
    n_classes : int
        0 for numbers.

    Examples
    --------
    >>> from secateur._data.frames import read_table
    >>> X = read_table([[0.0], [1.0], [2.0], [3.0]])
    >>> judge = LinearJudge(X, X, np.array([0.0, 1.0, 2.0, 3.0]), np.ones(4), n_classes=0)
    >>> losses = judge.losses(np.array([0]), np.array([0.0, 1.0, 2.0, 3.0]))
    >>> bool(losses.mean() < 0.1)
    True
    """

    def __init__(
        self, train: Table, test: Table, target: FloatArray, weight: FloatArray, n_classes: int
    ) -> None:
        self._train = train
        self._test = test
        self._target = target
        self._weight = weight
        self._loss: Loss = (
            get_loss("log_loss", n_classes=n_classes) if n_classes else get_loss("squared_error")
        )
        self._is_number = n_classes == 0
        self._baseline = self._loss.baseline(target, weight)

    @property
    def metric(self) -> str:
        """What the losses are called."""
        return self._loss.name

    def losses(self, support: IntArray, target: FloatArray) -> FloatArray:
        """The loss of each row that judges, of a model on these columns."""
        n_test = self._test.n_rows
        raw = np.repeat(self._baseline[:, None], n_test, axis=1)
        if len(support):
            A, B = _standard_columns(self._train, self._test, support, self._weight)
            fit = _ridge if self._is_number else _logistic
            coefficient, intercept = fit(A, self._target, self._weight, self._loss, self._baseline)
            raw = intercept[:, None] + np.asarray((B @ coefficient.T).T)
        return self._loss.pointwise(target, np.ascontiguousarray(raw))


def _standard_columns(
    train: Table, test: Table, support: IntArray, weight: FloatArray
) -> tuple[Any, Any]:
    """Some columns, of variance one in the rows that train; dense ones centred as well."""
    if train.is_sparse:
        return _standard_sparse(train.csc[:, support], test.csc[:, support], weight)
    A, B = train.columns(support), test.columns(support)
    missing = np.isnan(A)
    there = np.maximum(weight @ ~missing, 1e-300)
    mean = weight @ np.where(missing, 0.0, A) / there
    A = np.where(missing, 0.0, A - mean)
    spread = np.sqrt(weight @ (A * A) / weight.sum())
    scale = np.where(spread > 0.0, spread, 1.0)
    return A / scale, np.where(np.isnan(B), 0.0, B - mean) / scale


def _standard_sparse(A: Any, B: Any, weight: FloatArray) -> tuple[Any, Any]:
    total = weight.sum()
    A, B = A.copy(), B.copy()
    A.data, B.data = np.nan_to_num(A.data), np.nan_to_num(B.data)
    mean = A.T @ weight / total
    spread = np.sqrt(np.maximum((A * A).T @ weight / total - mean * mean, 0.0))
    scale = np.where(spread > 0.0, spread, 1.0)
    A.data /= np.repeat(scale, np.diff(A.indptr))
    B.data /= np.repeat(scale, np.diff(B.indptr))
    return A.tocsr(), B.tocsr()


def _ridge(
    A: Any, target: FloatArray, weight: FloatArray, loss: Loss, baseline: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ridge regression, by the shorter side of the table."""
    A = A.toarray() if hasattr(A, "toarray") else A
    share = weight / weight.sum()
    mean = share @ A
    root = np.sqrt(weight)[:, None]
    C, y = (A - mean) * root, (target - baseline[0]) * root[:, 0]
    n, p = C.shape
    if p <= n:
        coefficient = np.linalg.solve(C.T @ C + RIDGE * np.eye(p), C.T @ y)
    else:
        coefficient = C.T @ np.linalg.solve(C @ C.T + RIDGE * np.eye(n), y)
    return coefficient[None, :], np.array([baseline[0] - mean @ coefficient])


def _logistic(
    A: Any, target: FloatArray, weight: FloatArray, loss: Loss, baseline: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Logistic regression of two or more classes, with squared weights against it."""
    from scipy.optimize import minimize

    n_outputs, (n, p) = len(baseline), A.shape
    gradient, hessian = np.empty((n_outputs, n)), np.empty((n_outputs, n))
    total = weight.sum()

    def value_and_slope(flat: FloatArray) -> tuple[float, FloatArray]:
        w = flat.reshape(n_outputs, p + 1)
        raw = np.ascontiguousarray((A @ w[:, :p].T).T + w[:, p:])
        value = weight @ loss.pointwise(target, raw) + 0.5 * RIDGE * (w[:, :p] ** 2).sum()
        loss.gradients(target, raw, gradient, hessian)
        pull = gradient * weight
        slope = np.empty_like(w)
        slope[:, :p] = RIDGE * w[:, :p] - (A.T @ pull.T).T
        slope[:, p] = -pull.sum(axis=1)
        return float(value) / total, slope.ravel() / total

    start = np.zeros((n_outputs, p + 1))
    start[:, p] = baseline
    options = {"maxiter": MOST_ITERATIONS, "gtol": 1e-4}
    found = minimize(value_and_slope, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    w = found.x.reshape(n_outputs, p + 1)
    return w[:, :p], w[:, p]

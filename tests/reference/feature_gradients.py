"""Feature Gradients as the paper writes it: matrices, plain numpy, one idea after another.

Slow on purpose: everything that makes the engine fast is left out.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import numpy as np

from secateur.engines.feature_gradients.estimator import COEFFICIENTS


def triud(matrix):
    """Zero out the lower triangle and the diagonal."""
    return np.triu(matrix, 1)


def signal(X, y, s, order):
    """z(s) = sum_i a_i / binom(N, i + 2) y' triud(X diag(s) X')^(i + 1) y, the sum in Eq. 1."""
    n = len(y)
    T = triud(X @ np.diag(s) @ X.T)
    power = np.eye(n)
    z = 0.0
    for i, a in enumerate(COEFFICIENTS[order]):
        power = power @ T
        z += a / comb(n, i + 2) * (y @ power @ y)
    return z


def signal_slopes(X, y, s, order):
    """dz/ds by the product rule: each factor T of a power is replaced by dT/ds_j in turn."""
    n, n_features = X.shape
    T = triud(X @ np.diag(s) @ X.T)
    powers = [np.linalg.matrix_power(T, p) for p in range(order)]
    slopes = np.zeros(n_features)
    for j in range(n_features):
        G = triud(np.outer(X[:, j], X[:, j]))
        for i, a in enumerate(COEFFICIENTS[order]):
            for p in range(i + 1):
                slopes[j] += a / comb(n, i + 2) * (y @ powers[p] @ G @ powers[i - p] @ y)
    return slopes


def apply_triud(X, s, y):
    """triud(X diag(s) X') y by Proposition 2.1: reverse cumulative sums, column by column."""
    u = X * y[:, None]
    below = np.cumsum(u[::-1], axis=0)[::-1] - u
    return (X * below) @ s


def weighted_signal(X, y, s, order, weight):
    """The same z with weights of rows, from its definition: a sum over all chains of rows.

    Rows i_0 < i_1 < ... < i_m count by the product of their weights, and the sum of these
    products, which is binom(N, m + 1) if all weights are one, takes its place.
    """
    n = len(y)
    K = X @ np.diag(s) @ X.T
    z = 0.0
    for i, a in enumerate(COEFFICIENTS[order]):
        total = norm = 0.0
        for chain in combinations(range(n), i + 2):
            share = np.prod(weight[list(chain)])
            links = np.prod([K[p, q] for p, q in pairwise(chain)])
            total += share * y[chain[0]] * links * y[chain[-1]]
            norm += share
        z += a * total / norm
    return z


def top_eigenvalue(X):
    """The largest eigenvalue of the covariance of centred X."""
    return np.linalg.eigvalsh(X.T @ X / len(X))[-1]


def residual_variance(z):
    """What is left of a variance of one."""
    return 1.0 - z, -1.0


def error_rate(z, low=0.01, beyond=0.025):
    """(1 - sqrt(z)) / 2 on [low, 1], carried on in straight lines; and its slope."""
    if z < low:
        slope = -0.25 / np.sqrt(low)
        return (1.0 - np.sqrt(low)) / 2.0 + slope * (z - low), slope
    if z > 1.0:
        return -beyond * (z - 1.0), -beyond
    return (1.0 - np.sqrt(z)) / 2.0, -0.25 / np.sqrt(z)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def search(X, targets, order, penalty, price, batches, curve, rate=0.1):
    """Adam on v, one update per batch of rows; yields v after each.

    X is centred and scaled already; ``targets`` has one row per target (one against the rest).
    """
    n_features = X.shape[1]
    v, first, second = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    for t, rows in enumerate(batches, start=1):
        s = sigmoid(2.0 * v)
        slope = penalty / n_features * price
        for y in targets:
            z = signal(X[rows], y[rows], s, order)
            dz = signal_slopes(X[rows], y[rows], s, order)
            slope = slope + curve(z)[1] * dz / len(targets)
        g = slope * 2.0 * s * (1.0 - s)
        first = 0.9 * first + 0.1 * g
        second = 0.999 * second + 0.001 * g * g
        v = v - rate * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        yield v.copy()

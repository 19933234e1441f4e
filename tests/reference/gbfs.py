"""GBFS as the paper writes it (Algorithm 1 and Eq. 14): floats, every threshold, nothing rounded.

Notation: X (n rows, d features), y of 0 and 1 or numbers, H the predictions, g the negative
gradient, used the set of features of all trees so far (phi is 0 for these, 1 for the others).
"""

from __future__ import annotations

import numpy as np


def gradient(kind, y, H):
    """The negative gradient of half the squared error, or of the log loss."""
    return y - H if kind == "squared" else y - 1.0 / (1.0 + np.exp(-H))


def best_split(X, g, rows, j):
    """The largest reduction of half the squared error by feature j, and its threshold."""
    order = rows[np.argsort(X[rows, j], kind="stable")]
    x, sums = X[order, j], np.cumsum(g[order])
    n, total = len(order), sums[-1]
    left = np.arange(1, n)
    drop = sums[:-1] ** 2 / left + (total - sums[:-1]) ** 2 / (n - left) - total**2 / n
    drop[x[1:] == x[:-1]] = -np.inf
    best = int(drop.argmax())
    return drop[best] / 2.0, (x[best] + x[best + 1]) / 2.0


def grow(X, g, used, penalty, depth):
    """One tree: the splits (feature, threshold) level by level, and its value for each row."""
    splits, value, level = [], np.zeros(len(g)), [np.arange(len(g))]
    for _ in range(depth):
        below = []
        for rows in level:
            gains = np.full(X.shape[1], -np.inf)
            thresholds = np.zeros(X.shape[1])
            for j in range(X.shape[1]) if len(rows) > 1 else ():
                drop, thresholds[j] = best_split(X, g, rows, j)
                gains[j] = drop - (0.0 if j in used else penalty)  # Eq. 14
            j = int(gains.argmax())
            if gains[j] <= 1e-12:
                value[rows] = g[rows].mean()
                continue
            used.add(j)
            splits.append((j, thresholds[j]))
            is_left = X[rows, j] <= thresholds[j]
            below += [rows[is_left], rows[~is_left]]
        level = below
    for rows in level:
        value[rows] = g[rows].mean()
    return splits, value


def gbfs(kind, X, y, penalty, rounds, depth, rate):
    """Algorithm 1: the splits of each tree, and the predictions at the end."""
    H, used, trees = np.zeros(len(y)), set(), []  # line 2
    for _ in range(rounds):  # lines 3 to 8
        splits, value = grow(X, gradient(kind, y, H), used, penalty, depth)
        trees.append(splits)
        H = H + rate * value
    return trees, H

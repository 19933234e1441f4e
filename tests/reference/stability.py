"""Nogueira's stability, read like the paper: Z is the binary matrix of M sets and d features."""

from __future__ import annotations

import numpy as np


def index(Z):
    M, d = Z.shape
    p = [Z[:, f].sum() / M for f in range(d)]
    k = sum(Z[i].sum() for i in range(M)) / M
    s2 = [M / (M - 1) * p[f] * (1 - p[f]) for f in range(d)]
    return 1 - (sum(s2) / d) / (k / d * (1 - k / d))


def variance(Z):
    M, d = Z.shape
    phi_hat = index(Z)
    p = [Z[:, f].sum() / M for f in range(d)]
    k = [Z[i].sum() for i in range(M)]
    kbar = sum(k) / M
    phi = []
    for i in range(M):
        met = sum(Z[i, f] * p[f] for f in range(d)) / d
        bend = 2 * k[i] * kbar / d**2 - k[i] / d - kbar / d + 1
        inside = met - k[i] * kbar / d**2 + phi_hat / 2 * bend
        phi.append(inside / (kbar / d * (1 - kbar / d)))
    return 4 / M**2 * sum((each - np.mean(phi)) ** 2 for each in phi)


def pairwise(Z):
    """The same index where all sets have one size: the mean over pairs of Kuncheva's."""
    M, d = Z.shape
    k = Z[0].sum()
    values = [
        ((Z[i] & Z[j]).sum() - k**2 / d) / (k - k**2 / d)
        for i in range(M)
        for j in range(M)
        if i != j
    ]
    return np.mean(values)

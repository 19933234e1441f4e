"""The rival: value and gradient by Proposition 2.1 in plain numpy, as one would first write it."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from secateur.engines.feature_gradients.estimator import COEFFICIENTS


def _apply(X: Any, s: Any, r: Any) -> Any:
    """triud(X diag(s) X') r by reverse cumulative sums."""
    u = X * r[:, None]
    below = np.cumsum(u[::-1], axis=0)[::-1] - u
    return (X * below) @ s


def value_and_gradient(X: Any, y: Any, s: Any, order: int) -> tuple[float, Any]:
    """z and dz/ds: chains from both ends, and for each pair of them the same cumulative sums."""
    n = len(y)
    c = [a / comb(n, i + 2) for i, a in enumerate(COEFFICIENTS[order])]
    back, forth = [y], [y]
    for _ in range(order):
        back.append(_apply(X, s, back[-1]))
    for _ in range(order - 1):
        forth.append(_apply(X[::-1], s, forth[-1][::-1])[::-1])
    z = float(sum(c[i] * (y @ back[i + 1]) for i in range(order)))
    slope = np.zeros(X.shape[1])
    for p in range(order):
        carried = np.cumsum(X * forth[p][:, None], axis=0) - X * forth[p][:, None]
        given = sum(c[p + q] * back[q] for q in range(order - p))
        slope += np.einsum("ij,ij,i->j", X, carried, given)
    return z, slope

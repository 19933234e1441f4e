"""A problem built like Gisette from MNIST: pixels, products of pixels, and as many probes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from common.data import whole
from common.options import Options

N_TRAIN, N_VALID = 6_000, 2_000
N_REAL, N_FEATURES = 2_500, 5_000


class Parts(NamedTuple):
    """Rows to train on, to validate on, and to test on."""

    X: Any
    y: Any
    X_valid: Any
    y_valid: Any
    X_test: Any
    y_test: Any


def gisette_like(options: Options) -> Parts | None:
    """4 against 9; the probes are such columns with their rows permuted."""
    found = whole("mnist")
    if found is None:
        return None
    X, digit = found
    wanted = np.isin(digit, [4, 9])
    pixels, y = X[wanted].astype(np.float32) / 255.0, (digit[wanted] == 9).astype(np.int64)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    pixels, y = pixels[order], y[order]
    varying = np.flatnonzero(pixels.std(axis=0) > 0.02)
    pairs = rng.choice(varying, (N_REAL - len(varying), 2))
    real = np.hstack([pixels[:, varying], pixels[:, pairs[:, 0]] * pixels[:, pairs[:, 1]]])
    source = rng.choice(N_REAL, N_FEATURES - N_REAL)
    probes = np.stack([rng.permutation(real[:, j]) for j in source], axis=1)
    X = np.hstack([real, probes])[:, rng.permutation(N_FEATURES)]
    if options.quick:
        X, y = X[:3000, :500], y[:3000]
    cuts = [N_TRAIN, N_TRAIN + N_VALID] if not options.quick else [1000, 2000]
    (a, b, c), (u, v, w) = np.split(X, cuts), np.split(y, cuts)
    return Parts(a, u, b, v, c, w)

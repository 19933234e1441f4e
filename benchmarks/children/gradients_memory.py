"""Peak memory and time of an epoch on a sparse table: ``gradients_memory n_rows n_features``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.measure import N_THREADS, PeakMemory

from secateur import FeatureGradientsSelector


def table(n_rows: int, n_features: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    indices = rng.integers(0, n_features, (n_rows, 100), dtype=np.int32)
    indices.sort(axis=1)
    data = rng.random(n_rows * 100)
    indptr = np.arange(0, n_rows * 100 + 1, 100, dtype=np.int32)
    X = sp.csr_array((data, indices.ravel(), indptr), shape=(n_rows, n_features))
    return X, rng.standard_normal(n_rows)


def main() -> None:
    n_rows, n_features = map(int, sys.argv[1:])
    params = {"penalty": 1.0, "random_state": 0, "n_jobs": N_THREADS}
    FeatureGradientsSelector(max_epochs=1, **params).fit(*table(3_000, 500))
    X, y = table(n_rows, n_features)
    found = {}
    with PeakMemory() as peak:
        start = time.perf_counter()
        FeatureGradientsSelector(max_epochs=1, **params).fit(X, y)
        found["seconds"] = time.perf_counter() - start
    start = time.perf_counter()
    FeatureGradientsSelector(max_epochs=2, **params).fit(X, y)
    found["epoch"] = time.perf_counter() - start - found["seconds"]
    print(json.dumps({**found, "beyond": peak.beyond}))


if __name__ == "__main__":
    main()

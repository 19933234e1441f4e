"""Peak memory of grafting on a very wide sparse table: ``grafting_memory n_rows n_features l1``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from common.measure import N_THREADS, PeakMemory

CELLS_PER_ROW = 100


def table(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Rows of a hundred words, some common and most rare; fifty of them decide the class."""
    rng = np.random.default_rng(0)
    words = (rng.random(n_rows * CELLS_PER_ROW) ** 3 * n_features).astype(np.int32)
    start = np.arange(n_rows + 1) * CELLS_PER_ROW
    X = sp.csr_matrix((rng.random(len(words)), words, start), shape=(n_rows, n_features))
    X.sum_duplicates()
    effect = np.zeros(n_features)
    effect[rng.integers(0, max(50, n_features // 500), 50)] = 3.0 * rng.standard_normal(50)
    return X, (X @ effect + 0.5 * rng.standard_normal(n_rows) > 0).astype(np.int64)


def main() -> None:
    from secateur import GraftingClassifier

    n_rows, n_features, l1 = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    model = GraftingClassifier(
        l1="auto" if l1 == "auto" else float(l1), random_state=0, n_jobs=N_THREADS
    )
    model.fit(*table(6000, 500))
    X, y = table(n_rows, n_features)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    with PeakMemory() as peak:
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    found = {"beyond": peak.beyond, "input": size, "seconds": seconds}
    found |= {"selected": int(model.support_.sum()), "steps": len(model.path_)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

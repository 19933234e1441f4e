"""LightGBM's penalty for so many features: ``scale_tune folder n_rounds wanted n_rows seconds``.

It is searched on a sample of rows, with all rounds, for at most so many seconds; a penalty is in
units of a sum over rows, so it is given back for all of them.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from adapters.lightgbm import LightGBM

LOWEST, HIGHEST = 1.0, 1e6
"""Prices between which is searched, in units of all rows."""


def main() -> None:
    folder, n_rounds, wanted, n_sample, seconds = sys.argv[1:]
    until = time.perf_counter() + float(seconds)
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.load(Path(folder) / "y.npy")
    n_rows = len(y)
    rows = np.sort(np.random.default_rng(1).choice(n_rows, min(int(n_sample), n_rows), False))
    X, y = np.ascontiguousarray(X[rows]), y[rows]
    share = len(rows) / n_rows
    tried: dict[float, int] = {}
    low, high, longest = LOWEST, HIGHEST, 0.0
    while time.perf_counter() + longest < until and int(wanted) not in tried.values():
        start = time.perf_counter()
        penalty = math.sqrt(low * high)
        tried[penalty] = LightGBM(int(n_rounds), penalty * share).run(X, y).n_features
        low, high = (penalty, high) if tried[penalty] > int(wanted) else (low, penalty)
        longest = max(longest, time.perf_counter() - start)
    best = min(tried, key=lambda penalty: abs(tried[penalty] - int(wanted)))
    print(json.dumps({"penalty": best, "tried": sorted(tried.items()), "rows": len(rows)}))


if __name__ == "__main__":
    main()

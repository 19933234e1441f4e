"""The price of LightGBM for so many features: ``scale_tune folder n_rounds wanted n_rows seconds``.

It is searched on a sample of rows, with all rounds, for at most so many seconds; a price is in
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
        price = math.sqrt(low * high)
        tried[price] = LightGBM(int(n_rounds), price * share).run(X, y).n_features
        low, high = (price, high) if tried[price] > int(wanted) else (low, price)
        longest = max(longest, time.perf_counter() - start)
    best = min(tried, key=lambda price: abs(tried[price] - int(wanted)))
    print(json.dumps({"price": best, "tried": sorted(tried.items()), "rows": len(rows)}))


if __name__ == "__main__":
    main()

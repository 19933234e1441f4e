"""The price at which LightGBM keeps so many features: ``scale_tune folder n_rounds wanted n_rows``.

It is searched on a sample of rows, with all rounds; a price is in units of a sum over rows, so it
is given back for all of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from adapters.lightgbm import LightGBM
from common.tuning import search_level

LOWEST, HIGHEST = 0.01, 1e7
"""Prices between which is searched, in units of all rows."""

STEPS = 9


def main() -> None:
    folder, n_rounds, wanted, n_sample = sys.argv[1:]
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.load(Path(folder) / "y.npy")
    n_rows = len(y)
    rows = np.sort(np.random.default_rng(1).choice(n_rows, min(int(n_sample), n_rows), False))
    X, y = np.ascontiguousarray(X[rows]), y[rows]
    share = len(rows) / n_rows
    tried: dict[float, int] = {}

    def count(price: float) -> int:
        tried[price] = LightGBM(int(n_rounds), price * share).run(X, y).n_features
        return tried[price]

    best = search_level(count, int(wanted), LOWEST, HIGHEST, at_most=False, steps=STEPS)
    print(json.dumps({"price": best, "tried": sorted(tried.items()), "rows": len(rows)}))


if __name__ == "__main__":
    main()

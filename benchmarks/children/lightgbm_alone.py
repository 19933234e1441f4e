"""LightGBM in a process without secateur: ``lightgbm_alone n_rounds tradeoff layout repeats``.

Reads the table from the files that the variable BENCHMARK_TABLE names, X and y.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
from adapters.lightgbm import LightGBM
from common.measure import take_turns


def main() -> None:
    n_rounds, tradeoff, layout, repeats = sys.argv[1:]
    folder = os.environ["BENCHMARK_TABLE"]
    X, y = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
    penalty = None if tradeoff == "None" else float(tradeoff)
    model = LightGBM(int(n_rounds), penalty, layout)
    model.run(X, y)
    times = take_turns({"alone": lambda: model.run(X, y)}, int(repeats))["alone"]
    print(json.dumps({stage: times.best(stage) for stage in ("binning", "training")}))


if __name__ == "__main__":
    main()

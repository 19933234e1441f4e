"""Peak memory of one fit: ``peak_memory who n_rows n_features n_rounds penalty``."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from common.measure import N_THREADS, PeakMemory


def table(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Noise and a target on five columns, made in place: making it must not set the peak."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, n_features))
    rng.standard_normal(out=X)
    noise = rng.standard_normal(n_rows)
    y = (X[:, :5].sum(axis=1) + noise > 0).astype(np.int64)
    return X, y


def estimator(who: str, n_rounds: int, penalty: float) -> Any:
    if who == "agbm":
        from secateur import AGBMClassifier

        return AGBMClassifier(penalty=penalty, max_iter=n_rounds, random_state=0, n_jobs=N_THREADS)
    import lightgbm as lgb

    return lgb.LGBMClassifier(
        n_estimators=n_rounds, max_depth=4, num_leaves=16, n_jobs=N_THREADS, verbosity=-1
    )


def main() -> None:
    who, n_rows, n_features, n_rounds, penalty = sys.argv[1:]
    # what a large fit loads, this one must (rows held out, lazy search, trees grown level by level
    # as only larger tables are): code is not counted per cell
    estimator(who, 8, float(penalty)).fit(*table(40_000, 60))
    X, y = table(int(n_rows), int(n_features))
    model = estimator(who, int(n_rounds), float(penalty))
    with PeakMemory() as peak:
        model.fit(X, y)
    print(json.dumps({"beyond": peak.beyond}))


if __name__ == "__main__":
    main()

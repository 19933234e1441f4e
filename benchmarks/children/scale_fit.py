"""One fit of the large case: ``scale_fit who folder n_rounds penalty memory_limit``.

The peak of memory is that of reading and fitting: the test rows come after it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common.measure import N_THREADS, read_mark


def main() -> None:
    who, folder, n_rounds, penalty, limit = sys.argv[1:]
    fit = {"memory": in_memory, "store": from_store, "lightgbm": by_lightgbm}[who]
    found = fit(Path(folder), int(n_rounds), float(penalty), limit)
    print(json.dumps(found))


def _selector(n_rounds: int, penalty: float) -> Any:
    from secateur import GBFSClassifier

    return GBFSClassifier(
        penalty=penalty,
        max_iter=n_rounds,
        max_depth=4,
        learning_rate=0.1,
        early_stopping=False,
        random_state=0,
        n_jobs=N_THREADS,
    )


def _warm(penalty: float) -> None:
    """Load, or compile, what a fit needs: that is not the time of this one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 60))
    _selector(8, penalty).fit(X, (X[:, 0] + X[:, 1] > 0).astype(int))


def in_memory(folder: Path, n_rounds: int, penalty: float, _: str) -> dict[str, Any]:
    from secateur.selectors import boosted_base

    _warm(penalty)
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    plain, seconds = boosted_base.bin_table, [0.0]

    def timed(*given: Any, **more: Any) -> Any:
        start = time.perf_counter()
        columns = plain(*given, **more)
        seconds[0] = time.perf_counter() - start
        return columns

    boosted_base.bin_table = timed
    start = time.perf_counter()
    selector = _selector(n_rounds, penalty).fit(X, y)
    total = time.perf_counter() - start
    params = {"total": total, "training": total - seconds[0], "peak": read_mark()}
    del X
    return {**params, **_judged(selector, folder)}


def from_store(folder: Path, n_rounds: int, penalty: float, limit: str) -> dict[str, Any]:
    from secateur import open_table

    _warm(penalty)
    start = time.perf_counter()
    table = open_table(
        folder / "train.parquet",
        "y",
        cache=folder / "cache",
        memory_limit=limit,
        random_state=0,
        n_jobs=N_THREADS,
    )
    reading = time.perf_counter() - start
    start = time.perf_counter()
    selector = _selector(n_rounds, penalty).fit(table)
    training = time.perf_counter() - start
    params = {"total": reading + training, "training": training, "peak": read_mark()}
    return {**params, **_judged(selector, folder)}


def by_lightgbm(folder: Path, n_rounds: int, penalty: float, seconds: str) -> dict[str, Any]:
    """At most so many seconds: whoever needs longer has fewer trees, and that is reported."""
    from adapters.lightgbm import LightGBM

    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    run = LightGBM(n_rounds, penalty or None, seconds=float(seconds)).run(X, y)
    peak, n_trees = read_mark(), run.facts["model"].num_trees()
    del X
    X_test, y_test = np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
    error = float(np.mean((run.decide(X_test) > 0.5) != y_test))
    curve = [[run.n_features, error]]
    params = {"total": run.seconds("total"), "training": run.seconds("training"), "peak": peak}
    return {**params, "trees": n_trees, "curve": curve}


def _judged(selector: Any, folder: Path) -> dict[str, Any]:
    """The test error of every step, by its number of features."""
    X_test, y_test = np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
    names = getattr(selector, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        X_test = pd.DataFrame(X_test, columns=names)
    errors = [float(np.mean(p != y_test)) for p in selector.staged_predict(X_test)]
    sizes = [step.n_features for step in selector.path_]
    return {
        "trees": selector.max_iter,
        "curve": [list(pair) for pair in zip(sizes, errors, strict=True)],
    }


if __name__ == "__main__":
    main()

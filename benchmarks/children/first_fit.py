"""Fits in a fresh process, from import to prediction: ``first_fit one`` or ``first_fit many``."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    start = time.perf_counter()
    import scipy.sparse as sp

    from secateur import AGBMClassifier, AGBMRegressor, GBFSClassifier, GBFSRegressor
    from secateur.datasets import make_wide

    problem = make_wide(2_000, 50, 5, 5)
    X, y = problem.X, problem.y
    AGBMClassifier(random_state=0).fit(X, y).predict(X)
    if sys.argv[1] == "many":
        number = X[:, 0] + X[:, 1] ** 2
        three = (number > -1).astype(int) + (number > 1)
        GBFSClassifier(random_state=0).fit(X, three).predict(X)
        for loss in ("squared_error", "absolute_error", "huber"):
            GBFSRegressor(random_state=0, loss=loss).fit(X, number).predict(X)
        AGBMRegressor(random_state=0, loss="poisson").fit(X, number**2).predict(X)
        AGBMRegressor(random_state=0, loss="quantile", quantile=0.9).fit(X, number).predict(X)
        AGBMClassifier(random_state=0).fit(sp.csr_array(X * (X > 1)), y).predict(sp.csr_array(X))
    print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()

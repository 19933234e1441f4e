"""Fits of the methods of Table 3, with the CPU time of each round."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from adapters.secateur_boosted import bin_data
from common.gisette import Parts
from sklearn.metrics import roc_auc_score

from secateur._kernels.threads import Threads
from secateur.data.frames import read_table
from secateur.engines.boosted.group_design import GroupTesting, largest_group
from secateur.engines.boosted.groups import sum_groups
from secateur.engines.boosted.trees import BoostedModel, BoostingParams, Ensemble

ROUNDS, DEPTH, RATE = 100, 4, 0.1
HALVING = "GT-GBM, halving"  # as published: subsets of d / s features are halved to the end
START = {"GBFS": 4.0, "A-GBM": 0.003, "GT-GBM": 0.003, HALVING: 0.003}
FACTOR, N_START, MOST_FITS = 3.0, 3, 9


class Fit(NamedTuple):
    """A model, the seconds after each round (the first has the preparation), and how good it is."""

    ensemble: Ensemble
    order: list[int]
    seconds: list[float]
    valid_auc: float


def fit(method: str, penalty: float, parts: Parts, rounds: int = ROUNDS) -> Fit:
    """One fit by rounds on one thread."""
    params = BoostingParams(
        criterion="gbfs" if method == "GBFS" else "agbm",
        penalty=penalty, learning_rate=RATE, n_rounds=rounds, max_depth=DEPTH, min_samples_leaf=20,
    )  # fmt: skip
    start, ends, last = time.process_time(), [], None
    with Threads(1) as threads:
        data = bin_data(parts.X, parts.y.astype(np.float64), threads)
        if method.startswith("GT-GBM"):
            largest = largest_group(len(parts.y))
            default = GroupTesting(20, largest=largest)
            testing = GroupTesting(20, leaf_size=1) if method == HALVING else default
            data = replace(data, groups=sum_groups(data.columns, data.weight, testing, threads))
        for step in data.run(data.everything, params).steps:
            ends.append(time.process_time() - start)
            last = step
    assert last is not None
    valid = last.model.raw(read_table(parts.X_valid))[0]
    return Fit(last.model.ensemble, last.order.tolist(), ends, auc_of(valid, parts.y_valid))


def described(found: Fit, parts: Parts) -> dict[str, Any]:
    """What is shown of a fit: curves by round, and its errors on the test rows."""
    train, valid, test = (raw_by_round(found.ensemble, X) for X in parts[::2])
    rmse, auc = curves(valid[1:], parts.y_valid)
    return {
        "order": found.order, "seconds": found.seconds,
        "root_variance": [root_variance(raw, parts.y) for raw in train[:-1]],
        "rmse": rmse, "auc": auc,
        "test_rmse": rmse_of(test[-1], parts.y_test), "test_auc": auc_of(test[-1], parts.y_test),
    }  # fmt: skip


def raw_by_round(ensemble: Ensemble, X: Any) -> list[Any]:
    """Raw predictions before the first round and after each."""
    table = read_table(X)
    found = [np.repeat(ensemble.baseline[:1], table.n_rows)]
    for trees in ensemble.rounds:
        newest = BoostedModel(Ensemble(ensemble.loss, np.zeros(1), [trees]), 1)
        found.append(found[-1] + newest.raw(table)[0])
    return found


def probability(raw: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-raw))


def root_variance(raw: Any, y: Any) -> float:
    """The variance of the gradients at the root of the next tree."""
    return float(np.var(y - probability(raw)))


def rmse_of(raw: Any, y: Any) -> float:
    return float(np.sqrt(np.mean((y - probability(raw)) ** 2)))


def auc_of(raw: Any, y: Any) -> float:
    return float(roc_auc_score(y, raw))


def curves(raws: list[Any], y: Any) -> tuple[list[float], list[float]]:
    return [rmse_of(raw, y) for raw in raws], [auc_of(raw, y) for raw in raws]


def tuned(method: str, attempt: Callable[[float], Fit], parts: Parts) -> dict[str, Any]:
    """The penalty of the highest validation AUC, the grid widened until it is not at an edge."""
    found = {}
    for k in range(N_START):
        penalty = START[method] * FACTOR ** (k - 1)
        found[penalty] = attempt(penalty)
    while len(found) < MOST_FITS:
        grid = sorted(found)
        best = max(grid, key=lambda p: found[p].valid_auc)
        if best not in {grid[0], grid[-1]}:
            break
        penalty = grid[0] / FACTOR if best == grid[0] else grid[-1] * FACTOR
        if method != "GBFS" and penalty >= 1.0:
            break
        found[penalty] = attempt(penalty)
    grid = sorted(found)
    best = max(grid, key=lambda p: found[p].valid_auc)
    tried = [[p, len(found[p].order), found[p].valid_auc] for p in grid]
    inside = best not in {grid[0], grid[-1]}
    shown = described(found[best], parts)
    return {"penalty": best, "inside": inside, "tried": tried, **shown}


def top_k(parts: Parts, k: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """LightGBM on all features, then again on the k that it splits on most often.

    ``of_all``: how many features the first fit splits on, and its errors on the test rows.
    """
    import lightgbm as lgb

    params = {
        "objective": "binary", "max_depth": DEPTH, "num_leaves": 2**DEPTH, "learning_rate": RATE,
        "min_data_in_leaf": 20, "num_threads": 1, "verbosity": -1, "seed": 0,
    }  # fmt: skip
    start, ends = time.process_time(), []

    def note(_: Any) -> None:
        ends.append(time.process_time() - start)

    data = lgb.Dataset(parts.X, parts.y, params=params)
    first = lgb.train(params, data, rounds, callbacks=[note])
    order = np.argsort(-first.feature_importance(), kind="stable")[:k]
    again = lgb.train(params, lgb.Dataset(parts.X[:, order], parts.y), rounds)
    raw_train, raw_valid = (
        [first.predict(X, raw_score=True, num_iteration=t) for t in range(1, rounds + 1)]
        for X in (parts.X, parts.X_valid)
    )
    rmse, auc = curves(raw_valid, parts.y_valid)
    test = again.predict(parts.X_test[:, order], raw_score=True)
    of_all = first.predict(parts.X_test, raw_score=True)
    constant = np.full(len(parts.y), np.log(parts.y.mean() / (1.0 - parts.y.mean())))
    return {
        "order": [int(j) for j in order],
        "seconds": ends,
        "root_variance": [root_variance(raw, parts.y) for raw in (constant, *raw_train[:-1])],
        "rmse": rmse, "auc": auc,
        "test_rmse": rmse_of(test, parts.y_test), "test_auc": auc_of(test, parts.y_test),
        "of_all": [
            int(np.count_nonzero(first.feature_importance())),
            rmse_of(of_all, parts.y_test), auc_of(of_all, parts.y_test),
        ],
    }  # fmt: skip

"""LightGBM and secateur with the same rounds, depth, rate and leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from common.measure import N_THREADS
from common.options import Options

from ranking_sections.problems import Queries

DEPTH, RATE, LEAF = 4, 0.1, 20
GRID = np.logspace(0, -5, 16)  # of CEGB, as multiples of the gain of the best first split


def rounds(options: Options) -> int:
    return 10 if options.quick else 100


def ours(options: Options, **more: Any) -> dict[str, Any]:
    """Parameters of a ranker."""
    return {
        "max_iter": rounds(options),
        "max_depth": DEPTH,
        "learning_rate": RATE,
        "min_samples_leaf": LEAF,
        "random_state": 0,
        "n_jobs": N_THREADS,
    } | more


def lightgbm_params(**more: Any) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "num_leaves": 2**DEPTH,
        "max_depth": DEPTH,
        "learning_rate": RATE,
        "min_data_in_leaf": LEAF,
        "min_sum_hessian_in_leaf": 0.0,
        "min_data_in_bin": 1,
        "verbosity": -1,
        "num_threads": N_THREADS,
        "seed": 0,
    } | more


def fit_lightgbm(problem: Queries, options: Options, features: Any = None, **more: Any) -> Any:
    """A booster on some of the features, all by default."""
    import lightgbm

    X = problem.X if features is None else problem.X[:, features]
    sizes = np.unique(problem.query, return_counts=True)[1]
    params = lightgbm_params(**more)
    data = lightgbm.Dataset(X, problem.y, group=sizes, params=params)
    return lightgbm.train(params, data, rounds(options))


def cegb(problem: Queries, options: Options, size: int) -> Any:
    """The features of LightGBM with a penalty for new ones: the most that are at most so many."""
    first = fit_lightgbm(problem, options).dump_model()["tree_info"][0]["tree_structure"]
    chosen: Any = np.empty(0, np.int64)
    for share in GRID:
        coupled = [1.0] * problem.X.shape[1]
        more = {"cegb_tradeoff": first["split_gain"] * share}
        model = fit_lightgbm(problem, options, cegb_penalty_feature_coupled=coupled, **more)
        used = np.flatnonzero(model.feature_importance("gain"))
        if len(used) > size:
            break
        chosen = used
    return chosen

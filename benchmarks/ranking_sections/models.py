"""LightGBM and secateur with the same rounds, depth, rate and leaves."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from common.measure import N_THREADS, say
from common.options import Options

from ranking_sections.problems import Queries

DEPTH, RATE, LEAF = 4, 0.1, 20
# Penalties of CEGB: powers of ten, as multiples of the gain of the best first split, by halving.
LOWEST, HIGHEST, N_TRIALS = -5.0, 0.5, 10


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


@lru_cache(maxsize=1)
def whole_data(problem: Queries) -> Any:
    """All features in the bins of LightGBM, for several fits."""
    import lightgbm

    sizes = np.unique(problem.query, return_counts=True)[1]
    params = lightgbm_params()
    data = lightgbm.Dataset(problem.X, problem.y, group=sizes, params=params, free_raw_data=False)
    return data.construct()


def fit_lightgbm(problem: Queries, options: Options, features: Any = None, **more: Any) -> Any:
    """A booster on some of the features, all by default; binning included."""
    import lightgbm

    X = problem.X if features is None else problem.X[:, features]
    sizes = np.unique(problem.query, return_counts=True)[1]
    params = lightgbm_params(**more)
    data = lightgbm.Dataset(X, problem.y, group=sizes, params=params)
    return lightgbm.train(params, data, rounds(options))


@lru_cache(maxsize=1)
def gains(problem: Queries, options: Options) -> tuple[Any, float]:
    """The total gains of all features in one fit, and the gain of its first split."""
    import lightgbm

    model = lightgbm.train(lightgbm_params(), whole_data(problem), rounds(options))
    first = model.dump_model(num_iteration=1)["tree_info"][0]["tree_structure"]
    return model.feature_importance("gain"), first["split_gain"]


@lru_cache(maxsize=64)
def penalised(problem: Queries, options: Options, exponent: float) -> Any:
    """The features of LightGBM where new ones cost 10^exponent times the gain of a first split."""
    import lightgbm

    say(f"{problem.name}, CEGB, penalty 10^{exponent:.3f}")
    more = {"cegb_tradeoff": gains(problem, options)[1] * 10.0**exponent}
    coupled = [1.0] * problem.X.shape[1]
    params = lightgbm_params(cegb_penalty_feature_coupled=coupled, **more)
    model = lightgbm.train(params, whole_data(problem), rounds(options))
    return np.flatnonzero(model.feature_importance("gain"))


def cegb(problem: Queries, options: Options, size: int) -> Any:
    """The most features, at most so many, of penalties that are halved between too high and low."""
    low, high = LOWEST, HIGHEST
    chosen: Any = np.empty(0, np.int64)
    for _ in range(N_TRIALS):
        exponent = 0.5 * (high + low)
        used = penalised(problem, options, exponent)
        if len(used) > size:
            low = exponent
            continue
        high = exponent
        if len(used) > len(chosen):
            chosen = used
        if len(used) == size:
            break
    return chosen

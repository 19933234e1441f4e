"""What the parameters of the forward selectors may be."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.evaluation.folds import is_drawn
from secateur.selectors.boosted_parameters import CONSTRAINTS as BOOSTED
from secateur.selectors.constraints import Constraint, number, one_of

EVALUATORS = ("nearest", "knn", "trees")
"""The evaluators that are built in."""


def _may_be_cv(value: Any) -> bool:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return bool(value >= 1)
    return value is None or (not is_drawn(value) and not isinstance(value, bool))


def _is_evaluator(value: Any) -> bool:
    return value in EVALUATORS if isinstance(value, str) else _is_estimator(value)


def _is_ranker(value: Any) -> bool:
    return value == "trees" if isinstance(value, str) else _is_estimator(value)


def _is_estimator(value: Any) -> bool:
    """What can be cloned, fitted and asked; a class is none yet."""
    wanted = ("fit", "predict", "get_params", "set_params")
    return not isinstance(value, type) and all(hasattr(value, each) for each in wanted)


_SHARED = ("learning_rate", "max_iter", "max_depth", "max_features", "cost_budget", "verbose")
CONSTRAINTS: dict[str, Constraint] = {
    **{name: BOOSTED[name] for name in (*_SHARED, "n_jobs", "executor")},
    "ranker": Constraint(
        _is_ranker,
        "'trees' or an estimator with feature_importances_",
        "Use 'trees' for the built-in boosted trees.",
    ),
    "evaluator": Constraint(
        _is_evaluator,
        "'nearest', 'knn', 'trees' or an estimator",
        "Use 'nearest' for the nearest neighbour.",
    ),
    "cv": Constraint(
        _may_be_cv,
        "None, an int >= 1, a splitter or a list of (train, test) rows",
        "Use 3 for three folds.",
    ),
    "n_neighbors": number(1, whole=True, advice="Use 5 for a start."),
    "standardize": one_of(True, False, advice="Use True where columns have different units."),
    "n_candidates": number(1, whole=True, advice="Use 50 as the paper does."),
    "epsilon": number(-np.inf, below=True, advice="Use 1e-9 to accept any improvement."),
    "reset": one_of(True, False, advice="Use True to try again with equal weights."),
    "gain_per_cost": one_of(True, False, advice="Use False to let costs decide ties only."),
}
CLASSIFIER = CONSTRAINTS | {
    "weighting": one_of(
        "softmax", "adaboost", None, advice="Use 'softmax' to weight rows by their log loss."
    )
}
REGRESSOR = CONSTRAINTS | {
    "weighting": one_of(
        "residual", None, advice="Use 'residual' to weight rows by what is not explained."
    )
}

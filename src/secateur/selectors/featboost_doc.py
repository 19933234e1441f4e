"""The parameters of the forward selectors, told once for the three of them."""

from __future__ import annotations

import inspect
from typing import TypeVar

Class = TypeVar("Class", bound=type)

PARAMETERS = {
    "ranker": """ranker : "trees" or estimator, default="trees"
    Ranks all features: boosted trees without a penalty, on columns binned once; or any estimator
    with ``feature_importances_`` or ``coef_`` (and ``sample_weight`` in ``fit``, where rows are
    weighted). Estimators are cloned; they get floats, categories as codes and classes as 0, 1,
    ...; random states that are None are set from ``random_state``.""",
    "evaluator": """evaluator : "nearest", "knn", "trees" or estimator, default={default!r}
    Scores subsets in cross-validation: the nearest neighbour, the ``n_neighbors`` nearest, boosted
    trees on the columns binned for the ranker, or any estimator.""",
    "n_neighbors": """n_neighbors : int, default=5
    For ``evaluator="knn"``.""",
    "standardize": """standardize : bool, default=True
    Measure distances on columns divided by their standard deviation.""",
    "n_candidates": """n_candidates : int, default=50
    How many of the best ranked features are tried in each round (m of the paper); 1 takes the
    ranking's word.""",
    "cv": """cv : None, int, splitter or list of (train, test), default=None
    The folds of the evaluator. None is three; 1 is one held-out fifth.""",
    "scoring": """scoring : None, str or callable, default=None
    Any scorer of scikit-learn; None is {scoring}.""",
    "max_features": """max_features : int or None, default=100
    The most features that are accepted.""",
    "epsilon": """epsilon : float, default=1e-9
    A feature must improve the score by more than this.""",
    "weighting": """weighting : {weighting}
    How rows are re-weighted; None leaves them.""",
    "reset": """reset : bool, default=True
    Try once more with the first weights before giving up.""",
    "costs": """costs : None, number, sequence, dict or FeatureCosts, default=None
    What features cost. Of candidates with equal scores the cheaper one wins.""",
    "feature_groups": """feature_groups : None, sequence, dict or matrix, default=None
    Bags of features: the first of a bag pays, the others are free.""",
    "keep": """keep : names or indices, default=None
    Features that are in from the start, and free.""",
    "cost_budget": """cost_budget : float, default=None
    A hard budget of costs.""",
    "gain_per_cost": """gain_per_cost : bool, default=False
    Take the candidate with the largest gain per cost instead of the largest gain; the first
    feature is taken by its score.""",
    "cut": """cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
    Which step of the path is chosen; None is the best, which is the last one.""",
    "max_iter": """max_iter : int, default=20
    Rounds of the built-in trees.""",
    "learning_rate": """learning_rate : float, default=0.3
    Of the built-in trees.""",
    "max_depth": """max_depth : int, default=4
    Of the built-in trees.""",
    "categorical_features": """categorical_features : None, "from_dtype", list or mask, default=None
    Columns of categories; those of a category type are always taken as such.""",
    "random_state": "random_state : int, RandomState or None, default=None",
    "n_jobs": """n_jobs : int, default=None
    Threads; None is all cores. The result does not depend on it.""",
    "executor": """executor : DaskExecutor, default=None
    Who tries the candidates: the workers of a cluster, or None for this process. The result does
    not depend on it.""",
    "verbose": """verbose : int, default=0
    1 shows a progress bar.""",
}
SCORING = {"classification": "the accuracy", "regression": "R squared"}
WEIGHTING = {
    "classification": '"softmax", "adaboost" or None, default="softmax"',
    "regression": '"residual" or None, default="residual"',
}
ATTRIBUTES = """path_ : SelectionPath
    A step for each accepted feature, with its inner score. ``details`` of a step hold the winner's
    ``rank``, its ``gain``, the candidates ``tried`` and their ``tried_scores``, whether it came
    ``after_reset``, and the row weights in two numbers, ``effective_rows`` and ``largest_weight``.
selection_ : Selection
    The chosen step; print it for a sentence.
support_ : array of bool, shape (n_features_in_,)
ranking_ : array of int, shape (n_features_in_,)
stop_reason_ : StopReason
    Why no more features were accepted.
n_iter_ : int
    Rounds of the built-in trees: ``max_iter``.
n_features_in_ : int
feature_names_in_ : array of str
    Only where X has names.
classes_ : array
    Only for classes."""


def with_parameters(cls: Class) -> Class:
    """Put the parameters and attributes into a class's docstring, before its examples."""
    head, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    target_type = cls._target_type  # type: ignore[attr-defined]  # any forward selector
    known = inspect.signature(cls).parameters
    words = {
        "default": known["evaluator"].default,
        "scoring": SCORING[target_type],
        "weighting": WEIGHTING[target_type],
    }
    told = "\n".join(
        text.format(**words) if "{" in text else text
        for name, text in PARAMETERS.items()
        if name in known
    )
    cls.__doc__ = (
        f"{head.rstrip()}\n\nParameters\n----------\n{told}\n\n"
        f"Attributes\n----------\n{ATTRIBUTES}\n\nExamples\n--------\n{examples}"
    )
    return cls

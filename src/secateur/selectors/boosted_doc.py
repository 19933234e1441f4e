"""The parameters of the boosted selectors, told once for all of them."""

from __future__ import annotations

import inspect
from typing import TypeVar

Class = TypeVar("Class", bound=type)

PENALTY = {
    "gbfs": """penalty : float, "auto" or sequence of float, default="auto"
    What a new feature costs, times its price, in units of the loss; >= 0.""",
    "agbm": """penalty : float, "auto" or sequence of float, default="auto"
    What a new feature costs, times its price, as a share of the squared error at the root of a
    tree; from 0 to below 1. 0.01 buys what explains one part in a hundred.""",
}

AFTER_PENALTY = """\
    "auto" tries a falling grid, scores each value on rows that took no part, and lets ``cut``
    choose; a sequence is a grid of your own. Where there are too few rows to judge by (see
    ``cv``), "auto" is one middling value."""

REGRESSION = """loss : str, default="squared_error"
    Also "absolute_error", "huber", "poisson" and "quantile".
quantile : float, default=None
    The level, for ``loss="quantile"``.
huber_delta : float, default=None
    Where the Huber loss turns linear; None takes the 0.9 quantile of the distances to the
    median."""

CLASSIFICATION = """class_weight : None, "balanced" or dict, default=None
    Weights of the classes, times those of the rows."""

COMMON = """learning_rate : float, default=0.1
max_iter : int, default=200
    The most rounds; each has one tree, or one per class if there are more than two.
max_depth : int, default=4
max_bins : int, default=255
    Bins per feature; columns with fewer distinct values have a bin for each.
min_samples_leaf : "auto" or number, default="auto"
    The least rows of a leaf; "auto" is 1 to 20, one for every 50 rows.
l2_regularization : float, default=0.0
leaf : {"newton", "mean"}, default="newton"
    The value of a leaf: a Newton step, or the mean gradient as in the papers.
subsample : float, default=1.0
    The share of rows that each tree sees.
costs : None, number, sequence, dict or FeatureCosts, default=None
    What features cost to acquire, 1 each by default; a dict goes by name or position.
groups : None, sequence, dict or matrix, default=None
    Bags of features: the first of a bag pays, the others are free.
keep : names or indices, default=None
    Features that are always in, and free.
max_features : int, default=None
    A hard budget: no feature is bought beyond it.
cost_budget : float, default=None
    A hard budget of costs.
cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
    Which step of the path is chosen. None is the fewest features within one standard error of the
    best along a grid, and the best step of a single fit.
cv : None, int, splitter or list of (train, test), default=None
    The folds by which a grid is judged. None is five up to 2,000 rows, three up to 5,000, and one
    held-out fifth above; none below 40 rows, or where a class has fewer than 6.
early_stopping : bool or "auto", default="auto"
    With a single penalty: hold rows out and stop when they gain nothing; "auto" does so above
    10,000 rows.
validation_fraction : float, default=0.1
    The share of rows that early stopping holds out.
n_iter_no_change : int, default=10
    Rounds without progress on rows held out, after which a fit stops.
categorical_features : None, "from_dtype", list or mask, default=None
    Columns of categories; those of a category type are always taken as such.
random_state : int, RandomState or None, default=None
n_jobs : int, default=None
    Threads; None is all cores. The result does not depend on it.
verbose : int, default=0
    1 shows a progress bar."""

ATTRIBUTES = """path_ : SelectionPath
    Supports, costs and scores, step by step: a step is the lifetime of one support of a single
    fit, or one penalty of a grid.
selection_ : Selection
    The chosen step; print it for a sentence.
support_ : array of bool, shape (n_features_in_,)
ranking_ : array of int, shape (n_features_in_,)
feature_importances_ : array of float, shape (n_features_in_,)
n_iter_ : int
    Rounds of the chosen model.
n_features_in_ : int
feature_names_in_ : array of str
    Only where X has names.
classes_ : array
    Only for classes."""


def with_parameters(cls: Class) -> Class:
    """Put the parameters and attributes into a class's docstring, before its examples."""
    head, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    task = cls._task  # type: ignore[attr-defined]  # any boosted class
    penalty = getattr(cls, "_penalty_doc", PENALTY[cls._criterion])  # type: ignore[attr-defined]  # likewise
    own = CLASSIFICATION if task == "classification" else REGRESSION
    more: str = getattr(cls, "_own_parameters", "")
    parameters = "\n".join(filter(None, [penalty, AFTER_PENALTY, more, own, COMMON]))
    cls.__doc__ = (
        f"{head.rstrip()}\n\nParameters\n----------\n{parameters}\n\n"
        f"Attributes\n----------\n{ATTRIBUTES}\n\nExamples\n--------\n{examples}"
    )
    return cls

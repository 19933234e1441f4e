"""The parameters of the grafting selectors, told once for both."""

from __future__ import annotations

import inspect
from typing import TypeVar

Class = TypeVar("Class", bound=type)

FIRST = """model : {"linear", "mlp"}, default="linear"
    What grows: a linear model, or a network with one hidden layer of sigmoid units.
l1 : float, "auto" or sequence of float, default="auto"
    The price of ``sum alpha |w|``. "auto" traces a falling grid from the smallest value that keeps
    everything out, scores each on rows that took no part, and lets ``cut`` choose; a sequence is
    a grid of your own. Where weights are grafted one by one (``l0``, "mlp", "newest") "auto" is
    one small value, and each graft is a step. Where there are too few rows to judge by (see
    ``cv``), "auto" is one middling value.
l0 : float, default=0.0
    The price of a feature in use, times its cost; makes the choice greedy (Section 3.2.2).
l2 : float, default=0.0
    The price of ``sum alpha w^2``.
costs : None, number, sequence, dict or FeatureCosts, default=None
    What features cost, 1 each by default: the alphas of Eq. 7.
max_features : int, default=None
    A hard budget: no feature enters beyond it.
max_hidden : int, default=None
    The most hidden units of a network.
adjust : {"all", "newest"}, default="all"
    Which weights are fitted after a graft: all free ones, or the newest and the biases
    (Section 3.4).
retries : int, default=0
    How many further candidates are tried where the criterion rises (Section 3.2.3).
standardize : bool, default=True
    Bring columns to mean 0 and standard deviation 1 first; sparse ones stay sparse.
fit_intercept : bool, default=True
    Without an intercept columns are scaled, not centred.
tol : float, default=1e-6
    The largest violation of optimality and the largest duality gap, as shares of those at the
    start.
max_iter : int, default=200
    The most grafting rounds for one L1 price; one by one, the most grafts."""

CLASSIFICATION = """class_weight : None, "balanced" or dict, default=None
    Weights of the classes, times those of the rows."""

LAST = """cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
    Which step of the path is chosen. None is the fewest features within one standard error of the
    best; of a single price the only step.
cv : None, int, splitter or list of (train, test), default=None
    The folds by which steps are judged. None is five up to 2,000 rows, three up to 5,000, and one
    held-out fifth above; none below 40 rows, or where a class has fewer than 6.
random_state : int, RandomState or None, default=None
    Draws the folds; grafting itself leaves nothing to chance.
n_jobs : int, default=None
    Threads; None is all cores. The result does not depend on it.
executor : DaskExecutor, default=None
    Who holds the table and sums over its rows: the workers of a cluster, or None for this process.
    Sums over rows are then made block by block, which may change their last digits; the number of
    workers changes nothing.
verbose : int, default=0
    1 shows a progress bar."""

ATTRIBUTES = """path_ : SelectionPath
    Supports, costs and scores: a step is one L1 price, or one graft.
selection_ : Selection
    The chosen step; print it for a sentence.
support_ : array of bool, shape (n_features_in_,)
ranking_ : array of int, shape (n_features_in_,)
coef_ : array of shape (n_features_in_,), or (n_outputs, n_features_in_) for classes
    In the units of X, also where columns were standardised. Linear models only.
intercept_ : float, or array of shape (n_outputs,) for classes
network_ : Network
    The connections of a network; print it for a table. Networks only.
feature_importances_ : array of float, shape (n_features_in_,)
    Shares of the absolute weights of standardised columns.
kkt_violation_ : float
    The largest violation of the optimality conditions, as a share of the largest gradient at the
    start.
dual_gap_ : float
    How much the criterion can still fall at most, as a share of the loss of a constant; NaN for
    networks, which are not convex.
n_grafts_ : int
    How many weights were freed on the way.
n_iter_ : int
    Grafting rounds.
n_features_in_ : int
feature_names_in_ : array of str
    Only where X has names.
classes_ : array
    Only for classes."""


def with_parameters(cls: Class) -> Class:
    """Put the parameters and attributes into a class's docstring, before its examples."""
    head, _, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    task = cls._task  # type: ignore[attr-defined]  # any grafting class
    own = f"{CLASSIFICATION}\n" if task == "classification" else ""
    cls.__doc__ = (
        f"{head.rstrip()}\n\nParameters\n----------\n{FIRST}\n{own}{LAST}\n\n"
        f"Attributes\n----------\n{ATTRIBUTES}\n\nExamples\n--------\n{examples}"
    )
    return cls

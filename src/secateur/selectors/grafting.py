"""Grafting of linear models and networks, for classification and regression."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.target import TargetType
from secateur.selectors.boosted_parameters import ClassificationParameters
from secateur.selectors.grafting_base import GraftingSelector
from secateur.selectors.parameters import SelectorParameters, with_constructor
from secateur.selectors.prediction import PredictsClasses, PredictsNumbers


@with_constructor
class GraftingParameters(SelectorParameters):
    """Penalties, the model and folds.

    Parameters
    ----------
    model : {"linear", "mlp"}, default="linear"
        What grows: a linear model, or a network with one hidden layer of sigmoid units.
    l1 : float, "auto" or sequence of float, default="auto"
        The penalty on ``sum alpha |w|``. "auto" traces a falling grid from the smallest value that
        keeps everything out, scores each on held-out rows, and lets ``cut`` choose; a
        sequence is a grid of your own. If weights are grafted one by one (``l0``, "mlp", "newest")
        "auto" is one small value, and each graft is a step. If there are too few rows for folds
        (see ``cv``), "auto" is one value in the middle of the grid.
    l0 : float, default=0.0
        The penalty of a feature in use, times its cost; makes the choice greedy (Section 3.2.2).
    l2 : float, default=0.0
        The penalty on ``sum alpha w^2``.
    costs : None, number, sequence, dict or FeatureCosts, default=None
        Costs of the features, 1 each by default: the alphas of Eq. 7.
    max_hidden : int, default=None
        The largest number of hidden units of a network.
    adjust : {"all", "newest"}, default="all"
        Which weights are fitted after a graft: all free ones, or the newest and the biases
        (Section 3.4).
    retries : int, default=0
        How many further candidates are tried when the criterion rises (Section 3.2.3).
    standardize : bool, default=True
        Bring columns to mean 0 and standard deviation 1 first; sparse ones stay sparse.
    fit_intercept : bool, default=True
        Without an intercept columns are scaled, not centred.
    tol : float, default=1e-6
        The largest violation of optimality and the largest duality gap, as shares of those at the
        start.
    max_iter : int, default=200
        Grafting rounds for one L1 penalty; one by one, the number of grafts.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen. None is the fewest features within one standard error of
        the best; of a single penalty the only step.
    cv : None, int, splitter or list of (train, test), default=None
        The folds that score the steps. None is five up to 2,000 rows, three up to 5,000, and one
        held-out fifth above; none below 40 rows.
    random_state : int, RandomState or None, default=None
        Draws the folds; grafting itself is deterministic.
    executor : DaskExecutor, default=None
        Holds the table and sums over its rows on the workers of a cluster; None does so in this
        process. Sums are then made by blocks of rows, which may change their last digits; the
        number of workers changes nothing.

    Attributes
    ----------
    path_ : SelectionPath
        Supports, costs and scores: a step is one L1 penalty, or one graft.
    coef_ : array of shape (n_features_in_,), or (n_outputs, n_features_in_) for classes
        In the units of X, also where columns were standardised. Linear models only.
    intercept_ : float, or array of shape (n_outputs,) for classes
    network_ : Network
        The connections of a network; print it for a table. Networks only.
    feature_importances_ : array of float, shape (n_features_in_,)
        Shares of the absolute weights of standardised columns.
    kkt_violation_ : float
        The largest violation of the optimality conditions, as a share of the largest gradient at
        the start.
    dual_gap_ : float
        Bound on how much the criterion can still fall, as a share of the loss of a constant; NaN
        for networks, which are not convex.
    n_grafts_ : int
        Number of weights that were freed.
    n_iter_ : int
        Grafting rounds.
    """

    model: str = "linear"
    l1: Any = "auto"
    l0: float = 0.0
    l2: float = 0.0
    max_hidden: int | None = None
    adjust: str = "all"
    retries: int = 0
    standardize: bool = True
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 200
    cut: Any = None
    cv: Any = None
    executor: Any = None


@with_constructor
class GraftingClassifier(
    PredictsClasses,
    ClassifierMixin,  # type: ignore[misc]  # untyped
    GraftingSelector,
    GraftingParameters,
    ClassificationParameters,
):
    """Grafting for classification: frees the weights with the largest gradients of the log loss.

    Minimises the mean log loss plus ``l2 sum alpha w^2 + l1 sum alpha |w| + l0 sum alpha [used]``
    (Eq. 7 of Perkins, Lacker and Theiler, JMLR 2003) over a linear model or a network that grows.
    With ``l1`` and ``l2`` alone a linear model reaches the global optimum.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = GraftingClassifier(random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() < 20), bool(selector.score(X, y) > 0.95)
    (True, True)
    """

    _target_type: ClassVar[TargetType] = "classification"


@with_constructor
class GraftingRegressor(
    PredictsNumbers,
    RegressorMixin,  # type: ignore[misc]  # untyped
    GraftingSelector,
    GraftingParameters,
):
    """Grafting for regression: frees the weights with the largest gradients of the squared error.

    Minimises half the mean squared error plus
    ``l2 sum alpha w^2 + l1 sum alpha |w| + l0 sum alpha [used]`` (Eq. 7 of Perkins, Lacker and
    Theiler, JMLR 2003) over a linear model or a network that grows. With ``l1`` and ``l2`` alone a
    linear model reaches the global optimum: that of the Lasso or the elastic net.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = GraftingRegressor(random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() < 10), bool(selector.score(X, y) > 0.4)
    (True, True)
    """

    _target_type: ClassVar[TargetType] = "regression"

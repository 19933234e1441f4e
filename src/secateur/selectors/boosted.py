"""Boosted trees with feature costs: GBFS and A-GBM, for classification and regression."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.target import TargetType
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.parameters import (
    store_parameters,
    with_parameters,
)
from secateur.selectors.prediction import PredictsClasses, PredictsNumbers

GBFS_PENALTY = """penalty : float, "auto" or sequence of float, default="auto"
    The penalty of a new feature, times its cost, in units of the loss; >= 0."""

AGBM_PENALTY = """penalty : float, "auto" or sequence of float, default="auto"
    The penalty of a new feature, times its cost, as a share of the squared error at the root of
    a tree; from 0 to below 1. 0.01 selects what explains at least one part in a hundred."""

AFTER_PENALTY = """\
    "auto" tries a falling grid, scores each value on held-out rows, and lets ``cut`` choose; a
    sequence is a grid of your own. Where there are too few rows for folds (see ``cv``), "auto" is
    one value from the middle of the grid."""

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
    The largest number of rounds; each has one tree, or one per class if there are more than two.
max_depth : int, default=4
max_bins : int, default=255
    Bins per feature; columns with fewer distinct values have a bin for each.
min_samples_leaf : "auto" or number, default="auto"
    The smallest number of rows in a leaf; "auto" is 1 to 20, one for every 50 rows.
l2_regularization : float, default=0.0
leaf : {"newton", "mean"}, default="newton"
    The value of a leaf: a Newton step, or the mean gradient as in the papers.
subsample : float, default=1.0
    The share of rows that each tree sees.
costs : None, number, sequence, dict or FeatureCosts, default=None
    What features cost to acquire, 1 each by default; a dict goes by name or position.
feature_groups : None, sequence, dict or matrix, default=None
    Features that are paid for together: the first of a group pays, the others are free.
keep : names or indices, default=None
    Features that are always selected, at no cost.
max_features : int, default=None
    The largest number of features.
cost_budget : float, default=None
    The largest total cost of the features.
cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
    Which step of the path is chosen. None is the fewest features within one standard error of the
    best along a grid, and the best step of a single fit.
cv : None, int, splitter or list of (train, test), default=None
    The folds that score a grid. None is five up to 2,000 rows, three up to 5,000, and one
    held-out fifth above; none below 40 rows, or where a class has fewer than 6.
early_stopping : bool or "auto", default="auto"
    With a single penalty: hold rows out and stop when their loss no longer falls; "auto"
    does so above 10,000 rows.
validation_fraction : float, default=0.1
    The share of rows that early stopping holds out.
n_iter_no_change : int, default=10
    Rounds without a lower loss on held-out rows after which a fit stops.
categorical_features : None, "from_dtype", list or mask, default=None
    Columns of categories; those of a category type are always taken as such.
random_state : int, RandomState or None, default=None
n_jobs : int, default=None
    Threads; None is all cores. The result does not depend on it.
verbose : int, default=0
    1 shows a progress bar."""

ATTRIBUTES = """path_ : SelectionPath
    Supports, costs and scores: a step is one penalty of a grid, or one support of a single fit.
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


class BoostedClassifier(PredictsClasses, ClassifierMixin, BoostedSelector):  # type: ignore[misc]  # untyped base
    """Boosted trees with feature costs, for classification: one tree per round, or per class."""

    _target_type: ClassVar[TargetType] = "classification"

    def __init__(
        self,
        *,
        penalty: Any = "auto",
        learning_rate: float = 0.1,
        max_iter: int = 200,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: Any = "auto",
        l2_regularization: float = 0.0,
        leaf: str = "newton",
        subsample: float = 1.0,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        cost_budget: float | None = None,
        cut: Any = None,
        cv: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        categorical_features: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())


class BoostedRegressor(PredictsNumbers, RegressorMixin, BoostedSelector):  # type: ignore[misc]  # untyped base
    """Boosted trees with feature costs, for regression."""

    _target_type: ClassVar[TargetType] = "regression"

    def __init__(
        self,
        *,
        penalty: Any = "auto",
        loss: str = "squared_error",
        quantile: float | None = None,
        huber_delta: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 200,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: Any = "auto",
        l2_regularization: float = 0.0,
        leaf: str = "newton",
        subsample: float = 1.0,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        cost_budget: float | None = None,
        cut: Any = None,
        cv: Any = None,
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        categorical_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_parameters(self, locals())


@with_parameters(GBFS_PENALTY, AFTER_PENALTY, CLASSIFICATION, COMMON, attributes=ATTRIBUTES)
class GBFSClassifier(BoostedClassifier):
    """Gradient boosted feature selection for classification.

    A split on a new feature must reduce half the squared error of the gradients by more than the
    penalty (Eq. 14 of Xu, Huang, Weinberger and Zheng, KDD 2014). The penalty is in units of the
    loss; see AGBMClassifier for a penalty without units.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = GBFSClassifier(penalty=2.0, random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() < 15)
    True
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "gbfs"


@with_parameters(GBFS_PENALTY, AFTER_PENALTY, REGRESSION, COMMON, attributes=ATTRIBUTES)
class GBFSRegressor(BoostedRegressor):
    """Gradient boosted feature selection for regression.

    A split on a new feature must reduce half the squared error of the gradients by more than the
    penalty (Eq. 14 of Xu, Huang, Weinberger and Zheng, KDD 2014). The penalty is in units of the
    loss; see AGBMRegressor for a penalty without units.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = GBFSRegressor(max_features=3, random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() <= 3)
    True
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "gbfs"


@with_parameters(AGBM_PENALTY, AFTER_PENALTY, CLASSIFICATION, COMMON, attributes=ATTRIBUTES)
class AGBMClassifier(BoostedClassifier):
    """Boosted trees with a scaled penalty for new features, for classification.

    A split on a new feature must reduce the squared error of the gradients by more than the
    penalty, as a share of the tree's own (A-GBM of Han, Rao, Sorokina and Subbian, AISTATS 2020):
    the penalty has no units and means the same in every round.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AGBMClassifier(random_state=0).fit(X, y)
    >>> selector.transform(X).shape[1] == selector.support_.sum()
    np.True_
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"


@with_parameters(AGBM_PENALTY, AFTER_PENALTY, REGRESSION, COMMON, attributes=ATTRIBUTES)
class AGBMRegressor(BoostedRegressor):
    """Boosted trees with a scaled penalty for new features, for regression.

    A split on a new feature must reduce the squared error of the gradients by more than the
    penalty, as a share of the tree's own (A-GBM of Han, Rao, Sorokina and Subbian, AISTATS 2020):
    the penalty has no units and means the same in every round.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = AGBMRegressor(penalty=0.02, random_state=0).fit(X, y)
    >>> bool(selector.score(X, y) > 0.4)
    True
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]] = "agbm"

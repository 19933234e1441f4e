"""Boosted trees that pay for their features: GBFS and A-GBM, for classes and for numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.target import Target, TargetType
from secateur.losses import get_loss
from secateur.losses.base import weighted_quantile
from secateur.selectors.boosted_base import CONSTRAINTS, BoostedSelector
from secateur.selectors.parameters import (
    Constraint,
    number,
    one_of,
    store_parameters,
    with_parameters,
)
from secateur.selectors.prediction import PredictsClasses, PredictsNumbers
from secateur.typing import FloatArray, Loss

LOSS_CONSTRAINTS: dict[str, Constraint] = {
    "loss": one_of(
        "squared_error",
        "absolute_error",
        "huber",
        "poisson",
        "quantile",
        advice="Use 'squared_error' for the mean.",
    ),
    "quantile": number(
        0, 1, above=True, below=True, or_none=True, advice="Use 0.5 for the median."
    ),
    "huber_delta": number(
        0, above=True, below=True, or_none=True, advice="Use None to have it chosen from y."
    ),
}

GBFS_PENALTY = """penalty : float, "auto" or sequence of float, default="auto"
    What a new feature costs, times its cost, in units of the loss; >= 0."""

AGBM_PENALTY = """penalty : float, "auto" or sequence of float, default="auto"
    What a new feature costs, times its cost, as a share of the squared error at the root of a
    tree; from 0 to below 1. 0.01 buys what explains one part in a hundred."""

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
feature_groups : None, sequence, dict or matrix, default=None
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

HUBER_LEVEL = 0.9
"""Residuals from the median beyond this quantile count as outliers by default."""


def class_loss(target: Target) -> Loss:
    """The loss of a target of classes."""
    return get_loss("log_loss", n_classes=target.n_classes)


def number_loss(estimator: Any, target: Target, weight: FloatArray) -> Loss:
    """The loss that a regressor was told, for a target of numbers."""
    delta = estimator.huber_delta
    if estimator.loss == "huber" and delta is None:
        residuals = np.abs(target.values - weighted_quantile(target.values, weight, 0.5))
        delta = weighted_quantile(residuals, weight, HUBER_LEVEL) or 1.0
    return get_loss(estimator.loss, quantile=estimator.quantile, delta=delta)


class BoostedClassifier(PredictsClasses, ClassifierMixin, BoostedSelector):  # type: ignore[misc]  # untyped base
    """Boosted trees with feature costs, for classes: one tree per round, or per class."""

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

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        del weight
        return class_loss(target)


class BoostedRegressor(PredictsNumbers, RegressorMixin, BoostedSelector):  # type: ignore[misc]  # untyped base
    """Boosted trees with feature costs for numbers."""

    _target_type: ClassVar[TargetType] = "regression"
    _constraints = CONSTRAINTS | LOSS_CONSTRAINTS

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

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        return number_loss(self, target, weight)


@with_parameters(GBFS_PENALTY, AFTER_PENALTY, CLASSIFICATION, COMMON, attributes=ATTRIBUTES)
class GBFSClassifier(BoostedClassifier):
    """Gradient boosted feature selection for classes.

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
    """Gradient boosted feature selection for numbers.

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
    """Boosted trees with a scaled penalty for new features, for classes.

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
    """Boosted trees with a scaled penalty for new features, for numbers.

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

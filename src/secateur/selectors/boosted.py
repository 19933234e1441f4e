"""Boosted trees that pay for their features: GBFS and A-GBM, for classes and for numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.target import Target, TargetType
from secateur.losses import get_loss
from secateur.losses.base import weighted_quantile
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.boosted_input import CONSTRAINTS, LOSS_CONSTRAINTS, with_parameters
from secateur.selectors.prediction import PredictsClasses, PredictsNumbers
from secateur.typing import FloatArray, Loss

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
        self.penalty = penalty
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.leaf = leaf
        self.subsample = subsample
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.max_features = max_features
        self.cost_budget = cost_budget
        self.cut = cut
        self.cv = cv
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        self.penalty = penalty
        self.loss = loss
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.leaf = leaf
        self.subsample = subsample
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.max_features = max_features
        self.cost_budget = cost_budget
        self.cut = cut
        self.cv = cv
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        return number_loss(self, target, weight)


@with_parameters
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


@with_parameters
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


@with_parameters
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


@with_parameters
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

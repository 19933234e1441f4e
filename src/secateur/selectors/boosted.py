"""Boosted trees with feature costs: GBFS and A-GBM, for classification and regression."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.target import TargetType
from secateur.selectors.boosted_base import BoostedSelector
from secateur.selectors.boosted_parameters import (
    AGBMPenalty,
    ClassificationParameters,
    GBFSPenalty,
    RegressionParameters,
)
from secateur.selectors.parameters import with_constructor
from secateur.selectors.prediction import PredictsClasses, PredictsNumbers


class BoostedClassifier(
    PredictsClasses,
    ClassifierMixin,  # type: ignore[misc]  # untyped
    BoostedSelector,
    ClassificationParameters,
):
    """Boosted trees with feature costs, for classification: one tree per round, or per class."""

    _target_type: ClassVar[TargetType] = "classification"


class BoostedRegressor(
    PredictsNumbers,
    RegressorMixin,  # type: ignore[misc]  # untyped
    BoostedSelector,
    RegressionParameters,
):
    """Boosted trees with feature costs, for regression."""

    _target_type: ClassVar[TargetType] = "regression"


@with_constructor
class GBFSClassifier(BoostedClassifier, GBFSPenalty):
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


@with_constructor
class GBFSRegressor(BoostedRegressor, GBFSPenalty):
    """Gradient boosted feature selection for regression.

    The gain of a split is that of GBFSClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = GBFSRegressor(max_features=3, random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() <= 3)
    True
    """


@with_constructor
class AGBMClassifier(BoostedClassifier, AGBMPenalty):
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


@with_constructor
class AGBMRegressor(BoostedRegressor, AGBMPenalty):
    """Boosted trees with a scaled penalty for new features, for regression.

    The gain of a split is that of AGBMClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = AGBMRegressor(penalty=0.02, random_state=0).fit(X, y)
    >>> bool(selector.score(X, y) > 0.4)
    True
    """

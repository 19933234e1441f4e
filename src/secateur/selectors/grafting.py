"""Grafting of linear models and networks, for classes and for numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.problem import Problem
from secateur.data.target import TargetType
from secateur.losses import get_loss
from secateur.selectors.grafting_base import GraftingSelector
from secateur.selectors.grafting_input import with_parameters
from secateur.selectors.prediction import PredictsClasses, PredictsNumbers
from secateur.typing import Loss


@with_parameters
class GraftingClassifier(PredictsClasses, ClassifierMixin, GraftingSelector):  # type: ignore[misc]  # untyped base
    """Grafting for classes: weights leave zero where the gradient of the log loss says so.

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

    def __init__(
        self,
        *,
        model: str = "linear",
        l1: Any = "auto",
        l0: float = 0.0,
        l2: float = 0.0,
        costs: Any = None,
        max_features: int | None = None,
        max_hidden: int | None = None,
        adjust: str = "all",
        retries: int = 0,
        standardize: bool = True,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 200,
        class_weight: Any = None,
        cut: Any = None,
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.l1 = l1
        self.l0 = l0
        self.l2 = l2
        self.costs = costs
        self.max_features = max_features
        self.max_hidden = max_hidden
        self.adjust = adjust
        self.retries = retries
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.cut = cut
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    def _loss(self, problem: Problem) -> Loss:
        return get_loss("log_loss", n_classes=problem.target.n_classes)


@with_parameters
class GraftingRegressor(PredictsNumbers, RegressorMixin, GraftingSelector):  # type: ignore[misc]  # untyped base
    """Grafting for numbers: weights leave zero where the gradient of the squared error says so.

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

    def __init__(
        self,
        *,
        model: str = "linear",
        l1: Any = "auto",
        l0: float = 0.0,
        l2: float = 0.0,
        costs: Any = None,
        max_features: int | None = None,
        max_hidden: int | None = None,
        adjust: str = "all",
        retries: int = 0,
        standardize: bool = True,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 200,
        cut: Any = None,
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.l1 = l1
        self.l0 = l0
        self.l2 = l2
        self.costs = costs
        self.max_features = max_features
        self.max_hidden = max_hidden
        self.adjust = adjust
        self.retries = retries
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.cut = cut
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    def _loss(self, problem: Problem) -> Loss:  # noqa: ARG002
        return get_loss("squared_error")

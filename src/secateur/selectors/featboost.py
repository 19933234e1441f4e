"""Forward selection by re-weighting: FeatBoost for classes and numbers, and IIS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.target import TargetType
from secateur.engines.featboost.forward import trace_featboost, trace_iis
from secateur.engines.featboost.weighting import AdaBoostWeighting, LossWeighting, Weighting
from secateur.path import Step
from secateur.selectors.featboost_base import (
    CLASSIFIER,
    CONSTRAINTS,
    REGRESSOR,
    ForwardJob,
    ForwardSelector,
)
from secateur.selectors.featboost_doc import with_parameters
from secateur.selectors.featboost_estimators import check_ranker
from secateur.selectors.prediction import PredictsNumbers, PredictsProbabilities


class _FeatBoost(ForwardSelector):
    """Algorithm 1, for any kind of target."""

    def _trace(self, job: ForwardJob, ranker: Any, evaluator: Any) -> Iterator[Step]:
        limits = self._cost_limits(job.problem)
        return trace_featboost(ranker, evaluator, self._weighting(job), limits, self._forward())

    def _weighting(self, job: ForwardJob) -> Weighting:
        weight, n_classes = job.problem.weight, job.problem.target.n_classes
        if self.weighting is None:
            return Weighting(weight)
        if self.weighting == "adaboost":
            return AdaBoostWeighting(weight, n_classes)
        return LossWeighting(weight)

    def _check_estimators(self) -> None:
        if not isinstance(self.ranker, str):
            check_ranker(
                self.ranker,
                needs_weights=self.weighting is not None,
                needs_probabilities=self.weighting == "softmax",
            )


@with_parameters
class FeatBoostClassifier(PredictsProbabilities, ClassifierMixin, _FeatBoost):  # type: ignore[misc]  # untyped base
    """Forward selection that re-weights the rows, for classes (FeatBoost).

    In each round a ranker is fitted to weighted rows; the best ranked features are tried, each
    together with those accepted so far, by an evaluator in cross-validation; the best is accepted
    if it improves the score by more than ``epsilon``; and rows that the accepted features predict
    badly get more weight (Algorithm 1 of Alsahaf, Petkov, Shenoy and Azzopardi, *A framework for
    feature selection through boosting*). Where nothing improves, the weights are reset once.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = FeatBoostClassifier(max_features=4, random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() <= 4)
    True
    >>> bool(selector.path_[-1].score.mean > 0.9)
    True
    """

    _target_type: ClassVar[TargetType] = "classification"
    _constraints = CLASSIFIER

    def __init__(
        self,
        *,
        ranker: Any = "trees",
        evaluator: Any = "nearest",
        n_neighbors: int = 5,
        standardize: bool = True,
        n_candidates: int = 50,
        cv: Any = None,
        scoring: Any = None,
        max_features: int | None = 100,
        epsilon: float = 1e-9,
        weighting: str | None = "softmax",
        reset: bool = True,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        cost_budget: float | None = None,
        gain_per_cost: bool = False,
        cut: Any = None,
        max_iter: int = 20,
        learning_rate: float = 0.3,
        max_depth: int = 4,
        categorical_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
        verbose: int = 0,
    ) -> None:
        self.ranker = ranker
        self.evaluator = evaluator
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.n_candidates = n_candidates
        self.cv = cv
        self.scoring = scoring
        self.max_features = max_features
        self.epsilon = epsilon
        self.weighting = weighting
        self.reset = reset
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.cost_budget = cost_budget
        self.gain_per_cost = gain_per_cost
        self.cut = cut
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose


@with_parameters
class FeatBoostRegressor(PredictsNumbers, RegressorMixin, _FeatBoost):  # type: ignore[misc]  # untyped base
    """Forward selection that re-weights the rows, for numbers.

    FeatBoost as in ``FeatBoostClassifier``, with rows weighted by how far the ranker's prediction
    from the accepted features is from their target.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = FeatBoostRegressor(evaluator="trees", random_state=0).fit(X, y)
    >>> bool(selector.support_[[2, 8]].all())
    True
    """

    _target_type: ClassVar[TargetType] = "regression"
    _constraints = REGRESSOR

    def __init__(
        self,
        *,
        ranker: Any = "trees",
        evaluator: Any = "knn",
        n_neighbors: int = 5,
        standardize: bool = True,
        n_candidates: int = 50,
        cv: Any = None,
        scoring: Any = None,
        max_features: int | None = 100,
        epsilon: float = 1e-9,
        weighting: str | None = "residual",
        reset: bool = True,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        cost_budget: float | None = None,
        gain_per_cost: bool = False,
        cut: Any = None,
        max_iter: int = 20,
        learning_rate: float = 0.3,
        max_depth: int = 4,
        categorical_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
        verbose: int = 0,
    ) -> None:
        self.ranker = ranker
        self.evaluator = evaluator
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.n_candidates = n_candidates
        self.cv = cv
        self.scoring = scoring
        self.max_features = max_features
        self.epsilon = epsilon
        self.weighting = weighting
        self.reset = reset
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.cost_budget = cost_budget
        self.gain_per_cost = gain_per_cost
        self.cut = cut
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose


@with_parameters
class IISRegressor(PredictsNumbers, RegressorMixin, ForwardSelector):  # type: ignore[misc]  # untyped base
    """Iterative Input Selection: each feature for what the ones before it leave unexplained.

    In each round the features are ranked for the target of the moment, the best ranked are tried
    by themselves on it, and the best of these is accepted; what all accepted features together
    leave unexplained is the next target, y^{i+1} = y^i - prediction of y^i (Galelli and
    Castelletti 2013; Eq. 4.3 of Alsahaf 2020). It ends when a feature comes out first a second
    time, or when the accepted features together predict the original target no better.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = IISRegressor(random_state=0).fit(X, y)
    >>> bool(selector.support_[[2, 8]].any())
    True
    """

    _target_type: ClassVar[TargetType] = "regression"
    _constraints = CONSTRAINTS

    def __init__(
        self,
        *,
        ranker: Any = "trees",
        evaluator: Any = "trees",
        n_neighbors: int = 5,
        standardize: bool = True,
        n_candidates: int = 50,
        cv: Any = None,
        scoring: Any = None,
        max_features: int | None = 100,
        epsilon: float = 1e-9,
        costs: Any = None,
        feature_groups: Any = None,
        keep: Any = None,
        cost_budget: float | None = None,
        cut: Any = None,
        max_iter: int = 20,
        learning_rate: float = 0.3,
        max_depth: int = 4,
        categorical_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
        verbose: int = 0,
    ) -> None:
        self.ranker = ranker
        self.evaluator = evaluator
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.n_candidates = n_candidates
        self.cv = cv
        self.scoring = scoring
        self.max_features = max_features
        self.epsilon = epsilon
        self.costs = costs
        self.feature_groups = feature_groups
        self.keep = keep
        self.cost_budget = cost_budget
        self.cut = cut
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    def _trace(self, job: ForwardJob, ranker: Any, evaluator: Any) -> Iterator[Step]:
        target, limits = job.problem.target.values, self._cost_limits(job.problem)
        return trace_iis(ranker, evaluator, target, limits, self._forward())

    def _check_estimators(self) -> None:
        if not isinstance(self.ranker, str):
            check_ranker(self.ranker, needs_weights=False, needs_probabilities=False)

"""Forward selection by re-weighting: FeatBoost, and Iterative Input Selection."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from secateur.data.table import Problem
from secateur.data.target import TargetType
from secateur.engines.featboost.forward import (
    IIS,
    AdaBoostWeighting,
    FeatBoost,
    LossWeighting,
    Weighting,
)
from secateur.selectors.featboost_base import CLASSIFIER, CONSTRAINTS, REGRESSOR, ForwardSelector
from secateur.selectors.parameters import SelectorParameters, with_constructor
from secateur.selectors.prediction import PredictsNumbers, PredictsProbabilities


@with_constructor
class ForwardParameters(SelectorParameters):
    """Ranker, evaluator and the built-in trees.

    Parameters
    ----------
    ranker : "trees" or estimator, default="trees"
        Ranks all features: boosted trees without a penalty, or any estimator
        with ``feature_importances_`` or ``coef_`` (and ``sample_weight`` in ``fit``, where rows are
        weighted). Estimators are cloned; they get floats, categories as codes and classes as 0, 1,
        ...; random states that are None are set from ``random_state``.
    evaluator : "nearest", "knn", "trees" or estimator
        Scores subsets in cross-validation: the nearest neighbour (the default of
        FeatBoostClassifier), the ``n_neighbors`` nearest (of FeatBoostRegressor), boosted trees on
        the columns binned for the ranker (of IISRegressor), or any estimator.
    n_neighbors : int, default=5
        For ``evaluator="knn"``.
    standardize : bool, default=True
        Measure distances on columns divided by their standard deviation.
    n_candidates : int, default=50
        Number of best ranked features that are scored in each round (m of the paper).
    cv : None, int, splitter or list of (train, test), default=None
        The folds of the evaluator. None is three; 1 is one held-out fifth.
    scoring : None, str or callable, default=None
        Any scorer of scikit-learn; None is the accuracy, or R squared for regression.
    max_features : int or None, default=100
        The largest number of features, in every step of the path.
    epsilon : float, default=1e-9
        A feature must improve the score by more than this.
    costs : None, number, sequence, dict or FeatureCosts, default=None
        Costs of the features. Of candidates with equal scores the one with the lower cost wins.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen; None is the best, which is the last one.
    max_iter : int, default=20
        Rounds of the built-in trees.
    learning_rate : float, default=0.3
        Of the built-in trees.
    max_depth : int, default=4
        Of the built-in trees.
    categorical_features : None, "from_dtype", list or mask, default=None
        Columns of categories; those of a category type are always taken as such.
    executor : DaskExecutor, default=None
        Scores the candidates on the workers of a cluster; None scores them in this process. The
        result does not depend on it.

    Attributes
    ----------
    path_ : SelectionPath
        A step for each accepted feature, with its inner score. ``details`` of a step hold the
        winner's ``rank``, its ``gain``, the candidates ``tried`` and their ``tried_scores``,
        whether it came ``after_reset``, and the row weights in two numbers, ``effective_rows`` and
        ``largest_weight``.
    feature_importances_ : array of float, shape (n_features_in_,)
        The ranker's importances of the selected features, as shares, averaged over the steps up to
        the chosen one: a feature that was accepted early is in more of them.
    stop_reason_ : StopReason
        Why no more features were accepted.
    n_iter_ : int
        Rounds of the built-in trees: ``max_iter``.
    """

    ranker: Any = "trees"
    evaluator: Any = "nearest"
    n_neighbors: int = 5
    standardize: bool = True
    n_candidates: int = 50
    cv: Any = None
    scoring: Any = None
    max_features: int | None = 100
    epsilon: float = 1e-9
    cut: Any = None
    max_iter: int = 20
    learning_rate: float = 0.3
    max_depth: int = 4
    categorical_features: Any = None
    executor: Any = None


@with_constructor
class FeatBoostParameters:
    """How rows are weighted and candidates compared.

    Parameters
    ----------
    weighting : {"softmax", "adaboost"} for classes, {"residual"} for regression, or None
        How rows are re-weighted, by default "softmax" or "residual"; None leaves them.
    reset : bool, default=True
        Try once more with the initial weights before stopping.
    gain_per_cost : bool, default=False
        Take the candidate with the largest gain per cost instead of the largest gain; the first
        feature is taken by its score.
    """

    weighting: str | None = "softmax"
    reset: bool = True
    gain_per_cost: bool = False


class _FeatBoost(ForwardSelector):
    """Algorithm 1, for both types of target."""

    def _search(self, problem: Problem, *args: Any) -> FeatBoost:
        weighting: Weighting = LossWeighting(problem.weight)
        if self.weighting is None:
            weighting = Weighting(problem.weight)
        elif self.weighting == "adaboost":
            weighting = AdaBoostWeighting(problem.weight, problem.target.n_classes)
        return FeatBoost(weighting, *args)


@with_constructor
class FeatBoostClassifier(
    PredictsProbabilities,
    ClassifierMixin,  # type: ignore[misc]  # untyped
    _FeatBoost,
    ForwardParameters,
    FeatBoostParameters,
):
    """Forward selection that re-weights the rows, for classification (FeatBoost).

    In each round a ranker is fitted to weighted rows; the best ranked features are scored, each
    together with those accepted so far, by an evaluator in cross-validation; the best is accepted
    if it improves the score by more than ``epsilon``; and rows that the accepted features predict
    badly get more weight (Algorithm 1 of Alsahaf, Petkov, Shenoy and Azzopardi, *A framework for
    feature selection through boosting*). If nothing improves, the weights are reset once.

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


@with_constructor
class FeatBoostRegressor(
    PredictsNumbers,
    RegressorMixin,  # type: ignore[misc]  # untyped
    _FeatBoost,
    ForwardParameters,
    FeatBoostParameters,
):
    """Forward selection that re-weights the rows, for regression.

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

    evaluator: Any = "knn"
    weighting: str | None = "residual"


@with_constructor
class IISRegressor(
    PredictsNumbers,
    RegressorMixin,  # type: ignore[misc]  # untyped
    ForwardSelector,
    ForwardParameters,
):
    """Iterative Input Selection: each feature for what the ones before it leave unexplained.

    In each round the features are ranked for the current target, the best ranked are scored
    alone on it, and the best of these is accepted; what all accepted features together
    leave unexplained is the next target, y^{i+1} = y^i - prediction of y^i (Galelli and
    Castelletti 2013; Eq. 4.3 of Alsahaf 2020). It ends when a feature is best a second
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

    evaluator: Any = "trees"

    def _search(self, problem: Problem, *args: Any) -> IIS:  # noqa: ARG002
        return IIS(*args)

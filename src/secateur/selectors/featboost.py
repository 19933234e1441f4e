"""Forward selection by re-weighting: FeatBoost, and Iterative Input Selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.binning import bin_table
from secateur.data.table import Fold, Problem
from secateur.engines.boosted.trees import BoostingParams, min_leaf_rows
from secateur.engines.featboost.evaluator import Evaluator
from secateur.engines.featboost.forward import (
    IIS,
    FeatBoost,
    ForwardParams,
    ForwardSelection,
    Weighting,
)
from secateur.engines.featboost.neighbours import NeighbourEvaluator, NeighbourTargets, ScaledTable
from secateur.engines.path_search import PathSearch
from secateur.model_selection.rows import Scorer, check_target_type, read_scoring
from secateur.path import Best, OneStandardError, StopReason
from secateur.path.cutting import CuttingRule
from secateur.selectors.featboost_check import ConstantCheck
from secateur.selectors.featboost_evaluators import (
    BoostedTrees,
    EstimatorEvaluator,
    SklearnFoldScorer,
    check_ranker,
    extra_trees,
    refuse_large_values,
)
from secateur.selectors.featboost_queries import QueryScorer, ScoresQueries
from secateur.selectors.inputs import FitInput, read_input
from secateur.selectors.parameters import (
    EXECUTOR,
    cv_from,
    estimator_or,
    flag,
    number,
    one_of,
    params_of,
    with_constructor,
)
from secateur.selectors.prediction import PredictsProbabilities, PredictsValues, StepPredictor
from secateur.selectors.progress import Progress
from secateur.typing import FloatArray, IntArray

MAX_BINS = 64  # bins per column of the built-in trees; enough for a ranking
N_FOLDS = 3  # folds of cv=None, k of the paper
METHODS = ("fit", "predict", "get_params", "set_params")  # of estimators, which are cloned


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ForwardInput(FitInput):
    """The input of a forward selection: the scorer, and its name."""

    scorer: Scorer | QueryScorer
    metric: str

    @property
    def default_folds(self) -> int:
        """Three, fewer if there are fewer rows."""
        return min(N_FOLDS, self.problem.n_rows)


@with_constructor
class ForwardSelector(StepPredictor):
    """Accepts feature after feature: a ranker ranks, an evaluator scores the best ranked.

    Parameters
    ----------
    ranker : "trees", "extra_trees" or estimator
        Ranks all features: boosted trees without a penalty (the default), scikit-learn's
        extra-trees (the default of IISRegressor, as in the paper's appendix), or any estimator with
        ``feature_importances_`` or ``coef_`` (and ``sample_weight`` in ``fit``, where rows are
        weighted). Estimators are cloned; they get floats, categories as codes and classes as 0, 1,
        ...; random states that are None are set from ``random_state``.
    evaluator : "nearest", "knn", "trees", "extra_trees" or estimator
        Scores subsets in cross-validation: the nearest neighbour (the default of
        FeatBoostClassifier), the ``n_neighbors`` nearest (of FeatBoostRegressor), boosted trees on
        the columns binned for the ranker, extra-trees (of IISRegressor), or any estimator.
    importance : {"total_gain", "gain"}, default="total_gain"
        How ``ranker="trees"`` ranks: by the total gain of a feature's splits, or by their mean as
        XGBoost does by default. The mean favours features of few splits.
    n_neighbors : int, default=5
        For ``evaluator="knn"``.
    standardize : bool, default=True
        Measure distances on columns divided by their standard deviation.
    n_candidates : int, default=50
        Number of best ranked features that are scored in each round (m of the paper).
    cv : None, int, splitter or list of (train, test), default=None
        The folds of the evaluator. None is three; 1 is one held-out fifth.
    scoring : None, str or callable, default=None
        Any scorer of scikit-learn; None is the accuracy, or R squared for regression. With ``qid``
        in ``fit`` of FeatBoostRegressor, a metric of queries as "ndcg@10", "map" or "mrr".
    max_features : int or None, default=100
        The largest number of features, in every step of the path.
    epsilon : float, default=1e-9
        A feature must improve the score by more than this.
    costs : None, number, sequence, dict or FeatureCosts, default=None
        Costs of the features. Of candidates with equal scores the one with the lower cost wins.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen; None is the best, which is the last one, or none where
        the selection, repeated in three folds, does not clearly beat a constant.
    max_iter : int
        Rounds of the built-in trees, 20 by default; for "extra_trees" their number, 50 in
        IISRegressor.
    learning_rate : float, default=0.3
        Of the built-in trees.
    max_depth : int, default=4
        Of the built-in trees.
    categorical_features : None, "from_dtype", list or mask, default=None
        Columns of categories; those of a category type are always taken as such.
    executor : DaskExecutor, default=None
        Scores the candidates on the workers of a cluster, with the same result; None does so here.

    Attributes
    ----------
    path_ : SelectionPath
        A step for each accepted feature, with its inner score; last, one without features where
        these may be chance (``gain_over_none`` in ``details`` is at most 1). ``details`` hold the
        winner's ``rank``, its ``gain``, the candidates ``tried`` and their ``tried_scores``,
        whether it came ``after_reset``, and of row weights ``effective_rows``, ``largest_weight``.
    feature_importances_ : array of float, shape (n_features_in_,)
        The ranker's importances of the selected features, as shares, averaged over the steps up to
        the chosen one: a feature that was accepted early is in more of them.
    stop_reason_ : StopReason
        Why no more features were accepted.
    n_iter_ : int
        Rounds of the built-in trees, or number of extra-trees: ``max_iter``.
    """

    ranker: Any = estimator_or("trees", "extra_trees", methods=METHODS).default("trees")
    evaluator: Any = estimator_or(
        "nearest", "knn", "trees", "extra_trees", methods=METHODS
    ).default("nearest")
    importance: str = one_of("total_gain", "gain").default("total_gain")
    n_neighbors: int = number(1, whole=True).default(5)
    standardize: bool = flag("Use True where columns have different units.").default(True)
    n_candidates: int = number(1, whole=True, advice="Use 50 as the paper does.").default(50)
    cv: Any = cv_from(1, "Use 3 for three folds.").default(None)
    scoring: Any = None
    max_features: int | None = 100
    epsilon: float = number(-math.inf, below=True).default(1e-9)
    max_iter: int = number(1, whole=True).default(20)
    learning_rate: float = number(0, above=True, below=True).default(0.3)
    max_depth: int = number(1, 16, whole=True).default(4)
    categorical_features: Any = None
    executor: Any = EXECUTOR.default(None)

    _search: ClassVar[Callable[..., ForwardSelection]]

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, queries: QueryScorer | None = None
    ) -> ForwardInput:
        for name in ("ranker", "evaluator"):
            check_target_type(name, getattr(self, name), self._target_type)
        check_ranker(self._resolved("ranker"), getattr(self, "weighting", None))
        scorer: Any = queries
        metric = "" if queries is None else queries.name
        if queries is None:
            scorer, metric = read_scoring(self.scoring, self._target_type)
        given = read_input(self, self._target_type, X, y, sample_weight)
        if "extra_trees" in [
            each for each in (self.ranker, self.evaluator) if isinstance(each, str)
        ]:
            refuse_large_values(given.problem.table)
        return given.extended(ForwardInput, scorer=scorer, metric=metric)

    def _engine(
        self, given: ForwardInput, folds: list[Fold], threads: Threads, progress: Progress
    ) -> list[PathSearch]:
        n_features = given.problem.table.n_features
        progress.expect(1, min(self.max_features or n_features, n_features))
        search = self._selection(given, folds, threads)

        def again(rows: IntArray) -> ForwardSelection:
            part = replace(given, problem=given.problem.take(rows), kept=given.kept[rows])
            if isinstance(given.scorer, QueryScorer):
                part = replace(part, scorer=given.scorer.take(rows))
            return self._selection(part, self._folds(part), threads)

        check = ConstantCheck(given, folds, search, again, self._limits()["rules"], threads)
        steps, on_step = search.trace(), progress.round_or_stop
        return [PathSearch(steps, on_step=on_step, penalty_name="rank", finish=check.finish)]

    def _selection(
        self, given: ForwardInput, folds: list[Fold], threads: Threads
    ) -> ForwardSelection:
        problem = given.problem
        scorer = SklearnFoldScorer(problem, folds, given.scorer, given.metric)
        trees: Any = None
        if "trees" in (self.ranker, self.evaluator):
            seed, weight = given.seed, problem.weight
            more: dict[str, Any] = {"max_bins": MAX_BINS, "threads": threads, "random_state": seed}
            columns = bin_table(problem.table, weight, **more)
            params = BoostingParams(
                learning_rate=self.learning_rate,
                n_rounds=self.max_iter,
                max_depth=self.max_depth,
                min_samples_leaf=min_leaf_rows("auto", weight),
                seed=seed,
            )
            own = (threads, folds, scorer, self.importance)
            trees = BoostedTrees(problem, columns, params, *own)
        ranker: Any = trees
        if self.ranker != "trees":
            estimator = self._resolved("ranker")
            ranker = EstimatorEvaluator(estimator, problem, folds, scorer, given.seed, 1)
        evaluator: Evaluator = trees
        scored_by = self._resolved("evaluator")
        if not isinstance(scored_by, str):
            # on a cluster there are as many fits at a time as there are threads
            # and extra-trees in threads of ours lose scikit-learn's settings, with warnings
            is_alone = self.executor is None and not isinstance(self.evaluator, str)
            n_jobs = resolve_n_jobs(self.n_jobs) if is_alone else 1
            fixed = (problem, folds, scorer, given.seed, n_jobs)
            evaluator = EstimatorEvaluator(scored_by, *fixed)
        elif self.evaluator != "trees":
            table = ScaledTable(problem.table, problem.weight, standardize=self.standardize)
            k, target = self.n_neighbors if self.evaluator == "knn" else 1, problem.target
            targets = NeighbourTargets(target.values, problem.weight, target.n_classes, k)
            evaluator = NeighbourEvaluator(table, targets, folds, scorer, threads)
        rest = (problem.target.values, problem.cost_model, self._params(given), self.executor)
        return self._search(problem, ranker, evaluator, *rest)

    def _resolved(self, name: str) -> Any:
        """The ranker or the evaluator, with extra-trees as the estimator that they are."""
        given = getattr(self, name)
        is_word = isinstance(given, str) and given == "extra_trees"
        return extra_trees(self._target_type, self.max_iter) if is_word else given

    def _params(self, given: ForwardInput) -> ForwardParams:
        per_cost = getattr(self, "gain_per_cost", False)
        own = {"budget": self.cost_budget, "per_cost": per_cost, "metric": given.metric}
        return params_of(self, ForwardParams, **own)

    def _default_rule(self) -> CuttingRule:
        # the best step is the last with features; none where that may be chance
        return Best() if self.path_.n_features[-1] else OneStandardError(0)

    @property
    def feature_importances_(self) -> FloatArray:
        """Shares of the ranker's importances, averaged over the steps up to the chosen one."""
        check_is_fitted(self)
        shares = np.zeros(self.n_features_in_)
        for step in self.path_.steps[: self.selection_.index + 1] if self.support_.any() else ():
            shares[step.support] += step.weight / (step.weight.sum() or 1.0)
        if not shares.any():  # features that are kept, before the ranker was asked
            shares = self.support_.astype(np.float64)
        return shares / (shares.sum() or 1.0)

    @property
    def n_iter_(self) -> int:
        """Rounds of the built-in trees: they are never stopped early."""
        check_is_fitted(self)
        return int(self.max_iter)

    @property
    def stop_reason_(self) -> StopReason:
        """Why no more features were accepted."""
        check_is_fitted(self, "path_")
        return self.path_.stop_reason

    def candidates_of(self, step: int) -> tuple[IntArray, FloatArray]:
        """The candidates of a step of the path, best ranked first, and their scores.

        Parameters
        ----------
        step : int
            The number of a step of ``path_``.

        Returns
        -------
        features : array of int
        scores : array of float
            Cross-validated, to six digits.
        """
        check_is_fitted(self, "path_")
        details = self.path_[step].details
        features = np.array(str(details.get("tried", "")).split(), dtype=np.int64)
        return features, np.array(str(details.get("tried_scores", "")).split(), dtype=np.float64)


@with_constructor
class _FeatBoost(ForwardSelector):
    """Algorithm 1, for both types of target.

    Parameters
    ----------
    weighting : {"softmax", "adaboost"} for classes, {"residual"} for regression, or None
        How rows are re-weighted in each round, beginning with ``sample_weight``; by default
        "softmax" or "residual". None leaves the weights as they are.
    reset : bool, default=True
        Try once more with the initial weights before stopping.
    gain_per_cost : bool, default=False
        Take the candidate with the largest gain per cost; the first is taken by its score.
    repeats : {"skip", "end", "add"}, default="skip"
        What becomes of selected features among the best ranked. "skip": they are not tried. "end",
        as in line 8 of Algorithm 1: they are, and one that wins ends the round. "add": one that
        wins is added again, so that it counts twice in distances; ``max_features`` counts it twice.
        For evaluators that repetitions do not change all three are the same, and "skip" saves time.
    """

    weighting: str | None = one_of(
        "softmax", "adaboost", None, advice="Use 'softmax' to weight rows by their log loss."
    ).default("softmax")
    reset: bool = flag("Use True to try again with equal weights.").default(True)
    gain_per_cost: bool = flag("Use False to let costs decide ties only.").default(False)
    repeats: str = one_of("skip", "end", "add").default("skip")

    def _search(self, problem: Problem, *args: Any) -> FeatBoost:
        kind = "loss" if self.weighting in {"softmax", "residual"} else self.weighting
        return FeatBoost(Weighting(problem.weight, kind, problem.target.n_classes), *args)


@with_constructor
class FeatBoostClassifier(PredictsProbabilities, _FeatBoost):
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


@with_constructor
class FeatBoostRegressor(ScoresQueries, PredictsValues, _FeatBoost):
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

    evaluator: Any = "knn"
    weighting: str | None = one_of(
        "residual", None, advice="Use 'residual' to weight rows by their residual."
    ).default("residual")


@with_constructor
class IISRegressor(PredictsValues, ForwardSelector):
    """Iterative Input Selection: each feature for what the ones before it leave unexplained.

    In each round the features are ranked for the current target, the best ranked are scored
    alone on it, and the best of these is accepted; what all accepted features together
    leave unexplained is the next target, y^{i+1} = y^i - prediction of y^i (Galelli and
    Castelletti 2013; Eq. 4.3 of Alsahaf 2020). It ends when a feature is best a second
    time, or when the accepted features together predict the original target no better. Extra-trees
    do all three, as in the paper's appendix; "trees" for both is several times as fast.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = IISRegressor(random_state=0).fit(X, y)
    >>> bool(selector.support_[[2, 8]].any())
    True
    """

    ranker: Any = "extra_trees"
    evaluator: Any = "extra_trees"
    max_iter: int = 50

    def _search(self, problem: Problem, *args: Any) -> IIS:  # noqa: ARG002
        return IIS(*args)

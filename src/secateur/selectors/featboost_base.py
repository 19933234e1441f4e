"""The base of the forward selectors: from a table to a path of accepted features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.binning import bin_table
from secateur.data.table import Fold, Problem
from secateur.data.target import TargetType
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.featboost.evaluator import Evaluator
from secateur.engines.featboost.forward import ForwardParams, ForwardSelection
from secateur.engines.featboost.neighbours import NeighbourEvaluator, NeighbourTargets, ScaledTable
from secateur.engines.path_search import PathSearch
from secateur.model_selection.rows import check_target_type
from secateur.model_selection.scorers import Scorer, read_scoring
from secateur.path import Best, StopReason
from secateur.path.cutting import CuttingRule
from secateur.selectors.boosted_base import min_leaf_rows
from secateur.selectors.boosted_parameters import CONSTRAINTS as BOOSTED
from secateur.selectors.featboost_evaluators import (
    EstimatorEvaluator,
    SklearnFoldScorer,
    check_ranker,
)
from secateur.selectors.featboost_trees import BoostedTrees
from secateur.selectors.inputs import FitInput, read_input
from secateur.selectors.parameters import Constraint, cv_from, number, one_of
from secateur.selectors.prediction import StepPredictor
from secateur.selectors.progress import Progress
from secateur.typing import FloatArray, IntArray


def _estimator_or(*words: str, must: str, advice: str) -> Constraint:
    """A word, or an estimator by its methods; a class is none."""

    def accepts(value: Any) -> bool:
        if isinstance(value, str):
            return value in words
        wanted = ("fit", "predict", "get_params", "set_params")
        return not isinstance(value, type) and all(hasattr(value, each) for each in wanted)

    return Constraint(accepts, must, advice)


CONSTRAINTS: dict[str, Constraint] = {
    **{name: BOOSTED[name] for name in ("learning_rate", "max_iter", "max_depth")},
    "ranker": _estimator_or(
        "trees",
        must="'trees' or an estimator with feature_importances_",
        advice="Use 'trees' for the built-in boosted trees.",
    ),
    "evaluator": _estimator_or(
        "nearest",
        "knn",
        "trees",
        must="'nearest', 'knn', 'trees' or an estimator",
        advice="Use 'nearest' for the nearest neighbour.",
    ),
    "cv": cv_from(1, "Use 3 for three folds."),
    "n_neighbors": number(1, whole=True, advice="Use 5 for a start."),
    "standardize": one_of(True, False, advice="Use True where columns have different units."),
    "n_candidates": number(1, whole=True, advice="Use 50 as the paper does."),
    "epsilon": number(-np.inf, below=True, advice="Use 1e-9 to accept any improvement."),
    "reset": one_of(True, False, advice="Use True to try again with equal weights."),
    "gain_per_cost": one_of(True, False, advice="Use False to let costs decide ties only."),
}
CLASSIFIER = CONSTRAINTS | {
    "weighting": one_of(
        "softmax", "adaboost", None, advice="Use 'softmax' to weight rows by their log loss."
    )
}
REGRESSOR = CONSTRAINTS | {
    "weighting": one_of("residual", None, advice="Use 'residual' to weight rows by their residual.")
}

MAX_BINS = 64
"""Bins per column of the built-in trees; enough for a ranking."""

N_FOLDS = 3
"""Folds of cv=None, k of the paper."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ForwardInput(FitInput):
    """The input of a forward selection: the scorer, and its name."""

    scorer: Scorer
    metric: str

    @property
    def default_folds(self) -> int:
        """Three, fewer if there are fewer rows."""
        return min(N_FOLDS, self.problem.n_rows)


class ForwardSelector(StepPredictor):
    """Accepts feature after feature: a ranker ranks, an evaluator scores the best ranked."""

    _target_type: ClassVar[TargetType]
    weighting: str | None = None
    reset: bool = False
    gain_per_cost: bool = False

    def _search(self, problem: Problem, *args: Any) -> ForwardSelection:
        """The algorithm; further arguments are those of `ForwardSelection`."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:  # type: ignore[override]
        """Search the path of accepted features and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Missing values are NaN or None; category columns are used as such.
        y : array or series of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Initial weights of the rows, also used in scores. Rows of weight 0 are left out.
        groups : array of shape (n_rows,), optional
            Which rows belong together, as those of one patient: folds keep them together. Given to
            the splitter in ``cv``.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, groups)

    def _problem(self, X: Any, y: Any, sample_weight: Any, **_: Any) -> ForwardInput:
        for name in ("ranker", "evaluator"):
            check_target_type(name, getattr(self, name), self._target_type)
        check_ranker(self.ranker, self.weighting)
        scorer, metric = read_scoring(self.scoring, self._target_type)
        given = read_input(self, self._target_type, X, y, sample_weight)
        return given.extended(ForwardInput, scorer=scorer, metric=metric)

    def _engine(
        self, given: ForwardInput, folds: list[Fold], threads: Threads, progress: Progress
    ) -> list[PathSearch]:
        problem = given.problem
        scorer = SklearnFoldScorer(problem, folds, given.scorer, given.metric)
        uses_trees = "trees" in (self.ranker, self.evaluator)
        trees: Any = self._trees(given, folds, scorer, threads) if uses_trees else None
        ranker: Any = trees
        if self.ranker != "trees":
            ranker = EstimatorEvaluator(self.ranker, problem, folds, scorer, given.seed, 1)
        evaluator: Evaluator = trees
        if self.evaluator != "trees":
            evaluator = self._evaluator(given, folds, scorer, threads)
        progress.expect(1, min(self.max_features or problem.n_features, problem.n_features))
        params = ForwardParams(
            self.n_candidates,
            self.max_features,
            self.epsilon,
            bool(self.reset),
            self.cost_budget,
            bool(self.gain_per_cost),
            given.metric,
        )
        fixed = (problem.target.values, problem.cost_model, params, self.executor)
        steps = self._search(problem, ranker, evaluator, *fixed).trace()
        return [PathSearch(steps, on_step=progress.round_or_stop, penalty_name="rank")]

    def _trees(
        self, given: ForwardInput, folds: list[Fold], scorer: SklearnFoldScorer, threads: Threads
    ) -> BoostedTrees:
        """Trees that rank or evaluate."""
        table, weight, seed = given.problem.table, given.problem.weight, given.seed
        columns = bin_table(table, weight, max_bins=MAX_BINS, threads=threads, random_state=seed)
        params = BoostingParams(
            learning_rate=self.learning_rate,
            n_rounds=self.max_iter,
            max_depth=self.max_depth,
            min_samples_leaf=min_leaf_rows("auto", weight),
            seed=seed,
        )
        return BoostedTrees(given.problem, columns, params, threads, folds, scorer)

    def _evaluator(
        self, given: ForwardInput, folds: list[Fold], scorer: SklearnFoldScorer, threads: Threads
    ) -> Evaluator:
        problem = given.problem
        if not isinstance(self.evaluator, str):
            # on a cluster there are as many fits at a time as there are threads
            n_jobs = resolve_n_jobs(self.n_jobs) if self.executor is None else 1
            return EstimatorEvaluator(self.evaluator, problem, folds, scorer, given.seed, n_jobs)
        table = ScaledTable(problem.table, problem.weight, standardize=self.standardize)
        k = self.n_neighbors if self.evaluator == "knn" else 1
        target = problem.target
        targets = NeighbourTargets(target.values, problem.weight, target.n_classes, k)
        return NeighbourEvaluator(table, targets, folds, scorer, threads)

    def _default_rule(self) -> CuttingRule:
        """Every accepted feature improved the score: the best step is the last one."""
        return Best()

    @property
    def feature_importances_(self) -> FloatArray:
        """Shares of the ranker's importances, averaged over the steps up to the chosen one."""
        check_is_fitted(self)
        shares = np.zeros(self.n_features_in_)
        for step in self.path_.steps[: self.selection_.index + 1]:
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

"""From a user's table to a path of accepted features: what the forward selectors share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.binning import bin_table
from secateur.data.folds import Fold
from secateur.data.problem import Problem
from secateur.data.target import TargetType
from secateur.data.weights import are_counts
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.drive import drive
from secateur.engines.featboost.candidates import CostLimits, read_tried
from secateur.engines.featboost.distributed import DistributedEvaluator
from secateur.engines.featboost.forward import ForwardParams
from secateur.engines.featboost.neighbours import NeighbourEvaluator, NeighbourTargets, ScaledTable
from secateur.model_selection.folds import draw_folds, is_drawn, read_folds
from secateur.model_selection.scorers import read_scoring
from secateur.path import Best, SelectionPath, Step, StopReason
from secateur.path.cutting import CuttingRule
from secateur.selectors.boosted_base import CONSTRAINTS as BOOSTED
from secateur.selectors.featboost_estimators import (
    EstimatorEvaluator,
    EstimatorRanker,
    SklearnFoldScorer,
)
from secateur.selectors.featboost_trees import TreeContext, TreeEvaluator, TreeRanker
from secateur.selectors.inputs import read_input
from secateur.selectors.parameters import Constraint, number, one_of
from secateur.selectors.prediction import StepPredictor
from secateur.selectors.progress import progress_of, with_callbacks
from secateur.typing import FloatArray, IntArray

EVALUATORS = ("nearest", "knn", "trees")
"""The evaluators that are built in."""


def _may_be_cv(value: Any) -> bool:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return bool(value >= 1)
    return value is None or (not is_drawn(value) and not isinstance(value, bool))


def _is_evaluator(value: Any) -> bool:
    return value in EVALUATORS if isinstance(value, str) else _is_estimator(value)


def _is_ranker(value: Any) -> bool:
    return value == "trees" if isinstance(value, str) else _is_estimator(value)


def _is_estimator(value: Any) -> bool:
    """What can be cloned, fitted and asked; a class is none yet."""
    wanted = ("fit", "predict", "get_params", "set_params")
    return not isinstance(value, type) and all(hasattr(value, each) for each in wanted)


_SHARED = ("learning_rate", "max_iter", "max_depth", "max_features", "cost_budget", "verbose")
CONSTRAINTS: dict[str, Constraint] = {
    **{name: BOOSTED[name] for name in (*_SHARED, "n_jobs", "executor")},
    "ranker": Constraint(
        _is_ranker,
        "'trees' or an estimator with feature_importances_",
        "Use 'trees' for the built-in boosted trees.",
    ),
    "evaluator": Constraint(
        _is_evaluator,
        "'nearest', 'knn', 'trees' or an estimator",
        "Use 'nearest' for the nearest neighbour.",
    ),
    "cv": Constraint(
        _may_be_cv,
        "None, an int >= 1, a splitter or a list of (train, test) rows",
        "Use 3 for three folds.",
    ),
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
    "weighting": one_of(
        "residual", None, advice="Use 'residual' to weight rows by what is not explained."
    )
}

MAX_BINS = 64
"""Bins per column for the built-in trees: a ranking needs no finer ones."""

N_FOLDS = 3
"""k of the paper: what cv=None draws."""


@dataclass(frozen=True, slots=True, eq=False)
class ForwardJob:
    """All that a fit needs: nothing of it can be wrong any more."""

    problem: Problem
    folds: list[Fold]
    fold_scorer: SklearnFoldScorer
    seed: int
    n_threads: int


class ForwardSelector(StepPredictor):
    """Accepts feature after feature: somebody ranks, somebody evaluates the best ranked.

    Subclasses say which algorithm (``_trace``) and what kind of target (``_target_type``).
    """

    _target_type: ClassVar[TargetType]

    def _trace(self, job: ForwardJob, ranker: Any, evaluator: Any) -> Iterator[Step]:
        raise NotImplementedError

    def _check_estimators(self) -> None:
        """Refuse a ranker that lacks what the algorithm asks of it."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:  # type: ignore[override]
        """Trace the path of accepted features and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Missing values are NaN or None; category columns are used as such.
        y : array or series of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            The weights that rows begin with, and count by in scores. Rows of weight 0 are left
            out.
        groups : array of shape (n_rows,), optional
            Which rows belong together, for a splitter in ``cv`` that asks for it.

        Returns
        -------
        self
        """
        job = self._read(X, y, sample_weight, groups)
        with self._keeping_steps():
            path = self._work(job, X, y)
        self._remember_columns(job.problem.table.schema)
        if job.problem.target.classes is not None:
            self.classes_ = job.problem.target.classes
        self._set_path(path)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ForwardJob:
        """Everything that can be wrong is found here, before any work."""
        self._check_parameters()
        self._check_estimators()
        scorer, name = read_scoring(self.scoring, self._target_type)
        n_threads = resolve_n_jobs(self.n_jobs)
        given = read_input(self, self._target_type, X, y, sample_weight)
        problem = given.problem
        seed = given.seed
        if is_drawn(self.cv):
            folds = _drawn(problem, self.cv, seed)
        else:
            folds = read_folds(self.cv, given.target, given.kept, groups=groups)
        fold_scorer = SklearnFoldScorer(problem.target, problem.weight, folds, scorer, name)
        return ForwardJob(problem, folds, fold_scorer, seed, n_threads)

    def _work(self, job: ForwardJob, X: Any, y: Any) -> SelectionPath:
        problem = job.problem
        most = min(self.max_features or problem.n_features, problem.n_features)
        with Threads(job.n_threads) as threads:
            context = self._tree_context(job, threads)
            ranker = self._make_ranker(job, context)
            evaluator = self._make_evaluator(job, context, threads)
            if self.executor is not None:
                evaluator = DistributedEvaluator(evaluator, self.executor)
            with progress_of(self, X, y) as progress:
                progress.expect(1, most)

                def tell(_: Step) -> None:
                    progress.round()
                    progress.stop_if_asked()

                return drive(
                    self._trace(job, ranker, evaluator),
                    on_step=tell,
                    penalty_name="rank",
                    **self._metadata(problem.table.schema, problem.cost_model),
                )

    def _tree_context(self, job: ForwardJob, threads: Threads) -> TreeContext | None:
        """Columns in bins, where trees rank or evaluate."""
        if not (_is_word(self.ranker, "trees") or _is_word(self.evaluator, "trees")):
            return None
        problem = job.problem
        columns = bin_table(
            problem.table,
            problem.weight,
            max_bins=MAX_BINS,
            threads=threads,
            random_state=job.seed,
        )
        n_rows = problem.weight.sum() if are_counts(problem.weight) else problem.n_rows
        params = BoostingParams(
            learning_rate=self.learning_rate,
            n_rounds=self.max_iter,
            max_depth=self.max_depth,
            min_samples_leaf=int(np.clip(n_rows // 50, 1, 20)),
            seed=job.seed,
        )
        return TreeContext(problem, columns, params, threads)

    def _make_ranker(self, job: ForwardJob, context: TreeContext | None) -> Any:
        if context is not None and _is_word(self.ranker, "trees"):
            return TreeRanker(context)
        return EstimatorRanker(self.ranker, job.problem, job.seed)

    def _make_evaluator(
        self, job: ForwardJob, context: TreeContext | None, threads: Threads
    ) -> Any:
        problem, folds, fold_scorer = job.problem, job.folds, job.fold_scorer
        if context is not None and _is_word(self.evaluator, "trees"):
            return TreeEvaluator(context, folds, fold_scorer)
        if not isinstance(self.evaluator, str):
            # on a cluster there are as many fits at a time as there are threads
            n_jobs = job.n_threads if self.executor is None else 1
            return EstimatorEvaluator(self.evaluator, problem, folds, fold_scorer, job.seed, n_jobs)
        table = ScaledTable(problem.table, problem.weight, standardize=self.standardize)
        k = self.n_neighbors if self.evaluator == "knn" else 1
        target = problem.target
        targets = NeighbourTargets(target.values, problem.weight, target.n_classes, k)
        return NeighbourEvaluator(table, targets, folds, fold_scorer, threads)

    def _cost_limits(self, problem: Problem) -> CostLimits:
        per_cost = bool(getattr(self, "gain_per_cost", False))
        return CostLimits(problem.cost_model, self.cost_budget, per_cost)

    def _forward(self) -> ForwardParams:
        return ForwardParams(
            self.n_candidates,
            self.max_features,
            self.epsilon,
            bool(getattr(self, "reset", False)),
        )

    def _default_rule(self) -> CuttingRule:
        """Every accepted feature improved the score: the best step is the last one."""
        return Best()

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
        """The features that were tried for a step of the path, best ranked first, and their scores.

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
        return read_tried(self.path_[step].details)


def _drawn(problem: Problem, cv: Any, seed: int) -> list[Fold]:
    """Folds drawn at random; three where nobody says how many, fewer where rows are few."""
    n_rows = problem.n_rows
    wanted = min(N_FOLDS, n_rows) if cv is None else cv
    return draw_folds(problem.target, wanted, random_state=seed)


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word

"""Feature Gradients: the subset whose estimated learnability is worth its price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from secateur._kernels.threads import Threads
from secateur.engines.drive import drive
from secateur.engines.feature_gradients.grid import (
    GRID_POINTS,
    MOST_TRIALS,
    Ground,
    trace_grid,
    trace_wanted,
    with_estimate,
)
from secateur.engines.feature_gradients.search import trace_penalty
from secateur.path import AtMost, Best, OneStandardError, Patience, SelectionPath, Step
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import keeping_steps
from secateur.selectors.feature_gradients_input import (
    CONSTRAINTS,
    GradientsJob,
    check_executor,
    read_job,
)
from secateur.selectors.feature_gradients_streaming import StreamingSelector
from secateur.selectors.progress import Progress, progress_of, with_callbacks
from secateur.storage.blocks import is_stream, lazy_blocks
from secateur.storage.sources import is_lazy

GRID_PATIENCE = 3
"""Penalties without progress after which "auto" tries no cheaper ones."""

ROWS_PER_FEATURE = 2
"""An automatic penalty leaves at least so many rows for each feature taken: on more features a
linear model can fit any target, and what is judged is no longer the subset."""

ROWS_UNJUDGED = 5
"""The same where there are too few rows to judge by."""


class FeatureGradientsSelector(StreamingSelector):
    """Select the features whose estimated learnability is worth their price.

    Feature Gradients (Sheth and Fusi, *Feature Gradients: Scalable Feature Selection via Discrete
    Relaxation*) descends on v, with s = sigmoid(2 v) for how much each feature is in:

        minimise  f(z(s)) + penalty / D * sum_j price_j s_j
        z(s) = sum_i a_i / binom(N, i + 2) y' triud(X diag(s) X')^(i + 1) y          (Eq. 1)

    z estimates how much of the target a linear model on the features could explain, without
    fitting one, also where there are more features than rows. f is 1 - z for numbers (residual
    variance) and (1 - sqrt(z)) / 2 for classes (error rate). Features with v > 0 are selected.
    A transformer: it predicts nothing itself.

    Parameters
    ----------
    penalty : float, "auto" or sequence of float, default="auto"
        What features cost; at 0.1 most that help are in, at 100 hardly any. "auto" tries a falling
        grid, judges each value by a linear model on rows that took no part, and lets ``cut``
        choose; a sequence is a grid of your own.
    n_features : int, default=None
        The wanted number: penalties are searched for the one whose own subset is that large.
    target_type : {"auto", "classification", "ordinal", "regression"}, default="auto"
        "auto" takes text, booleans and whole numbers with at most 20 different values as classes.
        More than two classes are asked one against the rest, ordered ones by their thresholds.
    order : int, default=4
        From 1 (features one by one) to 12: how long the chains of interacting features are.
    costs : None, number, sequence, dict or FeatureCosts, default=None
        What features cost to acquire, 1 each by default.
    groups : None, sequence, dict or matrix, default=None
        Groups of features that are paid for once.
    group_mode : {"hard", "soft"}, default="hard"
        "hard": a group is selected as a whole; "soft": its price is on the largest s in it.
    batch_size : int, default=1000
        Rows of one estimate.
    accumulate : int, default=1
        Batches of one update.
    max_epochs : int or "auto", default="auto"
        How often the rows are gone through; "auto" makes about a hundred updates.
    learning_rate : float, default=0.1
        Of Adam.
    standardize : bool, default=True
        Divide columns by their standard deviation. False, as in the paper, is better where all
        columns are in one unit: pixels, counts of words, spectra.
    init : float or array of shape (n_features,), default=0.0
        v to begin with.
    tol : float, default=1e-5
        Relative change of the objective from epoch to epoch that ends a search.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen. None is the fewest features within one standard error of
        the best along a grid that was judged; an automatic penalty then ends before a subset with
        more than one feature for two rows (for five, where nothing can be judged), times the
        number of classes where there are more than two.
    cv : None, int, splitter or list of (train, test), default=None
        The folds by which a grid is judged. None is five up to 2,000 rows, three up to 5,000, and
        one held-out fifth above; none below 40 rows, or where a class has fewer than 6.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Threads; None is all cores. The result does not depend on it.
    executor : DaskExecutor, default=None
        Who estimates the ``accumulate`` batches of an update: the workers of a cluster, each of
        which gets all rows, or None for this process.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    path_ : SelectionPath
        One step per penalty; of a single penalty, one per subset that it went through.
    selection_ : Selection
        The chosen step; print it for a sentence.
    support_ : array of bool, shape (n_features_in_,)
    ranking_ : array of int, shape (n_features_in_,)
    scores_ : array of float, shape (n_features_in_,)
        v at the chosen step; -inf for columns that took no part (constant, or equal to another).
    inclusion_ : array of float, shape (n_features_in_,)
        s = sigmoid(2 v) at the chosen step.
    learnability_ : Learnability
        The estimated residual variance or error rate of the selected set.
    target_type_ : str
    classes_ : array
        Only for classes.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = FeatureGradientsSelector(n_features=5, random_state=0).fit(X, y)
    >>> selector.transform(X).shape
    (569, 5)
    """

    _constraints = CONSTRAINTS

    def __init__(
        self,
        *,
        penalty: Any = "auto",
        n_features: int | None = None,
        target_type: str = "auto",
        order: int = 4,
        costs: Any = None,
        groups: Any = None,
        group_mode: str = "hard",
        batch_size: int = 1000,
        accumulate: int = 1,
        max_epochs: Any = "auto",
        learning_rate: float = 0.1,
        standardize: bool = True,
        init: Any = 0.0,
        tol: float = 1e-5,
        cut: Any = None,
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        executor: Any = None,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.n_features = n_features
        self.target_type = target_type
        self.order = order
        self.costs = costs
        self.groups = groups
        self.group_mode = group_mode
        self.batch_size = batch_size
        self.accumulate = accumulate
        self.max_epochs = max_epochs
        self.learning_rate = learning_rate
        self.standardize = standardize
        self.init = init
        self.tol = tol
        self.cut = cut
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Trace the path of selections and choose one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Missing values are NaN or None, and count as the mean of their column. Or a stream,
            which is gone through once: an iterator of (X, y) or (X, y, weight), a table of
            `secateur.open_table`, a dask array or data frame, part after part, or the name of a
            Parquet, CSV, Feather or LIBSVM file.
        y : array or series of shape (n_rows,)
            The name of the target's column for a file that names columns (the last by default),
            None for other streams.
        sample_weight : array of shape (n_rows,), optional
            Whole weights count rows, other weights are relative. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._check_parameters()
        if is_lazy(X):
            X, y = lazy_blocks(X, y), None
        check_executor(self.executor, self.accumulate, is_stream=is_stream(X))
        if is_stream(X):
            return self._fit_stream(X, y, sample_weight)
        job = read_job(self, X, y, sample_weight)
        with keeping_steps(self, "path_.cut(...) chooses one of them."):
            path = self._work(job, X, y)
        self._remember(job.problem.table.schema)
        self._remember_target(job.target_type, job.problem.target.classes, self._rule_of(job, path))
        self.__dict__.pop("_desk", None)
        self._set_path(path)
        return self

    def _rule_of(self, job: GradientsJob, path: SelectionPath) -> CuttingRule:
        """What ``cut=None`` means for this fit."""
        if self.n_features is not None:
            return AtMost(self.n_features)
        if job.folds:
            return OneStandardError()
        most = self._most_of(job)
        return Best() if most is None else AtMost(max(most, 1, int(path.n_features.min())))

    def _most_of(self, job: GradientsJob) -> int | None:
        """The most features of an automatic penalty, beside those that cost nothing.

        Each of several classes is a question of its own, and may have features of its own. Groups
        are paid for as a whole, and may have any number of columns.
        """
        prices = job.problem.prices
        if job.penalty is not None or self.cut is not None or prices.bags is not None:
            return None
        n_free = int((prices.keep | (prices.cost == 0.0)).sum())
        per_feature = ROWS_PER_FEATURE if job.folds else ROWS_UNJUDGED
        n_classes = job.problem.target.n_classes
        n_questions = n_classes if n_classes > 2 and job.target_type == "classification" else 1
        return n_free + max(1, n_questions * job.problem.n_rows // per_feature)

    def _work(self, job: GradientsJob, X: Any, y: Any) -> SelectionPath:
        n_epochs = job.params.epochs(job.problem.n_rows)
        n_parts, n_fits = self._size_of(job)
        with (
            Threads(job.n_threads) as threads,
            progress_of(self, n_parts, n_fits * n_epochs + 1, X, y) as progress,
        ):
            ground = Ground(
                job.problem,
                job.target_type,
                job.params,
                self.standardize,
                threads,
                progress.round,
                self.executor,
            )
            is_auto = job.penalty is None and self.n_features is None
            return drive(
                self._trace(job, ground),
                rules=[Patience(GRID_PATIENCE)] if is_auto and job.folds else [],
                on_step=lambda _: self._tell(job, progress),
                **self._told(job.problem.table.schema, job.problem.prices),
            )

    def _size_of(self, job: GradientsJob) -> tuple[int, int]:
        """Parts of a fit, and searches in each, for the progress bar."""
        if self.n_features is not None:
            return GRID_POINTS + MOST_TRIALS, 1
        if isinstance(job.penalty, float):
            return 1, 1
        n_penalties = GRID_POINTS if job.penalty is None else len(job.penalty)
        return n_penalties, len(job.folds) + (len(job.folds) != 1)

    def _tell(self, job: GradientsJob, progress: Progress) -> None:
        if isinstance(job.penalty, float) and self.n_features is None:
            progress.round()
            progress.stop_if_asked()
        else:
            progress.part()

    def _trace(self, job: GradientsJob, ground: Ground) -> Iterator[Step]:
        if self.n_features is not None:
            return trace_wanted(ground, self.n_features)
        if isinstance(job.penalty, float):
            return _trace_one(ground, job.penalty)
        return trace_grid(ground, job.penalty, job.folds, self._most_of(job))


def _trace_one(ground: Ground, penalty: float) -> Iterator[Step]:
    """A search at one penalty; its last step comes again with what the estimator says of it."""
    field = ground.field()
    last = None
    for step in trace_penalty(field, ground.params, penalty, ground.problem.n_features):
        last = step
        yield step
    if last is not None:
        yield with_estimate(field, ground.params, last)

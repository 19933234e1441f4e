"""Feature Gradients: the subset whose estimated learnability is worth its cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.frames import is_lazy
from secateur.data.table import Fold
from secateur.engines.drive import drive
from secateur.engines.feature_gradients.search import (
    GRID_POINTS,
    GradientsEngine,
    Inclusion,
    trace_single,
    trace_size,
)
from secateur.engines.feature_gradients.units import Units
from secateur.engines.limits import Limits
from secateur.engines.path_search import MAX_SIZE_TRIALS, PathSearch, search_path, search_penalties
from secateur.exceptions import InputError, ParameterError
from secateur.path import AtMost, Best, OneStandardError, Patience, SelectionPath
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathSelector
from secateur.selectors.feature_gradients_input import (
    METHOD,
    GradientsInput,
    Learnability,
    StreamSession,
    check_against,
    check_varies,
    load_session,
    open_session,
    plain_type,
    read_params,
    save_session,
    target_type_of,
)
from secateur.selectors.inputs import is_stream, read_problem, refuse_categories
from secateur.selectors.parameters import (
    EXECUTOR,
    Constraint,
    flag,
    number,
    one_of,
    read_penalty,
    with_constructor,
    with_parameters_of,
)
from secateur.selectors.progress import Progress, progress_of, with_callbacks
from secateur.storage.sources import read_blocks
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray

GRID_PATIENCE = 3  # penalties without progress after which "auto" tries no lower ones


def _may_be_init(value: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(value, np.float64)).all())
    except (TypeError, ValueError):
        return False


@with_constructor
class FeatureGradientsSelector(PathSelector):
    """Select the features whose estimated learnability is worth their cost.

    Feature Gradients (Sheth and Fusi, *Feature Gradients: Scalable Feature Selection via Discrete
    Relaxation*) minimises over v, where s = sigmoid(2 v) is the inclusion of each feature:

        minimise  f(z(s)) + penalty / D * sum_j cost_j s_j
        z(s) = sum_i a_i / binom(N, i + 2) y' triud(X diag(s) X')^(i + 1) y          (Eq. 1)

    z estimates how much of the target a linear model on the features could explain, without
    fitting one, also where there are more features than rows. f is 1 - z for regression
    (residual variance) and (1 - sqrt(z)) / 2 for classification (error rate). Features with s above
    1/2, or above 2/3 of the largest s if that is less, are selected. This is a transformer: it does
    not predict.

    Parameters
    ----------
    penalty : float, "auto" or sequence of float, default="auto"
        Weight of the feature costs; at 0.1 most relevant features are selected, at 100 hardly any.
        "auto" tries a falling grid, scores each value by a linear model on held-out rows, and lets
        ``cut`` choose; a sequence is a grid of your own.
    n_features : int, default=None
        Number of features to select: the penalty whose own subset has that size is searched.
    target_type : {"auto", "classification", "ordinal", "regression"}, default="auto"
        "auto" takes text, booleans and whole numbers with at most 20 different values as classes.
        More than two classes are treated one against the rest, ordered ones by their thresholds.
    order : int, default=4
        From 1 (features one by one) to 12: how long the chains of interacting features are.
    multiclass : {"mean", "softmax"}, default="mean"
        The objective of more than two classes (or thresholds): the mean of their losses f_k, or
        0.1 log mean exp(f_k / 0.1), which weighs classes by a softmax of their losses: those that
        the features separate worst count most.
    half_life : float, default=None
        Of a stream, in rows: after so many, a row counts half in means, standard deviations and the
        eigenvalue. None counts all rows alike.
    group_mode : {"hard", "soft"}, default="hard"
        "hard": a group is selected as a whole; "soft": its cost counts for the largest s in it.
    batch_size : int, default=1000
        Rows of one estimate.
    accumulate : int, default=1
        Batches of one update.
    max_epochs : int or "auto", default="auto"
        Largest number of passes over the rows; "auto" makes about a hundred updates.
    learning_rate : float, default=0.1
        Of Adam.
    standardize : bool, default=True
        Divide columns by their standard deviation. False, as in the paper, lets columns that vary
        more count more, which suits columns of one unit: pixels, word counts, spectra.
    init : float or array of shape (n_features,), default=0.0
        v at the start.
    tol : float, default=1e-5
        A search ends when the objective changes by less than this share in an epoch.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen. None is the fewest features within one standard error of
        the best along a scored grid; an automatic grid then ends before a subset with more than
        one feature for two rows (for five, if there are no scores), times the number of classes
        if there are more than two, unless ``max_features`` is given. A scored grid has no such end
        with more than ten columns for a row.
    executor : DaskExecutor, default=None
        Computes the ``accumulate`` batches of an update on the workers of a cluster, each of which
        gets all rows; None computes them in this process.

    Attributes
    ----------
    path_ : SelectionPath
        One step per penalty; for a single penalty, one per subset along its search.
    scores_ : array of float, shape (n_features_in_,)
        v at the chosen step; -inf for columns that took no part (constant, or equal to another).
    inclusion_ : array of float, shape (n_features_in_,)
        s = sigmoid(2 v) at the chosen step.
    learnability_ : Learnability
        The estimated residual variance or error rate of the selected set.
    target_type_ : str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = FeatureGradientsSelector(n_features=5, random_state=0).fit(X, y)
    >>> selector.transform(X).shape
    (569, 5)
    """

    _fits_on_disk = frozenset({"here"})
    _folds_on_disk = False
    _max_unscored: int | None
    _session: StreamSession

    penalty: Any = "auto"
    n_features: int | None = number(1, whole=True, or_none=True).default(None)
    target_type: str = one_of("auto", "classification", "ordinal", "regression").default("auto")
    order: int = number(1, 12, whole=True).default(4)
    multiclass: str = one_of("mean", "softmax").default("mean")
    half_life: float | None = number(0, above=True, or_none=True).default(None)
    group_mode: str = one_of("hard", "soft").default("hard")
    batch_size: int = number(4, whole=True).default(1000)
    accumulate: int = number(1, whole=True).default(1)
    max_epochs: Any = number(1, whole=True, words=("auto",)).default("auto")
    learning_rate: float = number(0, above=True, below=True).default(0.1)
    standardize: bool = flag("Use True unless columns share a unit.").default(True)
    init: Any = Constraint(
        _may_be_init, "a finite number or one per feature", "Use 0 to start all at inclusion 0.5."
    ).default(0.0)
    tol: float = number(0, below=True, advice="Use 0 to go through all epochs.").default(1e-5)
    executor: Any = EXECUTOR.default(None)

    @with_parameters_of(PathSelector.fit)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search the path of selections and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Missing values are NaN or None, and count as the mean of their column. Or a stream,
            which is read once: an iterator of (X, y) or (X, y, weight), a table of
            `secateur.open_table`, a dask array or data frame, part after part, or the name of a
            Parquet, CSV, Feather or LIBSVM file. A stream has no folds, and no ``groups``.
        y : array or series of shape (n_rows,)
            The name of the target's column for a file that names columns (the last by default),
            None for other streams.
        """
        self._check_parameters()
        if is_lazy(X):
            X, y = read_blocks(X, y), None
        if self.executor is not None and is_stream(X):
            raise ParameterError(
                "'executor' must be None for a stream, whose blocks are used one after another. "
                "Got one. Leave it out, or give X as an array or data frame."
            )
        if self.executor is not None and self.accumulate < 2:
            raise ParameterError(
                "'accumulate' must be at least 2 with an executor: workers share the batches of "
                f"one update. Got {self.accumulate}. Use the number of workers."
            )
        if is_stream(X):
            if groups is not None:
                raise InputError(
                    "'groups' keep rows together in folds. Got them for a stream, which has none. "
                    "Leave them out, or give X as an array or data frame."
                )
            return self._fit_stream(X, y, sample_weight)
        return self._fit(X, y, sample_weight, groups)

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> GradientsInput:
        penalty = read_penalty("penalty", self.penalty)
        target_type = target_type_of(self.target_type, y)
        plain = plain_type(target_type)
        given = read_problem(self.get_params(deep=False), plain, X, y, sample_weight)
        table, cost_model = given.problem.table, given.problem.cost_model
        refuse_categories(table.names, table.categories, METHOD)
        params = read_params(self, target_type, given.seed)
        Units(cost_model, np.arange(table.n_features), params.group_mode)  # raises for some groups
        check_against(cost_model, self)
        check_varies(given.problem.target)
        params.check_rows(given.problem.n_rows)
        return given.extended(GradientsInput, params=params, penalty=penalty)

    def _folds(self, given: GradientsInput) -> list[Fold]:
        """The folds of ``cv`` for a grid; none for a single penalty or a number of features."""
        if isinstance(given.penalty, float) or self.n_features is not None:
            return []
        folds = super()._folds(given)
        for fold in folds:
            given.params.check_rows(len(fold.train))
            check_varies(given.problem.target.take(fold.train))
        return folds

    def _engine(
        self, given: GradientsInput, folds: list[Fold], threads: Threads, progress: Progress
    ) -> list[PathSearch]:
        n_epochs = given.params.epochs(given.problem.n_rows)
        limits = Limits(given.problem.cost_model, self.max_features, self.cost_budget)
        engine = GradientsEngine(
            given.problem, given.params, threads, limits, folds, progress.round, self.executor
        )
        if self.n_features is not None:
            progress.expect(GRID_POINTS + MAX_SIZE_TRIALS, n_epochs + 1)
            return [PathSearch(trace_size(engine, self.n_features), on_step=progress.part)]
        if isinstance(given.penalty, float):
            progress.expect(1, n_epochs + 1)  # each subset along the search is a step
            steps = trace_single(engine, given.penalty)
            return [PathSearch(steps, on_step=progress.round_or_stop)]
        n_penalties = GRID_POINTS if given.penalty is None else len(given.penalty)
        progress.expect(n_penalties, (len(folds) + (len(folds) != 1)) * n_epochs + 1)
        limit = given.max_features(self, is_scored=bool(folds)) or np.inf
        return [
            search_penalties(
                engine,
                engine.grid() if given.penalty is None else given.penalty,
                is_too_large=lambda step: step.n_features > limit or not limits.allow(step.order),
                size=self._wanted_size if given.penalty is None else None,
                count=given.problem.cost_model.count,
                rules=[Patience(GRID_PATIENCE)] if given.penalty is None and folds else [],
                on_step=progress.part,
            )
        ]

    def _remember(self, given: GradientsInput) -> None:
        self.__dict__.pop("_session", None)
        super()._remember(given)
        self.target_type_ = given.params.target_type
        self._max_unscored = given.max_features(self, is_scored=False)

    def _default_rule(self) -> CuttingRule:
        """One standard error along a scored grid; the best step otherwise, within a limit."""
        if hasattr(self, "_session"):
            return Best()
        if self.n_features is not None:
            return AtMost(self.n_features)
        if any(step.score is not None for step in self.path_):
            return OneStandardError()
        limit = self._max_unscored
        return Best() if limit is None else AtMost(max(limit, 1, int(self.path_.n_features.min())))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        """Update the selection with one more block of rows.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
            Blocks of too few rows are buffered.
        classes : array, optional
            All labels, at the first call, if the first block may not have all of them.

        Returns
        -------
        self
        """
        self._check_parameters()
        session = getattr(self, "_session", None) or open_session(self, X, y, classes)
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            session.update(X, y, sample_weight, threads)
        return self._set_session(session)

    def _set_session(
        self, session: StreamSession, path: SelectionPath | None = None, *, is_asked: bool = False
    ) -> Any:
        """Keep a stream and its path: by default the present subset, if there is one yet."""
        self._session = session
        self._remember_input(session.schema, session.like.classes)
        self.target_type_ = session.stream.params.target_type
        if path is None and session.stream.n_rows:
            metadata = self._metadata(session.schema, session.stream.cost_model)
            path = drive(iter([session.stream.step()]), **metadata)
        if path is not None:
            self._set_path(path, is_asked=is_asked)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit_stream(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """One pass over the blocks; each that changes the subset is a step of the path."""
        started = perf_counter()
        blocks = read_blocks(X, y, sample_weight)
        first = next(blocks)
        classes = X.target() if isinstance(X, StoredTable) else None
        if classes is not None and target_type_of(self.target_type, classes) == "regression":
            classes = None
        session = open_session(self, first[0], first[1], classes)
        more = {**self._limits(), **self._metadata(session.schema, session.stream.cost_model)}
        n_threads = resolve_n_jobs(self.n_jobs)
        with Threads(n_threads) as threads, progress_of(self, X, y) as progress:
            progress.expect(1, 1)
            steps = session.trace(chain([first], blocks), threads, progress)
            path = search_path([PathSearch(steps)], started=started, **more)
            progress.finish(path)
        last = replace(path[-1], model=session.stream.step().model)
        path = replace(path, steps=(*path.steps[:-1], last))
        return self._set_session(session, path, is_asked=progress.is_asked_to_stop)

    def save_stream(self, file: Any) -> None:
        """Write the state of a stream for `resume_stream`.

        Parameters
        ----------
        file : path
            A NumPy .npz file with a JSON header; no pickle.
        """
        if not hasattr(self, "_session"):
            raise NotFittedError(
                "save_stream needs a selector that was fitted on a stream. Got one without. Call "
                "partial_fit, or fit with an iterator or a file."
            )
        save_session(self._session, self, file)

    def resume_stream(self, file: Any) -> Any:
        """Continue a stream from a file of `save_stream`; the parameters must be the same.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self._set_session(load_session(self, file))

    @property
    def _inclusion(self) -> Inclusion:
        model: Inclusion | None = self._step.model
        if model is None:
            raise AttributeError(
                "Only the last step of a stream has scores. Got a cut elsewhere, or a path without "
                "models. Cut at the last step."
            )
        return model

    @property
    def scores_(self) -> FloatArray:
        """The v of each feature at the chosen step."""
        return self._inclusion.scores

    @property
    def inclusion_(self) -> FloatArray:
        """The s of each feature at the chosen step."""
        return self._inclusion.inclusion

    @property
    def learnability_(self) -> Learnability:
        """The estimate for the selected set."""
        details = self._step.details
        error = details.get("estimate_standard_error")
        estimate = float(details.get("estimate", np.nan))  # NaN where the search was interrupted
        kind = details.get("estimate_of", "error rate")
        return Learnability(estimate, np.nan if error is None else float(error), kind)

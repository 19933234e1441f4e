"""From a user's table to a path of grafts: what the two grafting selectors share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.folds import Fold
from secateur.data.problem import Problem
from secateur.data.target import TargetType
from secateur.engines.drive import drive
from secateur.engines.grafting.columns import GraftingData, GraftingParams, TableColumns
from secateur.engines.grafting.greedy import GREEDY_SHARE, largest_l1, trace_grafts
from secateur.engines.grafting.linear import GridTrace
from secateur.engines.grafting.models import LinearModel, Network
from secateur.model_selection.folds import draw_folds, is_drawn, read_folds
from secateur.path import Best, OneStandardError, Patience, Selection, SelectionPath, Step
from secateur.path.cutting import CuttingRule
from secateur.selectors.grafting_input import (
    CONSTRAINTS,
    columns_of,
    read_given,
    read_l1,
    refuse_categories,
)
from secateur.selectors.inputs import FitInput, read_input
from secateur.selectors.prediction import PathPredictor
from secateur.selectors.progress import progress_of, with_callbacks
from secateur.typing import FloatArray, Loss

PATIENCE = 5
"""Steps without progress after which no cheaper ones are tried."""

FALLBACK = 1 / 3
"""Where along the grid "auto" stops if there are too few rows to judge any penalty."""


@dataclass(frozen=True, slots=True, eq=False)
class GraftingJob:
    """All that a fit needs: nothing of it can be wrong any more."""

    problem: Problem
    loss: Loss
    l1: float | list[float] | None
    folds: list[Fold]
    n_threads: int


class GraftingSelector(PathPredictor):
    """Fits linear models or networks by grafting and keeps the features of one step."""

    _target_type: ClassVar[TargetType]
    _constraints = CONSTRAINTS
    _fits_on_disk = frozenset({"here", "cluster"})

    def _loss(self, problem: Problem) -> Loss:
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Trace the path of selections and choose one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Numbers; missing values (NaN or None) count as the mean of their column. Or a dask array
            or data frame, whose parts go to the workers of ``executor``, or of the current client.
            Or a stream, whose numbers go to a file that is read again and again, block after block:
            an iterator of (X, y) or (X, y, weight), a table of `secateur.open_table`, or the name
            of a Parquet, CSV, Feather or LIBSVM file.
        y : array or series of shape (n_rows,)
            The name of the target's column for a file that names columns (the last by default),
            None for other streams.
        sample_weight : array of shape (n_rows,), optional
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        job = self._read(X, y, sample_weight)
        with self._keeping_steps():
            path = self._work(job, X, y)
        self._remember_columns(job.problem.table.schema)
        if job.problem.target.classes is not None:
            self.classes_ = job.problem.target.classes
        self._set_path(path)
        self._warn_if_early()
        return self

    def _warn_if_early(self) -> None:
        """Say so where the rounds were used up before the optimum was certain."""
        off = max(self.kkt_violation_, self.dual_gap_)
        if self._params().one_by_one or self.n_iter_ < self.max_iter or off <= self.tol:
            return
        warnings.warn(
            f"Grafting stopped at 'max_iter' rounds, before the optimum was reached: it is off by "
            f"{off:.1e}, 'tol' is {self.tol:.1e}. Raise max_iter={self.max_iter}, or 'tol'.",
            ConvergenceWarning,
            stacklevel=4,  # the caller of fit, which is wrapped twice
        )

    def _read(self, X: Any, y: Any, sample_weight: Any) -> GraftingJob:
        """Everything that can be wrong is found here, before any work."""
        self._check_parameters()
        l1 = read_l1(self.l1, one_by_one=self._params().one_by_one)
        n_threads = resolve_n_jobs(self.n_jobs)
        given = read_input(self, self._target_type, *read_given(self, X, y, sample_weight))
        problem = given.problem
        refuse_categories(problem.table)
        loss = self._loss(problem)
        loss.baseline(problem.target.values, problem.weight)  # not every target has one
        return GraftingJob(problem, loss, l1, self._grafting_folds(given, l1), n_threads)

    def _grafting_folds(self, given: FitInput, l1: float | list[float] | None) -> list[Fold]:
        """Those of ``cv`` where there is a choice to make; none for a single step."""
        if isinstance(l1, float) and not self._params().one_by_one:
            return []
        if is_drawn(self.cv):
            return draw_folds(given.problem.target, self.cv, random_state=given.seed)
        return read_folds(self.cv, given.target, given.kept)

    def _work(self, job: GraftingJob, X: Any, y: Any) -> SelectionPath:
        problem = job.problem
        with Threads(job.n_threads) as threads:
            params = self._params()
            columns = self._columns(problem, params, threads)
            target, weight = problem.target.values, problem.weight
            unit = self._target_unit(problem)
            data = GraftingData(
                columns, target, weight, job.loss, problem.cost_model, threads, unit
            )
            told = self._metadata(problem.table.schema, problem.cost_model) | {"penalty_name": "l1"}
            if params.one_by_one:
                return self._trace_grafts(data, params, job, told, X, y)
            return self._trace_grid(data, params, job, told, X, y)

    def _columns(self, problem: Problem, params: GraftingParams, threads: Threads) -> TableColumns:
        """The columns on one scale, wherever their rows are."""
        return columns_of(
            problem,
            self.executor,
            threads,
            centre=params.fit_intercept,
            scale=params.standardize,
        )

    def _trace_grid(
        self,
        data: GraftingData,
        params: GraftingParams,
        job: GraftingJob,
        told: dict[str, Any],
        X: Any,
        y: Any,
    ) -> SelectionPath:
        """One step per L1 penalty."""
        grid = GridTrace(data, params, job.folds)
        rules = [Patience(PATIENCE)] if job.folds and job.l1 is None else []
        penalties, approach = self._penalties(grid, job)
        with progress_of(self, X, y) as progress:
            progress.expect(len(penalties), len(job.folds) + 1)

            def steps() -> Iterator[Step]:
                grid.follow(approach)
                yield from grid.steps(penalties, progress.round)

            return drive(steps(), rules=rules, on_step=lambda _: progress.part(), **told)

    def _penalties(self, grid: GridTrace, job: GraftingJob) -> tuple[list[float], list[float]]:
        """The L1 penalties that are steps, and those on the way to them."""
        if isinstance(job.l1, list):
            return job.l1, []
        if isinstance(job.l1, float):
            return [job.l1], [] if self.max_features is None else grid.approach(job.l1)
        penalties = grid.grid()
        if job.folds:
            return penalties, []
        last = int(FALLBACK * (len(penalties) - 1))
        return penalties[last : last + 1], penalties[:last]

    def _trace_grafts(
        self,
        data: GraftingData,
        params: GraftingParams,
        job: GraftingJob,
        told: dict[str, Any],
        X: Any,
        y: Any,
    ) -> SelectionPath:
        """One step per graft."""
        if isinstance(job.l1, float):
            params = replace(params, l1=job.l1)
        else:
            share = GREEDY_SHARE[params.model]
            params = replace(params, l1=share * largest_l1(data, params))
        n_rounds = (params.max_rounds + 1) * (len(job.folds) + 1)
        with progress_of(self, X, y) as progress:
            progress.expect(1, n_rounds)

            def tell(_: Any) -> None:
                progress.stop_if_asked()

            return drive(
                trace_grafts(data, params, job.folds, progress.round),
                rules=[Patience(self._patience)] if job.folds and job.l1 is None else [],
                on_step=tell,
                **told,
            )

    @property
    def _patience(self) -> int:
        """Grafts without progress on held-out rows; networks need a few for one more feature."""
        return 2 * PATIENCE if self.model == "mlp" else PATIENCE

    def _params(self) -> GraftingParams:
        return GraftingParams(
            model=self.model,
            l2=float(self.l2),
            l0=float(self.l0),
            tol=self.tol,
            max_rounds=self.max_iter,
            max_features=self.max_features,
            max_hidden=self.max_hidden,
            adjust=self.adjust,
            retries=self.retries,
            fit_intercept=bool(self.fit_intercept),
            standardize=bool(self.standardize),
        )

    def _target_unit(self, problem: Problem) -> tuple[float, float]:
        """Offset and scale of the target inside the fit."""
        if self.model == "linear" or problem.target.classes is not None:
            return 0.0, 1.0
        values, weight = problem.target.values, problem.weight
        centre = float(np.average(values, weights=weight))
        spread = float(np.sqrt(np.average((values - centre) ** 2, weights=weight)))
        return centre, spread or 1.0

    def _default_rule(self) -> CuttingRule:
        """The only step of a single penalty; else the fewest features within one standard error."""
        is_single = not isinstance(self.l1, str) and not np.iterable(self.l1)
        return Best() if is_single and not self._params().one_by_one else OneStandardError()

    def _set_selection(self, selection: Selection) -> None:
        super()._set_selection(selection)
        details = self.path_[selection.index].details
        self.n_iter_ = int(details["rounds"])
        self.n_grafts_ = int(details["grafts"])
        self.kkt_violation_ = float(details["violation"])
        self.dual_gap_ = float(details.get("gap", np.nan))

    def _linear(self, attribute: str) -> LinearModel:
        check_is_fitted(self)
        model = self._model
        if not isinstance(model, LinearModel):
            msg = f"{type(self).__name__} has {attribute!r} for model='linear' only."
            raise AttributeError(msg)  # noqa: TRY004  # so that hasattr says no
        return model

    @property
    def coef_(self) -> FloatArray:
        """Coefficients in the units of X, 0 for what is not selected."""
        model = self._linear("coef_")
        coef = np.zeros((len(model.coef), self.n_features_in_))
        coef[:, model.features] = model.coef
        return coef if self._target_type == "classification" else coef[0]

    @property
    def intercept_(self) -> Any:
        """What is predicted where all features are 0, on the scale of ``decision_function``."""
        found = self._linear("intercept_").intercept
        return found if self._target_type == "classification" else float(found[0])

    @property
    def network_(self) -> Network:
        """The connections of the chosen network, in the units of X."""
        check_is_fitted(self)
        if isinstance(self._model, LinearModel):
            msg = f"{type(self).__name__} has 'network_' for model='mlp' only."
            raise AttributeError(msg)  # noqa: TRY004  # so that hasattr says no
        classes = getattr(self, "classes_", np.array(["y"]))
        names = [str(label) for label in classes]
        outputs = names[1:] if len(names) == 2 else names
        found: Network = self._model.readable(self._schema.names, outputs)
        return found

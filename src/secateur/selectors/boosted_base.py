"""From a user's table to a path of boosted trees: what the boosted selectors share."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.data.binning import BinnedColumns, bin_table
from secateur.data.folds import Fold, all_rows
from secateur.data.table import Table
from secateur.data.target import Target, TargetType
from secateur.engines.boosted.grid import BoostedData, Grid, dearer, penalty_grid, trace_grid
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.params import BoostingParams
from secateur.engines.boosted.variants import Way, choose_way
from secateur.engines.drive import better_path, drive
from secateur.execution.local import Place, place_of
from secateur.model_selection.folds import draw_folds, hold_out, is_drawn, read_folds
from secateur.model_selection.scorers import read_seed
from secateur.path import (
    AtMost,
    Best,
    OneStandardError,
    Patience,
    Selection,
    SelectionPath,
    WithinBudget,
    as_rule,
)
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathPredictor, keeping_steps
from secateur.selectors.boosted_input import (
    CONSTRAINTS,
    BoostedJob,
    least_rows,
    read_judges,
    read_penalty,
    read_resume,
    rounds_to_resume,
)
from secateur.selectors.inputs import FitInput, read_input, store_lazy
from secateur.selectors.parameters import check_kept
from secateur.selectors.progress import Progress, progress_of, with_callbacks
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray, Loss

GRID_PATIENCE = 2
"""Penalties without progress after which "auto" tries no cheaper ones."""

STOPPING_ROWS = 10_000
"""Above so many rows early_stopping="auto" holds some out."""

FALLBACK = 2
"""Which penalty of the grid "auto" takes where there are too few rows to judge any."""


class BoostedSelector(PathPredictor):
    """Fits boosted trees with feature costs and keeps the features of one step.

    Subclasses set the gain (``_criterion``) and the type of target (``_target_type``).
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]]
    _target_type: ClassVar[TargetType]
    _constraints = CONSTRAINTS
    _fits_on_disk = frozenset({"here", "cluster"})
    penalty: Any

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        raise NotImplementedError

    @property
    def _penalty(self) -> Any:
        return self.penalty

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        resume: SelectionPath | None = None,
    ) -> Any:
        """Trace the path of selections and choose one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
            Missing values are NaN or None; category columns are used as such. A table of
            `secateur.open_table` is fitted block by block, in its own bins; a dask array or data
            frame becomes such a table, on the cluster of the current client.
        y : array or series of shape (n_rows,)
            Left out for a stored table, which has its own.
        sample_weight : array of shape (n_rows,), optional
            Whole weights count rows, other weights are relative. Rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : as above, optional
            Rows that judge instead of held-out ones.
        resume : SelectionPath, optional
            The path of a fit on the same rows that was broken off: it goes on from there, and
            ends as if nothing had happened. ``random_state`` must be a number.

        Returns
        -------
        self
        """
        job = self._read(X, y, sample_weight, X_val, y_val, sample_weight_val)
        told = self._told(job.problem.table.schema, job.problem.cost_model)
        job = replace(job, resume=read_resume(resume, told))
        with keeping_steps(self, "fit(..., resume=selector.path_) goes on from them."):
            path = self._work(job, X, y)
        self._remember(job.problem.table.schema)
        if job.problem.target.classes is not None:
            self.classes_ = job.problem.target.classes
        self._set_path(path)
        return self

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
    ) -> BoostedJob:
        """Everything that can be wrong is found here, before any work."""
        self._check_parameters()
        X, y = store_lazy(self, X, y, sample_weight, X_val, y_val)
        penalty = read_penalty(self._penalty, self._criterion)
        seed = read_seed(self.random_state)
        n_threads = resolve_n_jobs(self.n_jobs)
        given = read_input(self, self._target_type, X, y, sample_weight)
        problem = given.problem
        check_kept(problem.cost_model.keep, self.max_features)
        judges = read_judges(given, X_val, y_val, sample_weight_val)
        loss = self._loss(problem.target, problem.weight)
        loss.baseline(problem.target.values, problem.weight)  # not every target has one
        if judges is not None:
            folds = [all_rows(problem.n_rows)]
        else:
            folds = self._folds(given, penalty, seed)
        return BoostedJob(problem, loss, penalty, folds, judges, seed, n_threads)

    def _folds(self, given: FitInput, penalty: float | list[float] | None, seed: int) -> list[Fold]:
        """One fold for a single fit, those of ``cv`` for a grid."""
        target, n_rows = given.problem.target, given.problem.n_rows
        if isinstance(penalty, float):
            if not self._stops_early(n_rows):
                return [all_rows(n_rows)]
            return [hold_out(target, self.validation_fraction, seed)]
        if is_drawn(self.cv):
            return draw_folds(target, self.cv, random_state=seed)
        return read_folds(self.cv, given.target, given.kept)

    def _stops_early(self, n_rows: int) -> bool:
        """Whether a single fit holds rows out."""
        wanted = self.early_stopping
        return n_rows > STOPPING_ROWS if wanted == "auto" else bool(wanted)

    def _work(self, job: BoostedJob, X: Any, y: Any) -> SelectionPath:
        with Threads(job.n_threads) as threads:
            ways = self._ways(job, threads)
            params = self._params(job)
            told = self._told(job.problem.table.schema, job.problem.cost_model)
            if isinstance(job.penalty, float):
                with progress_of(self, 1, params.n_rounds, X, y) as progress:
                    return self._trace_one(ways[0], params, job, progress, told)
            grids = [self._penalties(data, params, job) for data in ways]
            is_choice = len(ways) > 1 and len(job.folds) > 0
            tried = [
                Way(data, grid, {} if is_choice else None)
                for data, grid in zip(ways, grids, strict=True)
            ]
            n_fits = len(job.folds) + (len(job.folds) != 1)
            n_parts = sum(len(penalties) for penalties in grids)
            with progress_of(self, n_parts, n_fits * params.n_rounds, X, y) as progress:
                traces = (
                    partial(self._trace_grid, way, params, job, progress, told) for way in tried
                )
                return better_path(traces, partial(choose_way, tried))

    def _trace_grid(
        self,
        way: Way,
        params: BoostingParams,
        job: BoostedJob,
        progress: Progress,
        told: dict[str, Any],
    ) -> SelectionPath:
        """A fit at each of some penalties, judged by folds; each is a step."""
        done = {step.penalty: step for step in job.resume or ()}
        note = None if way.judged is None else way.judged.__setitem__
        patience = self.n_iter_no_change
        grid = Grid(way.penalties, job.folds, patience, progress.round, done, note)
        return drive(
            trace_grid(way.data, params, grid),
            rules=[Patience(GRID_PATIENCE)] if job.folds and job.penalty is None else [],
            on_step=lambda _: progress.part(),
            **told,
        )

    def _ways(self, job: BoostedJob, threads: Threads) -> list[Any]:
        """The rows as a grid sees them; more than one way where the better one is to be kept."""
        return [self._data(job, threads)]

    def _data(self, job: BoostedJob, threads: Threads) -> Any:
        """The rows as a grid sees them: binned, with all that stays from fit to fit."""
        problem = job.problem
        columns = self._bin(problem.table, problem.weight, job, threads)
        target, weight, cost_model = problem.target.values, problem.weight, problem.cost_model
        place = place_of(problem.table, threads, job.loss.n_outputs, len(job.folds))
        groups = self._groups(columns, job, threads, place)
        return BoostedData(
            columns, target, weight, job.loss, cost_model, threads, job.judges, groups, place
        )

    def _bin(self, table: Table, weight: FloatArray, job: BoostedJob, threads: Threads) -> Any:
        if isinstance(table, StoredTable):
            return table.bins
        seed, most = job.seed, self.max_bins
        return bin_table(table, weight, max_bins=most, threads=threads, random_state=seed)

    def _groups(
        self,
        columns: BinnedColumns,  # noqa: ARG002  # others need them
        job: BoostedJob,  # noqa: ARG002
        threads: Threads,  # noqa: ARG002
        place: Place | None,  # noqa: ARG002
    ) -> Groups | None:
        """The sums of features that newcomers are found by; none where the search is exact."""
        return None

    def _trace_one(
        self,
        data: Any,
        params: BoostingParams,
        job: BoostedJob,
        progress: Progress,
        told: dict[str, Any],
    ) -> SelectionPath:
        """One fit at one penalty; each support that it has is a step."""
        more = {} if job.resume is None else {"done": rounds_to_resume(job)}
        run = data.run(job.folds[0], params, **more)
        judged = len(job.folds[0].test) > 0 or job.judges is not None

        def tell(_: Any) -> None:
            progress.round()
            progress.stop_if_asked()

        return drive(
            run.steps,
            score=run.score if judged else None,
            rules=[Patience(self.n_iter_no_change)] if judged else [],
            on_step=tell,
            **told,
        )

    def _penalty_grid(self, data: Any, params: BoostingParams) -> list[float]:
        return penalty_grid(data, params)

    def _penalties(self, data: Any, params: BoostingParams, job: BoostedJob) -> list[float]:
        if isinstance(job.penalty, list):
            return job.penalty
        grid = self._penalty_grid(data, params)
        if isinstance(as_rule(self.cut), AtMost | WithinBudget):
            grid = [*dearer(grid[0], data.cost_model), *grid]
        return grid if job.folds else grid[FALLBACK : FALLBACK + 1] or grid[-1:]

    def _params(self, job: BoostedJob) -> BoostingParams:
        return BoostingParams(
            criterion=self._criterion,
            penalty=job.penalty if isinstance(job.penalty, float) else 0.0,
            learning_rate=self.learning_rate,
            n_rounds=self.max_iter,
            max_depth=self.max_depth,
            min_samples_leaf=least_rows(self.min_samples_leaf, job.problem.weight),
            l2=self.l2_regularization,
            leaf=self.leaf,
            max_features=self.max_features,
            cost_budget=self.cost_budget,
            subsample=self.subsample,
            seed=job.seed,
        )

    def _default_rule(self) -> CuttingRule:
        """The best of one fit; along a grid the fewest features within one standard error."""
        given = self._penalty
        is_grid = given is None or isinstance(given, str) or np.iterable(given)
        return OneStandardError() if is_grid else Best()

    def _set_selection(self, selection: Selection) -> None:
        super()._set_selection(selection)
        self.n_iter_ = self._model.n_rounds

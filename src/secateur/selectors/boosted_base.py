"""The base of the boosted selectors: from a table to a path of boosted trees."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.table import Fold, Table, all_rows
from secateur.data.target import Target
from secateur.engines.boosted.elimination import can_eliminate, replaces_penalties
from secateur.engines.boosted.engine import BoostedData
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.ordered import OrderedEngine, with_larger_leaves
from secateur.engines.boosted.search import (
    FEW_POINTS,
    GRID_POINTS,
    BoostedEngine,
    has_few_rows,
    higher_penalties,
    is_fast,
    no_features,
    penalty_grid,
    sampled,
    search_params,
)
from secateur.engines.boosted.trees import BoostingParams, min_leaf_rows
from secateur.engines.path_search import PathSearch, search_penalties
from secateur.exceptions import SecateurError
from secateur.execution.blocks import RowStore
from secateur.execution.disk import row_store_of
from secateur.losses import Loss, get_loss, weighted_quantile
from secateur.model_selection.folds import hold_out, is_drawn
from secateur.path import (
    AtMost,
    Best,
    NearBest,
    OneStandardError,
    Patience,
    SelectionPath,
    StopReason,
    WithinBudget,
    as_rule,
)
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathSelector
from secateur.selectors.inputs import (
    BoostedInput,
    read_input,
    read_resume,
    read_validation,
    rounds_to_resume,
    store_lazy,
)
from secateur.selectors.parameters import (
    number,
    one_of,
    params_of,
    read_penalty,
    with_constructor,
    with_parameters_of,
)
from secateur.selectors.prediction import StepPredictor
from secateur.selectors.progress import Progress
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray

GRID_PATIENCE = 2  # penalties without progress after which "auto" tries no lower ones
STOPPING_ROWS = 10_000  # the number of rows above which early_stopping="auto" holds some out
FALLBACK = 2  # the penalty of the grid that "auto" takes where there are too few rows for folds
HUBER_LEVEL = 0.9  # residuals from the median beyond this quantile are outliers by default


@with_constructor
class BoostedSelector(StepPredictor):
    """Fits boosted trees with feature costs and keeps the features of one step.

    Parameters
    ----------
    learning_rate : float, default=0.1
    max_iter : int, default=200
        The largest number of rounds; each has one tree, or one per class for three or more.
    max_depth : int, default=4
    max_bins : int, default=255
        Bins per feature; columns with fewer distinct values have a bin for each.
    min_samples_leaf : "auto" or number, default="auto"
        The smallest number of rows in a leaf; "auto" is 1 to 20, one for every 50 rows, or 5 where
        few rows have many columns.
    l2_regularization : float, default=0.0
        Added to the curvature of a leaf, a sum over rows. Whole weights count rows; others are
        divided by their mean.
    leaf : {"newton", "mean"}, default="newton"
        The value of a leaf: a Newton step, or the mean gradient as in the papers.
    subsample : float, default=1.0
        The share of rows that each tree sees.
    early_stopping : bool or "auto", default="auto"
        With a single penalty: stop when a held-out loss falls no more; "auto": above 10,000 rows.
    validation_fraction : float, default=0.1
        The share of rows that early stopping holds out.
    n_iter_no_change : int or "auto", default="auto"
        Rounds without progress on held-out rows that end a fit; "auto" is at least 10 and 1 / rate.
    categorical_features : None, "from_dtype", list or mask, default=None
        Columns of categories; those of a category type are always taken as such.

    Attributes
    ----------
    path_ : SelectionPath
        Supports, costs and scores: a step is one penalty, or one support of a single fit.
    feature_importances_ : array of float, shape (n_features_in_,)
    n_iter_ : int
        Rounds of the chosen model.
    """

    learning_rate: float = number(0, above=True, below=True).default(0.1)
    max_iter: int = number(1, whole=True).default(200)
    max_depth: int = number(1, 16, whole=True).default(4)
    max_bins: int = number(2, 255, whole=True, advice="Use 255 for the finest bins.").default(255)
    min_samples_leaf: Any = number(1, below=True, words=("auto",)).default("auto")
    l2_regularization: float = number(0, below=True, advice="Use 0 for none.").default(0.0)
    leaf: Literal["newton", "mean"] = one_of("newton", "mean").default("newton")
    subsample: float = number(0, 1, above=True, advice="Use 1 for all rows.").default(1.0)
    early_stopping: Any = one_of(True, False, "auto").default("auto")
    validation_fraction: float = number(0, 1, above=True, below=True).default(0.1)
    n_iter_no_change: Any = number(1, whole=True, words=("auto",)).default("auto")
    categorical_features: Any = None

    _criterion: ClassVar[Literal["gbfs", "agbm"]]
    _max_penalty: ClassVar[float]
    _fits_on_disk = frozenset({"here", "cluster"})
    _after_lost_cluster = "fit(..., resume=selector.path_) goes on from them."

    @property
    def _patience(self) -> int:
        """Rounds without a lower loss after which a fit stops."""
        given = self.n_iter_no_change
        return max(10, round(1.0 / self.learning_rate)) if given == "auto" else int(given)

    def _read_penalty(self) -> float | list[float] | None:
        return read_penalty("penalty", self.penalty, self._max_penalty)

    @property
    def n_iter_(self) -> int:
        """Rounds of the chosen model."""
        return self._model.n_rounds

    def _loss(self, target: Target, weight: FloatArray) -> Loss:
        """The log loss of classes, or the loss that is a parameter of regressors."""
        if target.classes is not None:
            loss = get_loss("log_loss", n_classes=target.n_classes)
        else:
            delta = self.huber_delta
            if self.loss == "huber" and delta is None:
                residuals = np.abs(target.values - weighted_quantile(target.values, weight, 0.5))
                delta = weighted_quantile(residuals, weight, HUBER_LEVEL)
            loss = get_loss(self.loss, quantile=self.quantile, delta=delta or 1.0)
        loss.baseline(target.values, weight)  # raises for targets that have none
        return loss

    @with_parameters_of(PathSelector.fit)
    def fit(  # type: ignore[override]  # explicit arguments
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        *,
        groups: Any = None,
        resume: SelectionPath | None = None,
    ) -> Any:
        """Search the path of selections and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
            Missing values are NaN or None; category columns are used as such. A table of
            `secateur.open_table` is fitted block by block, in its own bins; a dask array or data
            frame becomes such a table, on the cluster of the current client.
        y : array or series of shape (n_rows,)
            Left out for a stored table, which has its own.
        X_val, y_val, sample_weight_val : as above, optional
            Validation rows, instead of rows that are held out.
        resume : SelectionPath, optional
            The path of an interrupted fit on the same rows, which is continued; the result is that
            of a fit without interruption. ``random_state`` must be a number.
        """
        fit, validation = self._fit, (X_val, y_val, sample_weight_val)
        if not self.max_bins:
            from secateur.selectors.exact_thresholds import ExactFit

            fit = ExactFit.of(self)
        return fit(X, y, sample_weight, groups, validation=validation, resume=resume)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, validation: Any, resume: Any
    ) -> BoostedInput:
        X, y = store_lazy(self, X, y, sample_weight, *validation[:2])
        penalty = self._read_penalty()
        given = read_input(self, self._target_type, X, y, sample_weight)
        problem = given.problem
        metadata = self._metadata(problem.table.schema, problem.cost_model)
        return given.extended(
            BoostedInput,
            loss=self._loss(problem.target, problem.weight),
            penalty=penalty,
            validation=read_validation(given, *validation),
            resume=read_resume(resume, metadata),
        )

    def _folds(self, given: BoostedInput) -> list[Fold]:
        """The folds of ``cv`` for a grid; for a single fit at most one, for early stopping."""
        n_rows = given.problem.n_rows
        if given.validation is not None:
            return [all_rows(n_rows)]
        if not isinstance(given.penalty, float):
            return super()._folds(given)
        is_early = n_rows > STOPPING_ROWS if self.early_stopping == "auto" else self.early_stopping
        held = (given.strata, self.validation_fraction, given.seed, given.row_groups)
        return [hold_out(*held) if is_early else all_rows(n_rows)]

    def _engine(
        self, given: BoostedInput, folds: list[Fold], threads: Threads, progress: Progress
    ) -> list[PathSearch]:
        params = self._params(given)
        variants = self._variants(given, folds, threads)
        if isinstance(given.penalty, float):
            return [self._single_fit(variants[0], params, given, folds[0], progress)]
        if given.penalty is None and has_few_rows(variants[0], params, folds):
            params = with_larger_leaves(params, self.min_samples_leaf)
            engine = OrderedEngine(variants[0], params, folds, self._patience, progress.round)
            finish = partial(self._refit_chosen, engine)
            found = (self._wanted_size, given.resume or (), progress, finish)
            has_test = is_drawn(self.cv) and given.groups is None  # rows are independent
            return [engine.search(*found, has_test=has_test)]
        all_data = variants
        # the penalty of GBFS is for a number of rows: that of a sample would not be that of all
        is_share = self._criterion == "agbm"
        if is_share and given.penalty is None and self.cv is None and len(variants) == 1:
            data, folds = sampled(variants[0], folds, given.seed)
            variants = [data]
        grids = [self._penalties(data, params, given, folds) for data in variants]
        n_fits = len(folds) + (len(folds) != 1)
        fast = is_fast(given.problem.n_rows, given.penalty)  # then one variant is traced
        n_rounds = (search_params(params) if fast else params).n_rounds
        progress.expect(len(grids[0]) if fast else sum(map(len, grids)), n_fits * n_rounds)
        return [
            self._search(data, grid, params, given, folds, progress, whole)
            for data, grid, whole in zip(variants, grids, all_data, strict=True)
        ]

    def _search(
        self,
        data: Any,
        grid: list[float],
        params: BoostingParams,
        given: BoostedInput,
        folds: list[Fold],
        progress: Progress,
        all_data: Any,
    ) -> PathSearch:
        """The search along a grid of penalties; where it can be, with elimination at its end."""
        none = None  # a penalty without features for penalties of the user, if one is above 0
        if isinstance(given.penalty, list) and folds and max(given.penalty) > 0.0:
            none = no_features(penalty_grid(data, params)[0], data.cost_model, self._max_penalty)
        more: dict[str, Any] = {"rules": [Patience(GRID_PATIENCE)]}
        if given.penalty is not None or not folds:
            more = {}
        elif replaces_penalties(data, params, folds):
            more = {"limit": params.max_features, "patience": 1}
            params = replace(params, max_features=None)
        elif can_eliminate(data, params, folds):
            more = {"fills": True, "patience": GRID_PATIENCE}
        fast, patience = is_fast(given.problem.n_rows, given.penalty), self._patience
        engine = BoostedEngine(
            data, params, folds, patience, progress.round, is_fast=fast, all_data=all_data
        )
        if "patience" in more:
            more["eliminate"] = engine.eliminate
        search = search_penalties(
            engine,
            grid,
            done={step.penalty: step for step in given.resume or ()},
            size=None if isinstance(given.penalty, list) else self._wanted_size,
            none=none,
            on_step=progress.part,
            **more,
        )
        trial = partial(engine.trial, grid[1:], GRID_PATIENCE) if fast and folds else None
        return replace(search, finish=partial(self._refit_chosen, engine), trial=trial)

    def _refit_chosen(self, engine: BoostedEngine, path: SelectionPath) -> SelectionPath:
        """The path with its chosen step fitted to all rows, unless the search was ended."""
        if not path or path.stop_reason in {StopReason.INTERRUPTED, StopReason.TIME_LIMIT}:
            return path
        try:
            index = self._rule.choose(path)
        except SecateurError:  # said when the path is cut
            return path
        steps = list(path.steps)
        steps[index] = engine.refit(steps[index])
        return replace(path, steps=tuple(steps))

    def _single_fit(
        self, data: Any, params: BoostingParams, given: BoostedInput, fold: Fold, progress: Progress
    ) -> PathSearch:
        """One fit at one penalty; each support that it has is a step."""
        progress.expect(1, params.n_rounds)
        is_scored = len(fold.test) > 0 or given.validation is not None
        fit = None
        if not is_scored and given.resume is None:
            fit = data.whole_fit(fold, params)
        if fit is not None:
            return PathSearch(fit.steps(), on_step=progress.round_or_stop)
        more = {} if given.resume is None else {"done": rounds_to_resume(given, fold)}
        run = data.run(fold, params, **more)
        return PathSearch(
            run.steps,
            score=run.score if is_scored else None,
            rules=[Patience(self._patience)] if is_scored else [],
            on_step=progress.round_or_stop,
        )

    def _variants(self, given: BoostedInput, folds: list[Fold], threads: Threads) -> list[Any]:
        """The binned rows; several for variants of which validation rows choose one."""
        table, weight = given.problem.table, given.problem.weight
        row_store = self._row_store(table, threads, given.loss.n_outputs, len(folds))
        return [self._data(given, table, weight, threads, row_store)]

    def _row_store(self, table: Any, threads: Threads, *counts: int) -> RowStore | None:
        """The rows of a table on disk, for so many outputs and fits; None of one in memory."""
        return row_store_of(table, threads, *counts) if isinstance(table, StoredTable) else None

    def _data(
        self,
        given: BoostedInput,
        table: Table,
        weight: FloatArray,
        threads: Threads,
        row_store: RowStore | None = None,
        group_weight: FloatArray | None = None,
    ) -> BoostedData:
        """The rows of a table, binned by their weight, with the target of the problem."""
        bins = partial(bin_table, max_bins=self.max_bins, threads=threads, random_state=given.seed)
        columns = table.bins if isinstance(table, StoredTable) else bins(table, weight)
        summed = weight if group_weight is None else group_weight
        return BoostedData(
            columns,
            given.problem.target.values,
            weight,
            given.loss,
            given.problem.cost_model,
            threads,
            given.validation,
            self._groups(columns, summed, given, threads, row_store),
            row_store,
            queries=given.queries,
        )

    def _groups(self, *rows: Any) -> Groups | None:
        """The feature groups of group tests; none where the search is exact."""

    def _penalties(
        self, data: Any, params: BoostingParams, given: BoostedInput, folds: list[Fold]
    ) -> list[float]:
        if isinstance(given.penalty, list):
            return given.penalty
        few = replaces_penalties(data, params, folds)
        grid = penalty_grid(data, params, FEW_POINTS if few else GRID_POINTS)[few:]
        if isinstance(as_rule(self.cut), AtMost | WithinBudget):
            return [*higher_penalties(grid[0], data.cost_model), *grid]
        if not folds:
            return grid[FALLBACK : FALLBACK + 1] or grid[-1:]
        return [no_features(grid[0], data.cost_model, self._max_penalty), *grid]

    def _params(self, given: BoostedInput) -> BoostingParams:
        return params_of(
            self,
            BoostingParams,
            criterion=self._criterion,
            penalty=given.penalty if isinstance(given.penalty, float) else 0.0,
            n_rounds=self.max_iter,
            min_samples_leaf=min_leaf_rows(self.min_samples_leaf, given.problem.weight),
            l2=self.l2_regularization,
            seed=given.seed,
        )

    def _default_rule(self) -> CuttingRule:
        """The best of one fit, or within a limit; else the fewest that are about as good."""
        if isinstance(self._read_penalty(), float):
            return Best()
        return NearBest() if self.max_features is None else OneStandardError(0.0)

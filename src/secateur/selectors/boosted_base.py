"""The base of the boosted selectors: from a table to a path of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from secateur._kernels.threads import Threads
from secateur.data.binning import bin_table
from secateur.data.costs import CostModel
from secateur.data.table import Fold, Table, all_rows
from secateur.data.target import Target, are_counts
from secateur.engines.boosted.engine import (
    BoostedData,
    BoostedEngine,
    ValidationRows,
    higher_penalties,
    penalty_grid,
)
from secateur.engines.boosted.groups import Groups
from secateur.engines.boosted.trees import BoostingParams
from secateur.engines.path_search import PathSearch, search_penalties
from secateur.exceptions import InputError
from secateur.execution.blocks import RowStore
from secateur.execution.disk import row_store_of
from secateur.losses import Loss, get_loss, weighted_quantile
from secateur.model_selection.folds import hold_out
from secateur.path import (
    AtMost,
    Best,
    OneStandardError,
    Patience,
    SelectionPath,
    WithinBudget,
    as_rule,
)
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathSelector
from secateur.selectors.boosted_parameters import BoostedParameters
from secateur.selectors.inputs import FitInput, read_input, read_resume, read_validation, store_lazy
from secateur.selectors.parameters import read_penalty, with_parameters_of
from secateur.selectors.prediction import StepPredictor
from secateur.selectors.progress import Progress
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray

GRID_PATIENCE = 2  # penalties without progress after which "auto" tries no lower ones
STOPPING_ROWS = 10_000  # the number of rows above which early_stopping="auto" holds some out
FALLBACK = 2  # the penalty of the grid that "auto" takes where there are too few rows for folds
# The penalty of the step without features, by one that is higher than the grid already.
FAR_ABOVE = 8.0
HUBER_LEVEL = 0.9  # residuals from the median beyond this quantile count as outliers by default


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoostedInput(FitInput):
    """The input of a boosted fit.

    ``penalty`` is one number, a falling grid, or None for one that is made; ``validation`` are the
    user's own validation rows; ``resume`` is the path of an interrupted fit.
    """

    loss: Loss
    penalty: float | list[float] | None
    validation: ValidationRows | None = None
    resume: SelectionPath | None = None


class BoostedSelector(StepPredictor, BoostedParameters):
    """Fits boosted trees with feature costs and keeps the features of one step.

    Subclasses set the gain (``_criterion``) and say whether classes or numbers are predicted.
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]]
    _max_penalty: ClassVar[float]
    _fits_on_disk = frozenset({"here", "cluster"})
    _after_lost_cluster = "fit(..., resume=selector.path_) goes on from them."

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
        validation = (X_val, y_val, sample_weight_val)
        return self._fit(X, y, sample_weight, groups, validation=validation, resume=resume)

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
        if not is_early:
            return [all_rows(n_rows)]
        return [hold_out(given.strata, self.validation_fraction, given.seed, given.row_groups)]

    def _engine(
        self, given: BoostedInput, folds: list[Fold], threads: Threads, progress: Progress
    ) -> list[PathSearch]:
        params = self._params(given)
        variants = self._variants(given, folds, threads)
        if isinstance(given.penalty, float):
            return [self._single_fit(variants[0], params, given, folds[0], progress)]
        grids = [self._penalties(data, params, given, folds) for data in variants]
        n_fits = len(folds) + (len(folds) != 1)
        size = None if isinstance(given.penalty, list) else self._wanted_size
        progress.expect(sum(map(len, grids)), n_fits * params.n_rounds)
        return [
            search_penalties(
                BoostedEngine(data, params, folds, self.n_iter_no_change, progress.round),
                grid,
                done={step.penalty: step for step in given.resume or ()},
                size=size,
                none=self._none(data, params, given, folds),
                rules=[Patience(GRID_PATIENCE)] if folds and given.penalty is None else [],
                on_step=progress.part,
                keep_losses=len(variants) > 1,
            )
            for data, grid in zip(variants, grids, strict=True)
        ]

    def _single_fit(
        self, data: Any, params: BoostingParams, given: BoostedInput, fold: Fold, progress: Progress
    ) -> PathSearch:
        """One fit at one penalty; each support that it has is a step."""
        progress.expect(1, params.n_rounds)
        is_scored = len(fold.test) > 0 or given.validation is not None
        fit = None
        if isinstance(data, BoostedData) and not is_scored and given.resume is None:
            fit = data.whole_fit(fold, params)
        if fit is not None:
            return PathSearch(fit.steps(), on_step=progress.round_or_stop)
        more = {} if given.resume is None else {"done": rounds_to_resume(given, fold)}
        run = data.run(fold, params, **more)
        return PathSearch(
            run.steps,
            score=run.score if is_scored else None,
            rules=[Patience(self.n_iter_no_change)] if is_scored else [],
            on_step=progress.round_or_stop,
        )

    def _variants(self, given: BoostedInput, folds: list[Fold], threads: Threads) -> list[Any]:
        """The binned rows; several for variants of which validation rows choose one."""
        problem = given.problem
        row_store = None
        if isinstance(problem.table, StoredTable):
            row_store = row_store_of(problem.table, threads, given.loss.n_outputs, len(folds))
        return [self._data(given, problem.table, problem.weight, threads, row_store)]

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
        if isinstance(table, StoredTable):
            columns = table.bins
        else:
            columns = bin_table(
                table, weight, max_bins=self.max_bins, threads=threads, random_state=given.seed
            )
        summed = weight if group_weight is None else group_weight
        return BoostedData(
            columns,
            given.problem.target.values,
            weight,
            given.loss,
            given.problem.cost_model,
            threads,
            given.validation,
            self._groups(columns, summed, given.seed, threads, row_store),
            row_store,
        )

    def _groups(self, *rows: Any) -> Groups | None:  # noqa: ARG002
        """The feature groups of group tests; none where the search is exact."""
        return None

    def _penalties(
        self, data: Any, params: BoostingParams, given: BoostedInput, folds: list[Fold]
    ) -> list[float]:
        if isinstance(given.penalty, list):
            return given.penalty
        grid = penalty_grid(data, params)
        if isinstance(as_rule(self.cut), AtMost | WithinBudget):
            return [*higher_penalties(grid[0], data.cost_model), *grid]
        if not folds:
            return grid[FALLBACK : FALLBACK + 1] or grid[-1:]
        return [self._without_features(grid[0], data.cost_model), *grid]

    def _none(
        self, data: Any, params: BoostingParams, given: BoostedInput, folds: list[Fold]
    ) -> float | None:
        """A penalty without features for penalties of the user, if one of them is above 0."""
        if not isinstance(given.penalty, list) or not folds or max(given.penalty) == 0.0:
            return None
        return self._without_features(penalty_grid(data, params)[0], data.cost_model)

    def _without_features(self, penalty: float, cost_model: CostModel) -> float:
        """A penalty far above the first of a grid, but allowed for features of the lowest cost."""
        cost = cost_model.costs(cost_model.keep)
        least = min(1.0, float(cost[cost > 0.0].min(initial=1.0)))
        high, _ = higher_penalties(penalty, cost_model)
        return min(FAR_ABOVE * high, 0.999 * self._max_penalty / least)

    def _params(self, given: BoostedInput) -> BoostingParams:
        return BoostingParams(
            self._criterion,
            given.penalty if isinstance(given.penalty, float) else 0.0,
            learning_rate=self.learning_rate,
            n_rounds=self.max_iter,
            max_depth=self.max_depth,
            min_samples_leaf=min_leaf_rows(self.min_samples_leaf, given.problem.weight),
            l2=self.l2_regularization,
            leaf=self.leaf,
            max_features=self.max_features,
            cost_budget=self.cost_budget,
            subsample=self.subsample,
            seed=given.seed,
        )

    def _default_rule(self) -> CuttingRule:
        """The best of one fit; along a grid the fewest features within one standard error."""
        return Best() if isinstance(self._read_penalty(), float) else OneStandardError()


def min_leaf_rows(min_samples_leaf: Any, weight: FloatArray) -> float:
    """The smallest weight of a leaf: as given, or one for every 50 rows, from 1 to 20.

    >>> min_leaf_rows("auto", np.ones(500))
    10.0
    """
    if min_samples_leaf != "auto":
        return float(min_samples_leaf)
    n_rows = weight.sum() if are_counts(weight) else len(weight)
    return float(np.clip(n_rows // 50, 1, 20))


def rounds_to_resume(given: BoostedInput, fold: Fold) -> list[Any]:
    """The trees of an interrupted single fit; its rows must be those of this one."""
    assert given.resume is not None  # noqa: S101  # asked for only then
    ensemble = given.resume[-1].model.ensemble
    target, weight = given.problem.target.values[fold.train], given.problem.weight[fold.train]
    if not np.array_equal(given.loss.baseline(target, weight), ensemble.baseline):
        raise InputError(
            "'resume' must be a path of the same rows. Got one with another initial prediction. "
            "Give the same rows and a random_state that is a number, or fit without resume."
        )
    return list(ensemble.rounds)

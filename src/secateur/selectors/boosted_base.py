"""From a user's table to a path of boosted trees: what the four boosted selectors share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state

from secateur._data.binned import bin_table
from secateur._data.costs import as_costs
from secateur._data.frames import read_table
from secateur._data.problem import Problem
from secateur._data.target import Task, read_target, read_target_like
from secateur._data.weights import combine_weights, read_weights
from secateur._engines.boosted.ensemble import BoostedModel
from secateur._engines.boosted.given import GivenRows
from secateur._engines.boosted.grid import BoostedData, Grid, penalty_grid, trace_grid
from secateur._engines.boosted.params import BoostingParams
from secateur._engines.drive import drive
from secateur._kernels.threads import Threads, resolve_n_jobs
from secateur.evaluation.folds import Fold, hold_out, make_folds
from secateur.exceptions import InputError, ParameterError
from secateur.path import Best, Patience, SelectionPath
from secateur.selectors.base import PathSelector
from secateur.selectors.constraints import Constraint, number, one_of
from secateur.selectors.progress import progress_of, with_callbacks
from secateur.typing import FloatArray, Loss

GRID_PATIENCE = 2
"""Penalties without progress after which "auto" tries no cheaper ones."""

STOPPING_ROWS = 10_000
"""Above so many rows early_stopping="auto" holds some out."""

FALLBACK = 2
"""Which penalty of the grid "auto" takes where there are too few rows to judge any."""

_PENALTY = "Use 'auto' to have it chosen, 0 for no penalty."

CONSTRAINTS: dict[str, Constraint] = {
    "learning_rate": number(0, above=True, advice="Use 0.1 for a start."),
    "max_iter": number(1, whole=True, advice="Use 100 for a start."),
    "max_depth": number(1, 16, whole=True, advice="Use 4 for a start."),
    "max_bins": number(2, 255, whole=True, advice="Use 255 for the finest bins."),
    "min_samples_leaf": number(1, words=("auto",), advice="Use 'auto' for 1 to 20 by the rows."),
    "l2_regularization": number(0, advice="Use 0 for none."),
    "early_stopping": one_of(True, False, "auto", advice="Use 'auto' to stop where rows allow it."),
    "validation_fraction": number(
        0, 1, above=True, below=True, advice="Use 0.1 for one row in ten."
    ),
    "n_iter_no_change": number(1, whole=True, advice="Use 10 for a start."),
    "subsample": number(0, 1, above=True, advice="Use 1 for all rows."),
    "max_features": number(1, whole=True, or_none=True, advice="Use None for no limit."),
    "cost_budget": number(0, or_none=True, advice="Use None for no limit."),
    "leaf": one_of("newton", "mean", advice="Use 'newton' for a Newton step."),
    "verbose": number(0, whole=True, advice="Use 1 for a progress bar."),
    "n_jobs": number(-(2**31), whole=True, or_none=True, advice="Use None for all cores."),
}


class BoostedSelector(PathSelector):
    """Fits boosted trees with priced features and keeps the features of one step.

    Subclasses say which gain is used (``_criterion``) and what kind of target there is (``_task``).
    """

    _criterion: ClassVar[Literal["gbfs", "agbm"]]
    _task: ClassVar[Task]
    _constraints = CONSTRAINTS

    def _loss(self, problem: Problem) -> Loss:
        raise NotImplementedError

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Any:
        """Trace the path of selections and choose one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Missing values are NaN or None; category columns are used as such.
        y : array or series of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Whole weights count rows, other weights are relative. Rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : as above, optional
            Rows that judge instead of held-out ones.

        Returns
        -------
        self
        """
        self._check_parameters()
        _check_penalty(self.penalty, self._criterion)
        problem = self._read_problem(X, y, sample_weight)
        given = self._read_given(problem, X_val, y_val, sample_weight_val)
        seed = int(check_random_state(self.random_state).randint(2**31))
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            columns = bin_table(
                problem.table,
                problem.weight,
                max_bins=self.max_bins,
                threads=threads,
                random_state=seed,
            )
            data = BoostedData(
                columns,
                problem.target.values,
                problem.weight,
                self._loss(problem),
                problem.prices,
                threads,
                given,
            )
            path = self._trace(problem, data, self._params(problem, seed), X, y)
        self._set_path(path, self._cut(path))
        self.n_iter_ = self._model.n_rounds
        return self

    def _read_problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """Everything that can be wrong with the input is found here, before any work."""
        if y is None:
            read_target(y, task=self._task)
        table = self._read(X, categorical_features=self.categorical_features)
        prices = as_costs(self.costs, self.groups, self.keep).bind(table.names)
        target = read_target(y, task=self._task, n_rows=table.n_rows)
        weight = read_weights(sample_weight, table.n_rows)
        weight = combine_weights(target, weight, getattr(self, "class_weight", None))
        if target.classes is not None:
            self.classes_ = target.classes
        _check_kept(prices.keep, self.max_features)
        problem = Problem(table, target, weight, prices, self._task)
        return problem if weight.all() else _without_zeros(problem)

    def _read_given(
        self, problem: Problem, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> GivenRows | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            msg = "'X_val' and 'y_val' must come together. Got only one of them. Give both."
            raise InputError(msg)
        table = read_table(X_val, like=problem.table.schema)
        weight = read_weights(sample_weight_val, table.n_rows)
        target = read_target_like(y_val, problem.target, n_rows=table.n_rows)
        return GivenRows(table, target.values, weight)

    def _params(self, problem: Problem, seed: int) -> BoostingParams:
        smallest = self.min_samples_leaf
        if smallest == "auto":
            smallest = int(np.clip(problem.n_rows // 50, 1, 20))
        return BoostingParams(
            criterion=self._criterion,
            penalty=self.penalty if isinstance(self.penalty, float | int) else 0.0,
            learning_rate=self.learning_rate,
            n_rounds=self.max_iter,
            max_depth=self.max_depth,
            min_samples_leaf=smallest,
            l2=self.l2_regularization,
            leaf=self.leaf,
            max_features=self.max_features,
            cost_budget=self.cost_budget,
            subsample=self.subsample,
            seed=seed,
        )

    def _trace(
        self, problem: Problem, data: BoostedData, params: BoostingParams, X: Any, y: Any
    ) -> SelectionPath:
        """One fit at one penalty, or a grid of them."""
        told = self._told()
        if _is_number(self.penalty):
            fold = self._judged_fold(problem, data, params.seed)
            run = data.run(fold, params)
            judged = len(fold.test) > 0 or data.given is not None
            with progress_of(self, params.n_rounds, X, y) as tick:
                return drive(
                    run.steps,
                    score=run.score if judged else None,
                    rules=[Patience(self.n_iter_no_change)] if judged else [],
                    costs=problem.prices.total,
                    on_step=lambda _: tick(),
                    **told,
                )
        folds = self._folds(problem, data, params.seed)
        penalties = self._penalties(data, params, folds)
        n_fits = len(penalties) * (len(folds) + (len(folds) != 1))
        with progress_of(self, n_fits * params.n_rounds, X, y) as tick:
            grid = Grid(penalties, folds, self.n_iter_no_change, tick)
            return drive(
                trace_grid(data, params, grid),
                rules=[Patience(GRID_PATIENCE)] if folds and self.penalty == "auto" else [],
                costs=problem.prices.total,
                **told,
            )

    def _told(self) -> dict[str, Any]:
        """What a path remembers of the fit."""
        values = self.get_params(deep=False)
        plain = {
            name: value
            for name, value in values.items()
            if value is None or isinstance(value, str | bool | int | float)
        }
        return {
            "feature_names": self._schema.names,
            "algorithm": type(self).__name__,
            "parameters": plain,
            "cost_unit": getattr(self.costs, "unit", ""),
        }

    def _judged_fold(self, problem: Problem, data: BoostedData, seed: int) -> Fold:
        """All rows, or all but a part that says when to stop."""
        wanted = self.early_stopping
        if wanted == "auto":
            wanted = problem.n_rows > STOPPING_ROWS
        if not wanted or data.given is not None:
            return data.everything
        return hold_out(problem.target, self.validation_fraction, seed)

    def _folds(self, problem: Problem, data: BoostedData, seed: int) -> list[Fold]:
        if data.given is not None:
            return [data.everything]
        return make_folds(problem.target, self.cv, random_state=seed)

    def _penalties(
        self, data: BoostedData, params: BoostingParams, folds: list[Fold]
    ) -> list[float]:
        if not isinstance(self.penalty, str):
            return sorted((float(p) for p in self.penalty), reverse=True)
        grid = penalty_grid(data, params)
        return grid if folds else grid[FALLBACK : FALLBACK + 1]

    def _cut(self, path: SelectionPath) -> Any:
        """The user's rule; by default the best of one fit, or one standard error along a grid."""
        if self.cut is not None:
            return self.cut
        return Best() if _is_number(self.penalty) or not path.has_scores else "one_se"

    @property
    def _model(self) -> BoostedModel:
        model: BoostedModel = self.path_[self.selection_.index].model
        return model

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the reduction of squared error by the chosen model."""
        step = self.path_[self.selection_.index]
        shares = np.zeros(self.n_features_in_)
        shares[step.support] = step.weight
        total = shares.sum()
        return shares / total if total > 0 else shares

    def _raw(self, X: Any) -> FloatArray:
        """Raw predictions of the chosen model, shape (n_outputs, n_rows)."""
        table = self._read_again(X, only=self._model.features)
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            return self._model.raw(table, threads)

    def _response(self, X: Any, model: BoostedModel | None = None) -> FloatArray:
        """Predictions of the chosen model, or of another step's."""
        table = self._read_again(X, only=self._model.features if model is None else model.features)
        with Threads(resolve_n_jobs(self.n_jobs)) as threads:
            return (self._model if model is None else model).response(table, threads)

    def _staged(self, X: Any, finish: Callable[[FloatArray], Any]) -> Iterator[Any]:
        for step in self.path_:
            yield finish(self._response(X, step.model))


def _is_number(penalty: Any) -> bool:
    return isinstance(penalty, float | int | np.floating | np.integer)


def _check_penalty(penalty: Any, criterion: str) -> None:
    """A number, "auto" or a sequence of numbers, each in the range of the criterion."""
    if isinstance(penalty, str) and penalty == "auto":
        return
    agbm = criterion == "agbm"
    each = number(0, 1 if agbm else np.inf, below=agbm, words=("auto",), advice=_PENALTY)
    if isinstance(penalty, str) or _is_number(penalty) or penalty is None:
        each.check("penalty", penalty)
        return
    try:
        values = list(penalty)
    except TypeError:
        each.check("penalty", penalty)
        raise
    if not values:
        msg = f"'penalty' must hold at least one value. Got {penalty!r}. {_PENALTY}"
        raise ParameterError(msg)
    for value in values:
        each.check("penalty", value)


def _check_kept(keep: Any, max_features: int | None) -> None:
    if max_features is not None and keep.sum() > max_features:
        msg = (
            f"'max_features' must be at least the number of kept features, {keep.sum()}. Got "
            f"{max_features}. Keep fewer, or raise it."
        )
        raise ParameterError(msg)


def _without_zeros(problem: Problem) -> Problem:
    """A row of weight zero is no row."""
    kept = problem.take(np.flatnonzero(problem.weight))
    if kept.target.classes is not None and len(np.unique(kept.target.values)) < 2:
        msg = (
            "y must have at least two classes among the rows of positive weight. Got 1 class. "
            "Give weight to rows of another class."
        )
        raise InputError(msg)
    return kept

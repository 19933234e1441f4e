"""What the Feature Gradients selector is given, checked and read before any work is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur._data.costs import as_costs
from secateur._data.frames import read_table
from secateur._data.problem import Problem
from secateur._data.table import Table
from secateur._data.target import Target
from secateur._data.weights import read_weights
from secateur._data.wording import some_of
from secateur._engines.feature_gradients.contrasts import Task
from secateur._engines.feature_gradients.field import check_rows
from secateur._engines.feature_gradients.params import SearchParams
from secateur._engines.feature_gradients.units import Units
from secateur._kernels.threads import resolve_n_jobs
from secateur.evaluation.cloning import read_seed
from secateur.evaluation.folds import Fold, draw_folds, is_drawn, read_folds
from secateur.exceptions import InputError
from secateur.selectors.boosted_parameters import read_penalty
from secateur.selectors.feature_gradients_parameters import (
    check_against,
    read_task_target,
    task_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class GradientsJob:
    """All that a fit needs: nothing of it can be wrong any more.

    ``penalty`` is one number, a falling grid, or None for one that is made; ``folds`` are the rows
    by which a grid is judged, none where there are too few.
    """

    problem: Problem
    task: Task
    params: SearchParams
    penalty: float | list[float] | None
    folds: list[Fold]
    n_threads: int


def read_job(estimator: Any, X: Any, y: Any, sample_weight: Any) -> GradientsJob:
    """Check everything that can be wrong with a fit."""
    penalty = read_penalty(estimator.penalty, "gbfs")
    params = read_params(estimator)
    n_threads = resolve_n_jobs(estimator.n_jobs)
    task = task_of(estimator.task, y)
    if y is None:  # before X, as scikit-learn does
        read_task_target(y, task, None)
    table = read_numbers(X)
    prices = as_costs(estimator.costs, estimator.groups).bind(table.names)
    prices.prices(prices.keep)  # a rule of the user's own may raise
    Units(prices, np.arange(table.n_features), params.group_mode)
    check_against(table.n_features, estimator.n_features, estimator.init, int(prices.keep.sum()))
    target = read_task_target(y, task, table.n_rows)
    weight = read_weights(sample_weight, table.n_rows)
    kept = np.flatnonzero(weight)
    problem = Problem(table, target, weight, prices, _plain(task))
    if len(kept) < len(weight):
        problem = problem.take(kept)
    check_varies(problem.target)
    check_rows(problem.n_rows, params)
    folds = []
    if not isinstance(penalty, float) and estimator.n_features is None:
        folds = _read_folds(estimator.cv, problem.target, target, kept, params)
    return GradientsJob(problem, task, params, penalty, folds, n_threads)


def read_params(estimator: Any) -> SearchParams:
    """The parameters of the search."""
    return SearchParams(
        order=estimator.order,
        batch_size=max(estimator.batch_size, estimator.order + 2),
        accumulate=estimator.accumulate,
        n_epochs=None if estimator.max_epochs == "auto" else estimator.max_epochs,
        learning_rate=estimator.learning_rate,
        tol=estimator.tol,
        init=estimator.init,
        group_mode=estimator.group_mode,
        seed=read_seed(estimator.random_state),
    )


def read_numbers(X: Any, **how: Any) -> Table:
    """A table without categories: they have no mean."""
    table = read_table(X, **how)
    if table.categories:
        names = [table.names[feature] for feature in table.categories]
        msg = (
            "X must hold numbers for Feature Gradients, which takes means of columns. Got "
            f"category column(s) {some_of(names)}. Encode them, for instance with "
            "sklearn.preprocessing.OneHotEncoder, or use AGBMClassifier."
        )
        raise InputError(msg)
    return table


def check_varies(target: Target) -> None:
    """Refuse a target with nothing to explain."""
    if (target.values == target.values[0]).all():
        what = "1 class" if target.classes is not None else "the same value in every row"
        msg = (
            f"y must vary among the rows of positive weight. Got {what}. Check the rows that y was "
            "taken from, and their weights."
        )
        raise InputError(msg)


def _plain(task: Task) -> Any:
    return "regression" if task == "regression" else "classification"


def _read_folds(
    cv: Any, target: Target, whole: Target, kept: Any, params: SearchParams
) -> list[Fold]:
    folds = (
        draw_folds(target, cv, random_state=params.seed)
        if is_drawn(cv)
        else read_folds(cv, whole, kept)
    )
    for fold in folds:
        check_rows(len(fold.train), params)
        check_varies(target.take(fold.train))
    return folds

"""`compare`: methods raced on one table, selection inside the folds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.data.target import TargetType
from secateur.exceptions import (
    ClusterError,
    InputTypeError,
    InterruptedWarning,
    ParameterError,
)
from secateur.execution.dask import is_executor
from secateur.model_selection.comparison import Comparison, Trial
from secateur.model_selection.encoding import on_numbers
from secateur.model_selection.methods import read_methods
from secateur.model_selection.outer_folds import outer_folds
from secateur.model_selection.processes import Attempt, try_all
from secateur.model_selection.resume import load_earlier, mark_of, parameters_of, taken_up
from secateur.model_selection.rows import read_rows
from secateur.model_selection.scorers import read_measure, read_seed, with_threads
from secateur.model_selection.trials import Course
from secateur.model_selection.validators import read_validators
from secateur.path import versions
from secateur.path.values import real_number, whole_number
from secateur.storage.stored_table import StoredTable

SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
DEFAULT_SCORING = {"classification": "accuracy", "regression": "r2"}


def compare(
    X: Any,
    y: Any,
    selectors: Any = None,
    *,
    validators: Any = None,
    cv: Any = None,
    sizes: Sequence[int] | None = None,
    target_type: TargetType | None = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    time_limit: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_trial: Callable[[Trial, int, int], None] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
) -> Comparison:
    """Race methods on one table: selection inside the folds, judged by the rows left out.

    A trial is one method on one fold: it sees the training rows only, and gives its own choice and
    its choice of at most so many features. Each validator is then fitted to the chosen columns of
    the training rows and scored on the rest. Trials run one after another, all methods on the first
    fold, then on the second, so that seconds can be compared and an interrupted race says
    something; on a cluster they begin in this order. A method that fails, or is for another task,
    is reported and the race goes on.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
    y : array or series of shape (n_rows,)
    selectors : None, str, estimator, sequence or dict, default=None
        Names (selectors of secateur: agbm, gbfs, gtgbm, fg, grafting, featboost, iis; baselines:
        f_classif or f_regression, mutual_info, mrmr, l1, rfecv, boruta, cegb, random, all), or
        estimators: secateur's, or any selector of scikit-learn's kind; a dict gives them names.
        None is all of secateur's and a few baselines.
    validators : None, str, estimator, sequence or dict, default=None
        Names (logistic or ridge, knn, trees) or estimators. None is all three.
    cv : None, int, splitter or list of (train, test), default=None
        None is five folds, three above 5,000 rows.
    sizes : sequence of int, default=None
        The most features to ask for. None is 1, 2, 3, 5, 10, 20, 50, 100, as far as there are more
        columns.
    target_type : {"classification", "regression"}, default=None
        None guesses from y.
    scoring : None, str or callable, default=None
        Accuracy or r2 by default; "log_loss", "squared_error", "absolute_error", or any scorer of
        scikit-learn.
    groups : array of shape (n_rows,), default=None
        Which rows belong together; folds keep them so.
    sample_weight : array of shape (n_rows,), default=None
        For methods and validators that take weights, and for scores.
    time_limit : float, default=None
        Seconds for one selection, and as much again for its validators. With a limit, trials run in
        a process of their own, which is ended when time is up.
    resume : file, default=None
        Every finished trial is kept there at once. If the file exists, the race goes on from it.
    on_trial : callable, default=None
        Called with (trial, number done, number in all) after each trial.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Threads of methods and validators that have no number of their own; one by default on a
        cluster, whose workers have as many trials at a time as they have threads.
    executor : DaskExecutor, default=None
        Who tries the methods; None is this process, one trial after another. On a cluster trials
        run side by side, so their seconds are those of a busy machine; all else is the same. The
        trial of a worker that is lost is done again.

    Returns
    -------
    Comparison
        After Ctrl-C, with a warning, what was finished.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = compare(
    ...     X, y, "f_classif,random", validators="logistic", cv=3, sizes=[3], random_state=0
    ... )
    >>> [rank.method for rank in found.ranks()]
    ['f_classif', 'random']
    """
    earlier = load_earlier(resume)
    seed = read_seed(random_state) if earlier is None or random_state is not None else earlier.seed
    limit = _read_limit(time_limit)
    n_jobs = _read_executor(executor, n_jobs)
    _refuse_stored(X)
    rows = read_rows(
        X, y, target_type=_read_target_type(target_type), sample_weight=sample_weight, groups=groups
    )
    methods = read_methods(selectors, rows.target_type)
    course = Course(
        rows=rows,
        folds=outer_folds(rows.target, cv, rows.groups, seed, rows.weight),
        validators={
            name: on_numbers(with_threads(validator, n_jobs), has_categories=rows.has_categories)
            for name, validator in read_validators(
                validators, rows.target_type, is_sparse=rows.is_sparse
            ).items()
        },
        measure=read_measure(scoring or DEFAULT_SCORING[rows.target_type], rows.target_type),
        sizes=_read_sizes(sizes, rows.n_features),
        seed=seed,
        n_jobs=n_jobs,
    )
    plan = taken_up(_plan(course, methods, limit), earlier)
    left = _left(plan, methods)
    with closing(try_all(course, limit, executor, left)) as trials:
        return _race(plan, trials, len(left), len(methods) * plan.n_folds, on_trial, resume)


def _left(plan: Comparison, methods: Mapping[str, Any]) -> list[Attempt]:
    """What is left to try, fold by fold."""
    known = {(trial.method, trial.fold) for trial in plan.trials}
    return [
        Attempt(name, methods[name], fold)
        for fold in range(plan.n_folds)
        for name in methods
        if (name, fold) not in known
    ]


def _plan(course: Course, methods: Mapping[str, Any], limit: float | None) -> Comparison:
    """The comparison before its first trial."""
    return Comparison(
        trials=(),
        methods=tuple(methods),
        validators=tuple(course.validators),
        sizes=tuple(course.sizes),
        feature_names=course.rows.names,
        fold_sizes=tuple((len(fold.train), len(fold.test)) for fold in course.folds),
        target_type=course.rows.target_type,
        metric=course.measure.name,
        greater_is_better=course.measure.greater_is_better,
        seed=course.seed,
        parameters={
            "n_rows": len(course.rows.target.values),
            "time_limit": limit,
            "n_jobs": course.n_jobs,
            "methods": parameters_of(methods),
            "validators": parameters_of(course.validators),
            "data": mark_of(course.rows, course.folds),
        },
        versions=versions(),
    )


def _race(
    plan: Comparison,
    trials: Iterator[tuple[int, Trial]],
    n_left: int,
    total: int,
    on_trial: Callable[[Trial, int, int], None] | None,
    file: str | os.PathLike[str] | None,
) -> Comparison:
    """Take trials as they are done; what is done is kept, in the order in which it was planned."""
    done = plan
    found: dict[int, Trial] = {}
    try:
        for number, trial in trials:
            found[number] = trial
            tried = (found[place] for place in sorted(found))
            done = replace(plan, trials=(*plan.trials, *tried))
            if file is not None:
                done.save(file)
            if on_trial is not None:
                on_trial(trial, total - n_left + len(found), total)
    except KeyboardInterrupt:
        warnings.warn(
            f"compare was interrupted. It keeps the {len(done.trials)} trials that were done"
            + (", also in the file, from which it can go on." if file is not None else "."),
            InterruptedWarning,
            stacklevel=3,
        )
    except ClusterError as error:
        error.path = done
        error.add_note(f"The {len(done.trials)} trials that were done are in its 'path'.")
        raise
    return done


def _read_limit(time_limit: Any) -> float | None:
    if time_limit is None:
        return None
    advice = "Use None for no limit."
    return real_number("time_limit", time_limit, advice=advice, above_zero=True)


def _read_executor(executor: Any, n_jobs: int | None) -> int | None:
    """The threads of a trial, once it is clear who tries."""
    if not is_executor(executor):
        raise ParameterError(
            f"'executor' must be None or a DaskExecutor. Got {type(executor).__name__}. Use "
            "DaskExecutor(client)."
        )
    return 1 if executor is not None and n_jobs is None else n_jobs


def _refuse_stored(X: Any) -> None:
    if isinstance(X, StoredTable):
        raise InputTypeError(
            "The rows of a race must be in memory: most methods, and the models that judge, want "
            "their numbers. Got a stored table. Give a part of the rows as a data frame or array, "
            "or judge one boosted selector on all of them with held_out(selector, table, None)."
        )


def _read_target_type(target_type: Any) -> TargetType | None:
    if target_type not in {None, "classification", "regression"}:
        raise ParameterError(
            f"'target_type' must be None, 'classification' or 'regression'. Got {target_type!r}. "
            "Use None to have it guessed from y."
        )
    known: TargetType | None = target_type
    return known


def _read_sizes(sizes: Any, n_features: int) -> tuple[int, ...]:
    if sizes is None:
        return tuple(size for size in SIZES if size < n_features) or (1,)
    given = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
    advice = "Use for instance [1, 5, 20]."
    read = {whole_number("sizes", size, least=1, advice=advice) for size in given}
    return tuple(sorted(read))

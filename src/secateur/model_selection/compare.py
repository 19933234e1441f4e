"""`compare`: several methods on one table, selection inside the folds, trials kept in a file."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from secateur.data.target import TargetType
from secateur.exceptions import (
    ClusterError,
    ComparisonError,
    InputTypeError,
    InterruptedWarning,
    ParameterError,
)
from secateur.execution.dask import is_executor
from secateur.model_selection.comparison import Comparison, Trial, TrialStatus
from secateur.model_selection.encoding import on_numbers
from secateur.model_selection.folds import outer_folds, read_seed
from secateur.model_selection.methods import read_methods
from secateur.model_selection.rows import (
    DEFAULT_SCORING,
    Rows,
    hash_of,
    read_metric,
    read_rows,
    with_threads,
)
from secateur.model_selection.trials import ComparisonContext, TrialSpec, run_trials
from secateur.model_selection.validators import read_validators
from secateur.path import versions
from secateur.path.step import count_of, thawed_json
from secateur.path.stopping import real_number, whole_number
from secateur.storage.stored_table import StoredTable

SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
IGNORED_PARAMETERS = ("n_jobs", "executor", "verbose")  # parameters that change no result


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
    qid: Any = None,
    sample_weight: Any = None,
    time_limit: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_trial: Callable[[Trial, int, int], None] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
) -> Comparison:
    """Compare methods on one table: selection inside the folds, scores on the test rows.

    A trial is one method on one fold. The method sees the training rows only, and gives its own
    choice and a selection of each size. Each validator is then fitted to the selected columns of
    the training rows and scored on the test rows. Trials run one after another, fold by fold, so
    that an interrupted comparison is useful; on a cluster they begin in this order. A method that
    fails, or is for another type of target, is reported and the comparison goes on.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
    y : array or series of shape (n_rows,)
    selectors : None, str, estimator, sequence or dict, default=None
        Names (selectors of secateur: agbm, gbfs, gtgbm, fg, grafting, featboost, iis; baselines:
        f_classif or f_regression, mutual_info, mrmr, mrmr_mi, l1, group_lasso, hsic_lasso, rf_topk,
        gbdt_topk, xgb_topk, fcbf, relieff, mission, svm_rfe, rfecv, boruta, cegb, random, all), or
        estimators: secateur's, or any selector of scikit-learn's kind; a dict gives them names.
        None is all of secateur's and a few baselines.
    validators : None, str, estimator, sequence or dict, default=None
        Names (logistic or ridge, knn, trees, 1nn, naive_bayes, rbf_svm, lightgbm) or estimators.
        None is the first three.
    cv : None, int, splitter or list of (train, test), default=None
        None is five folds, three above 5,000 rows.
    sizes : sequence of int, default=None
        The maximum numbers of features. None is 1, 2, 3, 5, 10, 20, 50, 100, as far as below all.
    target_type : {"classification", "regression", "ranking"}, default=None
        None guesses from y; it is ranking where ``qid`` is given.
    scoring : None, str or callable, default=None
        Accuracy, r2 or "ndcg@10"; "map@k", "mrr", "log_loss", "squared_error", "absolute_error",
        or a scorer of scikit-learn.
    groups : array of shape (n_rows,), default=None
        Which rows belong together; folds keep them so.
    qid : array of shape (n_rows,), default=None
        The query of each row, for ranking: the methods are agbm, gbfs, gtgbm, gbdt_topk and
        xgb_topk (the features of the largest gain in LightGBM's LambdaRank, in XGBoost's
        rank:ndcg), cegb, random and all.
    sample_weight : array of shape (n_rows,), default=None
        For methods and validators that take weights, and for scores.
    time_limit : float, default=None
        Seconds for one selection, and as much again for its validators. With a limit, trials run in
        a process of their own, which is ended when time is up.
    resume : file, default=None
        Where finished trials are saved at once. If it exists, the comparison continues from it.
    on_trial : callable, default=None
        Called with (trial, number done, number in all) after each trial.
    random_state : int, RandomState or None, default=None
        The ``seed`` of the result gives the same comparison again.
    n_jobs : int, default=None
        Threads of methods and validators whose own is None; one by default on a cluster, whose
        workers run as many trials at a time as they have threads.
    executor : DaskExecutor, default=None
        Where trials run; None is this process, one after another. On a cluster trials run in
        parallel, so their times are those of a busy machine; all else is the same. The trial of a
        worker that is lost is run again.

    Returns
    -------
    Comparison
        After Ctrl-C, with a warning, the trials that were finished.

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
    earlier = _load_earlier(resume)
    given = random_state if earlier is None or random_state is not None else earlier.seed
    # an int that gives this comparison again, whatever the random state was
    given = int(given) if isinstance(given, Integral) else read_seed(given)
    seed = read_seed(given)
    if time_limit is not None:
        advice = "Use None for no limit."
        time_limit = real_number("time_limit", time_limit, advice=advice, above_zero=True)
    if not is_executor(executor):
        raise ParameterError(
            f"'executor' must be None or a DaskExecutor. Got {type(executor).__name__}. Use "
            "DaskExecutor(client)."
        )
    if executor is not None and n_jobs is None:
        n_jobs = 1
    rows = _read_rows(X, y, target_type, sample_weight, groups, qid)
    methods = read_methods(selectors, rows.target_type)
    models = read_validators(validators, rows.target_type, is_sparse=rows.is_sparse)
    context = ComparisonContext(
        rows=rows,
        folds=outer_folds(rows, cv, seed),
        validators={
            name: on_numbers(with_threads(model, n_jobs), has_categories=rows.has_categories)
            for name, model in models.items()
        },
        metric=read_metric(scoring or DEFAULT_SCORING[rows.target_type], rows.target_type),
        sizes=_read_sizes(sizes, len(rows.names)),
        seed=seed,
        n_jobs=n_jobs,
    )
    plan = replace(_plan(context, methods, time_limit), seed=given)
    if earlier is not None:
        plan = _continued(plan, earlier)
    known = {(trial.method, trial.fold) for trial in plan.trials}
    specs = [TrialSpec(*each, fold) for fold in range(plan.n_folds) for each in methods.items()]
    left = [spec for spec in specs if (spec.name, spec.fold) not in known]
    n_known = len(specs) - len(left)
    with closing(run_trials(context, time_limit, executor, left)) as trials:
        return _collect(plan, enumerate(trials, n_known + 1), len(specs), on_trial, resume)


def _plan(
    context: ComparisonContext, methods: Mapping[str, Any], limit: float | None
) -> Comparison:
    return Comparison(
        trials=(),
        methods=tuple(methods),
        validators=tuple(context.validators),
        sizes=tuple(context.sizes),
        feature_names=context.rows.names,
        fold_sizes=tuple((len(fold.train), len(fold.test)) for fold in context.folds),
        target_type=context.rows.target_type,
        metric=context.metric.name,
        greater_is_better=context.metric.greater_is_better,
        seed=context.seed,
        parameters={
            "n_rows": len(context.rows.target.values),
            "time_limit": limit,
            "n_jobs": context.n_jobs,
            "methods": {name: _description(each) for name, each in methods.items()},
            "validators": {name: _description(each) for name, each in context.validators.items()},
            "data": hash_of(context.rows, context.folds),
        },
        versions=versions(),
    )


def _collect(
    plan: Comparison,
    trials: Iterator[tuple[int, Trial]],
    total: int,
    on_trial: Callable[[Trial, int, int], None] | None,
    file: str | os.PathLike[str] | None,
) -> Comparison:
    """Collect and save numbered trials as they are done."""
    done = plan
    try:
        for number, trial in trials:
            done = replace(done, trials=(*done.trials, trial))
            if file is not None:
                done.save(file)
            if on_trial is not None:
                on_trial(trial, number, total)
    except KeyboardInterrupt:
        in_file = ", also in the file, from which it can go on" if file is not None else ""
        n_done = count_of(len(done.trials), "trial")
        message = f"compare was interrupted. It keeps the {n_done} done so far{in_file}."
        warnings.warn(message, InterruptedWarning, stacklevel=3)
    except ClusterError as error:
        error.path = done
        error.add_note(f"{count_of(len(done.trials), 'trial')} done so far are in its 'path'.")
        raise
    return done


def _read_rows(X: Any, y: Any, target_type: Any, sample_weight: Any, groups: Any, qid: Any) -> Rows:
    if isinstance(X, StoredTable):
        raise InputTypeError(
            "compare needs rows in memory. Got a stored table. Give a part of the rows as a data "
            "frame or array, or use held_out(selector, table, None)."
        )
    if target_type not in {None, "classification", "regression", "ranking"}:
        raise ParameterError(
            "'target_type' must be None, 'classification', 'regression' or 'ranking'. Got "
            f"{target_type!r}. Use None to have it guessed from y."
        )
    facts = {"target_type": "ranking" if qid is not None else target_type, "groups": groups}
    return read_rows(X, y, sample_weight=sample_weight, qid=qid, **facts)


def _read_sizes(sizes: Any, n_features: int) -> tuple[int, ...]:
    if sizes is None:
        return tuple(size for size in SIZES if size < n_features) or (1,)
    given = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
    advice = "Use for instance [1, 5, 20]."
    return tuple(sorted({whole_number("sizes", s, minimum=1, advice=advice) for s in given}))


def _load_earlier(file: str | os.PathLike[str] | None) -> Comparison | None:
    """The comparison in the file; None without a file, or if it does not exist yet."""
    if file is None:
        return None
    if not Path(file).resolve().parent.is_dir():
        raise ComparisonError(
            f"'resume' must be in a folder that exists. Got {os.fspath(file)!r}. Make it first."
        )
    return Comparison.load(file) if Path(file).exists() else None


def _continued(plan: Comparison, earlier: Comparison) -> Comparison:
    """The plan with those trials of an earlier run that need not be run again."""
    now, before = _settings(plan), _settings(earlier)
    for what in now:
        if what in before and now[what] != before[what]:
            raise ComparisonError(
                f"The file of 'resume' holds another comparison: {what} differ. Got "
                f"{now[what][:80]} now and {before[what][:80]} in the file. Use another file."
            )
    limit = plan.parameters["time_limit"] or math.inf
    kept = [
        trial
        for trial in earlier.trials
        if trial.method not in plan.methods
        or trial.is_done
        or (trial.status is TrialStatus.TIMED_OUT and trial.seconds >= limit)
    ]
    parameters, theirs = thawed_json(plan.parameters), thawed_json(earlier.parameters)
    parameters["methods"] = {**theirs.get("methods", {}), **parameters["methods"]}
    methods = (*plan.methods, *(name for name in earlier.methods if name not in plan.methods))
    return replace(plan, trials=tuple(kept), methods=methods, parameters=parameters)


def _settings(comparison: Comparison) -> dict[str, str]:
    """What two runs of a comparison must have in common, as text, so that NaN equals NaN."""
    same = ("target_type", "metric", "sizes", "validators", "feature_names", "seed", "fold_sizes")
    known = comparison.parameters
    found = {name: getattr(comparison, name) for name in same}
    found |= {"data": known.get("data"), "models of validators": known.get("validators")}
    methods = known.get("methods", {})
    found |= {f"parameters of {name!r}": values for name, values in methods.items()}
    return {name: json.dumps(thawed_json(each), sort_keys=True) for name, each in found.items()}


def _description(estimator: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"class": type(estimator).__name__}
    if hasattr(estimator, "get_params"):
        values = sorted(estimator.get_params(deep=False).items())
        found["parameters"] = {k: _plain(v) for k, v in values if k not in IGNORED_PARAMETERS}
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return {"array": hashlib.sha256(value.tobytes()).hexdigest()[:16]}
    return _description(value) if hasattr(value, "get_params") else type(value).__name__

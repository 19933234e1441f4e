"""`held_out`: nested cross-validation of a selector, a held-out score for each step of its path."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from secateur._kernels.threads import resolve_n_jobs
from secateur.data.memory import available_memory
from secateur.data.table import Fold
from secateur.data.tasks import check_whole
from secateur.exceptions import InterruptedWarning, ParameterError, SecateurWarning
from secateur.model_selection.folds import outer_folds, read_seed
from secateur.model_selection.rows import (
    Rows,
    check_target_type,
    fit_clone,
    knows_tasks,
    metric_for,
    read_metric,
    read_rows,
    target_type_of,
)
from secateur.model_selection.statistics import selection_frequency
from secateur.model_selection.validators import VALIDATOR, StepScorer, check_estimator
from secateur.path import Score, Selection, SelectionPath
from secateur.path.comparing import matched_steps, step_of_size
from secateur.storage.stored_table import StoredTable
from secateur.typing import FloatArray, IntArray

T = TypeVar("T")
PARALLEL_SECONDS = 6.0  # shorter fits are done one after another: processes have to load libraries
COPIES = 4  # how many times the memory of the table a process may need


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeldOut:
    """The result of nested cross-validation of a selector.

    Parameters
    ----------
    path : SelectionPath
        The path of all rows; the score of a step is the held-out score of its matches in folds.
    fold_paths : tuple of SelectionPath
        One for each fold that was finished, from its training rows.
    matches : tuple of tuple of int
        For each fold, and each step of `path`, the matching step of the fold's path.
    all_features : Score or None
        Held-out score of a model on all features; None if it was not finished.
    all_features_model : str
        The name of that model.
    selector : estimator
        The selector fitted to all rows, cut by the held-out scores.
    folds : tuple of Fold
        The folds that were finished.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from secateur import GraftingClassifier, held_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> held = held_out(GraftingClassifier(l1=[0.1, 0.03]), X, y, cv=3, random_state=0)
    >>> [step.score.origin for step in held.path], len(held.fold_paths)
    (['held_out', 'held_out'], 3)
    >>> held.frequency(held.selector.selection_).max()
    np.float64(1.0)
    """

    path: SelectionPath
    fold_paths: tuple[SelectionPath, ...]
    matches: tuple[tuple[int, ...], ...]
    all_features: Score | None
    all_features_model: str
    selector: Any
    folds: tuple[Fold, ...]

    def __repr__(self) -> str:
        chosen = getattr(self.selector, "selection_", None)
        return f"HeldOut({len(self.fold_paths)} folds, {self.path!r}, {chosen!r})"

    def frequency(self, cut: Any = None) -> FloatArray:
        """The share of the folds in which each feature was selected.

        Parameters
        ----------
        cut : Selection, array of int, rule, int or None
            A selection of `path`: counted at the matching steps. An array of features: counted at
            the steps of the nearest size. Or anything that ``path.cut`` takes.

        Returns
        -------
        array of shape (n_features_in,)
        """
        return np.round(selection_frequency(self.supports(cut), self.path.n_features_in), 12)

    def supports(self, cut: Any = None) -> list[IntArray]:
        """The features that each fold selected at a cut; see `frequency`."""
        if isinstance(cut, np.ndarray | list | tuple):
            size = len(np.unique(np.asarray(cut, np.int64)))
            places = [step_of_size(path, size) for path in self.fold_paths]
        else:
            selection = cut if isinstance(cut, Selection) else self.path.cut(cut)
            places = [match[selection.index] for match in self.matches]
        return [path[at].support for path, at in zip(self.fold_paths, places, strict=True)]


def held_out(
    selector: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    task: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    scoring: Any = None,
    validator: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    on_fit: Callable[[int, int], None] | None = None,
    fitted: Any = None,
) -> HeldOut:
    """Nested cross-validation of a selector: held-out scores for all steps of its path.

    The whole selection is repeated on the training rows of each fold, and its steps are scored on
    the test rows, which take no part in choosing features, penalties, rounds or scales. Ctrl-C
    keeps the folds that were finished; before the first of them is, it raises KeyboardInterrupt.

    Parameters
    ----------
    selector : estimator of secateur
        Anything with ``fit``, ``path_`` and ``with_cut``. It is cloned, never fitted.
    X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
        Of a stored table a seeded sample of rows is read into memory, and scores come from its test
        rows; bins are those of all rows.
    y : array or series of shape (n_rows,)
        None for a stored table, which has its target and weights.
    cv : None, int, splitter or list of (train, test), default=None
        None is five folds, three above 5,000 rows; 1 is one held-out fifth.
    groups : array of shape (n_rows,), default=None
        Which rows belong together. Outer and inner folds keep them together.
    task : array of shape (n_rows,), default=None
        The task of each row, for selectors of several tasks. Folds are stratified by task.
    qid : array of shape (n_rows,), default=None
        The query of each row, for rankers. Folds keep queries together.
    sample_weight : array of shape (n_rows,), default=None
    scoring : None, str or callable, default=None
        "log_loss", "accuracy", "squared_error", "absolute_error" are means over rows, "ndcg@k",
        "map@k" and "mrr" over queries, with the standard error of such a mean; any other scorer of
        scikit-learn is a mean over folds. None is the metric of the path's own scores, or the log
        loss and the squared error.
    validator : None or estimator, default=None
        The model that is fitted to the selected features of the training rows. None is the
        selector's own model where it predicts, otherwise logistic or ridge regression.
    random_state : int, RandomState or None, default=None
        For the folds, and for estimators whose own is None.
    n_jobs : int or None, default=None
        Threads of selectors whose own is None. Where the fit to all rows takes long, the others run
        in so many processes; the results are the same.
    on_fit : callable, default=None
        Called with (done, total) after each of the fits.
    fitted : estimator, default=None
        The selector fitted to all rows already, so that it is not fitted again; it stays as it is.

    Returns
    -------
    HeldOut
    """
    seed = read_seed(random_state)
    _check(selector, task, validator, fitted)
    facts = {"target_type": target_type_of(selector), "groups": groups, "tasks": task, "qid": qid}
    rows = read_rows(X, y, sample_weight=sample_weight, **facts)
    if not knows_tasks(selector):  # a stored table may have some all the same
        rows = replace(rows, tasks=None)
    folds = outer_folds(rows, cv, seed)
    if rows.queries is not None:
        check_whole(folds, rows.queries)
    read_metric(scoring, rows.target_type)  # raises before any work
    check_target_type("validator", validator, rows.target_type)
    whole, seconds = _fit_all(selector, rows, seed, n_jobs, fitted)
    report = on_fit or (lambda _done, _total: None)
    report(1, 1 + 2 * len(folds))
    processes = n_processes(selector, rows.X, n_jobs, seconds)
    own = next((step.score.metric for step in whole.path_ if step.score is not None), None)
    if processes > 1 and "n_jobs" in selector.get_params(deep=False):
        selector = clone(selector).set_params(n_jobs=1)
    scorer = StepScorer(selector, validator, rows, metric_for(scoring, rows, own), seed)
    fit = partial(fit_clone, selector, seed=seed, n_jobs=n_jobs)
    fits, of_all = _fit_folds(rows, folds, fit, scorer, processes, report)
    matches = [matched_steps(whole.path_, fit.path_) for fit in fits]
    losses = [
        scorer.steps(fit, match, *map(rows.take, fold))
        for fold, fit, match in zip(folds, fits, matches, strict=False)
    ]
    metric, steps = scorer.metric, []
    for step, its in zip(whole.path_, zip(*losses, strict=True), strict=True):
        details = {**step.details, **metric.details(its)}
        steps.append(replace(step, score=metric.score(its), details=details))
    whole.path_ = replace(whole.path_, steps=tuple(steps))
    return HeldOut(
        path=whole.path_,
        fold_paths=tuple(fit.path_ for fit in fits),
        matches=tuple(matches),
        all_features=of_all,
        all_features_model=scorer.name_of_all,
        selector=whole.with_cut(whole.cut),
        folds=tuple(folds[: len(fits)]),
    )


def _fit_all(
    selector: Any, rows: Rows, seed: int, n_jobs: int | None, fitted: Any
) -> tuple[Any, float]:
    """The selector fitted to all rows, unless it is already, and the seconds of that fit."""
    if fitted is not None:
        return copy.copy(fitted), fitted.path_[-1].seconds
    started = perf_counter()
    return fit_clone(selector, rows, seed, n_jobs), perf_counter() - started


def _check(selector: Any, task: Any, validator: Any, fitted: Any) -> None:
    advice = "Use a selector of secateur, for instance AGBMClassifier(), or compare() for others."
    check_estimator("selector", selector, "fit", "with_cut", advice=advice)
    if task is not None and not knows_tasks(selector):
        raise ParameterError(
            f"'task' is for selectors of several tasks. Got it for {type(selector).__name__}. Use "
            "MultitaskAGBMClassifier or MultitaskAGBMRegressor, or leave it out."
        )
    if validator is not None:
        check_estimator("validator", validator, "fit", "predict", advice=VALIDATOR)
    if fitted is not None:
        advice = "Give the selector after fit, or None to have it fitted."
        check_estimator("fitted", fitted, "path_", "with_cut", advice=advice)


def _fit_folds(
    rows: Rows,
    folds: Sequence[Fold],
    fit: Callable[[Rows], Any],
    scorer: StepScorer,
    processes: int,
    report: Callable[[int, int], Any],
) -> tuple[list[Any], Score | None]:
    """The selector fitted to the training rows of each fold, and the score of all features."""
    n = len(folds)
    tasks = itertools.chain(
        (partial(fit, rows.take(fold.train)) for fold in folds),
        (partial(scorer.all_features, *map(rows.take, fold)) for fold in folds),
    )

    def kept(n_done: int) -> str:
        if n_done >= n:
            return "held_out was interrupted. The model on all features was not finished."
        return f"held_out was interrupted. It keeps the {n_done} of {n} folds that were done."

    results = results_of(tasks, processes)
    found = until_interrupted(results, lambda n_done: report(1 + n_done, 1 + 2 * n), kept)
    return found[:n], scorer.metric.score(found[n:]) if len(found) == 2 * n else None


def n_processes(estimator: Any, X: Any, n_jobs: int | None, seconds: float) -> int:
    """How many processes fits of an estimator, each of so many seconds, should share; 1 is this."""
    # the threads of one fit wait for each other: as many fits with one thread each are faster
    own = getattr(estimator, "n_jobs", None)
    cores = resolve_n_jobs(n_jobs if own is None else own)
    elsewhere = getattr(estimator, "executor", None) is not None or isinstance(X, StoredTable)
    watched = any(getattr(estimator, name, None) for name in ("_skl_callbacks", "verbose"))
    if cores < 2 or seconds < PARALLEL_SECONDS or elsewhere or watched:
        return 1
    memory = available_memory()
    fitting = cores if memory is None else memory // max(1, COPIES * n_bytes(X))
    return int(max(1, min(cores, fitting)))


def n_bytes(X: Any) -> int:
    """About how much memory a table takes."""
    if hasattr(X, "indptr"):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(np.prod(np.shape(X))) * 8


def results_of(tasks: Iterable[Callable[[], Any]], processes: int) -> Generator[Any, None, None]:
    """The results of tasks in their order; closing the generator ends those that still run."""
    if processes == 1:
        yield from (task() for task in tasks)
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=processes, backend="loky", return_as="generator", max_nbytes=None)
    with closing(pool(delayed(_quietly)(task) for task in tasks)) as results:
        yield from results


def _quietly(task: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has given the warnings
        return task()


def until_interrupted(
    results: Generator[T, None, None], on_result: Callable[[int], Any], kept: Callable[[int], str]
) -> list[T]:
    """Results up to an interruption, of which `kept` says what it leaves; raised before any."""
    found: list[T] = []
    try:
        with warnings.catch_warnings(), closing(results):
            # the fit to all rows has given the warnings
            warnings.simplefilter("ignore", SecateurWarning)
            # joblib warns when its processes are ended early, as an interruption does
            warnings.filterwarnings("ignore", ".* still being processed", UserWarning)
            for result in results:
                found.append(result)
                on_result(len(found))
    except KeyboardInterrupt:
        if not found:
            raise
        warnings.warn(kept(len(found)), InterruptedWarning, stacklevel=3)
    return found

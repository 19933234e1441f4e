"""`held_out`: nested cross-validation of a selector, a held-out score for each step of its path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from secateur.data.problem import Fold
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import InterruptedWarning, ParameterError, SecateurWarning
from secateur.model_selection.fold_scores import StepScorer
from secateur.model_selection.folds import (
    check_task_folds,
    is_drawn,
    outer_folds,
    strata_of_tasks,
)
from secateur.model_selection.processes import n_processes, results_of, single_threaded
from secateur.model_selection.rows import (
    Rows,
    check_validator,
    fit_clone,
    is_interrupted,
    knows_tasks,
    read_rows,
    target_type_of,
)
from secateur.model_selection.scorers import metric_for, read_metric, read_seed
from secateur.model_selection.statistics import selection_frequency
from secateur.path import Score, Selection, SelectionPath
from secateur.path.comparing import matched_steps, step_of_size
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The result of nested cross-validation of a selector.

    Parameters
    ----------
    path : SelectionPath
        The path of all rows. The score of a step is the held-out score of the steps that match it
        in the folds. If no fold was finished, its own scores are kept.
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
            NaN if no fold was finished.
        """
        selected = self.supports(cut)
        if not selected:
            return np.full(self.path.n_features_in, np.nan)
        return np.round(selection_frequency(selected, self.path.n_features_in), 12)

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
    sample_weight: Any = None,
    scoring: Any = None,
    validator: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    on_fit: Callable[[int, int], None] | None = None,
) -> HeldOut:
    """Nested cross-validation of a selector: held-out scores for all steps of its path.

    The whole selection is repeated on the training rows of each fold, and its steps are scored on
    the test rows, which take no part in choosing features, penalties, rounds or scales. Ctrl-C
    keeps the folds that were finished.

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
    sample_weight : array of shape (n_rows,), default=None
    scoring : None, str or callable, default=None
        "log_loss", "accuracy", "squared_error", "absolute_error" are means over rows, with the
        standard error of such a mean; any other scorer of scikit-learn is a mean over folds. None
        is the metric of the path's own scores, or the log loss and the squared error.
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

    Returns
    -------
    HeldOut
    """
    seed = read_seed(random_state)
    _check(selector, validator)
    rows = read_rows(
        X,
        y,
        target_type=target_type_of(selector),
        sample_weight=sample_weight,
        groups=groups,
        tasks=_tasks(selector, task),
    )
    if not knows_tasks(selector):  # a stored table may have some all the same
        rows = replace(rows, tasks=None)
    folds = _folds(rows, cv, seed)
    read_metric(scoring, rows.target_type)  # raises before any work
    progress = _Progress(on_fit, 1 + 2 * len(folds))
    started = perf_counter()
    whole = fit_clone(selector, rows, seed, n_jobs)
    progress.one_more()
    processes = n_processes(selector, rows.X, n_jobs, perf_counter() - started)
    own = next((step.score.metric for step in whole.path_ if step.score is not None), None)
    if processes > 1:
        selector = single_threaded(selector)
    scorer = StepScorer(selector, validator, rows, metric_for(scoring, rows, own), seed)
    runs = _Folds(rows, folds, scorer, progress)
    fits: list[Any] = []
    of_all = None
    if not is_interrupted(whole):
        fit = partial(fit_clone, selector, seed=seed, n_jobs=n_jobs)
        fits, of_all = runs.fit(fit, processes)
    matches = [matched_steps(whole.path_, fit.path_) for fit in fits]
    whole.path_ = runs.scored(whole.path_, fits, matches)
    return HeldOut(
        path=whole.path_,
        fold_paths=tuple(fit.path_ for fit in fits),
        matches=tuple(matches),
        all_features=of_all,
        all_features_model=scorer.name_of_all,
        selector=whole.with_cut(whole.cut),
        folds=tuple(folds[: len(fits)]),
    )


def _check(selector: Any, validator: Any) -> None:
    if isinstance(selector, type) or not (
        hasattr(selector, "fit") and hasattr(selector, "with_cut")
    ):
        raise ParameterError(
            "'selector' must be a selector of secateur, which has a path. Got "
            f"{selector!r}. Use for instance AGBMClassifier(), or compare() for others."
        )
    if validator is not None:
        check_validator(validator)


def _tasks(selector: Any, task: Any) -> Any:
    if task is not None and not knows_tasks(selector):
        raise ParameterError(
            "'task' is for selectors of several tasks. Got it for "
            f"{type(selector).__name__}. Use MultitaskAGBMClassifier or MultitaskAGBMRegressor, or "
            "leave it out."
        )
    return task


def _folds(rows: Rows, cv: Any, seed: int) -> list[Fold]:
    """The outer folds; those that are drawn are stratified by task."""
    target = rows.target
    if rows.tasks is not None and is_drawn(cv):
        target = strata_of_tasks(target, rows.tasks)
    folds = outer_folds(target, cv, rows.groups, seed, rows.weight)
    if rows.tasks is not None:
        check_task_folds(folds, rows.target, rows.tasks)
    return folds


@dataclass(slots=True, eq=False)
class _Progress:
    """Counts the fits for a callback."""

    callback: Callable[[int, int], None] | None
    total: int
    done: int = 0

    def one_more(self) -> None:
        self.done += 1
        if self.callback is not None:
            self.callback(self.done, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class _Folds:
    """The outer folds, fitted and scored."""

    rows: Rows
    folds: Sequence[Fold]
    scorer: StepScorer
    progress: _Progress

    def fit(self, fit: Callable[[Rows], Any], processes: int) -> tuple[list[Any], Score | None]:
        """The selector fitted to the training rows of each fold, and the score of all features.

        An interruption keeps the folds that were done.
        """
        fits: list[Any] = []
        of_all: list[FoldLosses] = []
        try:
            with _without_repeats(), closing(results_of(self._tasks(fit), processes)) as results:
                for result in results:
                    if len(fits) == len(self.folds):
                        of_all.append(result)
                    elif is_interrupted(result):
                        break
                    else:
                        fits.append(result)
                    self.progress.one_more()
        except KeyboardInterrupt:
            self._warn_of_interruption(len(fits))
        is_whole = len(of_all) == len(self.folds)
        return fits, self.scorer.metric.score(of_all) if is_whole else None

    def _tasks(self, fit: Callable[[Rows], Any]) -> Iterator[Callable[[], Any]]:
        """First the fits, then the scores of all features."""
        for fold in self.folds:
            yield partial(fit, self.rows.take(fold.train))
        for fold in self.folds:
            yield partial(self.scorer.all_features, *(self.rows.take(rows) for rows in fold))

    def _warn_of_interruption(self, n_done: int) -> None:
        what = "The model on all features was not finished."
        if n_done < len(self.folds):
            what = f"It keeps the {n_done} of {len(self.folds)} folds that were done."
        warnings.warn(f"held_out was interrupted. {what}", InterruptedWarning, stacklevel=4)

    def scored(
        self, path: SelectionPath, fits: Sequence[Any], matches: Sequence[Sequence[int]]
    ) -> SelectionPath:
        """The path with a held-out score for each step."""
        if not fits:
            return path
        folds = []
        for fold, fit, match in zip(self.folds, fits, matches, strict=False):
            train, test = self.rows.take(fold.train), self.rows.take(fold.test)
            keys = [self.scorer.key(fit, at) for at in match]
            losses = {
                key: self.scorer.step(fit, at, train, test)
                for key, at in dict(zip(keys, match, strict=True)).items()
            }
            folds.append([losses[key] for key in keys])
        scores = [self.scorer.metric.score(of_step) for of_step in zip(*folds, strict=True)]
        steps = [replace(step, score=score) for step, score in zip(path, scores, strict=True)]
        return replace(path, steps=tuple(steps))


@contextmanager
def _without_repeats() -> Iterator[None]:
    """Ignore warnings of folds, which the fit to all rows has given, but for interruptions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecateurWarning)
        warnings.simplefilter("default", InterruptedWarning)
        # joblib warns when its processes are ended early, as an interruption does
        warnings.filterwarnings("ignore", ".* tasks which were still being processed", UserWarning)
        yield

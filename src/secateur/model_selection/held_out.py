"""A whole selection repeated without the rows that judge it: held-out scores of any selector."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from secateur.data.folds import Fold
from secateur.engines.fold_losses import FoldLosses
from secateur.exceptions import InterruptedWarning, ParameterError, SecateurWarning
from secateur.model_selection.fitting import fit_anew, n_processes, results_of, single_threaded
from secateur.model_selection.folds import is_drawn
from secateur.model_selection.outer_folds import outer_folds
from secateur.model_selection.rows import Rows, check_validator, read_rows, target_type_of
from secateur.model_selection.scorers import read_measure, read_seed
from secateur.model_selection.step_scores import StepJudge
from secateur.model_selection.tasks import check_task_folds, knows_tasks, measure_of, mixed_target
from secateur.path import Score, Selection, SelectionPath, StopReason
from secateur.path.comparing import matched_steps, step_of_size
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A path whose scores come from rows that had no say in it.

    Parameters
    ----------
    path : SelectionPath
        That of all rows. The score of a step is what the steps that stand for it in the folds are
        worth on the rows left out there. If no fold was finished, its own scores are kept.
    fold_paths : tuple of SelectionPath
        One for each fold that was finished, traced without the rows of the fold.
    matches : tuple of tuple of int
        For each fold, and each step of `path`, the step of the fold's path that stands for it.
    all_features : Score or None
        The same for a model on all columns; None if it was not finished.
    all_features_model : str
        What that model is.
    selector : estimator
        The selector fitted to all rows, cut by the held-out scores.
    folds : tuple of Fold
        The rows of the folds that were finished.

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
        """In what share of the folds each feature was chosen.

        Parameters
        ----------
        cut : Selection, array of int, rule, int or None
            A selection of `path`: counted at the steps that stand for it. An array of features:
            counted at the steps that are nearest in size. Anything that ``path.cut`` takes.

        Returns
        -------
        array of shape (n_features_in,)
            NaN if no fold was finished.
        """
        chosen = self.supports(cut)
        share = np.full(self.path.n_features_in, np.nan if not chosen else 0.0)
        for support in chosen:
            share[support] += 1.0 / len(chosen)
        return np.round(share, 12)  # five fifths are one

    def supports(self, cut: Any = None) -> list[IntArray]:
        """The features that each fold chose at a cut; see `frequency`."""
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
    """Repeat a selection inside each fold and judge its steps by the rows left out.

    Each fold traces a path of its own, from the same parameters, without seeing the rows that
    judge it: they take no part in choosing features, penalties, rounds or scales. Ctrl-C keeps the
    folds that were finished.

    Parameters
    ----------
    selector : estimator of secateur
        Anything with ``fit``, ``path_`` and ``with_cut``. It is cloned, never fitted.
    X : array, sparse matrix or data frame of shape (n_rows, n_features), or stored table
        Of a stored table a seeded sample of rows is read into memory, and those judge that are in
        it and were left out; bins are those of all rows.
    y : array or series of shape (n_rows,)
        None for a stored table, which brings its target and weights.
    cv : None, int, splitter or list of (train, test), default=None
        None is five folds, three above 5,000 rows; 1 is one held-out fifth.
    groups : array of shape (n_rows,), default=None
        Which rows belong together. Folds keep them together, also those that a selector draws for
        itself.
    task : array of shape (n_rows,), default=None
        The task of each row, for selectors of several tasks. Every fold has its share of each.
    sample_weight : array of shape (n_rows,), default=None
    scoring : None, str or callable, default=None
        "log_loss", "accuracy", "squared_error", "absolute_error" are means over rows, with the
        standard error of such a mean; any other scorer of scikit-learn is a mean over folds. None
        is what the path's own scores are, or the log loss and the squared error.
    validator : None or estimator, default=None
        The model that is fitted on the chosen columns of the training rows and judged. None is the
        selector's own model where it predicts, otherwise logistic or ridge regression.
    random_state : int, RandomState or None, default=None
        Of the folds, and of estimators that have none of their own.
    n_jobs : int or None, default=None
        Threads of selectors that have no number of their own. Where the fit to all rows takes long,
        the others run side by side in so many processes; the results are the same.
    on_fit : callable, default=None
        Called with (done, total) after each of the fits.

    Returns
    -------
    HeldOut
    """
    seed = read_seed(random_state)
    _check(selector, validator)
    kind = target_type_of(selector)
    rows = read_rows(
        X,
        y,
        target_type=kind,
        sample_weight=sample_weight,
        groups=groups,
        tasks=_tasks(selector, task),
    )
    if not knows_tasks(selector):  # a stored table may bring some all the same
        rows = replace(rows, tasks=None)
    folds = _folds(rows, cv, seed)
    read_measure(scoring, rows.target_type)  # complains before any work
    tell = _Counter(on_fit, 1 + 2 * len(folds))
    started = perf_counter()
    whole = fit_anew(selector, rows, seed, n_jobs)
    tell.one_more()
    processes = n_processes(selector, rows.X, n_jobs, perf_counter() - started)
    own = next((step.score.metric for step in whole.path_ if step.score is not None), None)
    if processes > 1:
        selector = single_threaded(selector)
    judge = StepJudge(selector, validator, rows, measure_of(scoring, rows, own), seed)
    work = _Work(rows, folds, judge, tell)
    done: tuple[list[Any], Score | None] = ([], None)
    if not _is_interrupted(whole):
        done = work.done(partial(_fit, selector, seed, n_jobs), processes)
    fits, of_all = done
    matches = [matched_steps(whole.path_, fit.path_) for fit in fits]
    whole.path_ = work.scored(whole.path_, fits, matches)
    return HeldOut(
        path=whole.path_,
        fold_paths=tuple(fit.path_ for fit in fits),
        matches=tuple(matches),
        all_features=of_all,
        all_features_model=judge.name_of_all,
        selector=whole.with_cut(whole.cut),
        folds=tuple(folds[: len(fits)]),
    )


def _check(selector: Any, validator: Any) -> None:
    if isinstance(selector, type) or not (
        hasattr(selector, "fit") and hasattr(selector, "with_cut")
    ):
        raise ParameterError(
            "'selector' must be a selector of secateur, which leaves a path. Got "
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
    """The folds around the selection; those we draw have their share of every task."""
    target = rows.target
    if rows.tasks is not None and is_drawn(cv):
        target = mixed_target(target, rows.tasks)
    folds = outer_folds(target, cv, rows.groups, seed, rows.weight)
    if rows.tasks is not None:
        check_task_folds(folds, rows.target, rows.tasks)
    return folds


@dataclass(slots=True, eq=False)
class _Counter:
    """Tells how many of the fits are done."""

    listener: Callable[[int, int], None] | None
    total: int
    done: int = 0

    def one_more(self) -> None:
        self.done += 1
        if self.listener is not None:
            self.listener(self.done, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The folds, and who judges in them."""

    rows: Rows
    folds: Sequence[Fold]
    judge: StepJudge
    tell: _Counter

    def done(self, fit: Callable[[Rows], Any], processes: int) -> tuple[list[Any], Score | None]:
        """The selector fitted to the training rows of each fold, and the score of all columns.

        Up to an interruption, which keeps the folds that were done.
        """
        fits: list[Any] = []
        fold_losses: list[FoldLosses] = []
        try:
            with _said_before(), closing(results_of(self._tasks(fit), processes)) as results:
                for result in results:
                    if len(fits) == len(self.folds):
                        fold_losses.append(result)
                    elif _is_interrupted(result):
                        break
                    else:
                        fits.append(result)
                    self.tell.one_more()
        except KeyboardInterrupt:
            self._warn_of_interruption(len(fits))
        is_whole = len(fold_losses) == len(self.folds)
        return fits, self.judge.measure.score(fold_losses) if is_whole else None

    def _tasks(self, fit: Callable[[Rows], Any]) -> Iterator[Callable[[], Any]]:
        """First the fits, then the fold_losses on all columns."""
        for fold in self.folds:
            yield partial(fit, self.rows.take(fold.train))
        for fold in self.folds:
            yield partial(self.judge.judge_all, *(self.rows.take(rows) for rows in fold))

    def _warn_of_interruption(self, n_done: int) -> None:
        if n_done < len(self.folds):
            _warn(f"It keeps the {n_done} of {len(self.folds)} folds that were done.")
        else:
            _warn("The model on all columns was not finished.")

    def scored(
        self, path: SelectionPath, fits: Sequence[Any], matches: Sequence[Sequence[int]]
    ) -> SelectionPath:
        """The path with a held-out score for each step."""
        if not fits:
            return path
        fold_losses = []
        for fold, fit, match in zip(self.folds, fits, matches, strict=False):
            train, test = self.rows.take(fold.train), self.rows.take(fold.test)
            told = {at: self.judge.judge(fit, at, train, test) for at in sorted(set(match))}
            fold_losses.append([told[at] for at in match])
        measure = self.judge.measure
        scores = [measure.score(of_step) for of_step in zip(*fold_losses, strict=True)]
        steps = [replace(step, score=s) for step, s in zip(path, scores, strict=True)]
        return replace(path, steps=tuple(steps))


def _fit(selector: Any, seed: int, n_jobs: int | None, rows: Rows) -> Any:
    return fit_anew(selector, rows, seed, n_jobs)


@contextmanager
def _said_before() -> Iterator[None]:
    """What a fold warns of, the fit to all rows has warned of before; not so an interruption."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecateurWarning)
        warnings.simplefilter("default", InterruptedWarning)
        # joblib's advice for those who end its processes early, as an interruption does
        warnings.filterwarnings("ignore", ".* tasks which were still being processed", UserWarning)
        yield


def _is_interrupted(fitted: Any) -> bool:
    return bool(fitted.path_.stop_reason is StopReason.INTERRUPTED)


def _warn(what: str) -> None:
    warnings.warn(f"held_out was interrupted. {what}", InterruptedWarning, stacklevel=5)

"""One trial: a method fitted to the training rows of a fold, its choices judged by the others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from secateur.data.folds import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.model_selection.comparison import Subset, Trial, TrialStatus
from secateur.model_selection.encoding import Sources, fit_method
from secateur.model_selection.rows import Rows, verdict_on
from secateur.model_selection.scorers import Measure
from secateur.path import SelectionPath, StopReason
from secateur.path.comparing import better_of
from secateur.typing import FloatArray, IntArray


def choices_of(fitted: Any, sizes: Sequence[int], sources: Sources | None = None) -> list[Subset]:
    """What a fitted method gives at each size, and by itself.

    A path gives its largest step of at most that size, filled up with what enters next. A ranking
    gives its first features. A plain support gives itself where it is not too large. What a method
    cannot give is left out.

    Parameters
    ----------
    fitted : estimator
        With ``path_``, with ``order_``, or with ``get_support`` and perhaps a ranking.
    sizes : sequence of int
        The most features.
    sources : Sources, optional
        The features that its columns were made of, where they are not the features themselves.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> X, y = [[0, 1, 5], [1, 3, 5], [2, 2, 6], [3, 4, 5]], [0, 0, 1, 1]
    >>> [subset.order.tolist() for subset in choices_of(SelectKBest(k=1).fit(X, y), [2])]
    [[0, 2], [0]]
    """
    if hasattr(fitted, "path_"):
        path = fitted.path_ if sources is None else sources.path(fitted.path_)
        own = path[fitted.selection_.index].order
        sized = [Subset(size, within(path, size)) for size in sizes]
        return [*sized, Subset(None, own)]
    if hasattr(fitted, "order_"):
        order, n_own = fitted.order_, fitted.n_own_
        if sources is not None:
            n_own = None if n_own is None else len(sources.order(order[:n_own]))
            order = sources.order(order)
        own_choice = [] if n_own is None else [Subset(None, order[:n_own])]
        return [*(Subset(size, order[:size]) for size in sizes), *own_choice]
    return _of_support(fitted, sizes, sources)


def within(path: SelectionPath, size: int) -> IntArray:
    """At most so many features of a path, in order of entry."""
    counts = path.n_features
    fitting = np.flatnonzero(counts <= size)
    if len(fitting):
        largest = better_of(path, fitting[counts[fitting] == counts[fitting].max()])
        chosen = [int(j) for j in path[largest].order]
    else:
        chosen = []
    larger = np.flatnonzero(counts > size)
    for index in larger[np.argsort(counts[larger], kind="stable")]:
        if len(chosen) == size:
            break
        order = path[int(index)].order
        chosen += order[~np.isin(order, chosen)][: size - len(chosen)].tolist()
    return np.array(chosen, np.int64)


def _of_support(fitted: Any, sizes: Sequence[int], sources: Sources | None) -> list[Subset]:
    support, worth = _support(fitted), _worth(fitted)
    if sources is not None:
        support = np.sort(sources.order(support))
        worth = None if worth is None else sources.worth(worth)
    ranked = None if worth is None else _order(worth, support)
    own = support if ranked is None else ranked[np.isin(ranked, support)]
    if ranked is not None:
        return [*(Subset(size, ranked[:size]) for size in sizes), Subset(None, own)]
    return [*(Subset(size, own) for size in sizes if len(own) <= size), Subset(None, own)]


def _support(fitted: Any) -> IntArray:
    if not hasattr(fitted, "get_support"):
        raise InputError(
            "A method must tell which columns it keeps. Got "
            f"{type(fitted).__name__} without get_support. Use a selector of scikit-learn."
        )
    return np.flatnonzero(np.asarray(fitted.get_support())).astype(np.int64)


def _order(worth: FloatArray, support: IntArray) -> IntArray:
    """All features in falling order; what the method kept itself comes first."""
    is_out = np.ones(len(worth), np.bool_)
    is_out[support] = False
    return np.lexsort([-np.where(np.isnan(worth), -np.inf, worth), is_out]).astype(np.int64)


def _worth(fitted: Any) -> Any:
    """What each column is worth to the method, if it tells."""
    if getattr(fitted, "ranking_", None) is not None:
        return -np.asarray(fitted.ranking_, np.float64)
    if getattr(fitted, "scores_", None) is not None:
        return np.asarray(fitted.scores_, np.float64)
    model = getattr(fitted, "estimator_", None)
    for name in ("feature_importances_", "coef_"):
        found = getattr(model, name, None)
        if found is not None:
            sizes = np.abs(np.asarray(found, np.float64))
            return sizes.sum(axis=0) if sizes.ndim == 2 else sizes
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What all trials have in common.

    Parameters
    ----------
    rows : Rows
    folds : sequence of Fold
    validators : mapping of str to estimator
    measure : Measure
    sizes : sequence of int
    seed : int
    n_jobs : int or None
        Threads of methods that have no number of their own.
    """

    rows: Rows
    folds: Sequence[Fold]
    validators: Mapping[str, Any]
    measure: Measure
    sizes: Sequence[int]
    seed: int
    n_jobs: int | None

    def seed_of(self, fold: int) -> int:
        """Chance is another one in each fold: else drawing at random would look steady."""
        return int(np.random.SeedSequence([self.seed, fold]).generate_state(1)[0] >> 1)


def select(course: Course, name: str, method: Any, fold: int) -> Trial:
    """Fit a method to the training rows of a fold; whatever it raises becomes a failed trial."""
    started = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many fits, and of other libraries
            train = course.rows.take(course.folds[fold].train)
            started = perf_counter()
            fitted, sources = fit_method(method, train, course.seed_of(fold), course.n_jobs)
            seconds = perf_counter() - started
            _raise_if_interrupted(fitted)
            subsets = choices_of(fitted, course.sizes, sources)
    except Exception as error:  # noqa: BLE001 - any method may fail in its own way
        took = perf_counter() - started
        return Trial(name, fold, TrialStatus.FAILED, told(error), took)
    return Trial(name, fold, TrialStatus.DONE, "", seconds, tuple(subsets))


def judge(course: Course, trial: Trial) -> Trial:
    """Fit every validator to every choice of a trial, and ask the rows left out."""
    train, test = (course.rows.take(rows) for rows in course.folds[trial.fold])
    known: dict[tuple[str, tuple[int, ...]], float] = {}
    problems: dict[str, str] = {}
    subsets = []
    for subset in trial.subsets:
        scores = {}
        for name, validator in course.validators.items():
            key = name, tuple(subset.support.tolist())
            if key not in known:
                known[key] = _score(course, validator, subset, trial.fold, (train, test), problems)
            scores[name] = known[key]
        subsets.append(replace(subset, scores=scores))
    message = "; ".join(problems.values())
    return replace(trial, subsets=tuple(subsets), message=message)


def _score(
    course: Course,
    validator: Any,
    subset: Subset,
    fold: int,
    rows: tuple[Rows, Rows],
    problems: dict[str, str],
) -> float:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # in the order of the columns, so that the same set has the same score
            seed = course.seed_of(fold)
            verdict = verdict_on(subset.support, validator, *rows, course.measure, seed)
    except Exception as error:  # noqa: BLE001 - one validator that fails spoils no other
        name = type(validator).__name__
        problems.setdefault(name, f"Validator {name} failed: {told(error)}")
        return math.nan
    return verdict.mean


def told(error: BaseException) -> str:
    """An error in one line; ours speak for themselves."""
    if isinstance(error, SecateurError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _raise_if_interrupted(fitted: Any) -> None:
    """A selector that Ctrl-C has cut short keeps its path: here it ends the whole race."""
    path = getattr(fitted, "path_", None)
    if path is not None and path.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt

"""One trial: a method fitted to the training rows of a fold, its selections scored on the rest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from secateur.data.problem import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.model_selection.comparison import Subset, Trial, TrialStatus
from secateur.model_selection.encoding import Sources, fit_method
from secateur.model_selection.fold_scores import score_fold
from secateur.model_selection.rows import Rows, is_interrupted
from secateur.model_selection.scorers import Metric
from secateur.path import SelectionPath
from secateur.path.comparing import better_of
from secateur.typing import FloatArray, IntArray


class TrialSpec(NamedTuple):
    """A trial that is to be run: a method on a fold."""

    name: str
    method: Any
    fold: int


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonContext:
    """What all trials of a comparison have in common."""

    rows: Rows
    folds: Sequence[Fold]
    validators: Mapping[str, Any]
    metric: Metric
    sizes: Sequence[int]
    seed: int
    n_jobs: int | None

    def seed_of(self, fold: int) -> int:
        """Another seed in each fold: else a random selection would look stable."""
        return int(np.random.SeedSequence([self.seed, fold]).generate_state(1)[0] >> 1)


def run_trial(context: ComparisonContext, spec: TrialSpec) -> Trial:
    """Select features in a fold and score them."""
    trial = select(context, spec)
    return score(context, trial) if trial.is_done else trial


def select(context: ComparisonContext, spec: TrialSpec) -> Trial:
    """Fit a method to the training rows of a fold; any exception becomes a failed trial."""
    started = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many fits, and of other libraries
            train = context.rows.take(context.folds[spec.fold].train)
            started = perf_counter()
            seed = context.seed_of(spec.fold)
            fitted, sources = fit_method(spec.method, train, seed, context.n_jobs)
            seconds = perf_counter() - started
            if is_interrupted(fitted):
                raise KeyboardInterrupt  # noqa: TRY301 - it ends the comparison
            subsets = subsets_of(fitted, context.sizes, sources)
    except Exception as error:  # noqa: BLE001 - any method may fail in its own way
        return failed_trial(spec, describe(error), perf_counter() - started)
    return Trial(spec.name, spec.fold, TrialStatus.DONE, "", seconds, tuple(subsets))


def score(context: ComparisonContext, trial: Trial) -> Trial:
    """Score every subset of a trial by every validator on the test rows of its fold."""
    train, test = (context.rows.take(rows) for rows in context.folds[trial.fold])
    known: dict[tuple[str, tuple[int, ...]], float] = {}
    problems: dict[str, str] = {}
    subsets = []
    for subset in trial.subsets:
        # in the order of the columns, so that the same set has the same score
        support = subset.support
        for name in context.validators:
            key = name, tuple(support.tolist())
            if key not in known:
                rows = train, test
                known[key] = _score(context, name, support, trial.fold, rows, problems)
        scores = {name: known[name, tuple(support.tolist())] for name in context.validators}
        subsets.append(replace(subset, scores=scores))
    return replace(trial, subsets=tuple(subsets), message="; ".join(problems.values()))


def _score(
    context: ComparisonContext,
    name: str,
    support: IntArray,
    fold: int,
    rows: tuple[Rows, Rows],
    problems: dict[str, str],
) -> float:
    """The score of one validator; NaN where it fails, with the reason in `problems`."""
    validator = context.validators[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seed = context.seed_of(fold)
            return score_fold(validator, *rows, context.metric, seed, support).mean
    except Exception as error:  # noqa: BLE001 - one validator that fails spoils no other
        kind = type(validator).__name__
        problems.setdefault(kind, f"Validator {kind} failed: {describe(error)}")
        return math.nan


def failed_trial(spec: TrialSpec, message: str, seconds: float) -> Trial:
    """A trial without a selection."""
    return Trial(spec.name, spec.fold, TrialStatus.FAILED, message, seconds)


def describe(error: BaseException) -> str:
    """An error in one line; the type is left out of our own errors."""
    if isinstance(error, SecateurError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def subsets_of(fitted: Any, sizes: Sequence[int], sources: Sources | None = None) -> list[Subset]:
    """What a fitted method selects at each size, and by itself.

    A path gives its largest step of at most that size, filled up with the features that enter next.
    A ranking gives its first features. A plain support gives itself where it is not too large. What
    a method cannot give is left out.
    """
    if hasattr(fitted, "path_"):
        path = fitted.path_ if sources is None else sources.path(fitted.path_)
        own = path[fitted.selection_.index].order
        return [*(Subset(size, at_most(path, size)) for size in sizes), Subset(None, own)]
    if hasattr(fitted, "order_"):
        order, n_own = fitted.order_, fitted.n_own_
        if sources is not None:
            n_own = None if n_own is None else len(sources.order(order[:n_own]))
            order = sources.order(order)
        own_choice = [] if n_own is None else [Subset(None, order[:n_own])]
        return [*(Subset(size, order[:size]) for size in sizes), *own_choice]
    return _of_support(fitted, sizes, sources)


def at_most(path: SelectionPath, size: int) -> IntArray:
    """At most so many features of a path, in order of entry."""
    counts = path.n_features
    fitting = np.flatnonzero(counts <= size)
    chosen: list[int] = []
    if len(fitting):
        largest = better_of(path, fitting[counts[fitting] == counts[fitting].max()])
        chosen = path[largest].order.tolist()
    larger = np.flatnonzero(counts > size)
    for index in larger[np.argsort(counts[larger], kind="stable")]:
        if len(chosen) == size:
            break
        order = path[int(index)].order
        chosen += order[~np.isin(order, chosen)][: size - len(chosen)].tolist()
    return np.array(chosen, np.int64)


def _of_support(fitted: Any, sizes: Sequence[int], sources: Sources | None) -> list[Subset]:
    if not hasattr(fitted, "get_support"):
        raise InputError(
            "A method must have get_support. Got "
            f"{type(fitted).__name__} without. Use a selector of scikit-learn."
        )
    own = np.flatnonzero(np.asarray(fitted.get_support())).astype(np.int64)
    importance = _importance(fitted)
    if sources is not None:
        own = np.sort(sources.order(own))
        importance = None if importance is None else sources.importance(importance)
    if importance is None:
        return [*(Subset(size, own) for size in sizes if len(own) <= size), Subset(None, own)]
    ranked = _order(importance, own)
    own = ranked[np.isin(ranked, own)]
    return [*(Subset(size, ranked[:size]) for size in sizes), Subset(None, own)]


def _order(importance: FloatArray, support: IntArray) -> IntArray:
    """All features by importance; those that the method selected come first."""
    is_out = np.ones(len(importance), np.bool_)
    is_out[support] = False
    known = np.where(np.isnan(importance), -np.inf, importance)
    return np.lexsort([-known, is_out]).astype(np.int64)


def _importance(fitted: Any) -> Any:
    """The importance of each column, if the method has any."""
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

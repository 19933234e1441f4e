"""One trial: a method fitted to the training rows of a fold, its selections scored on the rest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from secateur.data.table import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.model_selection.comparison import Subset, Trial, TrialStatus
from secateur.model_selection.encoding import as_features, fit_method
from secateur.model_selection.rows import Rows
from secateur.model_selection.scorers import Metric
from secateur.model_selection.validators import score_fold
from secateur.path import SelectionPath
from secateur.path.comparing import better_of
from secateur.typing import FloatArray, IntArray


class TrialSpec(NamedTuple):
    """A trial that is to be run: a method on a fold."""

    name: str
    method: Any
    fold: int

    def failed(self, error: BaseException, seconds: float) -> Trial:
        """The trial without a selection."""
        return Trial(self.name, self.fold, TrialStatus.FAILED, describe(error), seconds)


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
            subsets = subsets_of(fitted, context.sizes, sources)
    except Exception as error:  # noqa: BLE001 - any method may fail in its own way
        return spec.failed(error, perf_counter() - started)
    return Trial(spec.name, spec.fold, TrialStatus.DONE, "", seconds, tuple(subsets))


def score(context: ComparisonContext, trial: Trial) -> Trial:
    """Score the subsets of a trial by all validators, on the test rows; NaN where one fails."""
    train, test = (context.rows.take(rows) for rows in context.folds[trial.fold])
    seed = context.seed_of(trial.fold)
    problems: dict[str, str] = {}

    @cache  # columns in the order of the table, so that the same set has the same score
    def score_of(name: str, support: tuple[int, ...]) -> float:
        validator, columns = context.validators[name], np.array(support, np.int64)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return score_fold(validator, train, test, context.metric, seed, columns).mean
        except Exception as error:  # noqa: BLE001 - one validator that fails spoils no other
            kind = type(validator).__name__
            problems.setdefault(kind, f"Validator {kind} failed: {describe(error)}")
            return math.nan

    subsets = []
    for subset in trial.subsets:
        support = tuple(subset.support.tolist())
        scores = {name: score_of(name, support) for name in context.validators}
        subsets.append(replace(subset, scores=scores))
    return replace(trial, subsets=tuple(subsets), message="; ".join(problems.values()))


def describe(error: BaseException) -> str:
    """An error in one line; the type is left out of our own errors."""
    if isinstance(error, SecateurError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def subsets_of(fitted: Any, sizes: Sequence[int], sources: IntArray | None = None) -> list[Subset]:
    """What a fitted method selects at each size, and by itself.

    A path gives its largest step of at most that size, filled up with the features that enter next.
    A ranking gives its first features. A plain support gives itself where it is not too large. What
    a method cannot give is left out.
    """
    if hasattr(fitted, "path_"):
        orders = [as_features(step.order, sources) for step in fitted.path_]
        chosen = (Subset(size, at_most(fitted.path_, orders, size)) for size in sizes)
        return [*chosen, Subset(None, orders[fitted.selection_.index])]
    order, own = (as_features(columns, sources) for columns in _ranking(fitted))
    own_choice = [] if own is None else [Subset(None, own)]
    if order is not None:
        return [*(Subset(size, order[:size]) for size in sizes), *own_choice]
    return [*(Subset(size, own) for size in sizes if len(own) <= size), *own_choice]


def at_most(path: SelectionPath, orders: Sequence[IntArray], size: int) -> IntArray:
    """At most so many features of a path, in order of entry; `orders` are those of its steps."""
    counts = np.array([len(order) for order in orders])
    fitting, larger = np.flatnonzero(counts <= size), np.flatnonzero(counts > size)
    chosen: list[int] = []
    if len(fitting):
        largest = better_of(path, fitting[counts[fitting] == counts[fitting].max()])
        chosen = orders[largest].tolist()
    for index in larger[np.argsort(counts[larger], kind="stable")]:
        chosen = list(dict.fromkeys([*chosen, *orders[index].tolist()]))[:size]
    return np.array(chosen, np.int64)


def _ranking(fitted: Any) -> tuple[Any, Any]:
    """All columns, the best first, and those that the method selected; None if it has none."""
    if hasattr(fitted, "order_"):
        order, n_own = fitted.order_, fitted.n_own_
        return order, None if n_own is None else order[:n_own]
    if not hasattr(fitted, "get_support"):
        raise InputError(
            "A method must have get_support. Got "
            f"{type(fitted).__name__} without. Use a selector of scikit-learn."
        )
    is_own = np.asarray(fitted.get_support(), np.bool_)
    importance = _importance(fitted)
    if importance is None:
        return None, np.flatnonzero(is_own)
    order = np.lexsort([-np.nan_to_num(importance, nan=-np.inf), ~is_own])
    return order, order[: is_own.sum()]


def _importance(fitted: Any) -> FloatArray | None:
    """The importance of each column, if the method has any."""
    for name, sign in (("ranking_", -1.0), ("scores_", 1.0)):
        if getattr(fitted, name, None) is not None:
            return sign * np.asarray(getattr(fitted, name), np.float64)
    for name in ("feature_importances_", "coef_"):
        found = getattr(getattr(fitted, "estimator_", None), name, None)
        if found is not None:
            return np.abs(np.atleast_2d(np.asarray(found, np.float64))).sum(axis=0)
    return None

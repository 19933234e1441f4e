"""One trial: a method fitted to the training rows of a fold, its choices judged by the others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from secateur.comparison.choices import choices_of
from secateur.comparison.translating import fit_method
from secateur.evaluation.folds import Fold
from secateur.evaluation.judging import Measure
from secateur.evaluation.rows import Rows, verdict_on
from secateur.exceptions import SecateurError
from secateur.path import StopReason, Subset, Trial, TrialStatus


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

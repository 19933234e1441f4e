"""The search of `AutoSelector`: a first answer, a comparison in outer folds, the winner's fit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from secateur.data.table import Fold
from secateur.exceptions import EmptySelectionWarning, SecateurWarning
from secateur.model_selection.candidates import (
    NOT_TRIED,
    Candidate,
    Evaluation,
    compared,
    winner_of,
    within,
)
from secateur.model_selection.encoding import AsNumbers, fit_method, over_columns
from secateur.model_selection.folds import is_drawn
from secateur.model_selection.rows import Rows
from secateur.model_selection.trials import ComparisonContext, describe
from secateur.path import Selection, SelectionPath, Step, StopReason
from secateur.selectors.progress import Progress, listened

# Of the time after the first fit, what the comparison may use; the rest is for the winner's fit.
COMPARISON_SHARE = 2 / 3
OnAnswer = Callable[[str, SelectionPath, Selection], None]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A candidate fitted to all rows; ``path`` is over the columns of X."""

    method: str
    estimator: Any
    encoder: AsNumbers | None
    path: SelectionPath
    seconds: float
    warned: list[warnings.WarningMessage]

    @property
    def is_whole(self) -> bool:
        """Whether its search came to an end before a time limit."""
        return self.path.stop_reason is not StopReason.TIME_LIMIT


@dataclass(slots=True, eq=False)
class AutoSearch:
    """What the search is given, and what it has found so far."""

    candidates: Mapping[str, Any]
    rows: Rows  # all of them, for the fits of the first candidate and of the winner
    context: ComparisonContext  # the rows, folds and model of the comparison
    deadline: float
    stopping: Any = None
    on_answer: OnAnswer | None = None
    winner: Fitted = field(init=False)  # once there is a first answer
    n_done: int = 0  # fits
    failed: dict[str, str] = field(default_factory=dict)  # why a fit to all rows is not used
    results: list[Candidate] = field(default_factory=list)

    @property
    def n_fits(self) -> int:
        """The largest number of fits."""
        return len(self.candidates) * len(self.context.folds) + 2

    @property
    def n_tested(self) -> int:
        """The number of test rows of the comparison."""
        return sum(len(fold.test) for fold in self.context.folds)

    def steps(self, progress: Progress) -> Generator[Step, None, StopReason]:
        """The steps of the winner, which is found first; an interruption comes after them."""
        evaluations = [Evaluation(name) for name in self.candidates]
        is_interrupted = False
        with listened(progress.within):
            self.winner = first = self._fit_first()
            progress.part()
            try:
                self._compare(evaluations, first, progress)
            except KeyboardInterrupt:
                is_interrupted = True
        self.results = self._results(evaluations, is_interrupted=is_interrupted)
        yield from self.winner.path
        if is_interrupted:
            raise KeyboardInterrupt
        return self.winner.path.stop_reason

    def _fit_first(self) -> Fitted:
        """The first candidate that can be fitted to all rows; the first error if none can."""
        errors: list[Exception] = []
        for name in self.candidates:
            try:
                return self._fit_all(name)
            except Exception as error:  # noqa: BLE001 - named, and the next one is tried
                self.failed[name] = describe(error)
                errors.append(error)
        raise errors[0]

    def _fit_all(self, name: str) -> Fitted:
        """A candidate fitted to all rows."""
        method = within(self.candidates[name], self.deadline)
        method = clone(method).set_params(stopping=self.stopping)
        started = perf_counter()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            self.n_done += 1
            seed, n_jobs = self.context.seed, self.context.n_jobs
            fitted, sources = fit_method(method, self.rows, seed, n_jobs)
        # of no features the selector itself warns, if this is the result
        ours = [each for each in warned if issubclass(each.category, SecateurWarning)]
        ours = [each for each in ours if not issubclass(each.category, EmptySelectionWarning)]
        encoder = None if sources is None else AsNumbers().fit(self.rows.X)
        path = over_columns(fitted.path_, sources, self.rows.names)
        found = Fitted(name, fitted, encoder, path, perf_counter() - started, ours)
        if self.on_answer is not None:
            self.on_answer(name, path, path.cut(fitted.selection_.chooser))
        return found

    def _compare(self, evaluations: list[Evaluation], first: Fitted, progress: Progress) -> None:
        """Score the candidates in the outer folds, and fit the winner to all rows."""
        left = self.deadline - perf_counter()
        deadline = perf_counter() + COMPARISON_SHARE * left
        for each in evaluations:
            if each.method in self.failed:
                each.end("failed", self.failed[each.method])
            elif not first.is_whole or perf_counter() >= deadline:
                each.end("timed_out", NOT_TRIED)
            elif self.context.folds and len(evaluations) > 1:
                methods = _in_folds(self.candidates[each.method], self.context.folds)
                each.run(self.context, methods, deadline, progress.part)
        self.n_done += sum(len(each.seconds) for each in evaluations)
        won = winner_of(compared(self.context, evaluations))
        if won is not None and won.method != first.method:
            self._refit(won.method)

    def _refit(self, name: str) -> None:
        """Fit the winner to all rows; the first candidate stays if that fails or takes too long."""
        try:
            found = self._fit_all(name)
        except Exception as error:  # noqa: BLE001 - named; the first answer stays
            self.failed[name] = f"It won, but its fit to all rows failed: {describe(error)}"
            return
        if found.is_whole or math.isinf(self.deadline):
            self.winner = found
        else:
            self.failed[name] = "It won, but its fit to all rows exceeded the time limit."

    def _results(self, evaluations: list[Evaluation], *, is_interrupted: bool) -> list[Candidate]:
        for each in evaluations:
            if is_interrupted and not each.is_done:
                each.end("not_compared", "The comparison was interrupted.")
        return [
            replace(
                each,
                is_winner=each.method == self.winner.method,
                message=each.message or self.failed.get(each.method, ""),
            )
            for each in compared(self.context, evaluations)
        ]


def _in_folds(method: Any, folds: Sequence[Fold]) -> list[Any]:
    """A candidate for the training rows of each fold.

    Lists of rows in its ``cv`` are the outer folds: inside of one of them it gets the others,
    without the test rows.
    """
    if is_drawn(method.cv) or hasattr(method.cv, "split"):
        return [method] * len(folds)
    found = []
    for outer in folds:
        others = (fold for fold in folds if fold is not outer)
        parts = [
            tuple(np.flatnonzero(np.isin(outer.train, part)) for part in fold) for fold in others
        ]
        inner = [part for part in parts if len(part[0]) and len(part[1])]
        found.append(clone(method).set_params(cv=inner or None))
    return found

"""Candidates: methods whose selections one model scores on the same test rows, and the winner."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from secateur.engines.fold_losses import FoldLosses, difference, mean_of
from secateur.model_selection.trials import ComparisonContext, TrialSpec, describe, select
from secateur.model_selection.validators import score_fold
from secateur.path.rendering import score_with_error
from secateur.path.step import Score, count_of, format_score, listed

NAMES = {
    "agbm": "A-GBM",
    "featboost": "FeatBoost",
    "fg": "Feature Gradients",
    "grafting": "Grafting",
}
OUT_OF_TIME = "It did not finish within the time limit."
NOT_TRIED = "The time limit came before it was tried."


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the methods that were compared, with its mean results over the folds.

    Parameters
    ----------
    method : str
        Its short name, as "agbm".
    status : {"done", "failed", "timed_out", "not_compared"}
        Whether it was fitted and scored in every fold.
    message : str, default=""
        Why it was not.
    n_features : float, default=nan
        Mean number of features that it selected.
    score : Score, default=None
        Held-out score of the model on these features.
    worse : float, default=nan
        How much worse than the best candidate, on the same rows; 0 for the best.
    standard_error : float, default=nan
        Standard error of this paired difference.
    seconds : float, default=nan
        Mean time of one fit.
    is_winner : bool, default=False
    """

    method: str
    status: str
    message: str = ""
    n_features: float = math.nan
    score: Score | None = None
    worse: float = math.nan
    standard_error: float = math.nan
    seconds: float = math.nan
    is_winner: bool = False

    @property
    def name(self) -> str:
        """The name of the method in words."""
        return NAMES.get(self.method, self.method)

    @property
    def is_near(self) -> bool:
        """Whether it is within half a standard error of the best candidate, as in `NearBest`."""
        return self.worse <= 0.5 * self.standard_error

    def row(self) -> list[str]:
        """Method, features, score, difference and seconds, as text for a table."""
        name = f"{self.name} (chosen)" if self.is_winner else self.name
        if self.score is None:
            why = self.status.replace("_", " ")
            return [name, "", f"{why}: {self.message}" if self.message else why, "", ""]
        score, worse = score_with_error(self.score), _amount(self) if self.worse else "best"
        return [name, f"{self.n_features:.3g}", score, worse, f"{self.seconds:.2f}"]


@dataclass(slots=True, eq=False)
class Evaluation:
    """A candidate in the folds so far: sizes of its selections, losses of the model, times."""

    method: str
    status: str = "not_compared"
    message: str = ""
    sizes: list[int] = field(default_factory=list)
    losses: list[FoldLosses] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether it was fitted and scored in every fold."""
        return self.status == "done"

    def end(self, status: str, message: str = "") -> None:
        """Note how it ended."""
        self.status, self.message = status, message

    def run(
        self,
        context: ComparisonContext,
        methods: Sequence[Any],
        deadline: float,
        on_fit: Callable[[], None] = lambda: None,
    ) -> None:
        """Fit the method of each fold to its training rows, and the model to what it selects."""
        for fold, method in enumerate(methods):
            trial = select(context, TrialSpec(self.method, within(method, deadline), fold))
            if perf_counter() > deadline:
                return self.end("timed_out", OUT_OF_TIME)
            if not trial.is_done:
                return self.end("failed", trial.message)
            self.sizes.append(trial.subsets[-1].n_features)
            self.seconds.append(trial.seconds)
            try:
                self.losses.append(_losses(context, fold, trial.subsets[-1].support))
            except Exception as error:  # noqa: BLE001 - the model of a user may fail in any way
                return self.end("failed", f"The model failed: {describe(error)}")
            on_fit()
        return self.end("done")


def within(method: Any, deadline: float) -> Any:
    """A method that ends its search at a time, where it can."""
    if math.isinf(deadline) or "time_limit" not in method.get_params(deep=False):
        return method
    return clone(method).set_params(time_limit=max(deadline - perf_counter(), 1e-9))


def _losses(context: ComparisonContext, fold: int, support: Any) -> FoldLosses:
    train, test = (context.rows.take(rows) for rows in context.folds[fold])
    (model,) = context.validators.values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many fits, and of other libraries
        return score_fold(model, train, test, context.metric, context.seed_of(fold), support)


def compared(context: ComparisonContext, evaluations: Sequence[Evaluation]) -> list[Candidate]:
    """The candidates with their scores and paired differences to the best mean score."""
    sign = 1.0 if context.metric.greater_is_better else -1.0
    means = [sign * mean_of(each.losses) if each.is_done else math.nan for each in evaluations]
    usable = [place for place, mean in enumerate(means) if math.isfinite(mean)]
    best = max(usable, key=lambda place: means[place]) if usable else None
    found = []
    for place, each in enumerate(evaluations):
        if best is None or place not in usable:
            found.append(Candidate(each.method, each.status, each.message))
            continue
        worse, error = difference(evaluations[best].losses, each.losses)
        found.append(
            Candidate(
                each.method,
                each.status,
                n_features=float(np.mean(each.sizes)),
                score=context.metric.score(each.losses),
                worse=max(0.0, sign * worse),
                standard_error=error,
                seconds=float(np.mean(each.seconds)),
            )
        )
    return found


def winner_of(candidates: Sequence[Candidate]) -> Candidate | None:
    """The winner: the fewest features among those within half a standard error of the best.

    That is the standard error of the paired difference to the best mean score, on the same rows. A
    whole one is a wide gate on few rows. Of equal numbers of features the better score wins, then
    the first.
    """
    near = [each for each in candidates if each.is_near]
    return min(near, key=lambda each: (each.n_features, each.worse), default=None)


def comparison_sentence(candidates: Sequence[Candidate], model: str, n_rows: int) -> str:
    """Say which candidate won, by how much, and what became of those without a score."""
    won = next(each for each in candidates if each.is_winner)
    scored = [each for each in candidates if each.score is not None]
    others = [each for each in scored if each is not won]
    lost: dict[str, list[str]] = {}
    for each in candidates:
        if each.message:
            lost.setdefault(each.message, []).append(each.name)
    tail = "".join(f" {listed(names, 4)}: {message}" for message, names in lost.items())
    if won.score is None or not others:
        return f"{won.name} was not compared with another method.{tail}"
    head = (
        f"{won.name} won against {listed([each.name for each in others], 4)} for {model}: "
        f"{won.score.kind} {format_score(won.score.mean)} with {won.n_features:.3g} features in a "
        "fold"
    ).replace("_", " ")
    other = min(others, key=lambda each: each.worse)  # the best, if that is another one
    if won.worse:
        words = f"{_amount(won)} worse than {other.name}, which needs {other.n_features:.3g}"
    else:
        words = f"the best; {other.name}, with {other.n_features:.3g}, is {_amount(other)} worse"
    return f"{head}, {words} (paired difference on {count_of(n_rows, 'row')}).{tail}"


def _amount(candidate: Candidate) -> str:
    return f"{format_score(candidate.worse)} ± {format_score(candidate.standard_error)}"


def candidates_document(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The candidates as plain values."""
    rows = [asdict(each) for each in candidates]
    for row in rows:
        score = row["score"] or {"mean": None, "standard_error": None}
        row |= {"score": score["mean"], "score_standard_error": score["standard_error"]}
        row["worse_standard_error"] = row.pop("standard_error")
    return rows

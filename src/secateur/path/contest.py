"""What follows from the trials of a comparison: curves, ranks, tests, agreement, seconds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.path.agreement import Agreement, nogueira
from secateur.path.paired import PairedTest, corrected_t, holm
from secateur.path.step import Score
from secateur.path.trial import Trial
from secateur.typing import FloatArray

if TYPE_CHECKING:
    from secateur.path.comparison import Comparison


COLUMNS = (
    *("method", "fold", "status", "seconds", "size", "n_features"),
    *("validator", "metric", "score", "features", "message"),
)
"""What a row of a comparison holds."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve.

    Parameters
    ----------
    size : int or None
        The most features that were allowed; None is the method's own choice.
    n_features : float
        How many it took, mean over folds.
    score : Score
        Held-out, over the folds that have one; the spread is the standard error of their mean.
    """

    size: int | None
    n_features: float
    score: Score


@dataclass(frozen=True, slots=True)
class Curve:
    """Score against number of features, of one method by one validator.

    Parameters
    ----------
    method, validator : str
    points : tuple of Point
        By size; sizes at which no fold has a score are left out.
    own : Point or None
        The method's own choice, where it makes one.
    """

    method: str
    validator: str
    points: tuple[Point, ...]
    own: Point | None


@dataclass(frozen=True, slots=True)
class Rank:
    """The mean rank of a method, 1 for the best, over so many contests."""

    method: str
    mean: float
    n_contests: int


@dataclass(frozen=True, slots=True)
class Timing:
    """What the selections of a method took.

    Parameters
    ----------
    median : float
        Over the folds that were done; the first fit of all may have to compile.
    total : float
        Over all trials, those that were not done too.
    folds : tuple of float
        By fold, NaN where there is no trial.
    n_done : int
    """

    median: float
    total: float
    folds: tuple[float, ...]
    n_done: int


def curve_of(comparison: Comparison, method: str, validator: str) -> Curve:
    """The curve of one method by one validator."""
    found = [_point(comparison, method, validator, size) for size in comparison.sizes]
    points = tuple(point for point in found if point is not None)
    return Curve(method, validator, points, _point(comparison, method, validator, None))


def _point(comparison: Comparison, method: str, validator: str, size: int | None) -> Point | None:
    scores, counts = [], []
    for trial in comparison.trials_of(method):
        subset, value = trial.subset(size), trial.score(validator, size)
        if subset is not None and math.isfinite(value):
            scores.append(value)
            counts.append(subset.n_features)
    if not scores:
        return None
    score = Score.of(
        scores,
        origin="held_out",
        metric=comparison.metric,
        greater_is_better=comparison.greater_is_better,
    )
    return Point(size, float(np.mean(counts)), score)


def ranks_of(
    comparison: Comparison, validators: Sequence[str], sizes: Sequence[int]
) -> tuple[Rank, ...]:
    """Mean ranks over folds, validators and sizes, the best method first.

    A contest is one fold, size and validator. Equal scores share their ranks. A method that has no
    score in a contest shares the last ranks with others that have none. Contests that nobody has a
    score in do not count, and methods that are in no contest (such as all columns, which are
    more than any size allows) are left out.
    """
    contests = np.array(
        [
            [comparison.scores(name, validator, size) for name in comparison.methods]
            for validator in validators
            for size in sizes
        ]
    )  # (contests, methods, folds)
    flat = contests.transpose(0, 2, 1).reshape(-1, len(comparison.methods))
    utilities = flat if comparison.greater_is_better else -flat
    takes_part = np.isfinite(utilities).any(axis=0)
    fought = utilities[np.isfinite(utilities).any(axis=1)][:, takes_part]
    names = [n for n, part in zip(comparison.methods, takes_part, strict=True) if part]
    if not len(fought):
        return ()
    means = np.mean([mean_ranks(row) for row in fought], axis=0)
    ranks = [Rank(name, float(mean), len(fought)) for name, mean in zip(names, means, strict=True)]
    return tuple(sorted(ranks, key=lambda rank: rank.mean))


def mean_ranks(utilities: FloatArray) -> FloatArray:
    """1 for the largest; equals share the mean of their ranks; NaN counts as worst of all.

    >>> mean_ranks(np.array([0.5, 0.9, 0.5, np.nan]))
    array([2.5, 1. , 2.5, 4. ])
    """
    values = np.where(np.isfinite(utilities), utilities, -np.inf)
    better = (values[None, :] > values[:, None]).sum(axis=1)
    equal = (values[None, :] == values[:, None]).sum(axis=1)
    ranks: FloatArray = better + (equal + 1) / 2.0
    return ranks


def tests_of(
    comparison: Comparison, validator: str, size: int | None, against: str | None
) -> tuple[PairedTest, ...]:
    """All pairs, or all against one; those without two folds in common are left out."""
    if against is None:
        pairs = list(itertools.combinations(comparison.methods, 2))
    else:
        pairs = [(name, against) for name in comparison.methods if name != against]
    tests = [_test(comparison, pair, validator, size) for pair in pairs]
    made = [test for test in tests if test.n_folds >= 2]
    adjusted = holm([test.p for test in made])
    return tuple(replace(test, p_adjusted=p) for test, p in zip(made, adjusted, strict=True))


def _test(
    comparison: Comparison, pair: tuple[str, str], validator: str, size: int | None
) -> PairedTest:
    left, right = (comparison.scores(name, validator, size) for name in pair)
    both = np.isfinite(left) & np.isfinite(right)
    sign = 1.0 if comparison.greater_is_better else -1.0
    d = sign * (left - right)[both]
    train, test = np.array(comparison.fold_sizes, np.float64)[both].sum(axis=0)
    spread, t, p = corrected_t(d, float(test / train) if train else math.nan)
    mean = float(d.mean()) if len(d) else math.nan
    return PairedTest(*pair, mean, spread, t, p, p, len(d), validator, size)


def agreement_of(
    comparison: Comparison, method: str, size: int | None, confidence: float
) -> Agreement:
    """Nogueira's index of what a method chose in the folds."""
    subsets = (trial.subset(size) for trial in comparison.trials_of(method) if trial.is_done)
    supports = [subset.support for subset in subsets if subset is not None]
    return nogueira(supports, comparison.n_features_in, confidence=confidence)


def timing_of(comparison: Comparison, method: str) -> Timing:
    """What the selections of a method took."""
    folds = np.full(comparison.n_folds, math.nan)
    done = []
    for trial in comparison.trials_of(method):
        folds[trial.fold] = trial.seconds
        if trial.is_done:
            done.append(trial.seconds)
    median = float(np.median(done)) if done else math.nan
    return Timing(median, float(np.nansum(folds)), tuple(folds.tolist()), len(done))


def rows_of(comparison: Comparison, trial: Trial) -> list[dict[str, Any]]:
    """A trial as plain rows, at least one."""
    common = {
        "method": trial.method,
        "fold": trial.fold,
        "status": trial.status.value,
        "seconds": trial.seconds,
    }
    rows = [
        {
            **common,
            "size": subset.size,
            "n_features": subset.n_features,
            "validator": validator,
            "metric": comparison.metric,
            "score": subset.scores.get(validator, math.nan),
            "features": [comparison.feature_names[feature] for feature in subset.order],
            "message": trial.message,
        }
        for subset in trial.subsets
        for validator in comparison.validators
    ]
    nothing = {"size": None, "n_features": None, "validator": None, "metric": comparison.metric}
    empty = {**common, **nothing, "score": math.nan, "features": [], "message": trial.message}
    return rows or [empty]

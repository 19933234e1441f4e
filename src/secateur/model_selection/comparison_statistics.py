"""What follows from the trials of a comparison: curves, ranks, tests, agreement, seconds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from secateur.model_selection.agreement import Agreement, nogueira
from secateur.model_selection.trial_results import Trial
from secateur.path.step import Score
from secateur.typing import FloatArray

if TYPE_CHECKING:
    from secateur.model_selection.comparison import Comparison


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two methods on the same folds.

    Parameters
    ----------
    method, other : str
    difference : float
        Mean over the folds of the score of `method` less that of `other`, signed so that above
        zero `method` is the better one.
    standard_error : float
        Its corrected standard error.
    t, p : float
        Of the test that the difference is zero, two-sided.
    p_adjusted : float
        p after Holm's correction for all tests that were made together.
    n_folds : int
        On how many folds both methods have a score.
    validator : str
    size : int or None
        The most features that were allowed; None is each method's own choice.
    """

    method: str
    other: str
    difference: float
    standard_error: float
    t: float
    p: float
    p_adjusted: float
    n_folds: int
    validator: str
    size: int | None


def corrected_t(differences: npt.ArrayLike, test_share: float) -> tuple[float, float, float]:
    r"""The corrected resampled t test of Nadeau and Bengio (2003): standard error, t and p.

        t = mean(d) / sqrt((1 / J + n_test / n_train) var(d)),     J - 1 degrees of freedom

    Training rows of folds overlap, so differences of folds are not independent, and the plain
    paired test finds differences where there are none; n_test / n_train makes up for it.
    Wilcoxon's signed rank test was left aside: over five folds its p is never below 0.06.

    Parameters
    ----------
    differences : array of shape (n_folds,)
    test_share : float
        Rows that judge divided by rows that train.

    Examples
    --------
    >>> standard_error, t, p = corrected_t([0.02, 0.03, 0.01, 0.02, 0.04], test_share=0.25)
    >>> round(standard_error, 4), round(t, 2), round(p, 3)
    (0.0076, 3.14, 0.035)
    """
    d = np.asarray(differences, np.float64)
    if len(d) < 2:
        return math.nan, math.nan, math.nan
    mean = float(d.mean())
    standard_error = math.sqrt((1.0 / len(d) + test_share) * float(d.var(ddof=1)))
    if (
        standard_error <= 1e-15 * abs(mean) or standard_error == 0.0
    ):  # the same difference in every fold
        return 0.0, math.copysign(math.inf, mean) if mean else 0.0, 0.0 if mean else 1.0
    t = mean / standard_error
    return standard_error, t, student_tails(t, len(d) - 1)


def student_tails(t: float, freedom: int) -> float:
    """The chance that Student's t is at least so far from zero, on either side.

    I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t^2), the regularised incomplete beta
    function; results need numpy only, so it is computed here.

    >>> round(student_tails(2.776, 4), 3)
    0.05
    """
    total = freedom + t * t
    return _incomplete_beta(freedom / 2.0, 0.5, freedom / total, t * t / total)


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """Holm's correction: the chance of any false alarm among all tests stays below the level.

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    adjusted = [math.nan] * len(p)
    known = sorted((i for i in range(len(p)) if not math.isnan(p[i])), key=lambda i: p[i])
    largest = 0.0
    for place, i in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - place) * p[i]))
        adjusted[i] = largest
    return tuple(adjusted)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b); `rest` is 1 - x, which near 0 has digits that x has not."""
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    )
    # the fraction converges quickly on one side of the mean; the other side is its complement
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + term / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


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
        Held-out, over the folds that have one; with the standard error of their mean.
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
    standard_error, t, p = corrected_t(d, float(test / train) if train else math.nan)
    mean = float(d.mean()) if len(d) else math.nan
    return PairedTest(*pair, mean, standard_error, t, p, p, len(d), validator, size)


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

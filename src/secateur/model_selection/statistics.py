"""Statistics of selections: stability of sets of features, paired tests and ranks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from secateur.exceptions import InputError
from secateur.path.step import Score
from secateur.path.stopping import share_number
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """Nogueira's stability index of some sets of features, with its confidence interval.

    1 if all sets are equal, about 0 if they agree no more than random sets; NaN where it is not
    defined: fewer than two sets, or none or all of the features in every one.
    """

    index: float
    low: float
    high: float
    confidence: float
    n_sets: int
    mean_size: float  # mean number of features of a set

    def __str__(self) -> str:
        if math.isnan(self.index):
            return "not defined"
        return f"{self.index:.2f} [{self.low:.2f}, {self.high:.2f}]"


class Point(NamedTuple):
    """One point of a curve."""

    size: int | None  # the maximum number of features; None is the method's own choice
    n_features: float  # mean over folds
    score: Score  # held-out, over the folds that have one


class Curve(NamedTuple):
    """Score against number of features, of one method by one validator."""

    method: str
    validator: str
    points: tuple[Point, ...]  # by size; sizes without a score in any fold are left out
    own: Point | None  # the method's own choice, where it makes one

    def __repr__(self) -> str:
        return f"Curve({self.method!r}, {self.validator!r}, {len(self.points)} points)"


class Rank(NamedTuple):
    """The mean rank of a method, 1 for the best, over `n_rankings` folds, sizes and validators."""

    method: str
    mean: float
    n_rankings: int


class Timing(NamedTuple):
    """Times of the selections of a method, in seconds."""

    median: float  # of the folds that were done; the first fit of all may include compilation
    total: float  # of all trials, failed ones included
    folds: tuple[float, ...]  # NaN where there is no trial
    n_done: int


class PairedTest(NamedTuple):
    """Test of the difference of two methods on the same folds."""

    method: str
    other: str
    difference: float  # mean over folds, signed so that above zero `method` is better
    standard_error: float  # corrected
    t: float
    p: float  # of the two-sided test that the difference is zero
    p_adjusted: float  # after Holm's correction for all tests made together
    n_folds: int  # on which both methods have a score
    validator: str
    size: int | None  # the maximum number of features; None is each method's own choice


def nogueira(
    supports: Sequence[npt.ArrayLike], n_features: int, *, confidence: float = 0.95
) -> Agreement:
    r"""Stability of M sets of features (Nogueira, Sechidis and Brown, JMLR 18, 2018).

    With p_f the share of the sets that have feature f, s_f^2 = M / (M - 1) p_f (1 - p_f) and k the
    mean size of a set,

        index = 1 - mean_f(s_f^2) / (k / d (1 - k / d))                        (Definition 4)

    where d is `n_features`. The confidence interval is normal, with their asymptotic variance. It
    is not cut at 1, the largest value of the index.
    """
    from scipy.stats import norm

    share_number("confidence", confidence, advice="Use 0.95.")
    sets = [np.unique(np.asarray(support, np.int64)) for support in supports]
    sizes = np.array([len(each) for each in sets], np.float64)
    mean_size = float(sizes.mean()) if sets else math.nan
    share = mean_size / n_features if n_features else math.nan
    if len(sets) < 2 or not 0.0 < share < 1.0:
        return Agreement(math.nan, math.nan, math.nan, confidence, len(sets), mean_size)
    frequency = selection_frequency(sets, n_features)
    variance = len(sets) / (len(sets) - 1) * float((frequency * (1.0 - frequency)).mean())
    index = 1.0 - variance / (share * (1.0 - share))
    shares = sizes / n_features
    overlap = np.array([frequency[each].sum() for each in sets]) / n_features
    slope = 2.0 * shares * share - shares - share + 1.0
    phi = (overlap - shares * share + 0.5 * index * slope) / (share * (1.0 - share))
    error = math.sqrt(4.0 / len(sets) ** 2 * float(((phi - phi.mean()) ** 2).sum()))
    margin = float(norm.ppf(0.5 + confidence / 2.0)) * error
    return Agreement(index, index - margin, index + margin, confidence, len(sets), mean_size)


def selection_frequency(supports: Sequence[IntArray], n_features: int) -> FloatArray:
    """The share of the sets that have each feature."""
    return np.bincount(np.concatenate(supports), minlength=n_features) / len(supports)


def jaccard(a: Collection[int], b: Collection[int]) -> float:
    """Jaccard index of two sets of features; 1 for two empty sets."""
    either = len({*a, *b})
    return len({*a} & {*b}) / either if either else 1.0


def saliency(selected: Any, informative: Any, copies: Any = None) -> float:
    """The saliency of a selection (Section 4.3 of Perkins, Lacker and Theiler, JMLR 2003).

    Recall plus precision, less one: 1 if exactly the informative features are selected, about 0 if
    they are among many others, -1 if none of them is. ``copies[j]`` is the informative feature that
    feature j is, or is a copy of; -1 for others. A feature is found, once, if it or a copy is.
    """
    chosen = np.asarray(selected)
    chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else np.unique(chosen)
    wanted = set(np.asarray(informative).tolist())
    if not wanted:
        raise InputError(
            "'informative' must name at least one feature. Got none. Give the true features."
        )
    if chosen.size == 0:
        return -1.0
    found = chosen if copies is None else np.asarray(copies)[chosen]
    n_good = len(wanted & set(found.tolist()))
    return n_good / len(wanted) + n_good / chosen.size - 1.0


def corrected_t(differences: npt.ArrayLike, test_share: float) -> tuple[float, float, float]:
    """The corrected resampled t test of Nadeau and Bengio (2003): standard error, t and p.

        t = mean(d) / sqrt((1 / J + n_test / n_train) var(d)),     J - 1 degrees of freedom

    Training rows of folds overlap, so differences of folds are not independent, and the plain
    paired test is too optimistic; n_test / n_train corrects for it. Wilcoxon's signed rank test is
    no alternative: over five folds its p is never below 0.06. `test_share` is n_test / n_train.
    """
    from scipy.stats import t as student

    d = np.asarray(differences, np.float64)
    if len(d) < 2:
        return math.nan, math.nan, math.nan
    mean = float(d.mean())
    error = math.sqrt((1.0 / len(d) + test_share) * float(d.var(ddof=1)))
    if error <= 1e-15 * abs(mean) or error == 0.0:  # the same difference in every fold
        return 0.0, math.copysign(math.inf, mean) if mean else 0.0, 0.0 if mean else 1.0
    t = mean / error
    return error, t, float(2.0 * student.sf(abs(t), len(d) - 1))


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """Holm's correction of p values for several tests; NaN stays NaN."""
    values = np.asarray(p, np.float64)
    order = np.argsort(values)[: int(np.isfinite(values).sum())]  # NaN is sorted last
    factors = len(order) - np.arange(len(order))
    adjusted = np.full(len(values), np.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * values[order]))
    return tuple(adjusted.tolist())

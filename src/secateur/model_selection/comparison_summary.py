"""Summaries of a comparison: curves, ranks, tests, times, and the text and tables that show it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.model_selection.statistics import Agreement, corrected_t, holm, mean_ranks, nogueira
from secateur.path import rendering
from secateur.path.rendering import html_table, rich_table
from secateur.path.step import Score, format_features

if TYPE_CHECKING:
    from rich.table import Table

    from secateur.model_selection.comparison import Comparison, Trial


COLUMNS = (
    *("method", "fold", "status", "seconds", "size", "n_features"),
    *("validator", "metric", "score", "features", "message"),
)
"""The columns of the rows of a comparison."""

MAX_MESSAGE = 160


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve.

    Parameters
    ----------
    size : int or None
        The maximum number of features; None is the method's own choice.
    n_features : float
        Mean number of features over folds.
    score : Score
        Held-out score over the folds that have one, with the standard error of their mean.
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
        By size; sizes without a score in any fold are left out.
    own : Point or None
        The method's own choice, where it makes one.
    """

    method: str
    validator: str
    points: tuple[Point, ...]
    own: Point | None


@dataclass(frozen=True, slots=True)
class Rank:
    """The mean rank of a method, 1 for the best, over `n_rankings` folds, sizes and validators."""

    method: str
    mean: float
    n_rankings: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of the selections of a method, in seconds.

    Parameters
    ----------
    median : float
        Over the folds that were done; the first fit of all may include compilation.
    total : float
        Over all trials, failed ones included.
    folds : tuple of float
        By fold, NaN where there is no trial.
    n_done : int
    """

    median: float
    total: float
    folds: tuple[float, ...]
    n_done: int


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Test of the difference of two methods on the same folds.

    Parameters
    ----------
    method, other : str
    difference : float
        Mean over folds of the score of `method` less that of `other`, signed so that above zero
        `method` is better.
    standard_error : float
        Corrected standard error of the difference.
    t, p : float
        Of the two-sided test that the difference is zero.
    p_adjusted : float
        p after Holm's correction for all tests made together.
    n_folds : int
        On how many folds both methods have a score.
    validator : str
    size : int or None
        The maximum number of features; None is each method's own choice.
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
    better = comparison.greater_is_better
    score = Score.of(scores, origin="held_out", metric=comparison.metric, greater_is_better=better)
    return Point(size, float(np.mean(counts)), score)


def ranks_of(
    comparison: Comparison, validators: Sequence[str], sizes: Sequence[int]
) -> tuple[Rank, ...]:
    """Mean ranks over folds, validators and sizes, the best method first."""
    scores = np.array(
        [
            [comparison.scores(name, validator, size) for name in comparison.methods]
            for validator in validators
            for size in sizes
        ]
    )  # (validators and sizes, methods, folds)
    flat = scores.transpose(0, 2, 1).reshape(-1, len(comparison.methods))
    utilities = flat if comparison.greater_is_better else -flat
    has_score = np.isfinite(utilities).any(axis=0)
    ranked = utilities[np.isfinite(utilities).any(axis=1)][:, has_score]
    if not len(ranked):
        return ()
    names = [name for name, has in zip(comparison.methods, has_score, strict=True) if has]
    means = np.mean(mean_ranks(ranked), axis=0)
    ranks = [Rank(name, float(mean), len(ranked)) for name, mean in zip(names, means, strict=True)]
    return tuple(sorted(ranks, key=lambda rank: rank.mean))


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
    d = (1.0 if comparison.greater_is_better else -1.0) * (left - right)[both]
    train, test = np.array(comparison.fold_sizes, np.float64)[both].sum(axis=0)
    error, t, p = corrected_t(d, float(test / train) if train else math.nan)
    mean = float(d.mean()) if len(d) else math.nan
    return PairedTest(*pair, mean, error, t, p, p, len(d), validator, size)


def agreement_of(
    comparison: Comparison, method: str, size: int | None, confidence: float
) -> Agreement:
    """Nogueira's index of what a method selected in the folds."""
    subsets = (trial.subset(size) for trial in comparison.trials_of(method) if trial.is_done)
    supports = [subset.support for subset in subsets if subset is not None]
    return nogueira(supports, comparison.n_features_in, confidence=confidence)


def timing_of(comparison: Comparison, method: str) -> Timing:
    """Times of the selections of a method."""
    folds = np.full(comparison.n_folds, math.nan)
    trials = comparison.trials_of(method)
    for trial in trials:
        folds[trial.fold] = trial.seconds
    done = [trial.seconds for trial in trials if trial.is_done]
    median = float(np.median(done)) if done else math.nan
    return Timing(median, float(np.nansum(folds)), tuple(folds.tolist()), len(done))


def rows_of(comparison: Comparison, trial: Trial) -> list[dict[str, Any]]:
    """A trial as plain rows, at least one."""
    row = dict.fromkeys(COLUMNS) | {
        "method": trial.method,
        "fold": trial.fold,
        "status": trial.status.value,
        "seconds": trial.seconds,
        "metric": comparison.metric,
        "score": math.nan,
        "features": [],
        "message": trial.message,
    }
    rows = [
        row
        | {
            "size": subset.size,
            "n_features": subset.n_features,
            "validator": validator,
            "score": subset.scores.get(validator, math.nan),
            "features": [comparison.feature_names[feature] for feature in subset.order],
        }
        for subset in trial.subsets
        for validator in comparison.validators
    ]
    return rows or [row]


# ---- text and tables --------------------------------------------------------------------------


def title(comparison: Comparison) -> str:
    """Return a comparison in a few words."""
    total = len(comparison.methods) * comparison.n_folds
    return ", ".join(
        (
            _count(len(comparison.methods), "method"),
            _count(comparison.n_folds, "fold"),
            _count(len(comparison.validators), "validator"),
            f"{len(comparison.trials)} of {total} trials",
        )
    )


def sentences(comparison: Comparison) -> str:
    """Say what was compared, which methods are best, and which trials failed."""
    so_far = "" if comparison.is_complete else " so far"
    what = (
        f"{_count(len(comparison.methods), 'method')} on {_count(comparison.n_folds, 'fold')}"
        f"{so_far}, {format_features(comparison.n_features_in)}; selection inside the folds, "
        f"held-out {comparison.metric} by {', '.join(comparison.validators)}."
    )
    lines = [what]
    ranks = comparison.ranks()
    if ranks:
        listed = ", ".join(f"{rank.method} {rank.mean:.1f}" for rank in ranks)
        lines.append(f"Mean rank over folds, sizes and validators (1 is best): {listed}.")
    lines += [_best_by(comparison, validator) for validator in comparison.validators]
    return "\n".join(lines + _failures(comparison))


def _best_by(comparison: Comparison, validator: str) -> str:
    """The best score at any size, and the fewest features within one standard error of it."""
    found = [
        (curve.method, point)
        for curve in comparison.curves(validator)
        for point in (*curve.points, *([curve.own] if curve.own else []))
    ]
    if not found:
        return f"By {validator}: no scores."
    method, best = max(found, key=lambda pair: pair[1].score.utility)
    error = best.score.standard_error
    lowest = best.score.utility - (0.0 if math.isnan(error) else error)
    near = [pair for pair in found if pair[1].score.utility >= lowest]
    other, small = min(near, key=lambda pair: (pair[1].n_features, -pair[1].score.utility))
    sentence = f"By {validator}: best is {method}, {_score_and_size(best)}"
    if small.n_features < best.n_features:
        sentence += f"; within one standard error of it {other}, {_score_and_size(small)}"
    return sentence + "."


def _score_and_size(point: Point) -> str:
    noun = "feature" if point.n_features == 1 else "features"
    return f"{rendering.score_with_error(point.score)} with {point.n_features:.3g} {noun}"


def _failures(comparison: Comparison) -> list[str]:
    lines = []
    for method in comparison.methods:
        failed = [trial for trial in comparison.trials_of(method) if not trial.is_done]
        if failed:
            late = all(trial.status == "timed_out" for trial in failed)
            what = "exceeded the time limit" if late else "failed"
            folds = _count(len(failed), "fold")
            lines.append(f"{method} {what} on {folds}: {shortened(failed[0].message)}")
    return lines


def shortened(message: str) -> str:
    """A message in one line of limited length."""
    line = " ".join(message.split())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 1] + "…"


def to_rich(comparison: Comparison) -> Table:
    """Return the comparison as a table for rich."""
    return rich_table(title(comparison), _header(comparison), _table(comparison), text_columns=(0,))


def to_html(comparison: Comparison) -> str:
    """Return the comparison as an HTML table, everything escaped."""
    return html_table(title(comparison), _header(comparison), _table(comparison))


def _header(comparison: Comparison) -> tuple[str, ...]:
    own = [f"{validator}, own" for validator in comparison.validators]
    size = _shown_size(comparison)
    sized = [f"{validator}, ≤ {size}" for validator in comparison.validators if size]
    stability = f"stability, ≤ {size}" if size else "stability, own"
    return ("method", "rank", "own features", *own, *sized, stability, "seconds", "done")


def _table(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row for each method, by mean rank; those without a rank come last."""
    rank_of = {rank.method: rank.mean for rank in comparison.ranks()}
    order = sorted(comparison.methods, key=lambda name: rank_of.get(name, math.inf))
    return [_cells(comparison, name, rank_of.get(name, math.nan)) for name in order]


def _cells(comparison: Comparison, method: str, rank: float) -> tuple[str, ...]:
    curves = {c.validator: c for c in comparison.curves() if c.method == method}
    size = _shown_size(comparison)
    own = [curves[validator].own for validator in comparison.validators]
    sized = [
        next((p for p in curves[validator].points if p.size == size), None)
        for validator in (comparison.validators if size else ())
    ]
    timing = comparison.seconds()[method]
    agreement = comparison.stability(size)[method]
    return (
        method,
        "" if math.isnan(rank) else f"{rank:.1f}",
        next((f"{point.n_features:.4g}" for point in own if point), ""),
        *(rendering.score_with_error(point.score if point else None) for point in (*own, *sized)),
        "" if math.isnan(agreement.index) else str(agreement),
        "" if math.isnan(timing.median) else f"{timing.median:.3g}",
        f"{timing.n_done} of {comparison.n_folds}",
    )


def _shown_size(comparison: Comparison) -> int | None:
    """The size that the table shows: the largest up to ten, where curves differ most."""
    small = [size for size in comparison.sizes if size <= 10]
    return small[-1] if small else next(iter(comparison.sizes), None)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"

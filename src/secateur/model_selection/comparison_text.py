"""The text, the table and the plain rows that show a comparison."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from secateur.path import rendering
from secateur.path.step import count_of

if TYPE_CHECKING:
    from secateur.model_selection.comparison import Comparison, Trial

COLUMNS = (
    *("method", "fold", "status", "seconds", "size", "n_features"),
    *("validator", "metric", "score", "features", "message"),
)
MAX_MESSAGE = 160
Cell = tuple[str, float | str]  # its text, and what the column is sorted by


def title(comparison: Comparison) -> str:
    """Return a comparison in a few words."""
    total = len(comparison.methods) * comparison.n_folds
    return (
        f"{count_of(len(comparison.methods), 'method')}, {count_of(comparison.n_folds, 'fold')}, "
        f"{count_of(len(comparison.validators), 'validator')}, "
        f"{len(comparison.trials)} of {total} trials"
    )


def sentences(comparison: Comparison) -> str:
    """Say what was compared, which methods are best, and which trials failed."""
    so_far = "" if comparison.is_complete else " so far"
    what = (
        f"{count_of(len(comparison.methods), 'method')} on {count_of(comparison.n_folds, 'fold')}"
        f"{so_far}, {count_of(comparison.n_features_in)}; selection inside the folds, "
        f"held-out {comparison.metric} by {', '.join(comparison.validators)}."
    )
    lines = [what]
    ranks = comparison.ranks()
    if ranks:
        listed = ", ".join(f"{rank.method} {rank.mean:.1f}" for rank in ranks)
        lines.append(f"Mean rank over folds, sizes and validators (1 is best): {listed}.")
    lines += [_best_by(comparison, validator) for validator in comparison.validators]
    for method in comparison.methods:
        failed = [trial for trial in comparison.trials_of(method) if not trial.is_done]
        if failed:
            late = all(trial.status == "timed_out" for trial in failed)
            what = "exceeded the time limit" if late else "failed"
            folds = count_of(len(failed), "fold")
            lines.append(f"{method} {what} on {folds}: {shortened(failed[0].message)}")
    return "\n".join(lines)


def _best_by(comparison: Comparison, validator: str) -> str:
    """The best score at any size, and what is within one standard error of it."""
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
    level = [method, *dict.fromkeys(name for name, _ in near if name != method)]
    of_best, of_small = (
        f"{rendering.score_with_error(point.score)} with {point.n_features:.3g} "
        f"{'feature' if point.n_features == 1 else 'features'}"
        for point in (best, small)
    )
    first = f"best is {method}, {of_best}"
    if len(level) > 1:
        names = f"{', '.join(level[:-1])} and {level[-1]}"
        first = f"{names} are level, within one standard error of the best; {first}"
    if small.n_features < best.n_features:
        first += f"; within one standard error the fewest: {other}, {of_small}"
    return f"By {validator}: {first}."


def shortened(message: str) -> str:
    """A message in one line of limited length."""
    line = " ".join(message.split())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 1] + "…"


def table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """The heads of columns, and the text of a row for each method."""
    heads, found = cells(comparison)
    return heads, [[words for words, _ in row] for row in found]


def cells(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """The heads of columns, and a row for each method by mean rank, those without a rank last."""
    # the largest size up to ten, where curves differ most
    small = [size for size in comparison.sizes if size <= 10]
    size = small[-1] if small else next(iter(comparison.sizes), None)
    limit = f"≤ {size}" if size else "own"
    heads = ["method", "rank", "own features"]
    heads += [f"{validator}, own" for validator in comparison.validators]
    heads += [f"{validator}, {limit}" for validator in comparison.validators if size]
    heads += [f"stability, {limit}", "seconds", "done"]
    timings, agreements = comparison.seconds(), comparison.stability(size)
    found = []
    for method, rank in by_rank(comparison).items():
        curves = [curve for curve in comparison.curves() if curve.method == method]
        own = [curve.own for curve in curves]
        sized = [next((p for p in c.points if p.size == size), None) for c in curves if size]
        n_own = next((point.n_features for point in own if point), math.nan)
        timing, agreement = timings[method], agreements[method]
        row = [(method, method), cell(rank, f"{rank:.1f}"), cell(n_own, f"{n_own:.4g}")]
        scores = [point.score if point else None for point in (*own, *sized)]
        row += [cell(s.mean if s else math.nan, rendering.score_with_error(s)) for s in scores]
        row += [cell(agreement.index, str(agreement)), cell(timing.median, f"{timing.median:.3g}")]
        found.append([*row, (f"{timing.n_done} of {comparison.n_folds}", timing.n_done)])
    return heads, found


def by_rank(comparison: Comparison) -> dict[str, float]:
    """The mean rank of each method, the best first; those without a rank last."""
    ranks = {rank.method: rank.mean for rank in comparison.ranks()}
    return ranks | {name: math.nan for name in comparison.methods if name not in ranks}


def cell(value: float, words: str) -> Cell:
    """A cell of a table, which is empty where its value is not known."""
    return ("", math.inf) if math.isnan(value) else (words, value)


def rows(comparison: Comparison, trial: Trial) -> list[dict[str, Any]]:
    """A trial as plain rows, at least one."""
    head = (trial.method, trial.fold, trial.status.value, trial.seconds)
    metric, names = comparison.metric, comparison.feature_names
    found: list[tuple[Any, ...]] = []
    for subset, validator in itertools.product(trial.subsets, comparison.validators):
        score = (validator, metric, subset.scores.get(validator, math.nan))
        found.append((subset.size, subset.n_features, *score, [names[j] for j in subset.order]))
    found = found or [(None, None, None, metric, math.nan, [])]
    return [dict(zip(COLUMNS, (*head, *row, trial.message), strict=True)) for row in found]

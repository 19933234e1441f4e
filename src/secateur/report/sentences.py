"""The answer in one sentence: how many features, and what leaving out the others costs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from secateur.path import SelectionPath, rendering
from secateur.path.cutting import Best
from secateur.path.step import usable

if TYPE_CHECKING:
    from secateur.path import Score
    from secateur.report.evidence import Evidence


OPTIMISTIC = " These rows took part in the selection, so the score is optimistic."


def short(name: str, limit: int = 32) -> str:
    """Return a name of at most `limit` characters."""
    return name if len(name) <= limit else f"{name[: limit - 1]}…"


def few(names: Sequence[str], limit: int = 4) -> str:
    """Return the first names and the number of the others.

    >>> few(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(short(name) for name in names[:limit]) + more


def natural_key(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts names by the numbers in them.

    >>> sorted(["field 10", "field 9", "east"], key=natural_key)
    ['east', 'field 9', 'field 10']
    """
    parts = re.split(r"0*([0-9]+)", name)  # words and numbers in turn
    return tuple((at % 2 == 0, len(part) * (at % 2), part) for at, part in enumerate(parts) if part)


def answer(path: SelectionPath, index: int, evidence: Evidence | None = None) -> str:
    """Say in a sentence what step `index` gives.

    It is compared with all features where their score is known and of the same kind, else with
    the best step of the path.

    Examples
    --------
    >>> from secateur.path import Score, Step, StopReason
    >>> scores = [Score(loss, 0.02, (), "held_out", "log_loss") for loss in (0.31, 0.30)]
    >>> steps = [Step.of([0], score=scores[0]), Step.of([0, 2], score=scores[1])]
    >>> path = SelectionPath(steps, StopReason.FINISHED, ["age", "size", "sex"], "demo")
    >>> print(answer(path, 1))
    2 of 3 features: held-out log loss 0.3000, the best on the path.
    """
    step = path[index]
    cost_of_all = math.nan if evidence is None else evidence.cost_of_all
    share = rendering.share(path, index) + _cost_words(path, step.cost, cost_of_all)
    score = step.score
    if score is None or not score.is_usable:
        return f"{share}: no score."
    words = f"{share}: {kind_words(score)} {rendering.number(score.mean)}, "
    of_all = None if evidence is None else evidence.all_features
    if of_all is not None and same_kind(score, of_all) and of_all.is_usable:
        all_words = (
            f"all {rendering.features(path.n_features_in)} ({rendering.number(of_all.mean)})"
        )
        words += _compared(score, of_all, all_words)
    else:
        words += _compared_with_best(path, index, score)
    return words + (OPTIMISTIC if score.origin == "inner" else "")


def kind_words(score: Score) -> str:
    """Return what was measured and where, in words: 'held-out log loss'."""
    return rendering.kind(score).replace("_", " ")


def same_kind(one: Score, other: Score) -> bool:
    """Whether two scores can be compared: same metric, same origin."""
    return (one.metric, one.origin, one.greater_is_better) == (
        other.metric,
        other.origin,
        other.greater_is_better,
    )


def has_costs(path: SelectionPath) -> bool:
    """Whether the costs say more than the number of features."""
    return any(not math.isnan(step.cost) and step.cost != step.n_features for step in path)


def _cost_words(path: SelectionPath, cost: float, cost_of_all: float) -> str:
    if math.isnan(cost) or not has_costs(path):
        return ""
    instead = "" if math.isnan(cost_of_all) else f" instead of {rendering.amount(cost_of_all)}"
    words = rendering.money(path, cost)
    return f" for {words}{instead}" if path.cost_unit else f" at a cost of {words}{instead}"


def _compared_with_best(path: SelectionPath, index: int, score: Score) -> str:
    best = Best().choose(path) if usable(path).size else index
    reference = path[best].score
    if best == index or reference is None:
        return "the best on the path."
    best_words = (
        f"the best on the path ({rendering.features(path[best].n_features)}, "
        f"{rendering.number(reference.mean)})"
    )
    return _compared(score, reference, best_words)


def _compared(score: Score, reference: Score, reference_words: str) -> str:
    worse = reference.utility - score.utility
    if worse == 0:
        return f"as good as {reference_words}."
    direction = "worse" if worse > 0 else "better"
    words = f"{rendering.number(abs(worse))} {direction} than {reference_words}"
    error = (
        score.standard_error if math.isfinite(score.standard_error) else reference.standard_error
    )
    if not math.isfinite(error):
        return f"{words}."
    side = "within" if abs(worse) <= error else "more than"
    return f"{words}, which is {side} one standard error ({rendering.number(error)})."

"""The answer in one sentence: how many features, and what leaving out the others costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from secateur.path import SelectionPath, wording
from secateur.path.cutting import Best
from secateur.path.ranking import usable

if TYPE_CHECKING:
    from secateur.path import Score

OPTIMISTIC = " These rows had a say in the choice, so the score is optimistic."


def answer(
    path: SelectionPath,
    index: int,
    *,
    all_features: Score | None = None,
    cost_of_all: float = math.nan,
) -> str:
    """Say in a sentence what step `index` gives.

    Against all features where their score is known and of the same kind, else against the best
    step of the path.

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
    share = wording.share(path, index) + _for_money(path, step.cost, cost_of_all)
    score = step.score
    if score is None or not score.is_usable:
        return f"{share}: nothing is known of the score."
    words = f"{share}: {kind_words(score)} {wording.number(score.mean)}, "
    if all_features is not None and same_kind(score, all_features) and all_features.is_usable:
        against = (
            f"all {wording.features(path.n_features_in)} ({wording.number(all_features.mean)})"
        )
        words += _against(score, all_features, against)
    else:
        words += _against_best(path, index, score)
    return words + (OPTIMISTIC if score.origin == "inner" else "")


def kind_words(score: Score) -> str:
    """Say what was measured and where, in words: 'held-out log loss'."""
    return wording.kind(score).replace("_", " ")


def same_kind(one: Score, other: Score) -> bool:
    """Whether two scores may be set side by side: same metric, same origin."""
    return (one.metric, one.origin, one.greater_is_better) == (
        other.metric,
        other.origin,
        other.greater_is_better,
    )


def _for_money(path: SelectionPath, cost: float, cost_of_all: float) -> str:
    if math.isnan(cost) or not has_costs(path):
        return ""
    instead = "" if math.isnan(cost_of_all) else f" instead of {wording.amount(cost_of_all)}"
    money = wording.money(path, cost)
    return f" for {money}{instead}" if path.cost_unit else f" at a cost of {money}{instead}"


def has_costs(path: SelectionPath) -> bool:
    """Whether the costs say more than the number of features."""
    return any(not math.isnan(step.cost) and step.cost != step.n_features for step in path)


def _against_best(path: SelectionPath, index: int, score: Score) -> str:
    best = Best().choose(path) if usable(path).size else index
    reference = path[best].score
    if best == index or reference is None:
        return "the best on the path."
    against = (
        f"the best on the path ({wording.features(path[best].n_features)}, "
        f"{wording.number(reference.mean)})"
    )
    return _against(score, reference, against)


def _against(score: Score, reference: Score, against: str) -> str:
    worse = reference.utility - score.utility
    if worse == 0:
        return f"as good as {against}."
    way = "worse" if worse > 0 else "better"
    words = f"{wording.number(abs(worse))} {way} than {against}"
    spread = score.spread if math.isfinite(score.spread) else reference.spread
    if not math.isfinite(spread):
        return f"{words}."
    side = "within" if abs(worse) <= spread else "more than"
    return f"{words}, which is {side} one standard error ({wording.number(spread)})."

"""The answer in one sentence: how many features, and what leaving out the others costs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from secateur.path import SelectionPath, wording
from secateur.path.comparing import matched_steps
from secateur.path.cutting import Best
from secateur.path.step import usable
from secateur.report.evidence import StandIn, StepEvidence
from secateur.typing import IntArray

if TYPE_CHECKING:
    from secateur.path import Score


MOST_NAMES = 4


def short(name: str, most: int = 32) -> str:
    """Return a name that is not longer than a line."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def few(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return the first names and the number of the others.

    >>> few(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(short(name) for name in names[:most]) + more


def in_natural_order(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key to sort names by, in which numbers count as such.

    >>> sorted(["field 10", "field 9", "east"], key=in_natural_order)
    ['east', 'field 9', 'field 10']
    """
    parts = re.split(r"0*([0-9]+)", name)  # words and numbers in turn
    return tuple((at % 2 == 0, len(part) * (at % 2), part) for at, part in enumerate(parts) if part)


def fold_supports(path: SelectionPath, fold_paths: Sequence[SelectionPath]) -> list[list[IntArray]]:
    """For each step, what each fold chose at the step that stands for it.

    A fold that ended before its first step chose nothing.
    """
    nothing = np.empty(0, np.int64)
    matches = [matched_steps(path, fold) if len(fold) else None for fold in fold_paths]
    return [
        [
            nothing if match is None else fold[match[index]].support
            for fold, match in zip(fold_paths, matches, strict=True)
        ]
        for index in range(len(path))
    ]


def frequencies(
    path: SelectionPath, supports: Sequence[Sequence[IntArray]]
) -> list[tuple[float, ...]]:
    """For each step, in which share of the folds each of its features was in.

    Aligned with ``step.order``; `supports` are those of `fold_supports`. Empty without folds.
    """
    found = []
    for step, chosen in zip(path, supports, strict=True):
        hits = np.zeros(step.n_features, dtype=np.int64)
        for support in chosen:
            hits += np.isin(step.order, support)
        found.append(tuple((hits / len(chosen)).tolist()) if chosen else ())
    return found


LEAST_SHARE = 0.5
"""A feature chosen in a smaller share of the folds than this is doubtful."""

MAX_UNSTABLE_NAMES = 6


def is_doubtful(share: float) -> bool:
    """Whether a feature that this share of the folds chose too is doubtful.

    >>> is_doubtful(1 / 3), is_doubtful(0.5)
    (True, False)
    """
    return share < LEAST_SHARE


def doubts(names: Sequence[str], shares: Sequence[float]) -> str:
    """Say which of the chosen features are doubtful; nothing where none is, or nobody asked.

    Parameters
    ----------
    names : sequence of str
        Of the chosen features.
    shares : sequence of float
        In what share of the folds each was chosen, in the same order; empty without folds.

    Examples
    --------
    >>> print(doubts(["age", "size", "sex"], [1.0, 0.2, 0.4]))
    Doubtful are 2 of 3, which fewer than half of the folds chose: size, sex.
    >>> doubts(["age"], [])
    ''
    """
    if not shares:
        return ""
    found = [name for name, share in zip(names, shares, strict=True) if is_doubtful(share)]
    if not found:
        return ""
    verb = "is" if len(found) == 1 else "are"
    return (
        f"Doubtful {verb} {len(found)} of {len(names)}, which fewer than half of the folds chose: "
        f"{few(found, MAX_UNSTABLE_NAMES)}."
    )


def doubt_of_step(path: SelectionPath, index: int, told: StepEvidence | None) -> str:
    """Say which features of a step are doubtful, and which of them others stood for."""
    if told is None:
        return ""
    names = path.feature_names
    doubt = doubts([names[each] for each in path[index].order.tolist()], told.frequency)
    return f"{doubt} {_instead(path, told.stand_ins)}".rstrip()


def _instead(path: SelectionPath, stand_ins: Sequence[StandIn]) -> str:
    if not stand_ins:
        return ""
    told = [
        f"{stand_in_words(path, each)} for {short(path.feature_names[each.feature])}"
        for each in stand_ins[:MAX_UNSTABLE_NAMES]
    ]
    more = len(stand_ins) - len(told)
    words = ", ".join(told) + (f" and {more} more" if more else "")
    return f"In other folds a substitute was chosen: {words}."


def stand_in_words(path: SelectionPath, each: StandIn) -> str:
    """Who stood for a feature, and in how many of the folds: 'born in 3 folds'."""
    folds = "1 fold" if each.n_folds == 1 else f"{each.n_folds} folds"
    return f"{short(path.feature_names[each.other])} in {folds}"


LEAST_STRENGTH = 0.9
"""Two features must be more alike than this, for one to stand for the other."""


def stand_ins(
    path: SelectionPath,
    shares: Sequence[Sequence[float]],
    supports: Sequence[Sequence[IntArray]],
    alike: Mapping[int, Mapping[int, float]],
) -> list[tuple[StandIn, ...]]:
    """For each step, who was chosen in place of its doubtful features by folds without them.

    Of several the one that most such folds chose, then the one that is most alike.

    Parameters
    ----------
    path : SelectionPath
    shares : sequence of sequence of float
        For each step, in which share of the folds each of its features was in, in order of entry.
    supports : sequence of sequence of array of int
        For each step, what each of the folds chose.
    alike : mapping of int to mapping of int to float
        For a feature, those that are alike, and how much.

    Examples
    --------
    >>> import numpy as np
    >>> from secateur.path import Step, StopReason
    >>> path = SelectionPath([Step.of([0])], StopReason.FINISHED, ["age", "size", "born"], "demo")
    >>> supports = [[np.array([0]), np.array([2]), np.array([1, 2])]]
    >>> stand_ins(path, [(1 / 3,)], supports, {0: {2: -0.99}})
    [(StandIn(feature=0, other=2, strength=-0.99, n_folds=2),)]
    """
    found = []
    for step, of_step, chosen in zip(path, shares, supports, strict=True):
        inside = set(step.support.tolist())
        folds = [set(support.tolist()) for support in chosen]
        doubtful = [
            int(feature)
            for feature, share in zip(step.order, of_step, strict=False)
            if is_doubtful(share)
        ]
        told = (_stand_in(each, inside, folds, alike.get(each, {})) for each in doubtful)
        found.append(tuple(each for each in told if each is not None))
    return found


def _stand_in(
    feature: int, inside: set[int], folds: Sequence[set[int]], alike: Mapping[int, float]
) -> StandIn | None:
    others = [fold for fold in folds if feature not in fold]
    found = [
        StandIn(feature, other, strength, sum(other in fold for fold in others))
        for other, strength in alike.items()
        if other not in inside and abs(strength) > LEAST_STRENGTH
    ]
    found = [each for each in found if each.n_folds]
    return min(found, key=lambda s: (-s.n_folds, -abs(s.strength), s.other), default=None)


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
    own, other = score.standard_error, reference.standard_error
    standard_error = own if math.isfinite(own) else other
    if not math.isfinite(standard_error):
        return f"{words}."
    side = "within" if abs(worse) <= standard_error else "more than"
    return f"{words}, which is {side} one standard error ({wording.number(standard_error)})."

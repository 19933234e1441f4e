"""The sentences of a report: the answer, and which features are unstable over the folds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from secateur.path import SelectionPath
from secateur.path.comparing import matched_steps
from secateur.path.cutting import Best, format_cost, format_share, usable
from secateur.path.step import format_amount, format_features, format_score
from secateur.report.evidence import StepEvidence, Substitute
from secateur.typing import IntArray

if TYPE_CHECKING:
    from secateur.path import Score
    from secateur.report.evidence import Evidence


MIN_FREQUENCY = 0.5
"""A feature selected in a smaller share of the folds is unstable."""

MIN_CORRELATION = 0.9
"""A substitute of an unstable feature is more strongly correlated with it than this."""

MAX_NAMES = 6
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
    """
    step = path[index]
    cost_of_all = math.nan if evidence is None else evidence.cost_of_all
    share = format_share(path, index) + _cost_words(path, step.cost, cost_of_all)
    score = step.score
    if score is None or not score.is_usable:
        return f"{share}: no score."
    words = f"{share}: {kind_words(score)} {format_score(score.mean)}, "
    of_all = None if evidence is None else evidence.all_features
    if of_all is not None and same_kind(score, of_all) and of_all.is_usable:
        all_words = f"all {format_features(path.n_features_in)} ({format_score(of_all.mean)})"
        words += _compared(score, of_all, all_words)
    else:
        words += _compared_with_best(path, index, score)
    return words + (OPTIMISTIC if score.origin == "inner" else "")


def kind_words(score: Score) -> str:
    """Return what was measured and where, in words: 'held-out log loss'."""
    return score.kind.replace("_", " ")


def same_kind(one: Score, other: Score) -> bool:
    """Whether two scores can be compared: same metric, same origin."""
    kinds = [(each.metric, each.origin, each.greater_is_better) for each in (one, other)]
    return kinds[0] == kinds[1]


def has_costs(path: SelectionPath) -> bool:
    """Whether the costs say more than the number of features."""
    return any(not math.isnan(step.cost) and step.cost != step.n_features for step in path)


def _cost_words(path: SelectionPath, cost: float, cost_of_all: float) -> str:
    if math.isnan(cost) or not has_costs(path):
        return ""
    instead = "" if math.isnan(cost_of_all) else f" instead of {format_amount(cost_of_all)}"
    words = format_cost(path, cost)
    return f" for {words}{instead}" if path.cost_unit else f" at a cost of {words}{instead}"


def _compared_with_best(path: SelectionPath, index: int, score: Score) -> str:
    best = Best().choose(path) if usable(path).size else index
    reference = path[best].score
    if best == index or reference is None:
        return "the best on the path."
    best_words = (
        f"the best on the path ({format_features(path[best].n_features)}, "
        f"{format_score(reference.mean)})"
    )
    return _compared(score, reference, best_words)


def _compared(score: Score, reference: Score, reference_words: str) -> str:
    worse = reference.utility - score.utility
    if worse == 0:
        return f"as good as {reference_words}."
    direction = "worse" if worse > 0 else "better"
    words = f"{format_score(abs(worse))} {direction} than {reference_words}"
    error = (
        score.standard_error if math.isfinite(score.standard_error) else reference.standard_error
    )
    if not math.isfinite(error):
        return f"{words}."
    side = "within" if abs(worse) <= error else "more than"
    return f"{words}, which is {side} one standard error ({format_score(error)})."


# ---- stability over the folds ---------------------------------------------------------------


def is_unstable(frequency: float) -> bool:
    """Whether a feature that this share of the folds selected is unstable."""
    return frequency < MIN_FREQUENCY


def fold_supports(path: SelectionPath, fold_paths: Sequence[SelectionPath]) -> list[list[IntArray]]:
    """For each step, the features that each fold selected at the matching step, if it has any."""
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
    """For each step, the share of the folds that selected each feature of ``step.order``."""
    found = []
    for step, of_folds in zip(path, supports, strict=True):
        hits = np.zeros(step.n_features, dtype=np.int64)
        for support in of_folds:
            hits += np.isin(step.order, support)
        found.append(tuple((hits / len(of_folds)).tolist()) if of_folds else ())
    return found


def substitutes(
    path: SelectionPath,
    frequency: Sequence[Sequence[float]],
    supports: Sequence[Sequence[IntArray]],
    correlation: Mapping[int, Mapping[int, float]],
) -> list[tuple[Substitute, ...]]:
    """For each step, the correlated features that folds selected in place of unstable ones.

    Of several the one that most such folds selected, then the most correlated one. `frequency` and
    `supports` are those of `frequencies` and `fold_supports`; `correlation` is by feature.
    """
    found = []
    for step, shares, of_folds in zip(path, frequency, supports, strict=True):
        selected = set(step.support.tolist())
        folds = [set(support.tolist()) for support in of_folds]
        unstable = [
            feature
            for feature, share in zip(step.order.tolist(), shares, strict=False)
            if is_unstable(share)
        ]
        others = (
            _substitute(each, selected, folds, correlation.get(each, {})) for each in unstable
        )
        found.append(tuple(each for each in others if each is not None))
    return found


def _substitute(
    feature: int, selected: set[int], folds: Sequence[set[int]], correlation: Mapping[int, float]
) -> Substitute | None:
    without = [fold for fold in folds if feature not in fold]
    found = [
        Substitute(feature, other, r, sum(other in fold for fold in without))
        for other, r in correlation.items()
        if other not in selected and abs(r) > MIN_CORRELATION
    ]
    found = [each for each in found if each.n_folds]
    return min(found, key=lambda s: (-s.n_folds, -abs(s.correlation), s.other), default=None)


def unstable_sentence(path: SelectionPath, index: int, evidence: StepEvidence | None) -> str:
    """Name the unstable features of a step and their substitutes; empty if there are none."""
    if evidence is None:
        return ""
    names, order = path.feature_names, path[index].order.tolist()
    pairs = zip(order, evidence.frequency, strict=False)
    unstable = [names[feature] for feature, share in pairs if is_unstable(share)]
    if not unstable:
        return ""
    verb = "is" if len(unstable) == 1 else "are"
    sentence = (
        f"{len(unstable)} of {len(order)} features {verb} unstable (selected in fewer than half of "
        f"the folds): {few(unstable, MAX_NAMES)}."
    )
    listed = [
        f"{substitute_words(path, each)} instead of {short(names[each.feature])}"
        for each in evidence.substitutes
    ]
    if not listed:
        return sentence
    more = f" and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else ""
    return f"{sentence} Correlated substitutes: {', '.join(listed[:MAX_NAMES])}{more}."


def substitute_words(path: SelectionPath, each: Substitute) -> str:
    """A substitute and its number of folds: 'born in 3 folds'."""
    folds = "1 fold" if each.n_folds == 1 else f"{each.n_folds} folds"
    return f"{short(path.feature_names[each.other])} in {folds}"

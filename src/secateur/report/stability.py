"""Stability of the selected features over folds, and substitutes of unstable ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from secateur.path import SelectionPath
from secateur.path.comparing import matched_steps
from secateur.report.evidence import StepEvidence, Substitute
from secateur.report.sentences import few, short
from secateur.typing import IntArray

MIN_FREQUENCY = 0.5
"""A feature selected in a smaller share of the folds is unstable."""

MIN_CORRELATION = 0.9
"""A substitute of an unstable feature is more strongly correlated with it than this."""

MAX_NAMES = 6


def is_unstable(frequency: float) -> bool:
    """Whether a feature that this share of the folds selected is unstable.

    >>> is_unstable(1 / 3), is_unstable(0.5)
    (True, False)
    """
    return frequency < MIN_FREQUENCY


def fold_supports(path: SelectionPath, fold_paths: Sequence[SelectionPath]) -> list[list[IntArray]]:
    """For each step, the features that each fold selected at the matching step.

    A fold whose path is empty selected none.
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
    """For each step, the share of the folds that selected each of its features.

    Aligned with ``step.order``; `supports` are those of `fold_supports`. Empty without folds.
    """
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

    Of several the one that most such folds selected, then the most correlated one.

    Parameters
    ----------
    path : SelectionPath
    frequency : sequence of sequence of float
        As from `frequencies`.
    supports : sequence of sequence of array of int
        As from `fold_supports`.
    correlation : mapping of int to mapping of int to float
        For a feature, the correlation with others.

    Examples
    --------
    >>> import numpy as np
    >>> from secateur.path import Step, StopReason
    >>> path = SelectionPath([Step.of([0])], StopReason.FINISHED, ["age", "size", "born"], "demo")
    >>> supports = [[np.array([0]), np.array([2]), np.array([1, 2])]]
    >>> substitutes(path, [(1 / 3,)], supports, {0: {2: -0.99}})
    [(Substitute(feature=0, other=2, correlation=-0.99, n_folds=2),)]
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
    """Name the unstable features of a step and their substitutes; empty if there are none.

    >>> from secateur.path import Step, StopReason
    >>> path = SelectionPath([Step.of([0, 1])], StopReason.FINISHED, ["age", "size"], "demo")
    >>> unstable_sentence(path, 0, StepEvidence(frequency=(1.0, 0.2)))
    '1 of 2 features is unstable (selected in fewer than half of the folds): size.'
    """
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

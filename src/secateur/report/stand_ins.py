"""Features that take the place of another where the rows change: alike, and chosen instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from secateur.path import SelectionPath
from secateur.report.doubts import is_doubtful
from secateur.report.evidence import StandIn
from secateur.typing import IntArray

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

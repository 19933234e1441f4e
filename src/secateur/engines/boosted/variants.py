"""Several ways to the same end, of which held-out rows choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secateur.engines.boosted.grid import AnyData
from secateur.engines.fold_losses import FoldLosses, first_near_best
from secateur.path.cutting import Best
from secateur.path.path import SelectionPath
from secateur.path.step import Step

ERRORS = 1.0
"""How many standard errors of their difference a way may be worse than the best."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """One of them: the rows as it sees them, and its penalties.

    ``judged`` is what the folds said of each penalty; None where there is no choice to make.
    """

    data: AnyData
    penalties: Sequence[float]
    judged: dict[float, Sequence[FoldLosses]] | None = None


def choose_way(ways: Sequence[Way], paths: Sequence[SelectionPath]) -> int:
    """Of the ways that were traced, the first that held-out rows do not find clearly worse.

    Each stands there with its best step.
    """
    if any(not way.judged for way in ways[: len(paths)]):
        return 0
    steps = [_best_step(path) for path in paths]
    judged = [(way.judged or {})[step.penalty] for way, step in zip(ways, steps, strict=False)]
    return first_near_best(judged, ERRORS)


def _best_step(path: SelectionPath) -> Step:
    """The one with the best score; the first where no score can be compared."""
    return path[Best().choose(path) if np.isfinite(path.utilities).any() else 0]

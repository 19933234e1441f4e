"""How often features are chosen when the rows change: one path against those of folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.path import SelectionPath
from secateur.path.matching import matched_steps
from secateur.typing import IntArray


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

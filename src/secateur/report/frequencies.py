"""How often features are chosen when the rows change: one path against those of folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secateur.path import SelectionPath
from secateur.path.matching import matched_steps


def frequencies(
    path: SelectionPath, fold_paths: Sequence[SelectionPath]
) -> list[tuple[float, ...]]:
    """For each step, in which share of the folds each of its features was in.

    Aligned with ``step.order``; counted at the steps that stand for it in the folds. Empty without
    folds.
    """
    folds = [fold for fold in fold_paths if len(fold)]
    matches = [matched_steps(path, fold) for fold in folds]
    found = []
    for index, step in enumerate(path):
        hits = np.zeros(step.n_features, dtype=np.int64)
        for fold, match in zip(folds, matches, strict=True):
            hits += np.isin(step.order, fold[match[index]].support)
        # A fold that ended before its first step chose nothing, and counts.
        found.append(tuple((hits / len(fold_paths)).tolist()) if fold_paths else ())
    return found

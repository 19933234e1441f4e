"""How often features are chosen when the rows change: one path against those of folds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from secateur.path import SelectionPath, Step
from secateur.typing import FloatArray, IntArray


def like_step(path: SelectionPath, step: Step) -> Step | None:
    """Return the step of `path` that is most like `step`: its control, or else its size.

    A step with the same control is the same question asked of other rows. Where there is none,
    it is the largest step that is not larger; None if all are.
    """
    same = [each for each in path if _same_control(each.control, step.control)]
    if same:
        return min(same, key=lambda each: abs(each.n_features - step.n_features))
    fitting = [each for each in path if each.n_features <= step.n_features]
    return max(fitting, key=lambda each: each.n_features, default=None)


def frequency(step: Step, fold_paths: Sequence[SelectionPath]) -> FloatArray:
    """Return in which share of the folds each feature was in, aligned with ``step.order``."""
    hits: IntArray = np.zeros(step.n_features, dtype=np.int64)
    for path in fold_paths:
        like = like_step(path, step)
        if like is not None:
            hits += np.isin(step.order, like.support)
    return hits / max(len(fold_paths), 1)


def _same_control(one: float, other: float) -> bool:
    return math.isfinite(one) and math.isclose(one, other, rel_tol=1e-9)

"""Which of some steps is the better one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.exceptions import ParameterError
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath


def require_steps(path: SelectionPath) -> None:
    """Raise if there is no step to choose from."""
    if len(path) == 0:
        raise ParameterError(
            "A path without steps cannot be cut. "
            f"Got a path that ended before its first step ({path.stop_reason}). "
            "Loosen the limits of the run, or lower its penalty."
        )


def usable(path: SelectionPath) -> IntArray:
    """Return the steps whose score is finite; NaN is never chosen."""
    return np.flatnonzero(np.isfinite(path.utilities)).astype(np.int64)


def best_among(path: SelectionPath, indices: IntArray) -> int:
    """Return the step of the best finite score.

    Ties go to fewer features, then to the lower cost, then to the earlier step.
    """
    scored = indices[np.isfinite(path.utilities[indices])]
    if scored.size == 0:
        raise ParameterError(
            "Only a step with a finite score can be chosen. "
            f"Got none among the {indices.size} steps that qualify. "
            "Look at path.scores for NaN, or score the path again."
        )
    keys = (_payable(path.costs), path.n_features, -path.utilities)
    return _first(scored, *keys)


def smallest_among(path: SelectionPath, indices: IntArray) -> int:
    """Return the step with the fewest features; ties: lower cost, better score, earlier."""
    return _first(indices, -path.utilities, _payable(path.costs), path.n_features)


def last_largest(size: FloatArray | IntArray, indices: IntArray) -> int:
    """Return the latest of the steps of largest `size`."""
    return int(indices[np.flatnonzero(size[indices] == size[indices].max())[-1]])


def _first(indices: IntArray, *keys: FloatArray | IntArray) -> int:
    # lexsort sorts by its last key first, and is stable: what is left of a tie goes to the earlier.
    return int(indices[np.lexsort([key[indices] for key in keys])[0]])


def _payable(costs: FloatArray) -> FloatArray:
    return np.where(np.isnan(costs), np.inf, costs)

"""Which steps of a path qualify, which is best, and which match those of another path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from secateur.exceptions import ParameterError
from secateur.path.step import Step, count_of
from secateur.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from secateur.path.path import SelectionPath

ROW_LIMIT = "row_limit"  # of a step's details: the most features that few rows support
P_VALUE = "p_value"  # of a step's details: of columns that are as close to permuted targets
LEVEL = 0.02  # the largest p-value that shows that columns are not noise
_CHANCE = 2.0  # standard errors that the best must gain over no features
_CHANCE_OF_FEW = 3.5  # the same for few rows, whose best of many steps is often chance


def require_steps(path: SelectionPath) -> None:
    """Raise if there is no step to choose from."""
    if len(path) == 0:
        raise ParameterError(
            "A path without steps cannot be cut. Got a path that ended before its first step "
            f"({path.stop_reason}). Loosen the limits of the run, or raise its penalty."
        )


def usable(path: SelectionPath) -> IntArray:
    """Return the steps whose score is finite; NaN is never chosen."""
    return np.flatnonzero(np.isfinite(path.utilities)).astype(np.int64)


def best_among(path: SelectionPath, indices: IntArray) -> int:
    """Return the step of the best finite score; ties: fewer features, lower cost, earlier."""
    scored = indices[np.isfinite(path.utilities[indices])]
    if scored.size == 0:
        raise ParameterError(
            "Only a step with a finite score can be chosen. Got none among the "
            f"{count_of(indices.size, 'step')} that qualify. Look at path.scores for NaN."
        )
    return _first(scored, path.costs, path.n_features, -path.utilities)


def smallest_among(path: SelectionPath, indices: IntArray) -> int:
    """Return the step with the fewest features; ties: lower cost, better score, earlier."""
    return _first(indices, -path.utilities, path.costs, path.n_features)


def _first(indices: IntArray, *keys: FloatArray | IntArray) -> int:
    # lexsort sorts by its last key first, NaN last, and is stable: a tie goes to the earlier.
    return int(indices[np.lexsort([key[indices] for key in keys])[0]])


def envelope(path: SelectionPath) -> IntArray:
    """Return the steps that no step with as many or fewer features equals, smallest first."""
    scored = usable(path)
    scored = scored[np.lexsort([scored, -path.utilities[scored], path.n_features[scored]])]
    utility = path.utilities[scored]
    before = np.maximum.accumulate(np.concatenate([[-np.inf], utility[:-1]]))
    return scored[utility > before]


def matched_steps(path: SelectionPath, other: SelectionPath) -> tuple[int, ...]:
    """For each step of `path` the index of the matching step of `other`.

    Where both paths have the same penalties, each once, steps of equal penalty match. Otherwise
    steps match by the nearest number of features, and steps of one size by their order.
    """
    if len(path) == 0:
        return ()
    require_steps(other)
    place = {step.penalty: index for index, step in enumerate(other)}
    penalties = {step.penalty for step in path}
    is_grid = len(penalties) == len(path) and len(place) == len(other)
    if is_grid and np.isfinite(list(penalties)).all() and penalties <= set(place):
        return tuple(place[step.penalty] for step in path)
    matches = []
    for index, size in enumerate(path.n_features.tolist()):
        equals, theirs = np.flatnonzero(path.n_features == size), _steps_of_size(other, size)
        if len(equals) == 1:
            matches.append(better_of(other, theirs))
        else:  # the second of three steps of one size matches the middle one of the other path
            share = int(np.searchsorted(equals, index)) / (len(equals) - 1)
            matches.append(int(theirs[round(share * (len(theirs) - 1))]))
    return tuple(matches)


def step_of_size(path: SelectionPath, size: int) -> int:
    """The best step whose number of features is nearest to `size`."""
    require_steps(path)
    return better_of(path, _steps_of_size(path, size))


def _steps_of_size(path: SelectionPath, size: int) -> IntArray:
    """The steps whose number of features is nearest to `size`; of two as near the smaller one."""
    sizes = path.n_features
    distance = np.abs(sizes - size)
    wanted = sizes[distance == distance.min()].min()
    return np.flatnonzero(sizes == wanted).astype(np.int64)


def better_of(path: SelectionPath, indices: IntArray) -> int:
    """The best of some steps by the scores of the path, the last where they have none."""
    if np.isfinite(path.utilities[indices]).any():
        return best_among(path, indices)
    return int(indices[-1])


def is_chance(best: Step) -> bool:
    """Whether the best step has no features, or is known to gain too little over none.

    A small gain is no chance where permutations of the target show that columns are not noise.
    """
    gain = float(best.details.get("gain_over_none", math.nan))
    is_shown = best.details.get(P_VALUE, 1.0) <= LEVEL
    has_small_gain = is_small(gain, has_few_rows=ROW_LIMIT in best.details) and not is_shown
    return not best.n_features or has_small_gain


def is_small(gain: float, *, has_few_rows: bool = False) -> bool:
    """Whether a gain over no features, in standard errors, may be chance."""
    return gain <= (_CHANCE_OF_FEW if has_few_rows else _CHANCE)

"""Which steps of two paths match."""

from __future__ import annotations

import numpy as np

from secateur.path.cutting import best_among, require_steps
from secateur.path.path import SelectionPath
from secateur.typing import IntArray


def matched_steps(path: SelectionPath, other: SelectionPath) -> tuple[int, ...]:
    """For each step of `path` the index of the matching step of `other`.

    Where both paths have been along the same penalties, each once, steps of equal penalty match.
    Otherwise steps match by the nearest number of features; steps of one size match by their place
    among each other.
    """
    if len(path) == 0:
        return ()
    require_steps(other)
    place = {step.penalty: index for index, step in enumerate(other)}
    penalties = {step.penalty for step in path}
    is_grid = len(penalties) == len(path) and len(place) == len(other)
    if is_grid and np.isfinite(list(penalties)).all() and penalties <= set(place):
        return tuple(place[step.penalty] for step in path)
    return tuple(_by_size(path, index, other) for index in range(len(path)))


def _by_size(path: SelectionPath, index: int, other: SelectionPath) -> int:
    """The second of three steps of one size matches the middle one of the other path."""
    size = path[index].n_features
    equals = np.flatnonzero(path.n_features == size)
    if len(equals) == 1:
        return step_of_size(other, size)
    theirs = _steps_of_size(other, size)
    share = int(np.searchsorted(equals, index)) / (len(equals) - 1)
    return int(theirs[round(share * (len(theirs) - 1))])


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

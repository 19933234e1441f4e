"""Which step of one path stands for a step of another, traced on other rows."""

from __future__ import annotations

import numpy as np

from secateur.path.path import SelectionPath
from secateur.path.ranking import best_among, require_steps
from secateur.typing import IntArray


def matched_steps(path: SelectionPath, other: SelectionPath) -> tuple[int, ...]:
    """For each step of `path` the index of the step of `other` that stands for it.

    Where every step of `path` has a control of its own and `other` has been through the same, as
    along a grid of penalties that was given, steps of equal control match. Otherwise, and where the
    grid was made from the rows, steps match by their number of features, the nearest there is;
    steps of one size match by their place among each other.

    Examples
    --------
    >>> from secateur.path import Step, StopReason
    >>> path, other = (
    ...     SelectionPath([Step.of(range(n)) for n in sizes], StopReason.FINISHED, "abcdef", "demo")
    ...     for sizes in ([1, 2, 5], [1, 3, 4])
    ... )
    >>> matched_steps(path, other)
    (0, 0, 2)
    """
    if len(path) == 0:
        return ()
    require_steps(other)
    if _have_same_controls(path, other):
        place = {step.control: index for index, step in enumerate(other)}
        return tuple(place[step.control] for step in path)
    return tuple(_by_size(path, index, other) for index in range(len(path)))


def _by_size(path: SelectionPath, index: int, other: SelectionPath) -> int:
    """A step that is the second of three of its size stands half way among those of the other."""
    size = path[index].n_features
    equals = np.flatnonzero(path.n_features == size)
    if len(equals) == 1:
        return step_of_size(other, size)
    theirs = steps_of_size(other, size)
    share = int(np.searchsorted(equals, index)) / (len(equals) - 1)
    return int(theirs[round(share * (len(theirs) - 1))])


def step_of_size(path: SelectionPath, size: int) -> int:
    """The best of `steps_of_size` by the scores of the path, the last where it has none."""
    return better_of(path, steps_of_size(path, size))


def steps_of_size(path: SelectionPath, size: int) -> IntArray:
    """The steps whose number of features is nearest to `size`; of two as near the smaller one."""
    require_steps(path)
    sizes = path.n_features
    distance = np.abs(sizes - size)
    wanted = sizes[distance == distance.min()].min()
    return np.flatnonzero(sizes == wanted).astype(np.int64)


def better_of(path: SelectionPath, indices: IntArray) -> int:
    """The best of some steps by the scores of the path, the last where they have none."""
    if np.isfinite(path.utilities[indices]).any():
        return best_among(path, indices)
    return int(indices[-1])


def _have_same_controls(path: SelectionPath, other: SelectionPath) -> bool:
    controls = [step.control for step in path]
    others = [step.control for step in other]
    is_grid = len(set(controls)) == len(controls) and len(set(others)) == len(others)
    return is_grid and bool(np.isfinite(controls).all()) and set(controls) <= set(others)

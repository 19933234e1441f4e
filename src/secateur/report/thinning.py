"""What a page shows of a very long or very wide path; it says how much it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from secateur.path import SelectionPath, Step
from secateur.typing import FloatArray, IntArray

MOST_STEPS = 300
MOST_CELLS = 20_000
MOST_LISTED = 500
MOST_ROWS = 800
FEWEST_ROWS = 50
"""Of one of several paths, however many share the page."""


def kept_steps(path: SelectionPath, needed: set[int], n_entries: int) -> list[int]:
    """The steps that can be chosen: all, or every second, third ... and those needed.

    Fewer features come first, whichever way the algorithm went.
    """
    sizes = np.minimum(path.n_features, MOST_LISTED)
    for stride in range(1, len(path) + 1):
        kept = {*range(0, len(path), stride), len(path) - 1, *needed}
        n_cells = int(sizes[sorted(kept)].sum())
        if len(kept) <= MOST_STEPS and n_cells <= MOST_CELLS // n_entries:
            return sorted(kept, key=_by_size(path))
    return sorted({len(path) - 1, *needed}, key=_by_size(path))


def _by_size(path: SelectionPath) -> Callable[[int], tuple[int, int]]:
    return lambda index: (path[index].n_features, index)


def listed_places(step: Step) -> IntArray:
    """Positions in ``step.order`` of the features told of: all, or those that weigh most."""
    if step.n_features <= MOST_LISTED:
        return np.arange(step.n_features)
    heaviest = np.argsort(-weight_in_order(step), kind="stable")[:MOST_LISTED]
    return np.sort(heaviest)


def weight_in_order(step: Step) -> FloatArray:
    """How much each feature weighs, aligned with ``step.order``."""
    weight: FloatArray = np.abs(step.weight[np.searchsorted(step.support, step.order)])
    return weight


def shown_features(
    path: SelectionPath, listed: Mapping[int, IntArray], cut: int, n_entries: int
) -> dict[int, int]:
    """The features of the table and their rows: those of the cut, then the others by entry."""
    order = [path[index].order[listed[index]] for index in (cut, *listed)]
    features = np.concatenate(order)
    _, first = np.unique(features, return_index=True)
    shown = features[np.sort(first)][: max(MOST_ROWS // n_entries, FEWEST_ROWS)]
    return {feature: row for row, feature in enumerate(shown.tolist())}

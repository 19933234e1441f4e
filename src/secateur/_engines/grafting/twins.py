"""Columns that are copies of each other: one of them says it all."""

from __future__ import annotations

import numpy as np

from secateur._engines.grafting.view import View
from secateur.typing import FloatArray, IntArray


def without_twins(
    view: View, gradient: FloatArray, alpha: FloatArray, old: IntArray, new: IntArray
) -> IntArray:
    """Leave out new features that are copies (or mirror images) of others before them.

    With equal columns the optimum is not unique: any share of the weight will do. All of it goes
    to the first, so that copies do not enter. Copies have the same gradient, digit by digit;
    only columns with equal gradients are compared. A copy that is cheaper stays.
    """
    everyone = np.concatenate([old, new])
    size = np.abs(gradient[everyone])
    order = np.argsort(size, kind="stable")
    equal = np.flatnonzero(np.diff(size[order]) == 0.0)
    if len(equal) == 0:
        return new
    suspects = np.unique(np.concatenate([order[equal], order[equal + 1]]))
    is_twin = np.zeros(len(everyone), np.bool_)
    for position in suspects[suspects >= len(old)]:
        rivals = suspects[(suspects < position) & (size[suspects] == size[position])]
        rivals = rivals[~is_twin[rivals]]
        rivals = rivals[alpha[everyone[rivals]] <= alpha[everyone[position]]]
        is_twin[position] = any(_are_equal(view, everyone[position], everyone[r]) for r in rivals)
    return new[~is_twin[len(old) :]]


def _are_equal(view: View, a: int, b: int) -> bool:
    if view.is_whole:
        known = view.columns.are_alike(a, b)
        if known is not None:
            return known
    one, other = view.gather(np.array([a, b], np.int64))
    return bool(np.array_equal(one, other) or np.array_equal(one, -other))

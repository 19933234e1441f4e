"""ReliefF and RReliefF: columns that tell a row from its nearest rows of other targets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from secateur.model_selection.columns import Columns, descending
from secateur.typing import AnyArray, BoolArray, FloatArray, IntArray

N_NEIGHBOURS = 10
MAX_PROBES = 2_000  # rows whose neighbours are looked at; of more they are drawn at random
BLOCK = 256  # rows whose distances are computed at a time


def relieff(columns: Columns) -> tuple[IntArray, int]:
    """ReliefF (Kononenko, 1994) of classes, RReliefF (Robnik-Sikonja and Kononenko) of numbers.

    Its own choice are the columns whose score is above the mean of all.
    """
    values = columns.values.toarray() if sp.issparse(columns.values) else columns.values
    probes = np.sort(np.random.default_rng(columns.seed).permutation(len(values))[:MAX_PROBES])
    score = relief_of_classes if columns.is_classes else relief_of_numbers
    scores = score(values, columns.y, columns.is_category, probes)
    return descending(scores), max(1, int((scores > scores.mean()).sum()))


def relief_of_classes(
    values: FloatArray, y: AnyArray, is_category: BoolArray, probes: IntArray
) -> FloatArray:
    """Mean difference to the nearest rows of other classes, weighted by these, less one's own."""
    codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
    scaled = _shares_of_range(values, is_category)
    scores = np.zeros(values.shape[1])
    for row, apart in _distances(scaled, is_category, probes):
        own = codes[row]
        for other, count in enumerate(counts):
            near = np.flatnonzero(codes == other)
            near = near[near != row]
            near = near[np.argsort(apart[near], kind="stable")[:N_NEIGHBOURS]]
            if len(near):
                mean = _differences(scaled, is_category, row, near).mean(axis=0)
                scores += -mean if other == own else mean * count / (len(y) - counts[own])
    return scores / len(probes)


def relief_of_numbers(
    values: FloatArray, y: AnyArray, is_category: BoolArray, probes: IntArray
) -> FloatArray:
    """How much more often columns differ between neighbours of other targets than of like ones."""
    scaled = _shares_of_range(values, is_category)
    target = np.asarray(y, np.float64) / (np.ptp(y) or 1.0)
    n_target, n_column, n_both = 0.0, np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for row, apart in _distances(scaled, is_category, probes):
        order = np.argsort(apart, kind="stable")
        near = order[order != row][:N_NEIGHBOURS]
        by_target = np.abs(target[near] - target[row]) / len(near)
        by_column = _differences(scaled, is_category, row, near)
        n_target += by_target.sum()
        n_column += by_column.mean(axis=0)
        n_both += by_target @ by_column
    rest = max(len(probes) - n_target, 1e-12)
    return n_both / max(n_target, 1e-12) - (n_column - n_both) / rest


def _shares_of_range(values: FloatArray, is_category: BoolArray) -> FloatArray:
    scale = np.ptp(values, axis=0)
    return values / np.where(is_category | (scale == 0.0), 1.0, scale)


def _distances(
    scaled: FloatArray, is_category: BoolArray, probes: IntArray
) -> Iterator[tuple[int, FloatArray]]:
    """Each probe with its distances to all rows: sums of differences over the columns."""
    numbers, codes = scaled[:, ~is_category], scaled[:, is_category]
    for start in range(0, len(probes), BLOCK):
        block = probes[start : start + BLOCK]
        apart = cdist(numbers[block], numbers, "cityblock")
        if codes.shape[1]:
            apart += codes.shape[1] * cdist(codes[block], codes, "hamming")
        yield from zip(block.tolist(), apart, strict=True)


def _differences(
    scaled: FloatArray, is_category: BoolArray, row: int, near: IntArray
) -> FloatArray:
    apart = np.abs(scaled[near] - scaled[row])
    apart[:, is_category] = apart[:, is_category] > 0.0
    return apart

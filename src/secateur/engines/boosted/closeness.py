"""How close single columns are to a target, compared with random permutations of it."""

from __future__ import annotations

import numpy as np

from secateur._kernels.records import MISSING
from secateur.typing import CodeArray, FloatArray

N_PERMUTATIONS = 399
N_CLOSEST = 20  # columns whose mean closeness counts, beside that of the closest
N_AT_ONCE = 1024  # columns
ROUNDING = 1e-9
FLAT = 1e-12  # a smaller share of the mean square is rounding
SMALL = 1e-300  # instead of a division by zero


def standardised(codes: CodeArray, share: FloatArray) -> FloatArray:
    """Bin codes by column and row, with mean 0 and sum of squares 1; missing ones are the mean.

    ``share`` are the weights of the rows, with the sum one.
    """
    values, is_known = codes.astype(np.float64), codes != MISSING
    mean = (values * is_known) @ share / np.maximum(is_known @ share, SMALL)
    return unit_rows(np.where(is_known, values, mean[:, None]), share)


def unit_rows(values: FloatArray, share: FloatArray) -> FloatArray:
    """Rows with mean 0 and sum of squares 1, weighted; constant ones are 0."""
    centred = values - (values @ share)[:, None]
    square = (centred * centred) @ share
    scale = np.where(square > FLAT * ((values * values) @ share), square, np.inf)
    found: FloatArray = centred * np.sqrt(share / scale[:, None])
    return found


def closeness(codes: CodeArray, gradient: FloatArray, weight: FloatArray) -> FloatArray:
    """How close each column is to the target: its largest sum of squared correlations.

    The bin codes, and the squares of their distances from the mean, are correlated with the
    gradients of all outputs. ``codes`` are by column and row.
    """
    share = weight / weight.sum()
    target, values = unit_rows(gradient, share), standardised(codes, share)
    squares = unit_rows(np.square(values / np.sqrt(share)), share)
    found: FloatArray = np.maximum(
        np.square(values @ target.T).sum(axis=1), np.square(squares @ target.T).sum(axis=1)
    )
    return found


def p_value(codes: CodeArray, gradient: FloatArray, weight: FloatArray, seed: int) -> float:
    """How often columns are as close to a permutation of the target: exact if rows are independent.

    Two statistics are compared, the closeness of the closest column and the mean of the closest
    20; the smaller of their p-values counts, compared with that of each permutation. The closest
    of many columns decides over few rows where a model on held-out rows gains too little.
    """
    share = weight / weight.sum()
    rng = np.random.default_rng(seed)
    orders = [np.arange(len(share)), *map(rng.permutation, [len(share)] * N_PERMUTATIONS)]
    targets = np.concatenate([unit_rows(gradient[:, order], share) for order in orders])
    closest = np.zeros((N_CLOSEST, len(orders)))  # of the columns so far
    for first in range(0, len(codes), N_AT_ONCE):
        values = standardised(codes[first : first + N_AT_ONCE], share)
        squares = unit_rows(np.square(values / np.sqrt(share)), share)
        found = np.maximum(*(_closeness(each, targets, len(orders)) for each in (values, squares)))
        found = np.concatenate([closest, found])
        closest = np.partition(found, -N_CLOSEST, axis=0)[-N_CLOSEST:]
    least = np.minimum(
        _shares_as_large(closest.max(axis=0)), _shares_as_large(closest.mean(axis=0))
    )
    return float(np.mean(least <= least[0]))


def _closeness(values: FloatArray, targets: FloatArray, n_orders: int) -> FloatArray:
    """The sums of squared correlations over the outputs, by column and permutation."""
    squares = np.square(values @ targets.T)
    found: FloatArray = squares.reshape(len(values), n_orders, -1).sum(axis=2)
    return found


def _shares_as_large(statistic: FloatArray) -> FloatArray:
    """For each permutation, the share of all whose statistic is at least as large."""
    ordered = np.sort(statistic)
    n_less = np.searchsorted(ordered, statistic - ROUNDING * np.abs(statistic))
    found: FloatArray = 1.0 - n_less / len(statistic)
    return found

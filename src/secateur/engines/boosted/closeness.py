"""How close single columns are to a target, compared with random permutations of it."""

from __future__ import annotations

import numpy as np

from secateur._kernels.records import MISSING
from secateur.typing import CodeArray, FloatArray, IntArray

N_PERMUTATIONS = 199
N_CLOSEST = 20  # columns whose mean closeness counts, beside that of the closest
N_PREDICTING = 50  # columns that predict held-out rows
N_FOLDS = 5
N_AT_ONCE = 512  # columns
ROUNDING = 1e-9
FLAT = 1e-12  # a smaller share of the mean square is rounding
SMALL = 1e-300  # instead of a division by zero


def standardised(codes: CodeArray, share: FloatArray) -> FloatArray:
    """Bin codes by column and row, with mean 0 and sum of squares 1; missing ones are the mean.

    ``share`` are the weights of the rows, with the sum one.
    """
    return unit_rows(_filled(codes, share), share)


def _filled(codes: CodeArray, share: FloatArray) -> FloatArray:
    """Bin codes as numbers, missing ones as the mean of the others."""
    values, is_known = codes.astype(np.float64), codes != MISSING
    mean = (values * is_known) @ share / np.maximum(is_known @ share, SMALL)
    filled: FloatArray = np.where(is_known, values, mean[:, None])
    return filled


def unit_rows(values: FloatArray, share: FloatArray) -> FloatArray:
    """Rows with mean 0 and sum of squares 1, weighted; constant ones are 0."""
    return _scaled(values, share) * np.sqrt(share)


def _scaled(values: FloatArray, share: FloatArray) -> FloatArray:
    """Rows with weighted mean 0 and variance 1; constant ones are 0."""
    centred = values - (values @ share)[:, None]
    square = (centred * centred) @ share
    variance = np.where(square > FLAT * ((values * values) @ share), square, np.inf)
    found: FloatArray = centred / np.sqrt(variance)[:, None]
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
    """How often columns fit a permutation of the target as well: exact if rows are independent.

    Three statistics are compared: the closeness of the closest column, the mean of the closest 20,
    and how well the closest 50 of training rows predict held-out rows. The smallest of their
    p-values counts, compared with that of each permutation.
    """
    rng, n_rows = np.random.default_rng(seed), len(weight)
    orders = [np.arange(n_rows), *map(rng.permutation, [n_rows] * N_PERMUTATIONS)]
    targets = gradient[:, np.array(orders)].swapaxes(0, 1)  # by permutation, output and row
    fold_of = rng.permutation(n_rows) % N_FOLDS
    statistics = [*_closest(codes, targets, weight), _held_out(codes, targets, weight, fold_of)]
    least = np.min([_shares_as_large(each) for each in statistics], axis=0)
    return float(np.mean(least <= least[0]))


def _closest(codes: CodeArray, targets: FloatArray, weight: FloatArray) -> list[FloatArray]:
    """For each target the closeness of the closest column, and the mean of the closest 20."""
    share = weight / weight.sum()
    units = _units(targets, share)
    closest = np.zeros((N_CLOSEST, len(targets)))  # of the columns so far
    for first in range(0, len(codes), N_AT_ONCE):
        values = standardised(codes[first : first + N_AT_ONCE], share)
        squares = unit_rows(np.square(values / np.sqrt(share)), share)
        of_both = [np.square(_correlations(each, units)).sum(axis=2) for each in (values, squares)]
        found = np.concatenate([closest, np.maximum(*of_both)])
        closest = np.partition(found, -N_CLOSEST, axis=0)[-N_CLOSEST:]
    return [closest.max(axis=0), closest.mean(axis=0)]


def _held_out(
    codes: CodeArray, targets: FloatArray, weight: FloatArray, fold_of: IntArray
) -> FloatArray:
    """For each target the correlation with sums of columns that are closest to it in other rows."""
    predicted = np.zeros(targets.shape)
    for fold in range(N_FOLDS):
        is_test = fold_of == fold
        share = np.where(is_test, 0.0, weight)
        share /= share.sum()
        places, slopes = _closest_columns(codes, _units(targets, share), share)
        for target, some in enumerate(places.T):
            values = _scaled(_filled(codes[some], share), share)[:, is_test]
            predicted[target][:, is_test] = slopes[:, target].T @ values
    predicted *= np.sqrt(weight)
    own = _units(targets, weight / weight.sum())
    scale = np.sqrt(np.square(predicted).sum(axis=(1, 2)))
    found: FloatArray = (own * predicted).sum(axis=(1, 2)) / np.maximum(scale, SMALL)
    return found


def _closest_columns(
    codes: CodeArray, units: FloatArray, share: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The columns closest to each target, and their correlations with its outputs."""
    places = np.empty((0, len(units)), np.int64)
    slopes = np.empty((0, *units.shape[:2]))
    for first in range(0, len(codes), N_AT_ONCE):
        found = _correlations(standardised(codes[first : first + N_AT_ONCE], share), units)
        new = np.repeat(np.arange(first, first + len(found))[:, None], len(units), axis=1)
        slopes, places = np.concatenate([slopes, found]), np.concatenate([places, new])
        far = -np.square(slopes).sum(axis=2)
        best = np.argsort(far, axis=0, kind="stable")[:N_PREDICTING]
        places = np.take_along_axis(places, best, axis=0)
        slopes = np.take_along_axis(slopes, best[:, :, None], axis=0)
    return places, slopes


def _units(targets: FloatArray, share: FloatArray) -> FloatArray:
    """Targets whose outputs have mean 0 and sum of squares 1."""
    return unit_rows(targets.reshape(-1, len(share)), share).reshape(targets.shape)


def _correlations(values: FloatArray, units: FloatArray) -> FloatArray:
    """By column, target and output."""
    found: FloatArray = values @ units.reshape(-1, values.shape[1]).T
    return found.reshape(len(values), *units.shape[:2])


def _shares_as_large(statistic: FloatArray) -> FloatArray:
    """For each permutation, the share of all whose statistic is at least as large."""
    ordered = np.sort(statistic)
    n_less = np.searchsorted(ordered, statistic - ROUNDING * np.abs(statistic))
    found: FloatArray = 1.0 - n_less / len(statistic)
    return found

"""Losses of validation rows: mean over folds, paired differences, shrunken predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from secateur.path.step import Origin, Score
from secateur.typing import FloatArray


class FoldLosses:
    """The losses of the validation rows of one fold, with the sums that a pooled score needs.

    With ``counts`` a weight of 2 stands for two rows rather than for one row that counts twice.

    >>> FoldLosses(np.array([1.0, 3.0]), np.ones(2)).mean
    2.0
    """

    __slots__ = ("losses", "mean", "moments", "squared_weights", "weight", "weights")

    def __init__(self, losses: FloatArray, weight: FloatArray, *, counts: bool = False) -> None:
        self.losses, self.weights = losses, weight
        self.weight = float(weight.sum())
        self.mean = float(weight @ losses) / self.weight
        # For the sum of w^2 (loss - m)^2 at a mean m that is known only later; w of counted rows.
        squared = self.squared_weights = weight if counts else weight * weight
        self.moments = np.array([squared @ (losses * losses), squared @ losses, squared.sum()])

    @classmethod
    def joined(cls, parts: Sequence[FoldLosses], units: Sequence[float]) -> FoldLosses:
        """The losses of all parts, those of each part divided by its unit.

        >>> parts = [FoldLosses(np.array([loss]), np.ones(1)) for loss in (1.0, 6.0)]
        >>> FoldLosses.joined(parts, [1.0, 2.0]).mean
        2.0
        """
        whole = cls.__new__(cls)
        whole.weight = sum(part.weight for part in parts)
        pairs = list(zip(parts, units, strict=True))
        whole.mean = sum(part.mean / unit * part.weight for part, unit in pairs) / whole.weight
        scaled = [part.moments / np.array([unit * unit, unit, 1.0]) for part, unit in pairs]
        whole.moments = np.sum(scaled, axis=0)
        whole.losses = np.concatenate([part.losses / unit for part, unit in pairs])
        whole.weights = np.concatenate([part.weights for part in parts])
        whole.squared_weights = np.concatenate([part.squared_weights for part in parts])
        return whole


def pool(folds: Sequence[FoldLosses], *, origin: Origin, metric: str) -> Score:
    """The mean loss over all folds, with its standard error over rows.

    Over rows, not over folds: folds are few, and share their training rows.
    """
    total = sum(fold.weight for fold in folds)
    mean = sum(fold.mean * fold.weight for fold in folds) / total
    squares, firsts, weights = np.sum([fold.moments for fold in folds], axis=0)
    variance = max(0.0, squares - 2.0 * mean * firsts + mean * mean * weights)
    means = tuple(fold.mean for fold in folds)
    return Score(mean, math.sqrt(variance) / total, means, origin, metric)


def difference(folds: Sequence[FoldLosses], others: Sequence[FoldLosses]) -> tuple[float, float]:
    """The mean paired difference of two models' losses on the same rows, and its standard error.

    >>> one = FoldLosses(np.array([1.0, 5.0, 9.0]), np.ones(3))
    >>> other = FoldLosses(np.array([0.0, 4.0, 8.5]), np.ones(3))
    >>> mean, standard_error = difference([one], [other])
    >>> round(mean, 4), round(standard_error, 4)
    (0.8333, 0.1361)
    """
    pairs = list(zip(folds, others, strict=True))
    total = sum(one.weight for one in folds)
    mean = sum((one.mean - other.mean) * one.weight for one, other in pairs) / total
    variance = sum(
        float(one.squared_weights @ (one.losses - other.losses - mean) ** 2) for one, other in pairs
    )
    return mean, math.sqrt(variance) / total


def first_near_best(models: Sequence[Sequence[FoldLosses]], multiple: float = 1.0) -> int:
    """The first model that is not clearly worse than the best one on the same rows.

    Clearly worse: its loss exceeds the best one's by more than ``multiple`` standard errors of
    their paired difference.
    """
    means = [pool(each, origin="held_out", metric="loss").mean for each in models]
    usable = [number for number, mean in enumerate(means) if math.isfinite(mean)]
    if not usable:
        return 0
    best = min(usable, key=lambda number: means[number])

    def is_near(number: int) -> bool:
        worse, standard_error = difference(models[number], models[best])
        return number == best or worse <= multiple * standard_error

    return next(number for number in usable if is_near(number))


# Factors on a model's predictions that are tried, from 0, the constant, to 1, no shrinkage.
SHRINKAGES: FloatArray = np.concatenate([[0.0], 2.0 ** (np.arange(-10, 1) / 2.0)])


def shrunken_losses(
    by_shrinkage: Sequence[FloatArray], weights: Sequence[FloatArray]
) -> list[FloatArray]:
    """The loss of each row of each fold, predictions shrunk as the other validation rows suggest.

    A model of columns that were chosen on its own training rows is overconfident. The factor for a
    row is the one with the least loss on all other rows of all folds, so no row takes part in the
    choice of its own factor. ``by_shrinkage`` has for each fold the losses of shape (n_factors,
    n_rows), from the smallest factor to 1.

    A model that is always certain, and wrong for two rows in ten, is worse than the constant;
    shrunk to an eighth it is better.

    >>> margin = np.repeat([8.0, -8.0], [8, 2])
    >>> by_shrinkage = np.logaddexp(0.0, -np.outer([0.0, 0.125, 1.0], margin))
    >>> by_shrinkage.mean(axis=1).round(3)
    array([0.693, 0.513, 1.6  ])
    >>> (losses,) = shrunken_losses([by_shrinkage], [np.ones(10)])
    >>> round(float(losses.mean()), 3)
    0.513
    """
    table, weight = np.concatenate(by_shrinkage, axis=1), np.concatenate(weights)
    weighted = table * weight
    factor = np.argmin(weighted.sum(axis=1, keepdims=True) - weighted, axis=0)
    losses = table[factor, np.arange(table.shape[1])]
    return np.split(losses, np.cumsum([each.shape[1] for each in by_shrinkage])[:-1])

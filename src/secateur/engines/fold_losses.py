"""The losses of validation rows in each fold: their mean, paired differences, gain over none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from secateur.path.cutting import DIFFERENCE_ERROR, Best
from secateur.path.path import SelectionPath
from secateur.path.step import Origin, Score
from secateur.typing import FloatArray, IntArray

MODEL_SHARE = 0.25  # of a model in the mean of its probabilities and those of a constant


class FoldLosses:
    """The losses of the validation rows of one fold, with the sums that a pooled score needs.

    With ``counts`` a weight of 2 stands for two rows rather than for one row that counts twice.

    >>> FoldLosses(np.array([1.0, 3.0]), np.ones(2)).mean
    2.0
    """

    def __init__(self, losses: FloatArray, weight: FloatArray, *, counts: bool = False) -> None:
        self.losses, self.weights, self._counts = losses, weight, counts
        self.weight = float(weight.sum())
        self.mean = float(weight @ losses) / self.weight

    @cached_property
    def squared_weights(self) -> FloatArray:
        """The squares of the weights; of rows that are counted, the weights."""
        return self.weights if self._counts else self.weights * self.weights

    @cached_property
    def moments(self) -> FloatArray:
        """For the sum of w^2 (loss - m)^2 at a mean m that is known only later."""
        squared, losses = self.squared_weights, self.losses
        return np.array([squared @ (losses * losses), squared @ losses, squared.sum()])

    def take(self, places: IntArray, unit: FloatArray) -> FoldLosses:
        """Some of the losses, each divided by its unit."""
        return FoldLosses(self.losses[places] / unit, self.weights[places], counts=self._counts)

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


def mean_of(folds: Sequence[FoldLosses]) -> float:
    """The mean loss over all folds."""
    return sum(fold.mean * fold.weight for fold in folds) / sum(fold.weight for fold in folds)


def pool(folds: Sequence[FoldLosses], *, origin: Origin, metric: str) -> Score:
    """The mean loss over all folds, with its standard error over rows: folds are too few."""
    total, mean = sum(fold.weight for fold in folds), mean_of(folds)
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


def with_difference_errors(path: SelectionPath) -> SelectionPath:
    """The path with the corrected standard error of each step's paired difference to the best."""
    scored = [step for step in path if step.losses and step.score and step.score.is_usable]
    if not scored or len(scored) < len(path):
        return path
    best = path[Best().choose(path)]
    n_folds = len(best.losses)
    # Nadeau and Bengio: folds share training rows; a single fold holds out a fifth
    test_per_train = 1.0 / (n_folds - 1) if n_folds > 1 else 0.25
    correction = math.sqrt(1.0 + n_folds * test_per_train)
    steps = []
    for step in path:
        _, error = difference(step.losses, best.losses)
        details = {**step.details, DIFFERENCE_ERROR: correction * error}
        steps.append(replace(step, details=details))
    return replace(path, steps=tuple(steps))


def first_near_best(models: Sequence[Sequence[FoldLosses]]) -> int:
    """The first model within one standard error of the best one, of their paired difference."""
    means = [pool(each, origin="held_out", metric="loss").mean for each in models]
    usable = [number for number, mean in enumerate(means) if math.isfinite(mean)]
    if not usable:
        return 0
    best = min(usable, key=lambda number: means[number])

    def is_near(number: int) -> bool:
        worse, standard_error = difference(models[number], models[best])
        return number == best or worse <= standard_error

    return next(number for number in usable if is_near(number))


def gain_over_none(folds: Sequence[FoldLosses], none: Sequence[FoldLosses], metric: str) -> float:
    """How much a model gains over a constant on the same rows, in standard errors of that gain.

    Of the log loss, a mean of the probabilities of both is compared with the constant: a few rows
    that are predicted wrongly and with confidence do not hide what the others gain.

    >>> rows = np.arange(50.0)
    >>> model, constant = FoldLosses(rows, np.ones(50)), FoldLosses(rows + 1.0, np.ones(50))
    >>> gain_over_none([model], [constant], "squared_error") > 1e6
    True
    >>> gain_over_none([constant], [constant], "log_loss")
    0.0
    """
    pairs = zip(folds, none, strict=True)
    gains = np.concatenate([other.losses - one.losses for one, other in pairs])
    if metric == "log_loss":
        gains = np.log1p(MODEL_SHARE * np.expm1(gains))
    weight = np.concatenate([one.weights for one in folds])
    squared = np.concatenate([one.squared_weights for one in folds])
    mean = float(np.average(gains, weights=weight))
    error = math.sqrt(float(squared @ (gains - mean) ** 2)) / float(weight.sum())
    return mean / max(error, 1e-12 * abs(mean)) if mean else 0.0

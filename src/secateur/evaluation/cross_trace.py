"""Held-out scores: the whole trace repeated inside each fold, judged on rows it never saw."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from secateur.path.step import Origin, Score
from secateur.typing import FloatArray


class Verdict:
    """What some rows say of one state: enough for the mean of all folds and its spread.

    Parameters
    ----------
    losses : array of shape (n_rows,)
    weight : array of shape (n_rows,)
    counts : bool, default=False
        Whether a weight of 2 means two rows, which say more than one row that counts twice.

    Examples
    --------
    >>> Verdict(np.array([1.0, 3.0]), np.ones(2)).mean
    2.0
    """

    __slots__ = ("mean", "moments", "weight")

    def __init__(self, losses: FloatArray, weight: FloatArray, *, counts: bool = False) -> None:
        self.weight = float(weight.sum())
        self.mean = float(weight @ losses) / self.weight
        # For the sum of w^2 (loss - m)^2 at a mean m that is known only later; w of counted rows.
        heavy = weight if counts else weight * weight
        self.moments = np.array([heavy @ (losses * losses), heavy @ losses, heavy.sum()])

    @classmethod
    def joined(cls, parts: Sequence[Verdict], units: Sequence[float]) -> Verdict:
        """The verdict of all rows of some parts, the losses of each divided by a unit of its own.

        >>> parts = [Verdict(np.array([1.0]), np.ones(1)), Verdict(np.array([6.0]), np.ones(1))]
        >>> Verdict.joined(parts, [1.0, 2.0]).mean
        2.0
        """
        whole = cls.__new__(cls)
        whole.weight = sum(part.weight for part in parts)
        pairs = list(zip(parts, units, strict=True))
        whole.mean = sum(part.mean / unit * part.weight for part, unit in pairs) / whole.weight
        scaled = [part.moments / np.array([unit * unit, unit, 1.0]) for part, unit in pairs]
        whole.moments = np.sum(scaled, axis=0)
        return whole


def pool(verdicts: Sequence[Verdict], *, origin: Origin, metric: str) -> Score:
    """One score of the verdicts of all folds.

    The spread is the standard error of the mean over rows: folds are few, and share their training
    rows.

    Examples
    --------
    >>> folds = [Verdict(np.array([1.0, 3.0]), np.ones(2)), Verdict(np.array([4.0]), np.ones(1))]
    >>> score = pool(folds, origin="held_out", metric="loss")
    >>> score.folds, round(score.mean, 4)
    ((2.0, 4.0), 2.6667)
    """
    total = sum(verdict.weight for verdict in verdicts)
    mean = sum(verdict.mean * verdict.weight for verdict in verdicts) / total
    squares, firsts, heavies = np.sum([verdict.moments for verdict in verdicts], axis=0)
    variance = max(0.0, squares - 2.0 * mean * firsts + mean * mean * heavies)
    folds = tuple(verdict.mean for verdict in verdicts)
    return Score(mean, math.sqrt(variance) / total, folds, origin, metric)

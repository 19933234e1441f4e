"""How far a model is trusted: as far as the other rows that judge it bear it out.

A model whose columns were chosen on the rows that trained it is too sure of itself. How much too
sure cannot be told from these rows, only from others.
"""

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

    __slots__ = ("heavy", "losses", "mean", "moments", "weight", "weights")

    def __init__(self, losses: FloatArray, weight: FloatArray, *, counts: bool = False) -> None:
        self.losses, self.weights = losses, weight
        self.weight = float(weight.sum())
        self.mean = float(weight @ losses) / self.weight
        # For the sum of w^2 (loss - m)^2 at a mean m that is known only later; w of counted rows.
        heavy = self.heavy = weight if counts else weight * weight
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
        whole.losses = np.concatenate([part.losses / unit for part, unit in pairs])
        whole.weights = np.concatenate([part.weights for part in parts])
        whole.heavy = np.concatenate([part.heavy for part in parts])
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


def difference(verdicts: Sequence[Verdict], others: Sequence[Verdict]) -> tuple[float, float]:
    """How much more the same rows lose by one model than by another, and its standard error.

    Row by row: what is hard to predict is so for both, and much of the spread of their losses is
    none of their difference.

    Examples
    --------
    >>> one = Verdict(np.array([1.0, 5.0, 9.0]), np.ones(3))
    >>> other = Verdict(np.array([0.0, 4.0, 8.5]), np.ones(3))
    >>> mean, spread = difference([one], [other])
    >>> round(mean, 4), round(spread, 4)
    (0.8333, 0.1361)
    """
    pairs = list(zip(verdicts, others, strict=True))
    total = sum(one.weight for one in verdicts)
    mean = sum((one.mean - other.mean) * one.weight for one, other in pairs) / total
    variance = sum(
        float(one.heavy @ (one.losses - other.losses - mean) ** 2) for one, other in pairs
    )
    return mean, math.sqrt(variance) / total


def first_near_best(judged: Sequence[Sequence[Verdict]], multiple: float = 1.0) -> int:
    """The first of some models that the same rows have judged, but for those clearly worse.

    Clearly worse is what loses more than the best by more than ``multiple`` standard errors of the
    difference between the two.

    Examples
    --------
    >>> losses = [[2.0, 6.0, 9.9], [1.0, 5.0, 9.0], [0.9, 5.2, 8.7]]
    >>> first_near_best([[Verdict(np.array(each), np.ones(3))] for each in losses])
    1
    """
    means = [pool(each, origin="held_out", metric="loss").mean for each in judged]
    usable = [number for number, mean in enumerate(means) if math.isfinite(mean)]
    if not usable:
        return 0
    best = min(usable, key=lambda number: means[number])

    def is_near(number: int) -> bool:
        lost, spread = difference(judged[number], judged[best])
        return number == best or lost <= multiple * spread

    return next(number for number in usable if is_near(number))


SHARES: FloatArray = np.concatenate([[0.0], 2.0 ** (np.arange(-10, 1) / 2.0)])
"""Ways from the constant, 0, to what the model says, 1, that are tried."""


def trusted(ladders: Sequence[FloatArray], weights: Sequence[FloatArray]) -> list[FloatArray]:
    """The loss of each row where the model is trusted as far as the other rows advise.

    A row is judged at the share that loses least on all rows but itself, those of all folds
    together: a fold that was predicted badly and with confidence lowers the trust in all of them,
    and no row has a say in how it is judged.

    Parameters
    ----------
    ladders : sequence of arrays of shape (n_shares, n_rows)
        Of each fold, the losses of its rows at each share, from the least trust to the most.
    weights : sequence of arrays of shape (n_rows,)

    Returns
    -------
    losses : list of arrays of shape (n_rows,)
        Of each fold.

    Examples
    --------
    A model that is always sure, and wrong for two rows in ten, is worse than the constant; with an
    eighth of the trust it is better.

    >>> margin = np.repeat([8.0, -8.0], [8, 2])
    >>> ladder = np.logaddexp(0.0, -np.outer([0.0, 0.125, 1.0], margin))
    >>> ladder.mean(axis=1).round(3)
    array([0.693, 0.513, 1.6  ])
    >>> (losses,) = trusted([ladder], [np.ones(10)])
    >>> round(float(losses.mean()), 3)
    0.513
    """
    ladder, weight = np.concatenate(ladders, axis=1), np.concatenate(weights)
    lost = ladder * weight
    share = np.argmin(lost.sum(axis=1, keepdims=True) - lost, axis=0)
    losses = ladder[share, np.arange(ladder.shape[1])]
    return np.split(losses, np.cumsum([each.shape[1] for each in ladders])[:-1])

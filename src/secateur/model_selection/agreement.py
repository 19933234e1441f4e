"""How good a set of features is where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from secateur.exceptions import InputError, ParameterError
from secateur.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """Nogueira's index of some sets of features.

    Parameters
    ----------
    index : float
        1 if all sets are the same, about 0 if they agree no more than sets drawn at random; NaN
        where it is not defined: fewer than two sets, or none or all of the features in every one.
    low, high : float
        The ends of its interval.
    confidence : float
    n_sets : int
    mean_size : float
        The mean number of features.
    """

    index: float
    low: float
    high: float
    confidence: float
    n_sets: int
    mean_size: float

    def __str__(self) -> str:
        if math.isnan(self.index):
            return "not defined"
        return f"{self.index:.2f} [{self.low:.2f}, {self.high:.2f}]"


def nogueira(
    supports: Sequence[npt.ArrayLike], n_features: int, *, confidence: float = 0.95
) -> Agreement:
    r"""The stability of M sets of features (Nogueira, Sechidis and Brown, JMLR 18, 2018).

    With p_f the share of the sets that have feature f, s_f^2 = M / (M - 1) p_f (1 - p_f) and k the
    mean size of a set,

        index = 1 - mean_f(s_f^2) / (k / d (1 - k / d))                        (Definition 4)

    The interval is that of a normal distribution with their asymptotic variance. It is not
    cut at 1, where the index ends.

    Parameters
    ----------
    supports : sequence of arrays of int
        The features of each set.
    n_features : int
        How many there were to choose from, d.
    confidence : float, default=0.95

    Examples
    --------
    >>> print(nogueira([[0, 1], [0, 1], [0, 2]], n_features=10))
    0.58 [0.36, 0.81]
    >>> nogueira([[3], [3]], n_features=10).index
    1.0
    """
    if not 0.0 < confidence < 1.0:
        raise ParameterError(
            f"'confidence' must be a number > 0 and < 1. Got {confidence!r}. Use 0.95."
        )
    sets = [np.unique(np.asarray(support, np.int64)) for support in supports]
    sizes = np.array([len(each) for each in sets], np.float64)
    mean_size = float(sizes.mean()) if sets else math.nan
    share = mean_size / n_features if n_features else math.nan
    if len(sets) < 2 or not 0.0 < share < 1.0:
        none = (math.nan, math.nan, math.nan)
        return Agreement(*none, confidence, len(sets), mean_size)
    frequency = selection_frequency(sets, n_features)
    index = _index(frequency, len(sets), share)
    standard_error = math.sqrt(_variance(sets, frequency, sizes / n_features, share, index))
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * standard_error
    return Agreement(index, index - reach, index + reach, confidence, len(sets), mean_size)


def selection_frequency(supports: Sequence[IntArray], n_features: int) -> FloatArray:
    """In what share of the sets each feature is.

    >>> selection_frequency([np.array([0, 2]), np.array([0])], 3)
    array([1. , 0. , 0.5])
    """
    counts = np.zeros(n_features)
    for support in supports:
        counts[support] += 1.0
    return counts / len(supports)


def jaccard(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """The share of the features of either set that are in both; 1 for two empty sets.

    >>> jaccard([0, 1], [1, 2])
    0.3333333333333333
    """
    left, right = np.unique(np.asarray(a, np.int64)), np.unique(np.asarray(b, np.int64))
    both = len(np.intersect1d(left, right, assume_unique=True))
    either = len(left) + len(right) - both
    return both / either if either else 1.0


def _index(frequency: FloatArray, n_sets: int, share: float) -> float:
    of_features = n_sets / (n_sets - 1) * float((frequency * (1.0 - frequency)).mean())
    return 1.0 - of_features / (share * (1.0 - share))


def _variance(
    sets: Sequence[IntArray],
    frequency: FloatArray,
    shares: FloatArray,
    share: float,
    index: float,
) -> float:
    """The asymptotic one; `shares` are the sizes of the sets divided by the number of features."""
    met = np.array([frequency[each].sum() for each in sets]) / len(frequency)
    bend = 2.0 * shares * share - shares - share + 1.0
    phi = (met - shares * share + 0.5 * index * bend) / (share * (1.0 - share))
    return 4.0 / len(sets) ** 2 * float(((phi - phi.mean()) ** 2).sum())


def saliency(selected: Any, informative: Any, copies: Any = None) -> float:
    r"""The saliency of a selection (Section 4.3 of Perkins, Lacker and Theiler, JMLR 2003).

    ``n_g / n_r + n_g / n_f - 1``: the share of the informative features that was found, plus the
    share of the found that is informative, less one. 1 if exactly the informative features are
    selected, about 0 if all of them are among many others, -1 if none of them is.

    Parameters
    ----------
    selected : array of int, or mask of bool
        The features that were selected, ``n_f`` of them.
    informative : array of int
        The informative features, ``n_r`` of them.
    copies : array of int, optional
        ``copies[j]`` is the informative feature that feature j is, or is a copy of; -1 for
        others. A feature then counts as found if it or a copy of it is selected, once.

    Examples
    --------
    >>> saliency([0, 1], informative=[0, 1])
    1.0
    >>> saliency([0, 1, 7, 8], informative=[0, 1])
    0.5
    >>> saliency([7], informative=[0, 1])
    -1.0
    """
    chosen = np.asarray(selected)
    chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else np.unique(chosen)
    wanted = np.unique(np.asarray(informative))
    if wanted.size == 0:
        raise InputError(
            "'informative' must name at least one feature. Got none. Give the true features."
        )
    if chosen.size == 0:
        return -1.0
    good = chosen.astype(np.int64)
    if copies is not None:
        good = np.unique(np.asarray(copies, dtype=np.int64)[good])
    n_good = int(np.isin(good, wanted).sum())
    return n_good / wanted.size + n_good / chosen.size - 1.0

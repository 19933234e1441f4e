"""Random numbers that depend on the number of a row alone: the same for any division in blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from secateur.typing import FloatArray, IntArray

KeyArray = npt.NDArray[np.uint64]


def keys_of(numbers: IntArray, seed: int) -> KeyArray:
    """A number of 64 bits for each row from its place (splitmix64); no two have the same."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys: KeyArray = z ^ (z >> np.uint64(31))
    return keys


def shares_of(numbers: IntArray, seed: int) -> FloatArray:
    """A number in [0, 1) for each row."""
    return (keys_of(numbers, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sample_rows(n_rows: int, most: int, seed: int) -> IntArray:
    """The rows of a sample, sorted: those with the smallest keys.

    >>> sample_rows(1000, 3, seed=5)
    array([40, 64, 76])
    """
    sample = RowSample(most, seed)
    sample.offer(n_rows)
    return np.sort(sample.rows)


def sample_queries(number: IntArray, most: int, seed: int) -> IntArray:
    """The rows of whole queries, sorted: of those with the smallest keys, up to so many rows.

    >>> sample_queries(np.array([0, 1, 1, 2, 3, 3, 3]), 4, seed=5)
    array([4, 5, 6])
    """
    sizes = np.bincount(number)
    order = np.argsort(keys_of(np.arange(len(sizes)), seed))
    chosen = order[np.cumsum(sizes[order]) <= most]
    return np.flatnonzero(np.isin(number, chosen))


class RowSample:
    """The same sample from rows that come block by block, when their number is not known.

    >>> sample = RowSample(3, seed=5)
    >>> for block in range(10):
    ...     taken, slots = sample.offer(100)
    >>> sample.rows[np.argsort(sample.rows)]
    array([40, 64, 76])
    """

    def __init__(self, most: int, seed: int) -> None:
        self._most = most
        self._seed = seed
        self.n_offered = 0
        self.rows: IntArray = np.empty(0, np.int64)
        self._keys: KeyArray = np.empty(0, np.uint64)

    def offer(self, n_rows: int) -> tuple[IntArray, IntArray]:
        """Offer rows; gives the places of those taken, and their slots, perhaps of rows now out."""
        numbers = np.arange(self.n_offered, self.n_offered + n_rows)
        self.n_offered += n_rows
        n_before = len(self.rows)
        rows = np.concatenate([self.rows, numbers])
        keys = np.concatenate([self._keys, keys_of(numbers, self._seed)])
        stays = np.ones(len(rows), np.bool_)
        if len(rows) > self._most:
            stays[np.argpartition(keys, self._most)[self._most :]] = False
        taken = n_before + np.flatnonzero(stays[n_before:])
        n_now = min(len(rows), self._most)
        slots = np.concatenate([np.flatnonzero(~stays[:n_before]), np.arange(n_before, n_now)])
        rows[slots], keys[slots] = rows[taken], keys[taken]
        self.rows, self._keys = rows[:n_now], keys[:n_now]
        return taken - n_before, slots

"""Chance that depends on the number of a row alone: the same for any cut into blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from secateur.typing import FloatArray, IntArray

KeyArray = npt.NDArray[np.uint64]


def keys_of(numbers: IntArray, seed: int) -> KeyArray:
    """A number of 64 bits for each row, from its place in the whole table (splitmix64).

    No two rows have the same.
    """
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys: KeyArray = z ^ (z >> np.uint64(31))
    return keys


def shares_of(numbers: IntArray, seed: int) -> FloatArray:
    """A number in [0, 1) for each row."""
    share: FloatArray = (keys_of(numbers, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return share


def sample_rows(n_rows: int, most: int, seed: int) -> IntArray | None:
    """The rows of a sample, sorted: those with the smallest keys; None where all rows are in it.

    >>> sample_rows(1000, 3, seed=5)
    array([40, 64, 76])
    """
    if n_rows <= most:
        return None
    keys = keys_of(np.arange(n_rows), seed)
    rows: IntArray = np.sort(np.argpartition(keys, most)[:most])
    return rows


class RowSample:
    """The same sample from rows that come block by block, when nobody knows how many there are.

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
        """Offer the next rows; gives the places in the block of those taken, and their slots.

        A slot may have held another row, which is out of the sample then.
        """
        numbers = np.arange(self.n_offered, self.n_offered + n_rows)
        keys = keys_of(numbers, self._seed)
        self.n_offered += n_rows
        n_free = min(n_rows, self._most - len(self.rows))
        slots = np.arange(len(self.rows), len(self.rows) + n_free)
        taken = np.arange(n_free)
        self.rows = np.concatenate([self.rows, numbers[:n_free]])
        self._keys = np.concatenate([self._keys, keys[:n_free]])
        if n_free == n_rows:
            return taken, slots
        joined = np.concatenate([self._keys, keys[n_free:]])
        stays = np.zeros(len(joined), np.bool_)
        stays[np.argpartition(joined, self._most - 1)[: self._most]] = True
        left = np.flatnonzero(~stays[: self._most])
        come = n_free + np.flatnonzero(stays[self._most :])
        self.rows[left], self._keys[left] = numbers[come], keys[come]
        kept = stays[slots]  # of those that came in just now some may have gone again
        return np.concatenate([taken[kept], come]), np.concatenate([slots[kept], left])

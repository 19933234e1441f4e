"""Where the arrays that move with the rows live: in memory, or in a file that is mapped."""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from secateur.typing import AnyArray


class Space(Protocol):
    """Gives arrays of zeros, and their pages back when nobody needs them for a while."""

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""

    def release(self) -> None:
        """Let the system have the pages; the values stay."""


class Heap:
    """Plain memory."""

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""
        return np.zeros(shape, dtype)

    def release(self) -> None:
        """Plain memory stays."""


class Scratch:
    """A file without a name: the system writes it out when memory is short, and it goes with us.

    >>> space = Scratch(None)
    >>> array = space.zeros(3, np.float64)
    >>> array[:] = 7.0
    >>> space.release()
    >>> array
    array([7., 7., 7.])
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def zeros(self, shape: Any, dtype: Any) -> AnyArray:
        """A new array."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if n_bytes == 0:
            return np.zeros(shape, dtype)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.truncate(n_bytes)
            mapped = mmap.mmap(file.fileno(), n_bytes)
        self._maps.append(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def release(self) -> None:
        """Let the system have the pages; the values stay in the file."""
        for mapped in self._maps:
            give_back(mapped)


def give_back(mapped: mmap.mmap) -> None:
    """Let the system have the pages of a mapped file."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def fetch_soon(mapped: mmap.mmap) -> None:
    """Have the system read a mapped file ahead."""
    if hasattr(mmap, "MADV_WILLNEED"):
        mapped.madvise(mmap.MADV_WILLNEED)

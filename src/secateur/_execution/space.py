"""Where the arrays that move with the rows live: in memory, or in a file that is mapped."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from secateur.exceptions import StorageError
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
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                _make_long(file, n_bytes)
                mapped = mmap.mmap(file.fileno(), n_bytes)
        except OSError as error:
            msg = (
                "The folder of a stored table must have room for what moves with its rows, "
                f"{n_bytes / 1e6:.0f} MB a block. Got none: {error}. Free some space, or raise "
                "'memory_limit'."
            )
            raise StorageError(msg) from error
        self._maps.append(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def release(self) -> None:
        """Let the system have the pages; the values stay in the file."""
        for mapped in self._maps:
            give_back(mapped)


def _make_long(file: IO[bytes], n_bytes: int) -> None:
    """Have the disk promise the space: a full one is told of now, and not in the midst of a fit."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    else:
        file.truncate(n_bytes)


def give_back(mapped: mmap.mmap) -> None:
    """Let the system have the pages of a mapped file."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def fetch_soon(mapped: mmap.mmap) -> None:
    """Have the system read a mapped file ahead."""
    if hasattr(mmap, "MADV_WILLNEED"):
        mapped.madvise(mmap.MADV_WILLNEED)

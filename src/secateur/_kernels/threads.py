"""Threads over kernels that release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from secateur.exceptions import ParameterError


def resolve_n_jobs(n_jobs: int | None) -> int:
    """The number of threads: None and -1 mean all that this process may use.

    >>> resolve_n_jobs(3)
    3
    """
    if n_jobs == 0:
        msg = "'n_jobs' must not be 0. Got 0. Use None for all cores or 1 for one."
        raise ParameterError(msg)
    available = available_cores()
    if n_jobs is None:
        return available
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


def available_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """A few threads that share loops over features or rows; the caller's thread is one of them.

    The parts of a loop are independent (integer sums, or disjoint output), so results never depend
    on the number of threads. A pool belongs to one fit: fits in several threads do not meet.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def run(self, part: Callable[[int, int], object], n_items: int, grain: int = 1) -> None:
        """Call ``part(start, stop)`` over ranges that cover ``n_items``, in steps of ``grain``.

        >>> seen = []
        >>> Threads(1).run(lambda start, stop: seen.append((start, stop)), 10)
        >>> seen
        [(0, 10)]
        """
        n_parts = min(self.n_threads, n_items // grain) if self._pool is not None else 1
        if n_parts <= 1 or self._pool is None:
            part(0, n_items)
            return
        size = -(-n_items // (n_parts * grain)) * grain
        starts = range(0, n_items, size)
        futures = [
            self._pool.submit(part, start, min(start + size, n_items)) for start in starts[1:]
        ]
        part(0, min(size, n_items))
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

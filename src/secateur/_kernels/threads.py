"""Threads over kernels that release the interpreter's lock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Self

from secateur.exceptions import ParameterError


def resolve_n_jobs(n_jobs: int | None) -> int:
    """The number of threads: None and -1 mean all that this process may use."""
    if n_jobs == 0:
        raise ParameterError("'n_jobs' must not be 0. Got 0. Use None for all cores or 1 for one.")
    n_jobs = -1 if n_jobs is None else n_jobs
    return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def available_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OneBlasThread:
    """A context in which BLAS has one thread: in small products others only wait, and use a core.

    The number is one of the process. Of several threads in the context the last restores it.
    """

    _lock = Lock()
    _inside = 0
    _limiter: Any = None

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            if cls._inside == 0:
                from threadpoolctl import threadpool_limits  # scikit-learn depends on it

                cls._limiter = threadpool_limits(1, user_api="blas")
            cls._inside += 1

    def __exit__(self, *error: object) -> None:
        cls = type(self)
        with cls._lock:
            cls._inside -= 1
            if cls._inside == 0:
                cls._limiter.restore_original_limits()


class Threads:
    """A few threads that share loops over features or rows; the caller's thread is one of them.

    The parts of a loop are independent (integer sums, or disjoint output), so results never depend
    on the number of threads. Plain queues instead of an executor: a tree has many short loops.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._inboxes: list[SimpleQueue[_Call | None]] = []

    def run(self, part: Callable[[int, int], object], n_items: int, grain: int = 1) -> None:
        """Call ``part(start, stop)`` over ranges that cover ``n_items``, in steps of ``grain``."""
        n_parts = min(self.n_threads, n_items // grain)
        if n_parts <= 1:
            part(0, n_items)
            return
        size = -(-n_items // (n_parts * grain)) * grain
        starts = range(0, n_items, size)
        done = self._begin(
            lambda worker: part(starts[worker], min(starts[worker] + size, n_items)), len(starts)
        )
        part(0, size)
        _wait(done, len(starts))

    def share(self, task: Callable[[int, int], object], n_tasks: int) -> None:
        """Call ``task(worker, number)`` for all numbers; a worker that is free takes the next one.

        >>> seen = []
        >>> Threads(1).share(lambda worker, number: seen.append((worker, number)), 2)
        >>> seen
        [(0, 0), (0, 1)]
        """
        numbers = itertools.count()

        def work(worker: int) -> None:
            while (number := next(numbers)) < n_tasks:
                task(worker, number)

        n_workers = min(self.n_threads, n_tasks)
        done = self._begin(work, n_workers)
        while (number := next(numbers)) < n_tasks:
            task(0, number)
        _wait(done, n_workers)

    def _begin(self, work: Callable[[int], object], n_workers: int) -> Done:
        """Call ``work(worker)`` in threads for all workers but the first, which is the caller."""
        # A queue of its own for every call: what an interrupted one leaves behind confuses nobody.
        done: Done = SimpleQueue()
        while len(self._inboxes) < n_workers - 1:  # small fits never ask for a second thread
            inbox: SimpleQueue[_Call | None] = SimpleQueue()
            Thread(target=_work, args=(inbox,), daemon=True).start()
            self._inboxes.append(inbox)
        for worker in range(1, n_workers):
            self._inboxes[worker - 1].put((work, worker, done))
        return done

    def close(self) -> None:
        """End the threads."""
        for inbox in self._inboxes:
            inbox.put(None)
        self._inboxes = []
        self.n_threads = 1

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        """Sent to a worker it is alone there: as many tasks run at a time as there are threads."""
        return Threads, (1,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


Done = SimpleQueue[BaseException | None]
_Call = tuple[Callable[[int], object], int, Done]


def _wait(done: Done, n_workers: int) -> None:
    """Wait for all workers but the first; the first error is raised."""
    errors = [done.get() for _ in range(1, n_workers)]
    for error in errors:
        if error is not None:
            raise error


def _work(inbox: SimpleQueue[_Call | None]) -> None:
    """What a thread does all its life."""
    while (call := inbox.get()) is not None:
        work, worker, done = call
        try:
            work(worker)
        except BaseException as error:  # noqa: BLE001  # it is raised again where it belongs
            done.put(error)
        else:
            done.put(None)
        del call, work, done  # keep nothing of a fit alive while waiting for the next loop

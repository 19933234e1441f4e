"""Trials run: here one after another, in a process that can be ended, or on a cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from threading import local
from time import perf_counter
from typing import Any, NamedTuple
from weakref import finalize

from secateur._execution.dask import DaskExecutor
from secateur.comparison.child import Child
from secateur.comparison.trying import Course, judge, select, told
from secateur.exceptions import ClusterError
from secateur.path import Trial, TrialStatus


class Attempt(NamedTuple):
    """A trial that is to be: a method on a fold."""

    name: str
    method: Any
    fold: int


def try_all(
    course: Course,
    limit: float | None,
    executor: DaskExecutor | None,
    attempts: Sequence[Attempt],
) -> Generator[tuple[int, Trial], None, None]:
    """Trials as they are done, each with its place among the attempts."""
    if executor is not None:
        yield from _try_there(course, limit, executor, attempts)
    elif limit is None:
        for number, attempt in enumerate(attempts):
            yield number, try_one(course, attempt)
    else:
        with closing(Child(course, limit)) as child:
            for number, attempt in enumerate(attempts):
                yield number, child.run(*attempt)


def try_one(course: Course, attempt: Attempt) -> Trial:
    """One trial in this process."""
    trial = select(course, *attempt)
    return judge(course, trial) if trial.is_done else trial


def _try_there(
    course: Course, limit: float | None, executor: DaskExecutor, attempts: Sequence[Attempt]
) -> Generator[tuple[int, Trial], None, None]:
    """On a cluster, where a trial that takes its worker with it has failed."""
    if not attempts:
        return
    shared = executor.share(Bench(course, limit), "table and folds")
    names = [f"trial of {attempt.name}" for attempt in attempts]
    with closing(executor.done(_try_on_worker, attempts, shared, names)) as done:
        for number, outcome in done:
            if outcome.error is None:
                yield number, outcome.result
                continue
            error, attempt = outcome.error, attempts[number]
            message = str(error) if isinstance(error, ClusterError) else told(error)
            yield number, Trial(attempt.name, attempt.fold, TrialStatus.FAILED, message, 0.0)


class Bench:
    """What a worker needs to try methods: the course, and with a limit a process for each thread.

    A process stays for the next trial, as at home, or loading its libraries would count each time.
    """

    def __init__(self, course: Course, limit: float | None) -> None:
        self._course, self._limit = course, limit
        self._own = local()

    def __reduce__(self) -> tuple[type[Bench], tuple[Course, float | None]]:
        return Bench, (self._course, self._limit)

    def run(self, attempt: Attempt) -> Trial:
        """One trial; with a limit in a process that can be ended."""
        if self._limit is None:
            return try_one(self._course, attempt)
        if not hasattr(self._own, "child"):
            self._own.child = Child(self._course, self._limit)
            finalize(self, self._own.child.close)
        trial: Trial = self._own.child.run(*attempt)
        return trial


def _try_on_worker(bench: Bench, attempt: Attempt) -> Trial:
    started = perf_counter()
    try:
        return bench.run(attempt)
    except KeyboardInterrupt as error:  # raised by the method: nobody is at the keyboard here
        took = perf_counter() - started
        return Trial(attempt.name, attempt.fold, TrialStatus.FAILED, told(error), took)

"""Trials run: here one after another, in a process that can be ended, or on a cluster."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from threading import Thread, local
from time import perf_counter
from typing import Any, NamedTuple
from weakref import finalize

from secateur.exceptions import ClusterError, SecateurError
from secateur.execution.dask import DaskExecutor
from secateur.model_selection.comparison import Trial, TrialStatus
from secateur.model_selection.trials import Course, judge, select, told

STARTING_SECONDS = 300.0
"""How long a process may take to load its libraries and the table."""

GRACE_SECONDS = 0.2
"""What is allowed on top of a limit for asking and answering."""

MOST_STDERR = 2000


class ChildError(SecateurError, RuntimeError):
    """The process ended by itself, or never began to answer."""


class Child:
    """One process after another that tries methods; a method that takes too long ends its process.

    Parameters
    ----------
    course : Course
    time_limit : float
        Seconds for a selection, and as much again for its validators.
    """

    def __init__(self, course: Course, time_limit: float) -> None:
        self._course = course
        self._limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._errors: Any = None

    def run(self, name: str, method: Any, fold: int) -> Trial:
        """One trial, whatever happens to it."""
        started = perf_counter()
        try:
            self._start()
            started = perf_counter()
            self._send((name, method, fold))
            trial: Trial = self._receive(self._limit + GRACE_SECONDS)
            if trial.is_done:
                trial = self._judged(trial)
        except TimeoutError:
            message = f"It took longer than the time limit of {self._limit:g} seconds."
            return self._ended(name, fold, TrialStatus.TIMED_OUT, message, started)
        except (ChildError, OSError, pickle.PicklingError, TypeError, AttributeError) as error:
            message = str(error) if isinstance(error, ChildError) else told(error)
            return self._ended(name, fold, TrialStatus.FAILED, message, started)
        return trial

    def _judged(self, trial: Trial) -> Trial:
        """With scores; a trial whose validators took too long keeps what it chose."""
        try:
            judged: Trial = self._receive(self._limit + GRACE_SECONDS)
        except TimeoutError:
            self.close()
            message = f"The validators took longer than the time limit of {self._limit:g} seconds."
            late, done = TrialStatus.TIMED_OUT, trial
            return Trial(done.method, done.fold, late, message, done.seconds, done.subsets)
        return judged

    def _ended(
        self, name: str, fold: int, status: TrialStatus, message: str, started: float
    ) -> Trial:
        self.close()
        return Trial(name, fold, status, message, perf_counter() - started)

    def _start(self) -> None:
        if self._process is not None:
            return
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        known = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "secateur.model_selection.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=known,
            start_new_session=True,  # Ctrl-C is for the parent
        )
        self._answers = SimpleQueue()
        Thread(target=_listen, args=(self._process.stdout, self._answers), daemon=True).start()
        self._send(self._course)
        self._receive(STARTING_SECONDS)

    def _send(self, what: Any) -> None:
        assert self._process is not None  # noqa: S101 - it was started
        assert self._process.stdin is not None  # noqa: S101 - it has a pipe
        self._process.stdin.write(_pickled(what))
        self._process.stdin.flush()

    def _receive(self, seconds: float) -> Any:
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            raise TimeoutError from None
        if answer is _END:
            raise ChildError(self._last_words())
        return answer

    def _last_words(self) -> str:
        assert self._process is not None  # noqa: S101 - it was started
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        likely = " Perhaps memory ran out." if code == -9 else ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace")[-MOST_STDERR:].strip().splitlines()
        last = f" Its last words: {lines[-1]}" if lines else ""
        return f"The process of the trial ended by itself ({how}).{likely}{last}"

    def close(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        streams: tuple[Any, ...] = (process.stdin, process.stdout, self._errors)
        for stream in streams:
            try:
                stream.close()
            except OSError:  # what was written last has no reader any more
                continue


_END = object()


def _pickled(what: Any) -> bytes:
    """By cloudpickle, which sends classes of a script or a notebook by value.

    scikit-learn brings it along: joblib needs it, or carries it inside.
    """
    for name in ("cloudpickle", "joblib.externals.cloudpickle", "pickle"):
        try:
            pickler = importlib.import_module(name)
        except ImportError:
            continue
        data: bytes = pickler.dumps(what)
        return data
    raise AssertionError("pickle is part of Python")


def _listen(stream: Any, answers: SimpleQueue[Any]) -> None:
    """Hand on what the process answers, and its end."""
    while True:
        try:
            answers.put(pickle.load(stream))  # noqa: S301 - from our own child
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            answers.put(_END)
            return


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

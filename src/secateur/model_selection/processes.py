"""Where trials and fits run: one after another here, in other processes, or on a cluster.

With a time limit trials run in a process of their own. It is started as a program, so that a script
needs no guard around its main part, and a method that does not return is ended with its process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread, local
from time import perf_counter
from typing import Any, BinaryIO
from weakref import finalize

import numpy as np
from sklearn.base import clone

from secateur._kernels.threads import resolve_n_jobs
from secateur.data.memory import available_memory
from secateur.exceptions import ClusterError, SecateurError
from secateur.execution.dask import DaskExecutor
from secateur.model_selection.comparison import Trial, TrialStatus
from secateur.model_selection.trials import (
    ComparisonContext,
    TrialSpec,
    describe,
    failed_trial,
    run_trial,
    score,
    select,
)
from secateur.storage.stored_table import StoredTable

START_SECONDS = 300.0
"""How long a process may take to load its libraries and the table."""

GRACE_SECONDS = 0.2
"""Added to a time limit for the messages between the processes."""

MAX_STDERR = 2000

PARALLEL_SECONDS = 6.0
"""Shorter fits are done one after another: processes have to load libraries."""

COPIES = 4
"""How many times the memory of the table a process may need."""


# ---- trials -----------------------------------------------------------------------------------


def run_trials(
    context: ComparisonContext,
    limit: float | None,
    executor: DaskExecutor | None,
    specs: Sequence[TrialSpec],
) -> Generator[tuple[int, Trial], None, None]:
    """Yield trials as they are done, each with its place among `specs`."""
    if executor is not None:
        yield from _run_on_cluster(context, limit, executor, specs)
        return
    with closing(TrialRunner(context, limit)) as runner:
        for number, spec in enumerate(specs):
            yield number, runner.run(spec)


def _run_on_cluster(
    context: ComparisonContext,
    limit: float | None,
    executor: DaskExecutor,
    specs: Sequence[TrialSpec],
) -> Generator[tuple[int, Trial], None, None]:
    """On a cluster, where a trial that ends its worker has failed."""
    if not specs:
        return
    shared = executor.share(TrialRunner(context, limit), "table and folds")
    names = [f"trial of {spec.name}" for spec in specs]
    with closing(executor.done(_run_on_worker, specs, shared, names)) as done:
        for number, outcome in done:
            error = outcome.error
            if error is None:
                yield number, outcome.result
            else:
                message = str(error) if isinstance(error, ClusterError) else describe(error)
                yield number, failed_trial(specs[number], message, 0.0)


def _run_on_worker(runner: TrialRunner, spec: TrialSpec) -> Trial:
    started = perf_counter()
    try:
        return runner.run(spec)
    except KeyboardInterrupt as error:  # raised by the method: a worker has no keyboard
        return failed_trial(spec, describe(error), perf_counter() - started)


class TrialRunner:
    """Runs trials here or, with a time limit, in a process of each thread.

    A process is kept for the next trial: loading its libraries takes long.
    """

    def __init__(self, context: ComparisonContext, limit: float | None) -> None:
        self._context, self._limit = context, limit
        self._own = local()

    def __reduce__(self) -> tuple[type[TrialRunner], tuple[ComparisonContext, float | None]]:
        return TrialRunner, (self._context, self._limit)

    def run(self, spec: TrialSpec) -> Trial:
        """Run one trial."""
        if self._limit is None:
            return run_trial(self._context, spec)
        if not hasattr(self._own, "process"):
            self._own.process = TrialProcess(self._context, self._limit)
            finalize(self, self._own.process.close)
        trial: Trial = self._own.process.run(spec)
        return trial

    def close(self) -> None:
        """End the process of this thread."""
        if hasattr(self._own, "process"):
            self._own.process.close()


class WorkerError(SecateurError, RuntimeError):
    """The process ended by itself, or never began to answer."""


class TrialProcess:
    """A process that runs trials; a method that exceeds the time limit ends it.

    The limit is in seconds, for a selection, and as much again for its validators.
    """

    def __init__(self, context: ComparisonContext, time_limit: float) -> None:
        self._context = context
        self._limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._errors: Any = None

    def run(self, spec: TrialSpec) -> Trial:
        """Run one trial; whatever happens to it becomes its status and message."""
        started = perf_counter()
        try:
            self._start()
            started = perf_counter()
            self._send(spec)
            trial: Trial = self._receive(self._limit + GRACE_SECONDS)
            return self._scored(trial) if trial.is_done else trial
        except TimeoutError:
            message = f"It took longer than the time limit of {self._limit:g} seconds."
            status = TrialStatus.TIMED_OUT
        except (WorkerError, OSError, pickle.PicklingError, TypeError, AttributeError) as error:
            message, status = describe(error), TrialStatus.FAILED
        self.close()
        return Trial(spec.name, spec.fold, status, message, perf_counter() - started)

    def _scored(self, trial: Trial) -> Trial:
        """With scores; a trial whose validators exceed the limit keeps its selection."""
        try:
            scored: Trial = self._receive(self._limit + GRACE_SECONDS)
        except TimeoutError:
            self.close()
            message = f"The validators took longer than the time limit of {self._limit:g} seconds."
            return replace(trial, status=TrialStatus.TIMED_OUT, message=message)
        return scored

    def _start(self) -> None:
        if self._process is not None:
            return
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        known = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=known,
            start_new_session=True,  # Ctrl-C is for the parent
        )
        self._answers = SimpleQueue()
        Thread(target=_listen, args=(self._process.stdout, self._answers), daemon=True).start()
        self._send(self._context)
        self._receive(START_SECONDS)

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
            raise WorkerError(self._reason_of_end())
        return answer

    def _reason_of_end(self) -> str:
        assert self._process is not None  # noqa: S101 - it was started
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        likely = " Perhaps memory ran out." if code == -9 else ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace")[-MAX_STDERR:].strip().splitlines()
        last = f" Its last message: {lines[-1]}" if lines else ""
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
            except OSError:  # the last message has no reader any more
                continue


_END = object()


def _pickled(what: Any) -> bytes:
    """By cloudpickle, which sends classes of a script or a notebook by value.

    scikit-learn depends on joblib, which depends on cloudpickle or contains it.
    """
    try:
        import cloudpickle
    except ImportError:
        from joblib.externals import cloudpickle
    data: bytes = cloudpickle.dumps(what)
    return data


def _listen(stream: Any, answers: SimpleQueue[Any]) -> None:
    """Pass on the answers of the process, and its end."""
    while True:
        try:
            answers.put(pickle.load(stream))  # noqa: S301 - from our own child
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            answers.put(_END)
            return


def serve() -> None:
    """The other end of `TrialProcess`: read the context, then trials; answer selections, scores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    requests, answers = sys.stdin.buffer, _own_stdout()
    context = pickle.load(requests)  # noqa: S301 - from our own parent
    _answer(answers, "ready")
    while True:
        try:
            spec = pickle.load(requests)  # noqa: S301 - from our own parent
        except EOFError:
            return
        trial = select(context, spec)
        _answer(answers, trial)
        if trial.is_done:
            _answer(answers, score(context, trial))


def _own_stdout() -> BinaryIO:
    """Keep the pipe for answers: what methods print goes to the errors."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _answer(stream: BinaryIO, what: Any) -> None:
    stream.write(pickle.dumps(what))
    stream.flush()


# ---- fits of folds ----------------------------------------------------------------------------


def n_processes(estimator: Any, X: Any, n_jobs: int | None, seconds: float) -> int:
    """How many processes fits of an estimator should share; 1 is this process only.

    The threads of one fit wait for each other where tables are short: as many fits with one thread
    each are faster. The results are the same. `seconds` is the time of one such fit.
    """
    own = getattr(estimator, "n_jobs", None)
    cores = resolve_n_jobs(n_jobs if own is None else own)
    elsewhere = getattr(estimator, "executor", None) is not None or isinstance(X, StoredTable)
    watched = any(getattr(estimator, name, None) for name in ("_skl_callbacks", "verbose"))
    if cores < 2 or seconds < PARALLEL_SECONDS or elsewhere or watched:
        return 1
    memory = available_memory()
    fitting = cores if memory is None else memory // max(1, COPIES * n_bytes(X))
    return int(max(1, min(cores, fitting)))


def n_bytes(X: Any) -> int:
    """About how much memory a table takes."""
    if hasattr(X, "indptr"):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(np.prod(np.shape(X))) * 8


def single_threaded(estimator: Any) -> Any:
    """A clone with one thread, if it has such a parameter."""
    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(n_jobs=1) if "n_jobs" in known else clone(estimator)


def results_of(tasks: Iterable[Callable[[], Any]], processes: int) -> Generator[Any, None, None]:
    """The results of tasks in their order; closing the generator ends those that still run."""
    if processes == 1:
        for task in tasks:
            yield task()
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=processes, backend="loky", return_as="generator", max_nbytes=None)
    with closing(pool(delayed(_quietly)(task) for task in tasks)) as results:
        yield from results


def _quietly(task: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has given the warnings
        return task()

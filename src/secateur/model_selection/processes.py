"""Where trials and fits run: one after another here, in other processes, or on a cluster.

With a time limit trials run in a process of their own. It is started as a program, so that a script
needs no guard around its main part, a worker of Dask may have it, and a method that does not return
is ended with its process.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from secateur._kernels.threads import resolve_n_jobs
from secateur.data.memory import available_memory
from secateur.exceptions import InterruptedWarning, SecateurError, SecateurWarning
from secateur.execution.dask import DaskExecutor
from secateur.model_selection.comparison import Trial, TrialStatus
from secateur.model_selection.trials import ComparisonContext, TrialSpec, run_trial, score, select
from secateur.storage.stored_table import StoredTable

T = TypeVar("T")
START_SECONDS = 300.0  # how long a process may take to load its libraries and the table
GRACE_SECONDS = 0.2  # added to a time limit for the messages between the processes
MAX_STDERR = 2000
PARALLEL_SECONDS = 6.0  # shorter fits are done one after another: processes have to load libraries
COPIES = 4  # how many times the memory of the table a process may need


# ---- trials -----------------------------------------------------------------------------------


def run_trials(
    context: ComparisonContext,
    limit: float | None,
    executor: DaskExecutor | None,
    specs: Sequence[TrialSpec],
) -> Generator[Trial, None, None]:
    """Yield trials as they are done."""
    runner = TrialRunner(context, limit)
    if executor is None:
        with closing(runner):
            yield from map(runner.run, specs)
    elif specs:
        shared = executor.share(runner, "table and folds")
        names = [f"trial of {spec.name}" for spec in specs]
        with closing(executor.done(_run_on_worker, specs, shared, names)) as done:
            for number, outcome in done:
                error = outcome.error  # of a trial that ended its worker, for instance
                yield specs[number].failed(error, 0.0) if error else outcome.result


def _run_on_worker(runner: TrialRunner, spec: TrialSpec) -> Trial:
    started = perf_counter()
    try:
        return runner.run(spec)
    except KeyboardInterrupt as error:  # raised by the method: a worker has no keyboard
        return spec.failed(error, perf_counter() - started)


class TrialRunner:
    """Runs trials here or, with a time limit, in processes, which are kept for further trials."""

    def __init__(self, context: ComparisonContext, limit: float | None) -> None:
        self._context, self._limit = context, limit
        self._idle: deque[TrialProcess] = deque()

    def run(self, spec: TrialSpec) -> Trial:
        """Run one trial; whatever happens to its process becomes its status and message."""
        if self._limit is None:
            return run_trial(self._context, spec)
        try:
            process = self._idle.pop()
        except IndexError:
            process = TrialProcess()
        started, trial = perf_counter(), Trial(spec.name, spec.fold, TrialStatus.FAILED)
        is_kept = False
        try:
            process.start(self._context)
            started = perf_counter()
            process.send(spec)
            trial = process.receive(self._limit + GRACE_SECONDS)
            if trial.is_done:
                trial = process.receive(self._limit + GRACE_SECONDS)
            is_kept = True
        except TimeoutError:
            what = "The validators" if trial.is_done else "It"
            message = f"{what} took longer than the time limit of {self._limit:g} seconds."
            seconds = trial.seconds if trial.is_done else perf_counter() - started
            status = TrialStatus.TIMED_OUT
            trial = replace(trial, status=status, message=message, seconds=seconds)
        except (SecateurError, OSError, pickle.PicklingError, TypeError, AttributeError) as error:
            trial = spec.failed(error, perf_counter() - started)
        finally:
            if is_kept:
                self._idle.append(process)
            else:
                process.close()
        return trial

    def close(self) -> None:
        """End the processes that are kept."""
        while self._idle:
            self._idle.pop().close()

    __del__ = close


class TrialProcess:
    """A process that runs trials and can be ended whatever it does."""

    def __init__(self) -> None:
        self._process: Any = None
        self._errors: Any = None
        self._reader = ThreadPoolExecutor(1)

    def start(self, context: ComparisonContext) -> None:
        """Start the process, unless it runs already, and wait until it has loaded the table."""
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
        self.send(context)
        self.receive(START_SECONDS)

    def send(self, what: Any) -> None:
        """Send an object by cloudpickle, which sends classes of a script or a notebook by value."""
        try:
            import cloudpickle
        except ImportError:  # scikit-learn depends on joblib, which contains it otherwise
            from joblib.externals import cloudpickle
        self._process.stdin.write(cloudpickle.dumps(what))
        self._process.stdin.flush()

    def receive(self, seconds: float) -> Any:
        """The next answer, or a TimeoutError."""
        try:
            return self._reader.submit(pickle.load, self._process.stdout).result(seconds)
        except (EOFError, pickle.UnpicklingError):
            raise SecateurError(self._reason_of_end()) from None

    def _reason_of_end(self) -> str:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        likely = " Perhaps memory ran out." if code == -9 else ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace")[-MAX_STDERR:].strip().splitlines()
        last = f" Its last message: {lines[-1]}" if lines else ""
        return f"The process of the trial ended by itself ({how}).{likely}{last}"

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._reader.shutdown()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):  # the last message has no reader any more
                stream.close()


def serve() -> None:
    """The other end of `TrialProcess`: read the context, then trials; answer selections, scores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    requests = sys.stdin.buffer
    # the pipe is for answers: what methods print goes to the errors
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    context = pickle.load(requests)  # noqa: S301 - from our own parent

    def answer(what: Any) -> None:
        answers.write(pickle.dumps(what))
        answers.flush()

    answer("ready")
    while True:
        try:
            spec = pickle.load(requests)  # noqa: S301 - from our own parent
        except EOFError:
            return
        trial = select(context, spec)
        answer(trial)
        if trial.is_done:
            answer(score(context, trial))


# ---- fits of folds ----------------------------------------------------------------------------


def n_processes(estimator: Any, X: Any, n_jobs: int | None, seconds: float) -> int:
    """How many processes fits of an estimator, each of so many seconds, should share; 1 is this."""
    # the threads of one fit wait for each other: as many fits with one thread each are faster
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


def results_of(tasks: Iterable[Callable[[], Any]], processes: int) -> Generator[Any, None, None]:
    """The results of tasks in their order; closing the generator ends those that still run."""
    if processes == 1:
        yield from (task() for task in tasks)
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=processes, backend="loky", return_as="generator", max_nbytes=None)
    with closing(pool(delayed(_quietly)(task) for task in tasks)) as results:
        yield from results


def _quietly(task: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has given the warnings
        return task()


def until_interrupted(
    results: Generator[T, None, None], on_result: Callable[[int], Any], kept: Callable[[int], str]
) -> list[T]:
    """Results up to an interruption, of which `kept` says what it leaves; raised before any."""
    found: list[T] = []
    try:
        with warnings.catch_warnings(), closing(results):
            # the fit to all rows has given the warnings
            warnings.simplefilter("ignore", SecateurWarning)
            # joblib warns when its processes are ended early, as an interruption does
            warnings.filterwarnings("ignore", ".* still being processed", UserWarning)
            for result in results:
                found.append(result)
                on_result(len(found))
    except KeyboardInterrupt:
        if not found:
            raise
        warnings.warn(kept(len(found)), InterruptedWarning, stacklevel=3)
    return found

"""Trials: a method fitted to the training rows of a fold, its selections scored on the rest.

They run here, in other processes or on a cluster. With a time limit a process is started as a
program, so that a script needs no guard around its main part, a worker of Dask may have it, and a
method that does not return is ended with its process.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from secateur.data.table import Fold
from secateur.exceptions import InputError, SecateurError
from secateur.execution.dask import DaskExecutor
from secateur.model_selection.baselines import Baseline
from secateur.model_selection.comparison import Subset, Trial, TrialStatus
from secateur.model_selection.encoding import as_features, fit_method
from secateur.model_selection.rows import Metric, Rows
from secateur.model_selection.validators import score_fold
from secateur.path import SelectionPath
from secateur.path.comparing import better_of
from secateur.typing import IntArray

START_SECONDS = 300.0  # how long a process may take to load its libraries and the table
GRACE_SECONDS = 0.2  # added to a time limit for the messages between the processes
MAX_STDERR = 2000


class TrialSpec(NamedTuple):
    """A trial that is to be run: a method on a fold."""

    name: str
    method: Any
    fold: int

    def failed(self, error: BaseException, seconds: float) -> Trial:
        """The trial without a selection."""
        return Trial(self.name, self.fold, TrialStatus.FAILED, describe(error), seconds)


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonContext:
    """What all trials of a comparison have in common."""

    rows: Rows
    folds: Sequence[Fold]
    validators: Mapping[str, Any]
    metric: Metric
    sizes: Sequence[int]
    seed: int
    n_jobs: int | None

    def seed_of(self, fold: int) -> int:
        """Another seed in each fold: else a random selection would look stable."""
        return int(np.random.SeedSequence([self.seed, fold]).generate_state(1)[0] >> 1)


def run_trial(context: ComparisonContext, spec: TrialSpec) -> Trial:
    """Select features in a fold and score them."""
    trial = select(context, spec)
    return score(context, trial) if trial.is_done else trial


def select(context: ComparisonContext, spec: TrialSpec) -> Trial:
    """Fit a method to the training rows of a fold; any exception becomes a failed trial."""
    started = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many fits, and of other libraries
            train = context.rows.take(context.folds[spec.fold].train)
            started = perf_counter()
            seed = context.seed_of(spec.fold)
            method = spec.method
            if isinstance(method, Baseline):
                most = max(method.n_ranked, *context.sizes, 0)
                method = clone(method).set_params(n_ranked=most, sizes=context.sizes)
            fitted, sources = fit_method(method, train, seed, context.n_jobs)
            seconds = perf_counter() - started
            subsets = subsets_of(fitted, context.sizes, sources)
    except Exception as error:  # noqa: BLE001 - any method may fail in its own way
        return spec.failed(error, perf_counter() - started)
    return Trial(spec.name, spec.fold, TrialStatus.DONE, "", seconds, tuple(subsets))


def score(context: ComparisonContext, trial: Trial) -> Trial:
    """Score the subsets of a trial by all validators, on the test rows; NaN where one fails."""
    train, test = (context.rows.take(rows) for rows in context.folds[trial.fold])
    seed = context.seed_of(trial.fold)
    problems: dict[str, str] = {}

    @cache  # columns in the order of the table, so that the same set has the same score
    def score_of(name: str, support: tuple[int, ...]) -> float:
        validator, columns = context.validators[name], np.array(support, np.int64)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return score_fold(validator, train, test, context.metric, seed, columns).mean
        except Exception as error:  # noqa: BLE001 - one validator that fails spoils no other
            kind = type(validator).__name__
            problems.setdefault(kind, f"Validator {kind} failed: {describe(error)}")
            return math.nan

    subsets = []
    for subset in trial.subsets:
        support = tuple(subset.support.tolist())
        scores = {name: score_of(name, support) for name in context.validators}
        subsets.append(replace(subset, scores=scores))
    return replace(trial, subsets=tuple(subsets), message="; ".join(problems.values()))


def describe(error: BaseException) -> str:
    """An error in one line; the type is left out of our own errors."""
    if isinstance(error, SecateurError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def subsets_of(fitted: Any, sizes: Sequence[int], sources: IntArray | None = None) -> list[Subset]:
    """What a fitted method selects at each size, and by itself.

    A path gives its largest step of at most that size, filled up with the features that enter next.
    A ranking gives its first features, or a subset that it has for that size. A plain support gives
    itself where it is not too large. What a method cannot give is left out.
    """
    if hasattr(fitted, "path_"):
        orders = [as_features(step.order, sources) for step in fitted.path_]
        chosen = (Subset(size, at_most(fitted.path_, orders, size)) for size in sizes)
        return [*chosen, Subset(None, orders[fitted.selection_.index])]
    order, own = (as_features(columns, sources) for columns in _ranking(fitted))
    own_choice = [] if own is None else [Subset(None, own)]
    if order is not None:
        found = getattr(fitted, "subsets_", {})
        exact = {size: as_features(columns, sources) for size, columns in found.items()}
        return [*(Subset(size, exact.get(size, order[:size])) for size in sizes), *own_choice]
    return [*(Subset(size, own) for size in sizes if len(own) <= size), *own_choice]


def at_most(path: SelectionPath, orders: Sequence[IntArray], size: int) -> IntArray:
    """At most so many features of a path, in order of entry; `orders` are those of its steps."""
    counts = np.array([len(order) for order in orders])
    fitting, larger = np.flatnonzero(counts <= size), np.flatnonzero(counts > size)
    chosen: list[int] = []
    if len(fitting):
        largest = better_of(path, fitting[counts[fitting] == counts[fitting].max()])
        chosen = orders[largest].tolist()
    for index in larger[np.argsort(counts[larger], kind="stable")]:
        chosen = list(dict.fromkeys([*chosen, *orders[index].tolist()]))[:size]
    return np.array(chosen, np.int64)


def _ranking(fitted: Any) -> tuple[Any, Any]:
    """All columns, the best first, and those that the method selected; None if it has none."""
    if hasattr(fitted, "order_"):
        order, n_own = fitted.order_, fitted.n_own_
        return order, None if n_own is None else order[:n_own]
    if not hasattr(fitted, "get_support"):
        kind = type(fitted).__name__
        raise InputError(f"A method must have get_support. Got {kind} without. Use a selector.")
    is_own = np.asarray(fitted.get_support(), np.bool_)
    inner = getattr(fitted, "estimator_", None)
    places = [(fitted, "ranking_"), (fitted, "scores_")]
    places += [(inner, "feature_importances_"), (inner, "coef_")]
    for where, name in places:
        values = getattr(where, name, None)
        if values is not None:
            importance = np.asarray(values, np.float64) * (-1.0 if name == "ranking_" else 1.0)
            if where is inner:
                importance = np.abs(np.atleast_2d(importance)).sum(axis=0)
            order = np.lexsort([-np.nan_to_num(importance, nan=-np.inf), ~is_own])
            return order, order[: is_own.sum()]
    return None, np.flatnonzero(is_own)


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
        process = TrialProcess()
        with suppress(IndexError):
            process = self._idle.pop()
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
            code = self._process.wait()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            likely = " Perhaps memory ran out." if code == -9 else ""
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace")[-MAX_STDERR:].strip().splitlines()
            last = f" Its last message: {lines[-1]}" if lines else ""
            raise SecateurError(
                f"The process of the trial ended by itself ({how}).{likely}{last}"
            ) from None

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

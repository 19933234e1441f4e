"""Times of methods that take turns, and the peak of a process's memory."""

from __future__ import annotations

import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

N_THREADS = 2
"""Threads of every method."""

TOTAL = "total"
"""The name of all stages together."""


def say(text: str) -> None:
    """Report how far the benchmark is, apart from its results."""
    print(f"  .. {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run of a method: seconds of its stages, and what came out."""

    stages: Mapping[str, float]
    n_features: int
    decide: Callable[[Any], Any]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def seconds(self, stage: str) -> float:
        return sum(self.stages.values()) if stage == TOTAL else self.stages[stage]


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """The seconds of all repeats, and the last run itself."""

    runs: list[Mapping[str, float]]
    last: Run

    def _all(self, stage: str) -> list[float]:
        return [sum(run.values()) if stage == TOTAL else run[stage] for run in self.runs]

    def best(self, stage: str = TOTAL) -> float:
        return min(self._all(stage))

    def median(self, stage: str = TOTAL) -> float:
        return statistics.median(self._all(stage))


def take_turns(methods: Mapping[str, Callable[[], Run]], repeats: int) -> dict[str, Times]:
    """Run A, B, ..., A, B, ...: what disturbs the machine disturbs all of them alike."""
    stages: dict[str, list[Mapping[str, float]]] = {name: [] for name in methods}
    last: dict[str, Run] = {}
    for _ in range(repeats):
        for name, run in methods.items():
            last.pop(name, None)
            gc.collect()
            last[name] = run()
            stages[name].append(last[name].stages)
    return {name: Times(stages[name], last[name]) for name in methods}


class Stopwatch:
    """Seconds by stage.

    >>> watch = Stopwatch()
    >>> with watch("training"):
    ...     pass
    >>> list(watch.stages)
    ['training']
    """

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.stages[stage] = self.stages.get(stage, 0.0) + time.perf_counter() - start


class PeakMemory:
    """The most memory that this process held inside a ``with``, beyond what it held before.

    The kernel's own high-water mark where it can be reset (Linux), and samples of the resident
    size everywhere.
    """

    def __init__(self, interval: float = 0.002) -> None:
        self._interval = interval
        self._done = threading.Event()
        self._process = psutil.Process()
        self._most = 0
        self.beyond = 0

    def __enter__(self) -> Self:
        gc.collect()
        self._has_mark = _reset_mark()
        self._before = self._most = int(self._process.memory_info().rss)
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._sampler.join()
        mark = read_mark() if self._has_mark else 0
        self.beyond = max(self._most, mark) - self._before

    def _sample(self) -> None:
        while not self._done.wait(self._interval):
            self._most = max(self._most, int(self._process.memory_info().rss))


def _reset_mark() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def read_mark() -> int:
    """The most memory that this process ever held, or since the mark was reset; 0 if unknown."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0

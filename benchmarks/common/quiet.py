"""Was the machine quiet? Threads that wait for each other suffer most from company."""

from __future__ import annotations

import time

import psutil

LOUD = 0.1
"""Cores that other processes may keep busy on average before times mean nothing."""


class Others:
    """The cores that other processes kept busy since this was made.

    With as many threads as cores, a thread that is pushed aside holds up all that wait for it:
    LightGBM, whose threads meet often, then takes many times as long. Such ratios flatter us.
    """

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._before = _all_seconds() - _own_seconds()

    def cores(self) -> float:
        spent = _all_seconds() - _own_seconds() - self._before
        return max(0.0, spent / (time.perf_counter() - self._start))


def _all_seconds() -> float:
    times = psutil.cpu_times()._asdict()
    return float(sum(seconds for kind, seconds in times.items() if kind not in _NOT_BUSY))


def _own_seconds() -> float:
    """This process, its children and theirs, whether they run or have ended."""
    own = psutil.Process()
    return _seconds_of(own) + sum(map(_seconds_of, own.children(recursive=True)))


def _seconds_of(process: psutil.Process) -> float:
    """What a process took, and its children that have ended; those that run are asked themselves.

    One that ends between being listed and being asked is in its parent's account the next time.
    """
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


_NOT_BUSY = {"idle", "iowait", "guest", "guest_nice"}
"""Not work, or counted as user time already."""

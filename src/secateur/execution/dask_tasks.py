"""Tasks on a dask cluster that need nothing of each other; those of a lost worker are done again.

Results, and what tasks have in common, are kept by dask itself, which knows how to make them once
more: a worker that is lost costs the time of its tasks and nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pickle import PicklingError, loads
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from secateur.exceptions import ClusterError
from secateur.execution.dask_rows import lost_scheduler

if TYPE_CHECKING:
    from secateur.execution.dask import DaskExecutor


PULSE = 5.0
"""Seconds between two looks at whether there are workers, while no task is done."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Something that many tasks need, on its way to whoever asks: a future of dask."""

    future: Any


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a task: its result, or the error that it ended with."""

    result: Any = None
    error: BaseException | None = None

    def value(self) -> Any:
        """The result; the error is raised."""
        if self.error is not None:
            raise self.error
        return self.result


def packed(value: Any) -> bytes:
    """By cloudpickle, which sends classes of a script or a notebook by value."""
    from cloudpickle import dumps

    data: bytes = dumps(value)
    return data


def share(executor: DaskExecutor, value: Any, name: str) -> Shared:
    """Give something to whichever workers ask for it.

    It is pickled at once, so that it may change here. It goes by way of the scheduler, which keeps
    it: what is scattered to workers would be lost with them.
    """
    data = packed(value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        future = executor.client.submit(_loaded, data, **_told(executor, name))
    return Shared(future)


def _loaded(data: bytes) -> Any:
    return loads(data)  # noqa: S301 - from our own client


def _run(function: Callable[..., Any], task: bytes, *shared: Any) -> Any:
    return function(*shared, _loaded(task))


def done_tasks(
    executor: DaskExecutor,
    function: Callable[..., Any],
    tasks: Sequence[Any],
    shared: Shared | None,
    names: Sequence[str],
) -> Generator[tuple[int, Outcome], None, None]:
    """The outcomes of tasks as they are done, each with the task's number."""
    client = executor.client
    before = () if shared is None else (shared.future,)
    waiting: dict[Any, int] = {}
    unsent: dict[int, Outcome] = {}
    try:
        for number, (task, name) in enumerate(zip(tasks, names, strict=True)):
            try:
                data = packed(task)
            except (PicklingError, TypeError, AttributeError) as error:
                unsent[number] = Outcome(error=error)
                continue
            future = client.submit(_run, function, data, *before, **_told(executor, name))
            waiting[future] = number
        yield from unsent.items()
        while waiting:
            for future in _some_done(executor, waiting):
                yield waiting.pop(future), _outcome(future)
    finally:
        if waiting and client.status == "running":
            client.cancel(list(waiting))


def _some_done(executor: DaskExecutor, waiting: dict[Any, int]) -> list[Any]:
    """Those that are done, once there are any; a cluster without workers is given up."""
    from distributed import TimeoutError as Late
    from distributed import wait

    while True:
        try:
            wait(list(waiting), timeout=PULSE, return_when="FIRST_COMPLETED")
        except Late:
            executor.workers.there()
        except (CancelledError, OSError) as error:
            raise lost_scheduler(error) from error
        found = [future for future in waiting if future.done()]
        if found:
            return found


def _outcome(future: Any) -> Outcome:
    from distributed.scheduler import KilledWorker

    if future.status != "error":
        try:
            return Outcome(future.result())
        except (CancelledError, OSError) as error:
            raise lost_scheduler(error) from error
    found = future.exception()
    if isinstance(found, KilledWorker):
        msg = (
            f"A task must leave its worker alive. Got {found.allowed_failures + 1} workers that "
            "ended in the midst of it: perhaps memory ran out. Give workers more memory, or the "
            "task less to do."
        )
        found = ClusterError(msg)
    return Outcome(error=found)


def _told(executor: DaskExecutor, name: str) -> dict[str, Any]:
    """A name for dask's dashboard, which shows what stands before the dash; and who may do it.

    Without a timeout tasks that are sent one after another begin one after another.
    """
    chosen = executor.workers.chosen
    return {
        "key": f"{name}-{uuid4().hex}",
        "pure": False,
        "fifo_timeout": "0 ms",
        "workers": None if chosen is None else sorted(chosen),
    }

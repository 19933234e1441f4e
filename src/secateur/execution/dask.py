"""The executor on a dask cluster: over blocks of rows, or over independent tasks."""

from __future__ import annotations

import time
import warnings
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import CancelledError
from pickle import PicklingError, loads
from typing import Any, NamedTuple, Self
from uuid import uuid4

from secateur.exceptions import ClusterError, ParameterError, import_optional
from secateur.execution.dask_rows import AGAIN, DaskRowStore, lost_scheduler
from secateur.execution.worker import BlockSource
from secateur.typing import Result

FAN_IN = 8  # actors whose results one actor, or the client, adds up at the most
PATIENCE = 60.0  # seconds that a cluster without workers is given to find some
PAUSE = 0.2  # seconds between two looks at a cluster without workers
PULSE = 5.0  # seconds between two looks at whether there are workers, while no task is done


class DaskExecutor:
    """Computes on a dask cluster.

    Give it to `secateur.open_table`, and boosted selectors that are fitted on the table work where
    the cluster is; the folder of the table must be one that all workers see. Give it to
    `secateur.compare`, to FeatBoost, to IIS or to grafting as ``executor``. It is not saved: a
    selector that was pickled computes in the process that reads it. `close`, or the end of a
    ``with`` block, closes what it opened itself; the client stays open.

    Parameters
    ----------
    client : dask.distributed.Client
    fan_in : int, default=8
        How many workers one worker, or the client, adds up at the most: sums go up a tree.
    patience : float, default=60
        Seconds to wait for a worker where none is left.
    workers : sequence of str, default=None
        Addresses of the workers to use; None is all that there are.
    direct : bool, default=True
        Whether this process connects to the workers itself. False sends everything through the
        scheduler, for clusters that can be reached in no other way.
    """

    def __init__(
        self,
        client: Any,
        *,
        fan_in: int = FAN_IN,
        patience: float = PATIENCE,
        workers: Sequence[str] | None = None,
        direct: bool = True,
    ) -> None:
        distributed = import_optional("distributed", "DaskExecutor", "secateur[dask]")
        if not isinstance(client, distributed.Client):
            raise ParameterError(
                f"'client' must be a dask.distributed.Client. Got {type(client).__name__}. Use "
                "Client(address), or Client() for a cluster of this machine."
            )
        if fan_in < 2:
            raise ParameterError(f"'fan_in' must be >= 2. Got {fan_in!r}. Use {FAN_IN}.")
        is_own = direct and not client.direct_to_workers
        self.client = _direct_client(client) if is_own else client
        self.fan_in = int(fan_in)
        self._close = weakref.finalize(self, _close, self.client if is_own else None)
        self._chosen = None if workers is None else sorted(workers)
        self._patience = float(patience)

    def close(self) -> None:
        """Close the connection that it opened itself; the client that was given stays open."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def workers(self) -> dict[str, int]:
        """The workers that are there now, and their threads; waits a while for the first."""
        until = time.monotonic() + self._patience
        while True:
            if self.client.status == "closed":
                raise lost_scheduler("the client is closed")
            try:
                known = self.client.sync(self.client.scheduler.identity)["workers"]
            except (OSError, AttributeError, TimeoutError) as error:
                raise lost_scheduler(error) from error
            chosen = known if self._chosen is None else set(self._chosen) & known.keys()
            if chosen:
                return {address: int(known[address]["nthreads"]) for address in chosen}
            if time.monotonic() > until:
                raise ClusterError(
                    f"A cluster must have a worker. Got none for {self._patience:g} seconds. Start "
                    f"workers; {AGAIN}"
                )
            time.sleep(PAUSE)

    def distribute(self, source: BlockSource) -> DaskRowStore:
        """Spread blocks of any kind over the workers."""
        # an actor of this process takes any client that it finds there for its own, and waits
        if str(getattr(self.client.scheduler, "address", "")).startswith("inproc://"):
            raise ParameterError(
                "Rows must be with workers in processes of their own. Got Client(processes=False). "
                "Use Client(), or fit in this process, without an executor."
            )
        return DaskRowStore(self, source)

    # ---- tasks that need nothing of each other ------------------------------------------------

    @property
    def n_workers(self) -> int:
        """How many workers there are."""
        return len(self.workers())

    @staticmethod
    def pack(value: Any) -> bytes:
        """Something pickled; classes of a script or a notebook are sent by value."""
        from cloudpickle import dumps

        return dumps(value)

    def share(self, value: Any, name: str) -> Any:
        """Something that many tasks need, as a future; pickled at once, so that it may change."""
        # by way of the scheduler, which keeps it: what is scattered to workers is lost with them
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(loads, self.pack(value), **self._submit_options(name))

    def done(
        self, function: Callable[..., Any], tasks: Sequence[Any], shared: Any, names: Sequence[str]
    ) -> Generator[tuple[int, Outcome], None, None]:
        """``function(shared, task)`` of tasks as they are done, by number; close cancels others."""
        from distributed import TimeoutError as Late
        from distributed import wait

        before = () if shared is None else (shared,)
        waiting: dict[Any, int] = {}
        unsent: dict[int, Outcome] = {}
        try:
            for number, (task, name) in enumerate(zip(tasks, names, strict=True)):
                try:
                    data = self.pack(task)
                except (PicklingError, TypeError, AttributeError) as error:
                    unsent[number] = Outcome(error=error)
                    continue
                options = self._submit_options(name)
                waiting[self.client.submit(_run, function, data, *before, **options)] = number
            yield from unsent.items()
            while waiting:
                try:
                    wait(list(waiting), timeout=PULSE, return_when="FIRST_COMPLETED")
                except Late:
                    self.workers()  # a cluster without workers is given up
                except (CancelledError, OSError) as error:
                    raise lost_scheduler(error) from error
                for future in [future for future in waiting if future.done()]:
                    yield waiting.pop(future), _outcome(future)
        finally:
            if waiting and self.client.status == "running":
                self.client.cancel(list(waiting))

    def map(
        self,
        function: Callable[..., Result],
        tasks: Iterable[Any],
        shared: Any = None,
        name: str = "task",
    ) -> list[Result]:
        """``function(shared, task)`` of every task, or ``function(task)``, in their order."""
        given = list(tasks)
        found = sorted(self.done(function, given, shared, [name] * len(given)))
        for _, (_, error) in found:
            if error is not None:
                raise error
        return [result for _, (result, _) in found]

    def _submit_options(self, name: str) -> dict[str, Any]:
        """The name for dask's dashboard, which shows the part before the dash, and the workers."""
        return {
            "key": f"{name}-{uuid4().hex}",
            "pure": False,
            "fifo_timeout": "0 ms",  # tasks begin in the order in which they are sent
            "workers": self._chosen,
        }

    # ---- what scikit-learn and pickle do to parameters ----------------------------------------

    def __deepcopy__(self, _: Any) -> Self:
        return self  # clones of a selector use the same cluster

    def __reduce__(self) -> Any:
        return type(None), ()

    def __repr__(self) -> str:
        return f"DaskExecutor({self.client.scheduler.address!r})"


def _direct_client(client: Any) -> Any:
    """A client of our own: whether the user's speaks to workers is not ours to change."""
    import distributed

    class DirectClient(distributed.Client):  # type: ignore[misc]  # untyped base
        async def _reconnect(self) -> None:
            await self._close()  # the user's client reports that the scheduler is gone

    return DirectClient(
        client.scheduler.address,
        security=client.security,
        direct_to_workers=True,
        set_as_default=False,
    )


def _close(opened: Any) -> None:
    if opened is not None and opened.status != "closed":
        opened.close()


def is_executor(value: Any) -> bool:
    """Whether something may be given as ``executor``."""
    return value is None or isinstance(value, DaskExecutor)


class Outcome(NamedTuple):
    """The result of a task, or its error."""

    result: Any = None
    error: BaseException | None = None


def _outcome(future: Any) -> Outcome:
    from distributed.scheduler import KilledWorker

    if future.status != "error":
        try:
            return Outcome(future.result())
        except (CancelledError, OSError) as error:
            raise lost_scheduler(error) from error
    found = future.exception()
    if isinstance(found, KilledWorker):
        found = ClusterError(
            f"A task must leave its worker alive. Got {found.allowed_failures + 1} workers that "
            "ended during it: perhaps memory ran out. Give workers more memory, or the task less "
            "to do."
        )
    return Outcome(error=found)


def _run(function: Callable[..., Any], task: bytes, *shared: Any) -> Any:
    return function(*shared, loads(task))  # noqa: S301 - from our own client

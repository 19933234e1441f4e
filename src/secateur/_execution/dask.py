"""Blocks of rows on the workers of a dask cluster: one host on each, asked in a tree.

Hosts are dask actors: a call goes to its worker without a detour over the scheduler. Rows stay
where they are; calls and sums travel. A worker that is lost takes its blocks with it: others read
them again, are told what the lost one was told since the last time that it was settled, and the
fit goes on, with the same bits.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count, pairwise
from typing import Any
from weakref import WeakSet

from secateur._data.stored import StoredTable
from secateur._execution.dask_fit import DaskFit
from secateur._execution.host import CODES, Order, RowHost, joined
from secateur._execution.places import FitRows
from secateur.exceptions import ClusterError, MissingDependencyError, ParameterError
from secateur.typing import Result

FAN_IN = 8
"""Hosts that one host, or the client, adds up at the most."""

PATIENCE = 60.0
"""Seconds that a cluster without workers is given to find some."""


class DaskExecutor:
    """Computes on a dask cluster.

    Give it to `secateur.open_table`; selectors that are fitted on the table then work where the
    cluster is. The folder of the table must be one that all workers see.

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

    Examples
    --------
    >>> from dask.distributed import Client, LocalCluster  # doctest: +SKIP
    >>> client = Client(LocalCluster(n_workers=2))  # doctest: +SKIP
    >>> table = secateur.open_table(
    ...     "rows.parquet", "y", executor=DaskExecutor(client)
    ... )  # doctest: +SKIP
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
        try:
            import distributed
        except ImportError as error:
            msg = (
                "DaskExecutor needs dask.distributed. Got no such package. Install it with 'pip "
                "install secateur[dask]'."
            )
            raise MissingDependencyError(msg) from error
        if not isinstance(client, distributed.Client):
            msg = (
                f"'client' must be a dask.distributed.Client. Got {type(client).__name__}. Use "
                "Client(address), or Client() for a cluster of this machine."
            )
            raise ParameterError(msg)
        if fan_in < 2:
            msg = f"'fan_in' must be >= 2. Got {fan_in!r}. Use {FAN_IN}."
            raise ParameterError(msg)
        self.client = client
        self.fan_in = int(fan_in)
        self.patience = float(patience)
        self.workers = None if workers is None else frozenset(workers)
        if direct and not client.direct_to_workers:
            # A client of our own: whether the user's speaks to workers is not ours to change.
            self.client = distributed.Client(
                client.scheduler.address,
                security=client.security,
                direct_to_workers=True,
                set_as_default=False,
            )
            weakref.finalize(self, self.client.close)

    def place(self, table: StoredTable) -> DaskPlace:
        """Spread the blocks of a table over the workers."""
        return DaskPlace(self, table)

    def map(self, function: Callable[..., Result], tasks: Iterable[Any]) -> list[Result]:
        """``function(task)`` of every task, wherever there is room."""
        futures = self.client.map(function, list(tasks), pure=False)
        results: list[Result] = self.client.gather(futures)
        return results


class DaskPlace:
    """The blocks of one table on the workers of a cluster."""

    def __init__(self, executor: DaskExecutor, table: StoredTable) -> None:
        self._executor = executor
        self._table = table
        self._hosts: dict[str, Any] = {}
        self._owner: dict[int, str] = {}
        self._numbers = count(CODES + 1)
        self._fits: WeakSet[DaskFit] = WeakSet()
        self._codes: DaskFit | None = None
        self._is_lost = False
        self._give_out(range(len(table.blocks)))

    # ---- what fits ask for --------------------------------------------------------------------

    def executor(self, asked: FitRows) -> DaskFit:
        """The executor of one fit."""
        fit = DaskFit(self, next(self._numbers), asked)
        self._fits.add(fit)
        for address in self._hosts:
            self._begin(fit, address, self.blocks_of(address))
        return fit

    def over_codes(self) -> DaskFit:
        """The executor of the codes themselves."""
        self._codes = self._codes or DaskFit(self, CODES, None)
        return self._codes

    def blocks_of(self, address: str) -> list[int]:
        """The blocks that a worker has, by number."""
        return [number for number, owner in self._owner.items() if owner == address]

    def send(self, order: Order) -> Any:
        """Have an order done by all hosts, and give their answer."""
        with self._executor.client.as_current():
            trees = _trees(list(self._hosts.values()), self._executor.fan_in)
            futures = [host.run(order, below) for host, below in trees]
            answers = [future.result() for future in futures]
        return joined(order.calls[-1].verb, answers)

    def end(self, fit: DaskFit) -> None:
        """Have all hosts forget a fit; those that are gone have."""
        self._fits.discard(fit)
        if self._is_lost:
            return  # nobody is left to forget it
        for address in self._hosts:
            with suppress(OSError, RuntimeError):  # who is lost has forgotten it
                self._ask_all([address], lambda host: host.end(fit.number))

    @property
    def n_hosts(self) -> int:
        """How many workers have blocks."""
        return len(self._hosts)

    def n_fits(self) -> list[int]:
        """How many fits each host has blocks of."""
        found: list[int] = self._ask_all(list(self._hosts), lambda host: host.n_fits())
        return found

    # ---- giving out blocks --------------------------------------------------------------------

    def _give_out(self, numbers: Iterable[int]) -> list[str]:
        """Give blocks to workers, those with few rows first; gives the workers that got some."""
        workers = self._workers()
        for address in [*self._hosts]:
            if address not in workers:
                del self._hosts[address]
        blocks = self._table.blocks
        load = dict.fromkeys(workers, 0)
        for number, owner in self._owner.items():
            if owner in load:
                load[owner] += blocks[number].n_rows
        new: dict[str, list[int]] = {}
        for number in numbers:
            address = min(load, key=lambda each: (load[each], each))
            load[address] += blocks[number].n_rows
            new.setdefault(address, []).append(number)
        self._make_hosts({address: workers[address] for address in new})
        self._hold(new)
        for address, its_numbers in new.items():
            self._owner.update(dict.fromkeys(its_numbers, address))
        return list(new)

    def _workers(self) -> dict[str, int]:
        """The workers that are there now and their threads; waits a while for the first."""
        until = time.monotonic() + self._executor.patience
        while True:
            try:
                client = self._executor.client
                found = client.sync(client.scheduler.identity)["workers"]
            except (OSError, AttributeError, TimeoutError) as error:
                self._is_lost = True
                raise _lost_scheduler(error) from error
            chosen = self._executor.workers
            there = {
                address: int(told["nthreads"])
                for address, told in found.items()
                if chosen is None or address in chosen
            }
            if there:
                return there
            if time.monotonic() > until:
                self._is_lost = True
                msg = (
                    "A cluster must have a worker. Got none for "
                    f"{self._executor.patience:g} seconds. Start workers, and go on with resume=."
                )
                raise ClusterError(msg)
            time.sleep(0.2)

    def _make_hosts(self, workers: dict[str, int]) -> None:
        client = self._executor.client
        futures = {
            address: client.submit(
                RowHost,
                n_threads,
                actor=True,
                workers=[address],
                pure=False,
                key=f"secateur-rows-{address}-{time.monotonic_ns()}",
            )
            for address, n_threads in workers.items()
            if address not in self._hosts
        }
        with client.as_current():
            for address, future in futures.items():
                self._hosts[address] = future.result()

    def _hold(self, new: dict[str, list[int]]) -> None:
        blocks, bins = self._table.blocks, self._table.bins

        def hold(address: str) -> Any:
            its_blocks = {number: blocks[number] for number in new[address]}
            return self._hosts[address].hold(its_blocks, bins)

        try:
            self._ask_all(list(new), lambda host: hold(self._address(host)))
        except FileNotFoundError as error:
            msg = (
                "The folder of a stored table must be one that all workers see. Got none at "
                f"{str(self._table.folder)!r} on a worker. Give open_table a shared 'cache'."
            )
            raise ClusterError(msg) from error

    def _address(self, host: Any) -> str:
        return next(address for address, each in self._hosts.items() if each is host)

    def _begin(self, fit: DaskFit, address: str, numbers: Sequence[int]) -> None:
        blocks = self._table.blocks
        assert fit.asked is not None  # noqa: S101  # of rows, not of codes
        asked = {n: fit.asked.cut(blocks[n].first_row, blocks[n].n_rows) for n in numbers}
        self._ask_all([address], lambda host: host.begin(fit.number, asked))

    def _ask_all(self, addresses: Sequence[str], ask: Callable[[Any], Any]) -> list[Any]:
        with self._executor.client.as_current():
            futures = [ask(self._hosts[address]) for address in addresses]
            return [future.result() for future in futures]

    # ---- losing workers -----------------------------------------------------------------------

    def repair(self) -> bool:
        """Give the blocks of lost workers to others, which catch up; False if none was lost."""
        there = self._workers()
        lost = [number for number, owner in self._owner.items() if owner not in there]
        if not lost:
            return False
        self._give_out(lost)
        for address in self._hosts:
            numbers = [number for number in lost if self._owner[number] == address]
            if numbers:
                self._bring_up(address, numbers)
        return True

    def _bring_up(self, address: str, numbers: Sequence[int]) -> None:
        """Have a host do to new blocks what was done to the lost ones."""
        fits = [self._codes] if self._codes is not None else []
        for fit in [*fits, *self._fits]:
            if fit.asked is not None:
                self._begin(fit, address, numbers)
            told, pending = fit.history()
            with self._executor.client.as_current():
                host = self._hosts[address]
                host.catch_up(fit.number, numbers, told, pending).result()


def _trees(hosts: Sequence[Any], fan_in: int) -> list[tuple[Any, Any]]:
    """Hosts as at most so many trees, in which each has at most so many below it.

    >>> _trees([1, 2, 3, 4, 5], 2)
    [(1, [(2, []), (3, [])]), (4, [(5, [])])]
    """
    n_trees = min(fan_in, len(hosts))
    cuts = [-(-len(hosts) * k // n_trees) for k in range(n_trees + 1)] if n_trees else []
    parts = [hosts[a:b] for a, b in pairwise(cuts)]
    return [(part[0], _trees(part[1:], fan_in)) for part in parts]


def _lost_scheduler(error: BaseException) -> ClusterError:
    return ClusterError(
        f"The client must reach its scheduler. Got none: {error}. Connect to a cluster again, and "
        "go on with resume=."
    )

"""Blocks of rows on the workers of a dask cluster: one host on each, asked in a tree.

Hosts are dask actors: a call goes to its worker without a detour over the scheduler. Rows stay
where they are; calls and sums travel. A worker that is lost takes its blocks with it: others get
them again, are told what the lost one was told since the last time that it was settled, and the
fit goes on, with the same bits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from secateur._execution.dask_fit import DaskFit
from secateur._execution.dask_workers import trees_of
from secateur._execution.holdings import Holding
from secateur._execution.host import CODES, Order, RowHost, joined
from secateur._execution.places import FitRows
from secateur.exceptions import ClusterError

if TYPE_CHECKING:
    from secateur._execution.dask import DaskExecutor

AHEAD = 2
"""Blocks on their way to each host at a time: those of a table in memory are large."""


class DaskPlace:
    """Blocks of rows on the workers of a cluster."""

    def __init__(self, executor: DaskExecutor, holding: Holding) -> None:
        self._executor = executor
        self._holding = holding
        self._hosts: dict[str, Any] = {}
        self._owner: dict[int, str] = {}
        self._numbers = count(CODES + 1)
        self._fits: WeakSet[DaskFit] = WeakSet()
        self._codes: DaskFit | None = None
        self._is_lost = False
        self._give_out(range(len(holding.n_rows)))

    # ---- what fits ask for --------------------------------------------------------------------

    def executor(self, asked: FitRows) -> DaskFit:
        """The executor of one fit."""
        fit = DaskFit(self, next(self._numbers), asked)
        self._fits.add(fit)
        for address in self._hosts:
            self._begin(fit, address, self.blocks_of(address))
        return fit

    def over_codes(self) -> DaskFit:
        """The executor of what the hosts hold for all fits."""
        self._codes = self._codes or DaskFit(self, CODES, None)
        return self._codes

    def blocks_of(self, address: str) -> list[int]:
        """The blocks that a worker has, by number."""
        return [number for number, owner in self._owner.items() if owner == address]

    def send(self, order: Order) -> Any:
        """Have an order done by all hosts, and give their answer."""
        with self._executor.client.as_current():
            trees = trees_of(list(self._hosts.values()), self._executor.fan_in)
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
                self._ask(address, lambda host: host.end(fit.number))

    @property
    def n_hosts(self) -> int:
        """How many workers have blocks."""
        return len(self._hosts)

    def n_fits(self) -> list[int]:
        """How many fits each host has blocks of."""
        return [self._ask(address, lambda host: host.n_fits()) for address in self._hosts]

    # ---- giving out blocks --------------------------------------------------------------------

    def _give_out(self, numbers: Iterable[int]) -> None:
        """Give blocks to workers, those with few rows first."""
        workers = self._workers()
        for address in [*self._hosts]:
            if address not in workers:
                del self._hosts[address]
        n_rows = self._holding.n_rows
        load = dict.fromkeys(workers, 0)
        for number, owner in self._owner.items():
            if owner in load:
                load[owner] += n_rows[number]
        new: dict[int, str] = {}
        for number in numbers:
            address = min(load, key=lambda each: (load[each], each))
            load[address] += n_rows[number]
            new[number] = address
        self._make_hosts({address: workers[address] for address in new.values()})
        self._hold(new)
        self._owner.update(new)

    def _workers(self) -> dict[str, int]:
        try:
            return self._executor.workers.there()
        except ClusterError:
            self._is_lost = True
            raise

    def _make_hosts(self, workers: dict[str, int]) -> None:
        client = self._executor.client
        futures = {
            address: client.submit(
                RowHost,
                n_threads,
                actor=True,
                workers=[address],
                pure=False,
                key=f"secateur {self._holding.name}-{address}-{time.monotonic_ns()}",
            )
            for address, n_threads in workers.items()
            if address not in self._hosts
        }
        with client.as_current():
            for address, future in futures.items():
                self._hosts[address] = future.result()

    def _hold(self, new: dict[int, str]) -> None:
        """Have hosts get their blocks, a few at a time."""
        holding, waiting = self._holding, deque[Any]()
        try:
            with self._executor.client.as_current():
                for address in dict.fromkeys(new.values()):
                    self._hosts[address].learn(holding.make, holding.shared).result()
                for number, recipe in holding.recipes(new):
                    waiting.append(self._hosts[new[number]].hold(number, recipe))
                    if len(waiting) > AHEAD * len(self._hosts):
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
        except FileNotFoundError as error:
            msg = (
                "The folder of a stored table must be one that all workers see. Got none at "
                f"{error.filename!r} on a worker. Give open_table a shared 'cache'."
            )
            raise ClusterError(msg) from error

    def _begin(self, fit: DaskFit, address: str, numbers: Sequence[int]) -> None:
        first, n_rows = self._holding.first_row, self._holding.n_rows
        assert fit.asked is not None  # noqa: S101  # of rows, not of codes
        asked = {n: fit.asked.cut(first[n], n_rows[n]) for n in numbers}
        self._ask(address, lambda host: host.begin(fit.number, asked))

    def _ask(self, address: str, ask: Callable[[Any], Any]) -> Any:
        with self._executor.client.as_current():
            return ask(self._hosts[address]).result()

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
            with self._executor.client.as_current():
                host = self._hosts[address]
                host.catch_up(fit.number, numbers, *fit.history()).result()

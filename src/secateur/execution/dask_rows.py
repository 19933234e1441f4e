"""The executor of one fit on a cluster: numbered calls, sent again until they are answered.

The blocks of a lost worker go to others, which repeat the calls since the last checkpoint.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, count, pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from secateur.exceptions import ClusterError
from secateur.execution.blocks import AllRows, FitRows
from secateur.execution.worker import CODES, BlockSource, Call, Order, WorkerActor, joined
from secateur.typing import Finish, Result

if TYPE_CHECKING:
    from secateur.execution.dask import DaskExecutor


AGAIN = "then go on with resume= where there is one, or begin again."  # the advice of errors
MAX_UNANSWERED = 50  # calls to a worker without an answer before it counts as lost
MAX_LOST = 10  # times that workers may be lost during one call
AHEAD = 2  # blocks on their way to each actor at a time: those of a table in memory are large


def lost_scheduler(error: object) -> ClusterError:
    """The error of a client without a scheduler."""
    return ClusterError(
        f"The client must reach its scheduler. Got none: {error}. Connect to a cluster again; "
        f"{AGAIN}"
    )


def trees_of(actors: Sequence[Any], fan_in: int) -> list[tuple[Any, Any]]:
    """Actors as at most so many trees, in which each has at most so many below it.

    >>> trees_of([1, 2, 3, 4, 5], 2)
    [(1, [(2, []), (3, [])]), (4, [(5, [])])]
    """
    n_trees = min(fan_in, len(actors))
    cuts = [-(-len(actors) * k // n_trees) for k in range(n_trees + 1)] if n_trees else []
    parts = [actors[a:b] for a, b in pairwise(cuts)]
    return [(part[0], trees_of(part[1:], fan_in)) for part in parts]


def _no_memory() -> ClusterError:
    return ClusterError(
        f"The workers must hold their blocks of rows. Got {MAX_LOST} times that some of them "
        f"ended: perhaps memory ran out. Give workers more memory, or start more; {AGAIN}"
    )


class DaskRowStore(AllRows):
    """Blocks of rows on the workers of a cluster."""

    def __init__(self, executor: DaskExecutor, source: BlockSource) -> None:
        self._executor = executor
        self._source, self._first_row = source, list(accumulate(source.n_rows, initial=0))
        self.actors: dict[str, Any] = {}
        self._owner: dict[int, str] = {}
        self._numbers = count(CODES + 1)
        self._fits: WeakSet[DaskFit] = WeakSet()
        self._codes: DaskFit | None = None
        self._is_lost = False
        for _ in range(MAX_LOST):
            try:
                self._give_out(range(len(source.n_rows)))
            except (OSError, RuntimeError) as error:
                if not _is_loss(error):
                    raise
                self.actors.clear()
            else:
                return
        raise _no_memory()

    def executor(self, asked: FitRows) -> DaskFit:
        """The executor of one fit."""
        fit = DaskFit(self, next(self._numbers), asked)
        self._fits.add(fit)
        for address in self.actors:
            here = [number for number, owner in self._owner.items() if owner == address]
            self._begin(fit, address, here)
        return fit

    def code_executor(self) -> DaskFit:
        """The executor of what the actors hold for all fits."""
        self._codes = self._codes or DaskFit(self, CODES, None)
        return self._codes

    def send(self, order: Order) -> Any:
        """Have an order done by all actors, and give their answer."""
        with self._executor.client.as_current():
            trees = trees_of(list(self.actors.values()), self._executor.fan_in)
            futures = [actor.run(order, below) for actor, below in trees]
            answers = [future.result() for future in futures]
        return joined(order.calls[-1].verb, answers)

    def end(self, fit: DaskFit) -> None:
        """End a fit on all actors."""
        self._fits.discard(fit)
        if self._is_lost:
            return  # nobody is left to forget it
        for address in self.actors:
            with suppress(OSError, RuntimeError):  # who is lost has forgotten it
                self._ask(address, "end", fit.number)

    def _give_out(self, numbers: Iterable[int]) -> None:
        """Give blocks to workers, those with few rows first."""
        workers = self._workers()
        self.actors = {each: self.actors[each] for each in self.actors if each in workers}
        n_rows = self._source.n_rows
        load = dict.fromkeys(workers, 0)
        for number, owner in self._owner.items():
            if owner in load:
                load[owner] += n_rows[number]
        new: dict[int, str] = {}
        for number in numbers:
            address = min(load, key=lambda each: (load[each], each))
            load[address] += n_rows[number]
            new[number] = address
        client = self._executor.client
        futures = {
            address: client.submit(
                WorkerActor,
                workers[address],
                actor=True,
                workers=[address],
                pure=False,
                key=f"secateur {self._source.name}-{address}-{time.monotonic_ns()}",
            )
            for address in dict.fromkeys(new.values())
            if address not in self.actors
        }
        with client.as_current():
            for address, future in futures.items():
                self.actors[address] = future.result()
        self._hold(new)
        self._owner.update(new)

    def _workers(self) -> dict[str, int]:
        try:
            return self._executor.workers()
        except ClusterError:
            self._is_lost = True
            raise

    def _hold(self, new: dict[int, str]) -> None:
        """Have actors get their blocks, a few at a time."""
        source, waiting = self._source, deque[Any]()
        try:
            with self._executor.client.as_current():
                for address in dict.fromkeys(new.values()):
                    self.actors[address].learn(source.make, source.shared).result()
                for number, address in new.items():
                    waiting.append(self.actors[address].hold(number, source.recipe(number)))
                    if len(waiting) > AHEAD * len(self.actors):
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
        except FileNotFoundError as error:
            raise ClusterError(
                "The folder of a stored table must be one that all workers see. Got none at "
                f"{error.filename!r} on a worker. Give open_table a shared 'cache'."
            ) from error

    def _begin(self, fit: DaskFit, address: str, numbers: Sequence[int]) -> None:
        first, n_rows = self._first_row, self._source.n_rows
        assert fit.asked is not None  # noqa: S101  # of rows, not of codes
        asked = {n: fit.asked.cut(first[n], n_rows[n]) for n in numbers}
        self._ask(address, "begin", fit.number, asked)

    def _ask(self, address: str, method: str, *given: Any) -> Any:
        with self._executor.client.as_current():
            return getattr(self.actors[address], method)(*given).result()

    def repair(self) -> bool:
        """Give the blocks of lost workers to others, which catch up; False if none was lost."""
        there = self._workers()
        lost = [number for number, owner in self._owner.items() if owner not in there]
        if not lost:
            return False
        self._give_out(lost)
        fits = [self._codes] if self._codes is not None else []
        for address in self.actors:
            numbers = [number for number in lost if self._owner[number] == address]
            for fit in [*fits, *self._fits] if numbers else ():
                if fit.asked is not None:
                    self._begin(fit, address, numbers)
                self._ask(address, "catch_up", fit.number, numbers, fit.done, fit.pending)
        return True


class DaskFit:
    """The executor of one fit on a cluster; what wants no answer goes with the next call."""

    one_pass = True

    def __init__(self, store: DaskRowStore, number: int, asked: FitRows | None) -> None:
        self._store = store
        self.number = number
        self.asked = asked
        self._serial = 0
        self._waiting: list[Call] = []
        self.done: list[Call] = []  # to all blocks
        self.pending: Order | None = None  # some blocks may have done it already
        self._is_open = True

    def sum(self, function: Callable[..., Any], *small: Any, finish: Finish | None = None) -> Any:
        """The sum of ``function(block, *small)`` over all blocks, ``finish`` done on each actor."""
        return self._ask(Call("sum", function, small, finish))

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` of every block, in their order."""
        found = self._ask(Call("each", function, small))
        return [found[number] for number in sorted(found)]

    def walk(self, function: Callable[..., Result], *small: Any) -> Iterator[Result]:
        """What `each` gives, one after the other."""
        return iter(self.each(function, *small))

    def apply(self, function: Callable[..., None], *small: Any) -> None:
        """Call ``function(block, *small)`` for every block, before the next call."""
        self._waiting.append(Call("apply", function, small))

    def checkpoint(self, function: Callable[..., None], *small: Any) -> None:
        """Set the call that brings a new block to the state of the others."""
        if self._waiting:
            self._ask(self._waiting.pop())
        self.done = [Call("apply", function, small)]

    def close(self) -> None:
        """End the fit on all actors."""
        if self._is_open:
            self._is_open = False
            self._store.end(self)

    def _ask(self, call: Call) -> Any:
        calls, self._waiting = [*self._waiting, call], []
        self._serial += 1
        self.pending = Order(self.number, self._serial, calls)
        n_unanswered = n_lost = 0
        while True:  # where workers are lost on the way, others take over and are asked again
            try:
                answer = self._store.send(self.pending)
                break
            except (OSError, RuntimeError) as error:
                if not _is_loss(error):
                    raise
                is_repaired = self._repair()
                n_unanswered = 0 if is_repaired else n_unanswered + 1
                n_lost += is_repaired
                if n_lost > MAX_LOST:
                    raise _no_memory() from error
                if n_unanswered > MAX_UNANSWERED:
                    raise ClusterError(
                        "A worker of the cluster must answer. Got none, though the scheduler has "
                        f"it still: {error}. Restart that worker, and go on with resume=."
                    ) from error
                time.sleep(0.1 if n_unanswered else 0.0)
        self.done.extend(calls)
        self.pending = None
        return answer

    def _repair(self) -> bool:
        try:
            return self._store.repair()
        except ClusterError:
            raise
        except (OSError, RuntimeError) as error:
            if not _is_loss(error):
                raise
            return False  # one more went while the others caught up: ask again


def _is_loss(error: BaseException) -> bool:
    """Whether an error says that somebody is gone; any other is of the computation itself."""
    if isinstance(error, RuntimeError):
        return "Actor was lost" in str(error) or "cannot schedule" in str(error)
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)

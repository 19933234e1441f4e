"""A host of rows on a worker: blocks, and the calls that are done to them.

A host holds blocks for all fits (codes, or numbers), and for every fit blocks of rows made from
them. Calls come with a serial number. A call that was done already, but whose answer was lost on
the way, is not done again: its answer is kept until the next one comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from secateur._execution.blocks import Rooms
from secateur._execution.local import added
from secateur._execution.places import FitRows
from secateur._execution.space import Heap
from secateur._kernels.threads import Threads
from secateur.typing import Finish

CODES = 0
"""The number of the fit that is none: calls on the codes themselves."""


class Call(NamedTuple):
    """A function and what it is given beside a block; ``verb`` is sum, each or tell.

    ``finish`` is done to the sum over the blocks of a host.
    """

    verb: str
    function: Any
    small: tuple[Any, ...]
    finish: Finish | None = None


class Order(NamedTuple):
    """Calls on the blocks of one fit, the last of which is answered."""

    fit: int
    serial: int
    calls: Sequence[Call]


@dataclass(slots=True, eq=False)
class _Fit:
    """The blocks of one fit by number, and the last answer."""

    blocks: dict[int, Any] = field(default_factory=dict)
    serial: int = -1
    answer: Any = None


class RowHost:
    """Blocks of rows of one table in one process; lives as a dask actor, or anywhere else.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads: int) -> None:
        self._threads = Threads(n_threads)
        self._rooms = Rooms()
        self._held: dict[int, Any] = {}
        self._make: Any = None
        self._shared: Any = None
        self._fits: dict[int, _Fit] = {CODES: _Fit()}

    # ---- coming and going ---------------------------------------------------------------------

    def learn(self, make: Any, shared: Any) -> None:
        """Know how blocks are made: by ``make(recipe, shared, threads)``."""
        self._make, self._shared = make, shared

    def hold(self, number: int, recipe: Any) -> None:
        """Make a block, for good."""
        self._held[number] = self._make(recipe, self._shared, self._threads)
        self._fits[CODES].blocks[number] = self._held[number]

    def begin(self, fit: int, asked: dict[int, FitRows]) -> None:
        """Make the blocks of a fit; ``asked`` are the parts of these blocks."""
        found = self._fits.setdefault(fit, _Fit())
        for number, part in asked.items():
            found.blocks[number] = self._held[number].rows_of(part, Heap(), self._rooms)

    def catch_up(
        self, fit: int, numbers: Sequence[int], told: Sequence[Call], pending: Order | None
    ) -> None:
        """Do to new blocks what was done to the others.

        Where this host has answered the pending order already, the new blocks join its answer.
        """
        found = self._fits[fit]
        blocks = {number: found.blocks[number] for number in numbers}
        for call in told:
            for block in blocks.values():
                call.function(block, *call.small)
        if pending is not None and found.serial == pending.serial:
            verb = pending.calls[-1].verb
            found.answer = joined(verb, [found.answer, _run(blocks, pending.calls)])

    def end(self, fit: int) -> None:
        """Forget a fit."""
        self._fits.pop(fit, None)

    def n_fits(self) -> int:
        """How many fits there are blocks of."""
        return len(self._fits) - 1

    # ---- working ------------------------------------------------------------------------------

    def run(self, order: Order, below: Sequence[Any] = ()) -> Any:
        """Do the calls here and on the hosts below, and give the answer of all of them.

        ``below`` are trees of hosts: (host, what is below it).
        """
        waiting = [host.run(order, its_below) for host, its_below in below]
        found = self._fits[order.fit]
        if found.serial != order.serial:
            found.answer = _run(found.blocks, order.calls)
            found.serial = order.serial
        if not waiting:
            return found.answer
        answers = [found.answer, *(future.result() for future in waiting)]
        return joined(order.calls[-1].verb, answers)


def _run(blocks: dict[int, Any], calls: Sequence[Call]) -> Any:
    """All calls on all blocks; the answer of the last one."""
    for call in calls[:-1]:
        for block in blocks.values():
            call.function(block, *call.small)
    last = calls[-1]
    answers = ((number, last.function(block, *last.small)) for number, block in blocks.items())
    if last.verb == "sum":
        total = added(answer for _, answer in answers)
        return total if last.finish is None or not blocks else last.finish(total)
    found = dict(answers)
    return found if last.verb == "each" else None


def joined(verb: str, answers: Sequence[Any]) -> Any:
    """Several answers as one: added up, or listed by block; hosts without blocks have none."""
    told = [answer for answer in answers if answer is not None]
    if verb == "sum":
        return added(told)
    if verb == "each":
        return {number: value for answer in told for number, value in answer.items()}
    return None

"""The executor of one fit on a cluster: orders with numbers, sent again until they are answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from secateur._execution.host import Call, Order
from secateur._execution.places import FitRows
from secateur.exceptions import ClusterError
from secateur.typing import Finish, Result

if TYPE_CHECKING:
    from secateur._execution.dask_place import DaskPlace

MOST_IN_VAIN = 50
"""How often a worker that the scheduler has still is asked before it counts as lost."""


class DaskFit:
    """The executor of one fit on a cluster.

    What wants no answer waits for the next call that does, and goes with it.
    """

    one_pass = True

    def __init__(self, place: DaskPlace, number: int, asked: FitRows | None) -> None:
        self._place = place
        self.number = number
        self.asked = asked
        self._serial = 0
        self._waiting: list[Call] = []
        self._told: list[Call] = []
        self._pending: Order | None = None
        self._is_open = True

    def sum(self, function: Callable[..., Any], *small: Any, finish: Finish | None = None) -> Any:
        """The sum of ``function(block, *small)`` over all blocks, ``finish`` done on each host."""
        return self._ask(Call("sum", function, small, finish))

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` of every block, in their order."""
        found = self._ask(Call("each", function, small))
        return [found[number] for number in sorted(found)]

    def walk(self, function: Callable[..., Result], *small: Any) -> Iterator[Result]:
        """What `each` gives, one after the other."""
        return iter(self.each(function, *small))

    def tell(self, function: Callable[..., None], *small: Any) -> None:
        """Have ``function(block, *small)`` done to every block, before the next call."""
        self._waiting.append(Call("tell", function, small))

    def settle(self, function: Callable[..., None], *small: Any) -> None:
        """Say how a new block is brought to where the others are, once they did what waits."""
        if self._waiting:
            self._ask(self._waiting.pop())
        self._told = [Call("tell", function, small)]

    def map(self, function: Callable[..., Result], tasks: Iterable[Any]) -> list[Result]:
        """``function(task)`` of every task."""
        return [function(task) for task in tasks]

    def close(self) -> None:
        """The fit is over: hosts forget it."""
        if self._is_open:
            self._is_open = False
            self._place.end(self)

    def history(self) -> tuple[list[Call], Order | None]:
        """What was done to all blocks, and what some of them may have done already."""
        return self._told, self._pending

    def _ask(self, call: Call) -> Any:
        calls, self._waiting = [*self._waiting, call], []
        self._serial += 1
        self._pending = Order(self.number, self._serial, calls)
        answer = self._until_answered(self._pending)
        self._told.extend(calls)
        self._pending = None
        return answer

    def _until_answered(self, order: Order) -> Any:
        """Send an order; where workers are lost on the way, have others take over and ask again."""
        n_in_vain = 0
        while True:
            try:
                return self._place.send(order)
            except (OSError, RuntimeError) as error:
                if not _is_loss(error):
                    raise
                n_in_vain = 0 if self._repair() else n_in_vain + 1
                if n_in_vain > MOST_IN_VAIN:
                    msg = (
                        "A worker of the cluster must answer. Got none, though the scheduler has "
                        f"it still: {error}. Restart that worker, and go on with resume=."
                    )
                    raise ClusterError(msg) from error
                time.sleep(0.1 if n_in_vain else 0.0)

    def _repair(self) -> bool:
        try:
            return self._place.repair()
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

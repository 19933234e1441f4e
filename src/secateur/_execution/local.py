"""All blocks in this process, one after the other; threads work inside a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from secateur.typing import Executor, Finish, Result

Block = TypeVar("Block")


class LocalExecutor(Generic[Block]):
    """Runs functions over blocks of rows in this process.

    ``sum`` adds what a function returns for each block (arrays or tuples of them), ``each`` gives
    the list, ``tell`` wants no answer, ``map`` runs independent tasks. A function must not keep a
    reference to what it is given. With ``is_frugal`` a block gives its memory back after each call.

    >>> LocalExecutor([1, 2, 3]).sum(lambda block, factor: block * factor, 10)
    60
    >>> LocalExecutor([1, 2, 3]).each(lambda block: -block)
    [-1, -2, -3]
    """

    def __init__(self, blocks: Sequence[Block], *, is_frugal: bool = False) -> None:
        self.blocks = list(blocks)
        self.one_pass = is_frugal

    def _visit(self, function: Callable[..., Any], small: tuple[Any, ...]) -> Iterator[Any]:
        for number, block in enumerate(self.blocks):
            if self.one_pass and number + 1 < len(self.blocks):
                self.blocks[number + 1].wake()  # type: ignore[attr-defined]  # blocks of rows
            yield function(block, *small)
            if self.one_pass:
                block.rest()  # type: ignore[attr-defined]  # likewise

    def sum(self, function: Callable[..., Any], *small: Any, finish: Finish | None = None) -> Any:
        """The sum of ``function(block, *small)`` over the blocks; ``finish`` is done to it."""
        visited = self._visit(function, small)
        total = next(visited) if len(self.blocks) == 1 else added(visited)
        return total if finish is None else finish(total)

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` of every block."""
        return list(self._visit(function, small))

    def walk(self, function: Callable[..., Result], *small: Any) -> Iterator[Result]:
        """What `each` gives, one after the other: a block is asked when its turn comes."""
        return self._visit(function, small)

    def tell(self, function: Callable[..., None], *small: Any) -> None:
        """Have ``function(block, *small)`` done to every block."""
        for _ in self._visit(function, small):
            pass

    def settle(self, function: Callable[..., None], *small: Any) -> None:
        """Nothing: a block of this process is not lost, and need not be made again."""

    def close(self) -> None:
        """Nothing: blocks of this process go when nobody needs them."""

    def map(self, function: Callable[..., Result], tasks: Iterable[Any]) -> list[Result]:
        """``function(task)`` of every task."""
        return [function(task) for task in tasks]


def only_block(executor: Executor) -> Any | None:
    """The block that has all rows, in the memory of this process; None where there is no such.

    >>> only_block(LocalExecutor(["all rows"]))
    'all rows'
    """
    if not isinstance(executor, LocalExecutor) or executor.one_pass or len(executor.blocks) != 1:
        return None
    return executor.blocks[0]


def added(results: Iterable[Any]) -> Any:
    """The sum of arrays, numbers, or tuples of these.

    A result may be overwritten when the next one is made: the first is copied, others are added.

    >>> added([(1, np.ones(2)), (2, np.ones(2))])
    (3, array([2., 2.]))
    """
    total: Any = None
    for result in results:
        total = _copied(result) if total is None else _add(total, result)
    return total


def _copied(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_copied(part) for part in result)
    return result.copy() if isinstance(result, np.ndarray) else result


def _add(total: Any, result: Any) -> Any:
    """Add to what is ours alone."""
    if isinstance(total, tuple):
        return tuple(_add(a, b) for a, b in zip(total, result, strict=True))
    if isinstance(total, np.ndarray):
        return np.add(total, result, out=total)
    return total + result

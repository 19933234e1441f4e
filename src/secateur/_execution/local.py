"""All blocks in this process, one after the other; threads work inside a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Generic, TypeVar

from secateur.typing import Result

Block = TypeVar("Block")


class LocalExecutor(Generic[Block]):
    """Runs functions over blocks of rows in this process.

    ``sum`` adds what a function returns for each block (arrays or tuples of them), ``each`` gives
    the list, ``map`` runs independent tasks. A function must not keep a reference to what it is
    given.

    >>> LocalExecutor([1, 2, 3]).sum(lambda block, factor: block * factor, 10)
    60
    >>> LocalExecutor([1, 2, 3]).each(lambda block: -block)
    [-1, -2, -3]
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = list(blocks)

    def sum(self, function: Callable[..., Any], *small: Any) -> Any:
        """The sum of ``function(block, *small)`` over the blocks."""
        return reduce(_add, (function(block, *small) for block in self.blocks))

    def each(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` of every block."""
        return [function(block, *small) for block in self.blocks]

    def map(self, function: Callable[..., Result], tasks: Iterable[Any]) -> list[Result]:
        """``function(task)`` of every task."""
        return [function(task) for task in tasks]


def _add(a: Any, b: Any) -> Any:
    """Add arrays, or tuples of arrays part by part."""
    if isinstance(a, tuple):
        return tuple(_add(x, y) for x, y in zip(a, b, strict=True))
    return a + b

"""Tables in Markdown, and targets that are met or missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table: the first column to the left, the others to the right.

    >>> print(table(["who", "s"], [["a", 1.5]]))
    | who |     s |
    | :-- | ----: |
    | a   | 1.500 |
    """
    lines = [[str(cell) for cell in header], *([_text(cell) for cell in row] for row in rows)]
    widths = [max(3, *(len(line[c]) for line in lines)) for c in range(len(header))]
    rule = [f":{'-' * (w - 1)}" if c == 0 else f"{'-' * (w - 1)}:" for c, w in enumerate(widths)]
    padded = [
        [
            cell.ljust(w) if c == 0 else cell.rjust(w)
            for c, (cell, w) in enumerate(_zip(line, widths))
        ]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [padded[0], rule, *padded[1:]])


def _zip(line: list[str], widths: list[int]) -> list[tuple[str, int]]:
    return list(zip(line, widths, strict=True))


def _text(cell: Any) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True, slots=True)
class Target:
    """A number that must not be above its limit."""

    what: str
    value: float
    limit: float

    @property
    def is_met(self) -> bool:
        return self.value <= self.limit


@dataclass(slots=True)
class Section:
    """What one part of a benchmark found: blocks of Markdown, and the targets."""

    name: str
    blocks: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    is_complete: bool = True
    is_timed: bool = True

    def skip(self, reason: str) -> None:
        """Something was not run: what is on the page is better than this."""
        self.blocks.append(reason)
        self.is_complete = False

    def add(self, *blocks: str) -> None:
        self.blocks.extend(blocks)

    def aim(self, what: str, value: float, limit: float) -> None:
        self.targets.append(Target(what, value, limit))

    def markdown(self, *, quick: bool) -> str:
        """The blocks, then a table of the targets; small sizes prove nothing, so nothing is met."""
        if not self.targets:
            return "\n\n".join(self.blocks)
        found_losses = {True: "met", False: "**missed**"}
        rows = [
            [t.what, t.value, f"<= {t.limit:g}", "not checked" if quick else found_losses[t.is_met]]
            for t in self.targets
        ]
        return "\n\n".join([*self.blocks, table(["target", "found", "wanted", ""], rows)])

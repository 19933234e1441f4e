"""Names kept short: no longer than a line, no more than a few."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_NAMES = 4


def short(name: str, most: int = 32) -> str:
    """Return a name that is not longer than a line."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def few(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return the first names and the number of the others.

    >>> few(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(short(name) for name in names[:most]) + more


def in_natural_order(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key to sort names by, in which numbers count as such.

    >>> sorted(["field 10", "field 9", "east"], key=in_natural_order)
    ['east', 'field 9', 'field 10']
    """
    parts = re.split(r"0*([0-9]+)", name)  # words and numbers in turn
    return tuple((at % 2 == 0, len(part) * (at % 2), part) for at, part in enumerate(parts) if part)

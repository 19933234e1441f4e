"""Names kept short: no longer than a line, no more than a few."""

from __future__ import annotations

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

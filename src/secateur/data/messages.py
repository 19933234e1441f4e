"""How messages list names and values: a few of them, and how many there are in all."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np

# Beyond this many names a search for similar ones takes longer than the user takes to look.
_MOST_COMPARED = 20_000


def some_of(items: Collection[Any], limit: int = 5) -> str:
    """List the first few items as Python writes them.

    Examples
    --------
    >>> some_of(["a", "b", "c"], limit=2)
    "'a', 'b', ... (3 in all)"
    """
    shown = ", ".join(repr(_plain(item)) for item in islice(items, limit))
    return shown if len(items) <= limit else f"{shown}, ... ({len(items)} in all)"


def similar_to(name: str, names: Collection[str]) -> str:
    """Give the sentence that suggests the names closest to a wrong one, or nothing.

    Examples
    --------
    >>> similar_to("agge", ("age", "height"))
    " Did you mean 'age'?"
    """
    close = get_close_matches(name, names, n=3) if len(names) <= _MOST_COMPARED else []
    return f" Did you mean {' or '.join(repr(match) for match in close)}?" if close else ""


def _plain(item: Any) -> Any:
    # numpy 2 writes np.float64(1.0) and np.str_('a') where users wrote 1.0 and 'a'
    return item.item() if isinstance(item, np.generic) else item

"""Find the level of a penalty that keeps a wanted number of features."""

from __future__ import annotations

import math
from collections.abc import Callable


def search_level(
    count: Callable[[float], int],
    wanted: int,
    low: float,
    high: float,
    *,
    at_most: bool,
    steps: int = 12,
) -> float:
    """Bisect levels on a log scale; ``count`` falls as the level rises.

    The level tried whose count is nearest to ``wanted``; with ``at_most`` no more than that.

    >>> round(search_level(lambda level: int(100 / level), 40, 0.1, 10.0, at_most=True), 1)
    2.5
    """
    tried: dict[float, int] = {}
    for _ in range(steps):
        middle = math.sqrt(low * high)
        tried[middle] = count(middle)
        if tried[middle] == wanted:
            return middle
        if tried[middle] > wanted:
            low = middle
        else:
            high = middle
    fitting = {k: v for k, v in tried.items() if v <= wanted} if at_most else tried
    # all levels were too low: the highest is the nearest that there is
    return min(fitting or {high: 0}, key=lambda level: abs(tried.get(level, 0) - wanted))

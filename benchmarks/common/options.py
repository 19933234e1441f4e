"""What the command line asks of a benchmark."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """``quick``: small sizes, only to see that it runs; ``full``: slow methods as well;
    ``write``: pictures go to the page's folder; ``minutes``: no piece begins after so many;
    ``methods``: only these; ``again``: methods whose kept pieces are made again."""

    quick: bool = False
    full: bool = False
    write: bool = False
    minutes: float = math.inf
    methods: tuple[str, ...] = ()
    again: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        return 1 if self.quick else 3

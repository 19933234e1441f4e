"""A bar on stderr that tells how far a long piece of work is, and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Meter:
    """Counts parts of equal size, and how far the present one is.

    Parameters
    ----------
    bar, task : of rich
        Or None, None: nothing is shown.
    """

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task
        self._done = 0

    def parts(self, done: int, total: int) -> None:
        """So many parts of so many are done."""
        self._done = done
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def within(self, share: float) -> None:
        """The present part is done to this share."""
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done + min(share, 0.99))


@contextmanager
def metered(what: str, n_parts: int, *, quiet: bool) -> Iterator[Meter]:
    """Show a bar while something runs, if anybody is there to look at it."""
    if quiet or not sys.stderr.isatty():
        yield Meter(None, None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        "{task.description}",
        BarColumn(),
        TimeElapsedColumn(),
        "left",
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=600,
    )
    with bar:
        yield Meter(bar, bar.add_task(what, total=n_parts))

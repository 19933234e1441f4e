"""What a command says: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
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


PLAIN_WIDTH = 120
"""Columns of a table that goes into a file or a pipe."""


class Talk:
    """Where the words of one command go.

    Parameters
    ----------
    as_json : bool
        Results are one JSON document.
    quiet : bool
        Say nothing but results and errors.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def note(self, sentence: str) -> None:
        """Say something that is not a result."""
        if not self.quiet:
            sys.stderr.write(f"{sentence}\n")

    def notes(self, sentences: Iterable[str]) -> None:
        """Say some things that are not results."""
        for sentence in sentences:
            self.note(sentence)

    def result(self, document: dict[str, Any], *shown: Any) -> None:
        """Give the result: as JSON, or as things that rich can show."""
        if self.as_json:
            sys.stdout.write(json.dumps(document, allow_nan=False, indent=2) + "\n")
            return
        from rich.console import Console

        is_terminal = sys.stdout.isatty()
        console = Console(highlight=False, width=None if is_terminal else PLAIN_WIDTH)
        for thing in shown:
            console.print(thing)

    @contextmanager
    def warned(self) -> Iterator[None]:
        """Say our own warnings as notes, each once; those of other libraries are theirs.

        That rows which judge have categories of their own is no news: they are rows left out.
        """
        from secateur.exceptions import (
            InterruptedWarning,
            SecateurWarning,
            UnknownCategoryWarning,
        )

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        told = [
            str(warning.message)
            for warning in caught
            if issubclass(warning.category, SecateurWarning)
            and not issubclass(warning.category, InterruptedWarning | UnknownCategoryWarning)
        ]
        self.notes(dict.fromkeys(told))

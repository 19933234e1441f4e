"""One figure or table of a paper: how it is made again, what the paper says, what is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.kept import Kept


@dataclass(frozen=True, slots=True)
class Shown:
    """The text below a picture: what was found, where and why it differs, and tables."""

    found: str
    differs: str
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure or table.

    ``run(quick, kept)`` measures: values that JSON can hold, among them ``"protocol"``, how it was
    run. Pieces of it go through ``kept.get``, so that a run that was ended goes on where it was;
    those that ``kept.has`` not are left out for lack of time, and the protocol says so.
    ``quick`` is small enough for a test.
    ``show(values, picture)`` draws the picture into that file and returns the text below it.
    ``needs`` names the data sets without which nothing can be run. ``is_slow``: the quick form
    takes more than two seconds, so `./dev slow` runs it instead of `./dev test`.
    ``pieces`` names another figure of the paper that is drawn from the same pieces.
    """

    title: str
    claim: str
    run: Callable[[bool, Kept], dict[str, Any]]
    show: Callable[[dict[str, Any], Path], Shown]
    needs: tuple[str, ...] = ()
    is_slow: bool = False
    pieces: str = ""

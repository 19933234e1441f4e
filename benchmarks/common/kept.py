"""Pieces of a long benchmark that are done: kept on disk, so that it can be taken up again."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.measure import say

FOLDER = Path(__file__).resolve().parents[1] / "results" / "kept"


class Kept:
    """Results by name, one file each; what is there is not run again.

    Results of small sizes stay apart from those of full ones.
    """

    def __init__(self, benchmark: str, *, quick: bool, minutes: float = math.inf) -> None:
        self._end = time.monotonic() + 60.0 * minutes
        self._folder = FOLDER / (f"{benchmark}-quick" if quick else benchmark)
        self._folder.mkdir(parents=True, exist_ok=True)

    def has(self, name: str) -> bool:
        """Whether the result of that name is there, or there is time to run it."""
        return time.monotonic() < self._end or (self._folder / f"{name}.json").is_file()

    def get(self, name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of that name, run now if it is not there; whole or not at all."""
        file = self._folder / f"{name}.json"
        if not file.is_file():
            say(name)
            found = run()
            fresh = file.with_suffix(".new")
            fresh.write_text(json.dumps(found), encoding="utf-8")
            fresh.replace(file)
        result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return result

    def clear(self) -> None:
        """Forget everything."""
        for file in self._folder.glob("*.json"):
            file.unlink()

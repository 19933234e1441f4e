"""Pieces of a long benchmark that are done: kept on disk, so that it can be taken up again."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common.measure import say

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "results" / "kept"
PIECES = ROOT / "docs" / "papers" / "results" / "pieces"
RIVALS = ROOT / "docs" / "benchmarks" / "results" / "rivals"


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


class KeptLines(Kept):
    """Results by name in one file of the repository, a line of JSON with its date for each."""

    def __init__(self, benchmark: str, *, minutes: float = math.inf, folder: Path = PIECES) -> None:
        self._end = time.monotonic() + 60.0 * minutes
        self._file = folder / f"{benchmark}.jsonl"
        self._found: dict[str, Any] = {}
        if self._file.is_file():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                each = json.loads(line)
                self._found[each["name"]] = each["value"]

    def has(self, name: str) -> bool:
        return time.monotonic() < self._end or name in self._found

    def get(self, name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if name not in self._found:
            say(name)
            found = {"name": name, "date": datetime.now(UTC).date().isoformat(), "value": run()}
            self._file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(found, separators=(",", ":"))
            with self._file.open("a", encoding="utf-8") as file:
                file.write(text + "\n")
            self._found[name] = json.loads(text)["value"]
        value: dict[str, Any] = self._found[name]
        return value

    def clear(self) -> None:
        self._found = {}
        self._file.unlink(missing_ok=True)


def pieces_of(benchmark: str, *, quick: bool, minutes: float = math.inf) -> Kept:
    """The pieces of a paper's figure: kept in the repository, those of small sizes apart."""
    if quick:
        return Kept(f"papers-{benchmark}", quick=True, minutes=minutes)
    return KeptLines(benchmark, minutes=minutes)


def pieces_of_rivals(benchmark: str, *, quick: bool) -> Kept:
    """The pieces of rivals, which change with their versions only: kept in the repository."""
    return Kept(benchmark, quick=True) if quick else KeptLines(benchmark, folder=RIVALS)

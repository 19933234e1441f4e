"""Trials of the leaderboard: a JSON file for each set, kept with the project."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from common.page import DOCS

FOLDER = DOCS / "benchmarks" / "results" / "leaderboard"
Trial = dict[str, Any]


class Trials:
    """What each method found on each fold of each set."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder, self._lock = folder, threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._found: dict[str, dict[str, Trial]] = {
            file.stem: json.loads(file.read_text(encoding="utf-8"))
            for file in sorted(folder.glob("*.json"))
        }

    def get(self, name: str, fold: int, method: str) -> Trial | None:
        """The trial, if it was made."""
        return self._found.get(name, {}).get(f"{fold}/{method}")

    def put(self, name: str, fold: int, method: str, trial: Trial) -> None:
        """Keep a trial; the file is replaced as a whole."""
        with self._lock:
            of_set = self._found.setdefault(name, {})
            of_set[f"{fold}/{method}"] = {**trial, "about": about()}
            lines = [f"{json.dumps(key)}: {json.dumps(of_set[key])}" for key in sorted(of_set)]
            fresh = self._folder / f"{name}.new"
            fresh.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            fresh.replace(self._folder / f"{name}.json")

    def forget(self, methods: tuple[str, ...]) -> None:
        """Trials of these methods are made again, for example after a change of the library."""
        for of_set in self._found.values():
            for key in [each for each in of_set if each.split("/", 1)[1] in methods]:
                del of_set[key]


def about() -> dict[str, Any]:
    """Where and when a trial was made, and how busy the machine was."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False, cwd=DOCS)  # noqa: S603
    return {
        "commit": commit.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "load": round(os.getloadavg()[0], 1),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()

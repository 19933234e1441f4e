"""Run a script of ``children`` in a process of its own and read its one line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RACE = Path(__file__).resolve().parents[1]


def spawn(child: str, *arguments: object, **environment: str) -> dict[str, Any]:
    """What the child found, and ``wall``: the seconds of its whole life."""
    given = os.environ.get("PYTHONPATH", "")
    paths = [str(RACE), *(str(Path(p).resolve()) for p in given.split(os.pathsep) if p)]
    command = [sys.executable, "-m", f"children.{child}", *(str(a) for a in arguments)]
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - this Python, on a module beside this one
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "wall": time.perf_counter() - start}

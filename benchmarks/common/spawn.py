"""Run a script of ``children`` in a process of its own and read its one line of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]


def spawn(child: str, *arguments: object, **environment: str) -> dict[str, Any]:
    """What the child found, and ``wall``: the seconds of its whole life."""
    given = os.environ.get("PYTHONPATH", "")
    paths = [str(BENCHMARKS), *(str(Path(p).resolve()) for p in given.split(os.pathsep) if p)]
    command = [sys.executable, "-m", f"children.{child}", *(str(a) for a in arguments)]
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - this Python, on a module beside this one
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its own children end with it
    ) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            code = process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if code or not line:
        raise subprocess.CalledProcessError(code, command, line)
    found: dict[str, Any] = json.loads(line)
    return {**found, "wall": time.perf_counter() - start}

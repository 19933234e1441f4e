"""One method on one fold of a set, in a process that can be ended.

``leaderboard_trial set fold method limit``
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
from common.measure import PeakMemory
from leaderboard_sections.judges import scores
from leaderboard_sections.methods import METHODS
from leaderboard_sections.sets import load


def main() -> None:
    name, fold, method, limit = sys.argv[1:]
    warnings.simplefilter("ignore")
    part = load(name, int(fold))
    if part is None:
        report({"error": "no data"})
        return
    found: dict[str, dict[str, Any]] = {}
    choices = METHODS[method](part)
    try:
        while True:
            watch = threading.Timer(float(limit), report, [{**found, "timeout": True}])
            watch.start()
            start, cpu = time.perf_counter(), time.process_time()
            with PeakMemory() as memory:
                label, chosen = next(choices, (None, None))
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            watch.cancel()
            if label is None:
                break
            found[label] = {
                "features": len(np.asarray(chosen)),
                "seconds": round(seconds, 3),
                "cpu": round(cpu, 3),
                "memory": memory.beyond,
                **{judge: round(score, 6) for judge, score in scores(part, chosen).items()},
            }
    except Exception as error:  # noqa: BLE001  # a rival's failure is a result
        report({**found, "error": f"{type(error).__name__}: {error}"[:200]})
    report(found)


def report(found: dict[str, Any]) -> None:
    """Say what was found and go, whatever other threads are at."""
    sys.__stdout__.write(json.dumps(found) + "\n")  # type: ignore[union-attr]  # it has a console
    sys.__stdout__.flush()  # type: ignore[union-attr]  # as above
    os._exit(0)


if __name__ == "__main__":
    sys.stdout = sys.stderr  # what rivals print is no result
    main()

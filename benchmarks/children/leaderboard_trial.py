"""One method on one fold of a set, in a process of one core that can be ended.

``leaderboard_trial set fold method limit core``
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from common.measure import PeakMemory
from leaderboard_sections.judges import scores
from leaderboard_sections.methods import METHODS
from leaderboard_sections.sets import Part, load


def main() -> None:
    name, fold, method, limit, core = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    warnings.simplefilter("ignore")
    part = load(name, int(fold))
    if part is None:
        report({"error": "no data"})
        return
    with suppress(Exception):  # loads code, which is not timed
        next(METHODS[method](few(part)))
    found: dict[str, dict[str, Any]] = {}
    choices = METHODS[method](part)
    try:
        while True:
            done = threading.Event()
            late = {**found, "timeout": True}
            threading.Thread(target=watch, args=(done, float(limit), late), daemon=True).start()
            seconds = time.process_time()
            with PeakMemory() as memory:
                label, chosen = next(choices, (None, None))
            seconds = time.process_time() - seconds
            done.set()
            if label is None:
                break
            found[label] = {
                "features": len(np.asarray(chosen)),
                "seconds": round(seconds, 3),
                "memory": memory.beyond,
                **{judge: round(score, 6) for judge, score in scores(part, chosen).items()},
            }
    except Exception as error:  # noqa: BLE001  # a rival's failure is a result
        report({**found, "error": f"{type(error).__name__}: {error}"[:200]})
    report(found)


def few(part: Part) -> Part:
    """A small table of the same kind."""
    y = part.y if part.is_classes else np.arange(len(part.y))
    rows, d = np.argsort(y, kind="stable")[:: max(1, len(y) // 100)], min(part.X.shape[1], 30)
    tests = part.X_test[: len(rows), :d], part.y_test[: len(rows)]
    return Part(part.X[rows][:, :d], part.y[rows], *tests, part.is_classes, [])


def watch(done: threading.Event, limit: float, late: dict[str, Any]) -> None:
    """End the process after so many CPU seconds, unless the choice is made before."""
    end = time.process_time() + limit
    while not done.wait(1.0):
        if time.process_time() > end:
            report(late)


def report(found: dict[str, Any]) -> None:
    """Say what was found and go, whatever other threads are at."""
    sys.__stdout__.write(json.dumps(found) + "\n")  # type: ignore[union-attr]  # it has a console
    sys.__stdout__.flush()  # type: ignore[union-attr]  # as above
    os._exit(0)


if __name__ == "__main__":
    sys.stdout = sys.stderr  # what rivals print is no result
    main()

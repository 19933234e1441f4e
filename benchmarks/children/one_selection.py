"""A selector on one fold of a set, in a process that can be ended: all its libraries are others'.

``one_selection set n_folds fold method most limit``
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from itertools import islice

from adapters.ordered import METHODS
from featboost_sections.plan import parts


def main() -> None:
    name, n_folds, fold, method, most, limit = sys.argv[1:]
    part = next(islice(parts(name, int(n_folds)), int(fold), None))
    select = METHODS[method]
    start = time.perf_counter()

    def give_up() -> None:
        report({"order": None, "seconds": time.perf_counter() - start})

    watch = threading.Timer(float(limit), give_up)
    watch.start()
    found = select(part.X, part.y, int(most))
    seconds = time.perf_counter() - start
    watch.cancel()
    report({**found, "seconds": seconds})


def report(found: dict[str, object]) -> None:
    """Say what was found and go, whatever other threads are at."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()

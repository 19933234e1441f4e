"""The other end of `child`: a process that tries methods one after another until it is ended.

It is started as a program of its own, so that a script needs no guard around its main part and a
method that never comes back can be ended with the process.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import Any, BinaryIO


def main() -> None:
    """Read the course, then tasks; write what came out of each: what was chosen, then scores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    replies = _own_stdout()
    asked = sys.stdin.buffer
    from secateur.model_selection.trials import judge, select

    course = pickle.load(asked)  # noqa: S301 - from our own parent
    _reply(replies, "ready")
    while True:
        try:
            name, method, fold = pickle.load(asked)  # noqa: S301 - from our own parent
        except EOFError:
            return
        trial = select(course, name, method, fold)
        _reply(replies, trial)
        if trial.is_done:
            _reply(replies, judge(course, trial))


def _own_stdout() -> BinaryIO:
    """Keep the pipe for replies: what methods print goes to the errors."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replies


def _reply(stream: BinaryIO, what: Any) -> None:
    stream.write(pickle.dumps(what))
    stream.flush()


if __name__ == "__main__":
    main()

"""The command ``secateur``: from a file to a decision, without a line of Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence

USER_ERROR = 1
INTERRUPTED = 130
"""What shells expect of a program that Ctrl-C ended: 128 and the number of the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 all went well, 1 the data or the request cannot be used, 2 the command was not understood,
    130 interrupted.
    """
    try:
        from secateur.cli.app import run
    except ImportError as error:
        if (error.name or "").split(".")[0] != "typer":
            raise
        sys.stderr.write("secateur: the command needs typer. Run: pip install 'secateur[cli]'\n")
        return USER_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    return run(arguments)

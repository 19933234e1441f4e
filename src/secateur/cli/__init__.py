"""The command ``secateur``: feature selection from files, without Python code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

USER_ERROR = 1
INTERRUPTED = 130
"""What shells expect of a program that Ctrl-C ended: 128 and the number of the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 success, 1 the data or the options cannot be used, 2 the command was not understood,
    130 interrupted.
    """
    try:
        from secateur.cli.app import app

        app(args=None if arguments is None else list(arguments), prog_name="secateur")
    except ImportError as error:
        if (error.name or "").split(".")[0] != "typer":
            raise
        sys.stderr.write("secateur: the command needs typer. Run: pip install 'secateur[cli]'\n")
        return USER_ERROR
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        sys.stderr.write("secateur: interrupted.\n")
        return INTERRUPTED
    return 0

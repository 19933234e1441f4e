"""The command ``secateur``: feature selection from files, without Python code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

USER_ERROR = 1
INTERRUPTED = 130  # what shells expect after Ctrl-C: 128 and the number of the signal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 success, 1 the data or the options cannot be used, 2 the command was not understood,
    130 interrupted.
    """
    try:
        _app()(args=None if arguments is None else list(arguments), prog_name="secateur")
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


def _app() -> Any:
    import typer

    from secateur.cli.compare import compare
    from secateur.cli.console import with_exit_codes
    from secateur.cli.options import show_version, with_option_classes
    from secateur.cli.saved import cut, report
    from secateur.cli.select import demo, select, warm_up

    app = typer.Typer(
        name="secateur",
        help="Select the features that a good model needs, and report held-out scores and costs.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(show_version)
    for command in (demo, select, cut, compare, report, warm_up):
        app.command()(with_exit_codes(with_option_classes(command)))
    return app

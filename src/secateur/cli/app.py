"""The commands put together, and how each of them ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from secateur.cli import INTERRUPTED
from secateur.cli.compare import compare
from secateur.cli.cut import cut
from secateur.cli.demo import demo
from secateur.cli.report import report
from secateur.cli.select import select

app = typer.Typer(
    name="secateur",
    help="Choose the columns of a table that a good model needs, and show what that costs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, select, cut, compare, report):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from secateur import __version__

        typer.echo(f"secateur {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the version and end.",
    ),
) -> None:
    del version


app.callback()(_options)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="secateur")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        sys.stderr.write("secateur: interrupted.\n")
        return INTERRUPTED
    return 0

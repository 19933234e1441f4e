"""The commands, put together."""

from __future__ import annotations

import typer

from secateur.cli.compare import compare
from secateur.cli.cut import cut
from secateur.cli.demo import demo
from secateur.cli.report import report
from secateur.cli.select import select

app = typer.Typer(
    name="secateur",
    help="Select the features that a good model needs, and report held-out scores and costs.",
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
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    del version


app.callback()(_options)

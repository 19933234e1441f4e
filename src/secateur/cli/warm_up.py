"""``secateur warm-up``: compiled code ahead of time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.console import Console


def warm_up(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where compiled code is kept; set NUMBA_CACHE_DIR to it afterwards."),
    ] = None,
    *,
    console: Console,
) -> None:
    """Compile what common fits need, for instance into the image of a container."""
    from rich.text import Text

    from secateur.selectors.warm_up import warm_up as compile_all

    console.message("Compiling. This takes some minutes.")
    compile_all(folder)
    place = "" if folder is None else f" into {folder}. Set NUMBA_CACHE_DIR={folder.resolve()}"
    document = {"folder": None if folder is None else str(folder)}
    console.result(document, Text(f"Compiled{place}."))

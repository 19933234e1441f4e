"""``secateur cut``: another subset of a saved path, without fitting again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import with_exit_codes
from secateur.cli.options import with_option_classes
from secateur.exceptions import InputError

if TYPE_CHECKING:
    from secateur.path import SelectionPath
    from secateur.report import Evidence


@with_exit_codes
@with_option_classes
def cut(
    path: Annotated[Path, typer.Argument(help="A path.json, or its folder.")],
    one_se: Annotated[
        bool,
        typer.Option("--one-se", help="The fewest features within one standard error of the best."),
    ] = False,
    best: Annotated[bool, typer.Option("--best", help="The best score.")] = False,
    elbow: Annotated[
        bool, typer.Option("--elbow", help="Where further features begin to gain little.")
    ] = False,
    at_most: Annotated[
        int | None, typer.Option(min=1, help="The best score with at most so many features.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="The best score at no higher cost.")
    ] = None,
    out: options.Out = None,
    *,
    output: options.OutputOptions,
) -> None:
    """Select again from PATH, without the data; with --out also write results.

    Without an option by the rule of the saved selection, or else as --one-se.
    """
    from secateur.cli.documents import selection_document, selection_shown
    from secateur.cli.output import check_folder, write_selection
    from secateur.path import load_rule

    rule = _rule(one_se=one_se, best=best, elbow=elbow, at_most=at_most, budget=budget)
    if out is not None:
        check_folder(out, force=output.force)
    loaded, evidence = load_result(path)
    selection = loaded.cut(load_rule(path_file(path)) if rule is None else rule)
    document = selection_document(loaded, selection, evidence)
    if out is not None:
        title, force = title_of(path), output.force
        names = write_selection(
            out, loaded, selection, evidence, document, title=title, force=force
        )
        document |= {"folder": str(out), "files": names}
    console = output.console
    console.result(document, *selection_shown(document))


def load_result(path: Path) -> tuple[SelectionPath, Evidence | None]:
    """A saved path and its evidence."""
    from secateur.path import SelectionPath
    from secateur.report import load_evidence

    file = path_file(path)
    return SelectionPath.load(file), load_evidence(file)


def path_file(path: Path) -> Path:
    """The file of a path: itself, or path.json in a folder."""
    file = path / "path.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{path} must be a path.json or a folder with one. Got none. Use the output of "
            "'secateur select'."
        )
    return file


def title_of(path: Path) -> str:
    """The title of a saved path: the name of its folder or file."""
    file = path_file(path).resolve()
    return file.parent.name if file.name == "path.json" else file.stem


def _rule(
    *, one_se: bool, best: bool, elbow: bool, at_most: int | None, budget: float | None
) -> Any:
    from secateur.path import AtMost, Best, Elbow, OneStandardError, WithinBudget

    wanted: list[Any] = []
    wanted += [OneStandardError()] if one_se else []
    wanted += [Best()] if best else []
    wanted += [Elbow()] if elbow else []
    wanted += [AtMost(at_most)] if at_most is not None else []
    wanted += [WithinBudget(budget)] if budget is not None else []
    if len(wanted) > 1:
        raise typer.BadParameter("a path is cut by one rule; use one of these options.")
    return wanted[0] if wanted else None

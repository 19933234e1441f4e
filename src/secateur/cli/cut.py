"""``secateur cut``: another subset of a saved path, without fitting again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.exit import ends_well
from secateur.cli.options import unbundled
from secateur.exceptions import InputError

if TYPE_CHECKING:
    from secateur.path import SelectionPath
    from secateur.report import Evidence


@ends_well
@unbundled
def cut(
    path: Annotated[Path, typer.Argument(help="A path.json, or the folder that it is in.")],
    one_se: Annotated[
        bool, typer.Option("--one-se", help="The fewest features as good as the best.")
    ] = False,
    best: Annotated[bool, typer.Option("--best", help="The best score.")] = False,
    elbow: Annotated[
        bool, typer.Option("--elbow", help="Where further features begin to gain little.")
    ] = False,
    at_most: Annotated[
        int | None, typer.Option(min=1, help="The best with at most so many features.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="The best that costs at most so much.")
    ] = None,
    out: options.Out = None,
    *,
    talking: options.TalkingOptions,
) -> None:
    """Choose again from PATH, without the data; with --out also write results.

    Without an option by the rule that the path was cut by before, or else as --one-se does.
    """
    from secateur.cli.console import Talk
    from secateur.cli.documents import selection_document
    from secateur.cli.folder import check_folder
    from secateur.cli.job import write_results
    from secateur.cli.show import selection_shown, written
    from secateur.path import load_rule

    rule = _rule(one_se=one_se, best=best, elbow=elbow, at_most=at_most, budget=budget)
    if out is not None:
        check_folder(out, force=talking.force)
    traced, evidence = load_result(path)
    selection = traced.cut(load_rule(path_file(path)) if rule is None else rule)
    document = selection_document(traced, selection, evidence)
    shown = selection_shown(document)
    if out is not None:
        title = title_of(path)
        names = write_results(out, traced, selection, evidence, document, title, talking.force)
        document |= {"folder": str(out), "files": names}
        shown.append(written(out, names))
    Talk(as_json=talking.as_json, quiet=talking.quiet).result(document, *shown)


def load_result(path: Path) -> tuple[SelectionPath, Evidence | None]:
    """A saved path and its evidence; a folder stands for the path.json in it."""
    from secateur.path import SelectionPath
    from secateur.report import load_evidence

    file = path_file(path)
    return SelectionPath.load(file), load_evidence(file)


def path_file(path: Path) -> Path:
    """The file of a path; a folder stands for the path.json in it."""
    file = path / "path.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{path} must be a path.json or a folder with one. Got none. Use what 'secateur "
            "select' wrote."
        )
    return file


def title_of(path: Path) -> str:
    """What a saved path is called: by its folder, or by its file."""
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
        raise typer.BadParameter("a path is cut by one rule: give one of the options.")
    return wanted[0] if wanted else None
